"""Print hashes of the results of every estimator, sampler, initialisation and method, at fixed seeds.

Usage: python tests/fingerprints.py [gibbs] [compound] [labels] [empirical_bayes] [topic_count] [metrics] ...

It prints one line for each fit or computation: its name, a hash of all results, and a hash of each result. Compare the
output of two versions of the package with ``diff``: equal lines mean results that are equal bit for bit. Hashes depend
on the processor and on the versions of NumPy and SciPy.
"""

import hashlib
import sys
import warnings

import numpy as np

from sklda import (
    CollapsedVariationalLDA,
    CompoundLDA,
    CovariateLDA,
    EmpiricalBayesLDA,
    GibbsLDA,
    LabeledLDA,
    TopicCountLDA,
)
from sklda.datasets import load_docstrings, make_compound_lda_corpus, make_lda_corpus
from sklda.metrics import compare_topic_models, held_out_log_likelihood, topic_coherence, word_association
from sklda.papers import empirical_bayes as empirical_bayes_paper
from sklda.papers import held_out
from sklda.papers.compound import langevin, variational_em
from sklda.papers.topic_count import log_evidence, log_evidence_by_sweeps, pmmh

SIMULATED = make_lda_corpus(40, 60, 3, doc_length=(0, 40), topic_word_prior=0.2, random_state=0).data
NEW = make_lda_corpus(12, 60, 3, doc_length=(0, 20), topic_word_prior=0.2, random_state=1).data
COLLECTIONS = make_compound_lda_corpus([20, 15, 5], 50, 3, doc_length=30, random_state=0)
SMALL = make_lda_corpus(10, 8, 2, doc_length=6, topic_word_prior=0.3, random_state=2).data
DOCSTRINGS = load_docstrings().data[:160]
DOCSTRINGS = DOCSTRINGS[:, np.unique(DOCSTRINGS.indices)]
SEED = {"random_state": 0}

# Attributes that are hashed, where an estimator has them.
ATTRIBUTES = (
    *("topic_assignments_", "components_", "doc_topic_", "log_joint_trace_", "doc_topic_prior_", "topic_word_prior_"),
    *("prior_trace_", "grid_", "occupancy_", "mode_log_evidence_", "mode_log_evidence_std_"),
    *(
        "r_hat_",
        "n_effective_",
        "acceptance_rate_",
        "collection_topic_",
        "collection_topic_std_",
        "collection_topic_prior_",
    ),
    *("collection_topic_draws_", "doc_concentration_", "corpus_topic_", "topic_counts_", "topic_count_posterior_"),
    *("topic_count_posterior_std_", "log_evidence_", "log_evidence_std_"),
    *("topic_count_trace_", "topic_count_posterior_recycled_"),
)
SAMPLERS = ("collapsed", "partitioned", "grouped", "partially_collapsed")
INITIALISATIONS = ("random", "sequential", "anneal", "prune")
ETA_BY_TOPIC = np.linspace(0.05, 0.4, 3 * 60).reshape(3, 60)
PRIORS = {
    "symmetric": {"doc_topic_prior": 0.3, "topic_word_prior": 0.1},
    "alpha by topic": {"doc_topic_prior": [0.1, 0.5, 1.0], "topic_word_prior": np.linspace(0.05, 0.3, 60)},
    "eta by topic": {"doc_topic_prior": 0.3, "topic_word_prior": ETA_BY_TOPIC},
}


def digest(value):
    """Hash of a number, a text, an array, or a sequence or dict of them."""
    found = hashlib.blake2b(digest_size=6)
    if isinstance(value, dict):
        value = [part for key in sorted(value) for part in (key, value[key])]
    if isinstance(value, (list, tuple)):
        for part in value:
            found.update(digest(part).encode())
    elif isinstance(value, str):
        found.update(value.encode())
    else:
        found.update(np.ascontiguousarray(np.asarray(value, dtype=np.float64)).tobytes())
    return found.hexdigest()


def attributes(estimator):
    """The fitted attributes of an estimator that are compared, by name."""
    return {name: getattr(estimator, name) for name in ATTRIBUTES if hasattr(estimator, name)}


def gibbs():
    """GibbsLDA: samplers, priors, initialisations, warm start, snapshots, transform and score."""
    for sampler in SAMPLERS:
        for name, priors in PRIORS.items():
            lda = GibbsLDA(3, sampler=sampler, max_iter=6, n_chains=2, **priors, **SEED).fit(SIMULATED)
            yield f"GibbsLDA, {sampler}, {name}", attributes(lda) | applied(lda)
        lda = GibbsLDA(20, sampler=sampler, max_iter=3, **SEED).fit(DOCSTRINGS)
        yield f"GibbsLDA, {sampler}, docstrings", attributes(lda)
    lda = GibbsLDA(300, max_iter=3, **SEED).fit(DOCSTRINGS)
    yield f"GibbsLDA, collapsed ({lda.sampler_}), docstrings", attributes(lda)
    for init in INITIALISATIONS:
        lda = GibbsLDA(4, init=init, max_iter=2, **SEED).fit(SIMULATED)
        yield f"GibbsLDA, init={init}", attributes(lda)
    lda = GibbsLDA(4, max_iter=4, warm_start=True, point_estimate="cgs", **SEED).fit(SIMULATED)
    yield "GibbsLDA, warm start, cgs", attributes(lda.fit(SIMULATED))


def applied(lda, **options):
    """The results of `transform` and `score_samples` for new documents."""
    return {"transform": lda.transform(NEW, **options), "score_samples": lda.score_samples(NEW, **options)}


def compound():
    """CompoundLDA, with fixed and with learnt priors, and the fits of its paper."""
    X, labels, new = COLLECTIONS.data, COLLECTIONS.collections, COLLECTIONS.data[::4]
    for learn in (False, True):
        start = {} if learn else {"doc_concentration": 1.0}
        options = {"learn_priors": learn, "max_iter": 20, "n_chains": 2, **start}
        chains = {"burn_in": 4, "draw_every": 4}
        lda = CompoundLDA(3, **options, **chains, **SEED)
        lda.fit(X, collections=labels)
        known = {"collections": labels[::4].tolist()}
        found = {"transform": lda.transform(new, **known), "score_samples": lda.score_samples(new, **known)}
        yield f"CompoundLDA, learn_priors={learn}", attributes(lda) | found
        yield f"papers.compound.langevin, learn_priors={learn}", langevin(X, labels, 3, **options, **chains, **SEED)
        yield f"papers.compound.variational_em, learn_priors={learn}", variational_em(X, labels, 3, **options, **SEED)


def covariates():
    """CovariateLDA with given and with learnt priors."""
    X, Z = COLLECTIONS.data, np.column_stack([COLLECTIONS.collections, np.arange(COLLECTIONS.data.shape[0]) % 5])
    for options in ({}, {"coef_scale": 1.0, "topic_word_prior": 0.1}):
        lda = CovariateLDA(3, draw_every=4, max_iter=20, n_chains=2, burn_in=4, **options, **SEED).fit(X, covariates=Z)
        new, known = X[::4], {"covariates": Z[::4]}
        found = {"transform": lda.transform(new, **known), "score_samples": lda.score_samples(new, **known)}
        yield f"CovariateLDA, {options}", attributes(lda) | found


def labels():
    """LabeledLDA with each prior of new documents."""
    X, Y = SIMULATED, np.eye(3, dtype=int)[np.arange(40) % 3] | (np.arange(40) % 4 == 0)[:, None]
    for label_prior in ("uniform", "frequency", "dependency"):
        for sampler in ("fast", "gibbs") if label_prior == "dependency" else ("fast",):
            options = {"label_prior": label_prior, "dependency_sampler": sampler, "n_label_topics": 2, "n_shared": 1}
            lda = LabeledLDA(n_chains=2, n_draws=3, label_count=2, **options, **SEED).fit(X, Y)
            found = {"scores": lda.decision_function(NEW), "labels": lda.predict(NEW)}
            yield f"LabeledLDA, {label_prior}, {sampler}", attributes(lda) | found


def collapsed_variational():
    """CollapsedVariationalLDA by each method, and as a stream."""
    for method in ("batch", "online"):
        for learn in (False, True):
            options = {"learning_method": method, "learn_priors": learn, "max_iter": 6, "evaluate_every": 3, **SEED}
            lda = CollapsedVariationalLDA(4, **options).fit(SIMULATED)
            yield f"CollapsedVariationalLDA, {method}, learn_priors={learn}", attributes(lda) | applied(lda)
    lda = CollapsedVariationalLDA(4, total_samples=500, batch_size=20, **SEED).partial_fit(SIMULATED)
    yield "CollapsedVariationalLDA, chunks", attributes(lda) | applied(lda)


def empirical_bayes():
    """EmpiricalBayesLDA, and the functions of its paper."""
    common = {"max_iter": 80, "n_chains": 2, **SEED}
    grid = {"n_tuning": 20, "tempering": {"grid_shape": (5, 4)}, "functionals": {"largest": largest_share}, **common}
    alpha, eta = np.array([0.1, 0.3, 1.0]), np.array([0.1, 0.2, 0.5])

    def curve(found):
        region = found.confidence_region()
        return {
            "log_marginal_likelihood": found.log_marginal_likelihood(alpha, eta, return_std=True),
            "confidence_region": (region.center, region.covariance),
        }

    for lda in (EmpiricalBayesLDA(3, error_ratio=0.0, **common), EmpiricalBayesLDA(3, **SEED)):
        lda.fit(SIMULATED)
        yield f"EmpiricalBayesLDA, max_iter={lda.max_iter}", attributes(lda) | curve(lda) | applied(lda)
    for function in (empirical_bayes_paper.serial_tempering, empirical_bayes_paper.full_bayes):
        found = function(SIMULATED, 3, **grid)
        expectation = {"posterior_expectation": found.posterior_expectation("largest", alpha, eta)}
        yield f"papers.empirical_bayes.{function.__name__}", arrays(found) | curve(found) | expectation
    few = {"max_iter": 6, "n_chains": 2, **SEED}
    for prior in (None, [0.3] * 3):
        found = empirical_bayes_paper.gibbs_em(SIMULATED, 3, start=(prior, None), **few)
        yield f"papers.empirical_bayes.gibbs_em, doc_topic_prior={prior}", arrays(found)
    found = empirical_bayes_paper.variational_em(SIMULATED, 3, n_tuning=6, **few)
    yield "papers.empirical_bayes.variational_em", arrays(found)


def arrays(found):
    """What a Bunch has beside functions and models."""
    return {name: value for name, value in found.items() if not callable(value) and name != "model"}


def largest_share(doc_topic, topic_word):
    return doc_topic.max(axis=1).mean()


def topic_count():
    """TopicCountLDA with fixed and with unknown priors, and the sampler of the paper."""
    common = {"max_components": 3, "n_chains": 2, **SEED}
    paper = {"doc_topic_prior": "1/T", "topic_word_prior": "1/T"}
    for name, priors in (("fixed", paper), ("unknown", {})):
        lda = TopicCountLDA(min_components=1, **priors, **common).fit(SMALL)
        samples = lda.sample_posterior(2, random_state=0)
        kinds = "n_components", "topic_assignments", "doc_topic", "topic_word"
        found = {kind: samples[kind] for kind in kinds}
        yield f"TopicCountLDA, scan, {name} priors", attributes(lda) | found
    found = pmmh(SMALL, 1, 3, evidence="guided_ais", n_proposals=20, n_temperatures=10, **SEED)
    yield "papers.topic_count.pmmh", arrays(found)


def metrics():
    """The functions of sklda.metrics, and from_assignments."""
    lda = GibbsLDA(3, max_iter=20, topic_word_prior=0.1, **SEED).fit(SIMULATED)
    other = GibbsLDA(3, max_iter=20, topic_word_prior=0.2, random_state=1).fit(SIMULATED)
    for method in ("guided_ais", "document_completion"):
        found = held_out_log_likelihood(lda, NEW, method=method, n_temperatures=12, n_runs=2, return_std=True, **SEED)
        yield f"held_out_log_likelihood, {method}", {"estimate": found}
    yield "held_out_log_likelihood, exact", {"value": held_out_log_likelihood(lda, NEW, method="exact", **SEED)}
    found = compare_topic_models(lda, other, NEW, n_temperatures=10, **SEED)
    yield "compare_topic_models", {name: found[name] for name in ("log_ratio", "std")}
    yield (
        "papers.held_out.predictive_perplexity",
        {"value": held_out.predictive_perplexity(lda, NEW, NEW[::-1], n_sweeps=20, **SEED)},
    )
    for method in ("guided_ais", "ais"):
        found = log_evidence(SMALL, 2, method=method, n_temperatures=20, n_chains=2, **SEED)
        yield f"log_evidence, {method}", {"estimate": found}
    for method in ("cgs_transition", "chib", "harmonic_mean_z", "harmonic_mean_psi"):
        found = log_evidence_by_sweeps(SMALL, 2, method=method, n_chains=2, n_inner=5, **SEED)
        yield f"log_evidence_by_sweeps, {method}", {"estimate": found}
    yield "topic_coherence", {"value": topic_coherence(lda, SIMULATED)}
    yield "word_association", {"value": word_association(lda, cue=[0, 1])}
    for method in ("cgs_p", "cgs"):
        found = GibbsLDA.from_assignments(SIMULATED, lda.topic_assignments_, n_components=3, point_estimate=method)
        yield f"from_assignments, {method}", {"doc_topic": found.doc_topic_, "components": found.components_}


def papers_held_out():
    """The functions of sklda.papers.held_out."""
    lda = GibbsLDA(3, max_iter=20, topic_word_prior=0.1, **SEED).fit(SIMULATED)
    other = GibbsLDA(3, max_iter=20, topic_word_prior=0.2, random_state=1).fit(SIMULATED)
    for name, estimate, options in (
        ("ais, linear", held_out.ais, {"n_temperatures": 12}),
        ("ais, quadratic", held_out.ais, {"n_temperatures": 12, "schedule": "quadratic"}),
        ("left_to_right", held_out.left_to_right, {}),
        ("particle_filter", held_out.particle_filter, {}),
        ("chib", held_out.chib, {"n_states": 12}),
    ):
        yield f"papers.held_out.{name}", {"estimate": estimate(lda, NEW, n_runs=2, **options, **SEED)}
    for path in ("convex", "geometric"):
        found = held_out.ratio_ais(lda, other, NEW, path=path, n_temperatures=10, **SEED)
        yield f"papers.held_out.ratio_ais, {path}", {name: found[name] for name in ("log_ratio", "std")}
    models = [(lda.topic_word_, 0.1), (other.topic_word_, 0.1)]
    found = held_out.held_out_curve(models, NEW, n_temperatures=5, **SEED)
    yield "papers.held_out.held_out_curve", {name: found[name] for name in ("score", "log_likelihood", "std")}
    found = held_out.leave_one_out_score(lda, SIMULATED, rows=[0, 1, 2, 3], n_draws=10, n_temperatures=5, **SEED)
    yield "papers.held_out.leave_one_out_score", {name: found[name] for name in ("score", "log_likelihood", "std")}


PARTS = (
    gibbs,
    collapsed_variational,
    compound,
    covariates,
    labels,
    empirical_bayes,
    topic_count,
    metrics,
    papers_held_out,
)


def main(names):
    warnings.simplefilter("ignore")
    for part in PARTS:
        if names and part.__name__ not in names:
            continue
        for name, results in part():
            hashes = (f"{key}={digest(value)}" for key, value in results.items())
            print(f"{name}: {digest(results)}", *hashes, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
