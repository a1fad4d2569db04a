"""Known answers: default parameters on simulated corpora whose truth is known, and the coverage of each interval.

    python benchmarks/bench_truth.py --part topic_count --corpora 100 --jobs 2

Each part is a function of a seed that simulates a corpus, fits it and returns a dict of figures, and one that makes the
table of all seeds. Errors are in the unit of their quantity, times are CPU seconds.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from report import fitted, say, table
from scipy.special import stdtrit
from threadpoolctl import threadpool_limits
from truth_correlations import topic_correlations, topic_correlations_table
from truth_effects import (
    cluster_effects,
    effects_table,
    fits_and_common_topics,
    group_effects,
    mode_effects,
    periods,
    rare_category,
)
from truth_hdp import (
    hdp,
    hdp_of_collections,
    hdp_of_others,
    hdp_of_others_table,
    hdp_one_topic,
    hdp_table,
    new_hdp,
)
from truth_topic_count import topic_count, topic_count_of_shares, topic_count_of_sizes, topic_count_table
from truth_words import (
    author_ratios,
    authors,
    authors_table,
    check_of_the_model,
    check_of_the_model_table,
    few_words,
    few_words_table,
    group_lengths,
    group_lengths_table,
    log_ratios,
    log_ratios_table,
    planted_topics,
    planted_topics_table,
)

import sklda
from sklda import ConsensusTopics, GibbsLDA
from sklda._sampling.matching import match_distributions as matching
from sklda.datasets import load_docstrings, make_compound_lda_corpus, make_lda_corpus
from sklda.inspection import compare_topic_counts
from sklda.metrics import match_topics

# --- shares of topics, probabilities of words, learnt priors ----------------------------------------------------------


def matched(lda, corpus):
    """The fitted topics that belong to the true ones, an array."""
    return matching(corpus.topic_word, lda.topic_word_)[0]


def coverage(rows, names):
    """For each name: how often 0 is in the interval, with its error over corpora, and the ratio of error and spread."""
    found = []
    for name in names:
        z = [np.asarray(row[name]) for row in rows]
        inside = np.array([(np.abs(each) <= 1.96).mean() for each in z])
        spread = np.sqrt(np.mean(np.concatenate(z) ** 2))
        found.append([name, f"{inside.mean():.3f} +- {inside.std() / np.sqrt(len(z)):.3f}", f"{spread:.2f}"])
    return found


def shares(seed, options):
    """z-scores of the true shares of topics, by default draws and given the true priors: one chain, and four."""
    K, alpha = 5, 0.3
    sizes = {"doc_length": 50, "doc_topic_prior": alpha, "topic_word_prior": 0.1}
    corpus = make_lda_corpus(100, 200, K, **sizes, random_state=seed)
    true = np.bincount(corpus.topic_assignments, minlength=K) / corpus.data.sum()
    found = {}
    for n_chains in (1, 4):
        lda = GibbsLDA(K, doc_topic_prior=alpha, topic_word_prior=0.1, n_chains=n_chains, random_state=seed)
        lda, _ = fitted(lda.set_params(**options.parameters), corpus.data)
        order = matched(lda, corpus)
        found[f"{n_chains} chains"] = ((lda.topic_share_ - true[order.argsort()]) / lda.topic_share_std_).tolist()
    return found


def shares_table(found):
    header = ["topic_share_ +- 1.96 topic_share_std_", "coverage", "RMS z"]
    table("shares of topics", header, coverage(found, list(found[0])))


def word_quantiles(seed, options):
    """Whether 95 % quantiles of draws of phi contain the true one, for large words, by the number of draws."""
    K, alpha = 5, 0.3
    sizes = {"doc_length": 50, "doc_topic_prior": alpha, "topic_word_prior": 0.1}
    corpus = make_lda_corpus(100, 200, K, **sizes, random_state=seed)
    found = {}
    for n_draws, n_samples in ((15, 15), (15, 100), (15, 500), (50, 500)):
        lda = GibbsLDA(K, doc_topic_prior=alpha, topic_word_prior=0.1, n_draws=n_draws, draw_every=150 // n_draws)
        lda, _ = fitted(lda.set_params(random_state=seed, **options.parameters), corpus.data)
        true = corpus.topic_word[matched(lda, corpus).argsort()]
        draws = lda.sample_posterior(n_samples, random_state=seed).topic_word
        low, high = np.quantile(draws, [0.025, 0.975], axis=0)
        inside = ((low <= true) & (true <= high))[true > 0.02]
        found[f"{n_draws} kept, {n_samples} drawn"] = float(inside.mean())
    return found


def word_quantiles_table(found):
    rows = []
    for name in found[0]:
        values = np.array([each[name] for each in found])
        rows.append([name, f"{values.mean():.3f} +- {values.std() / np.sqrt(len(values)):.3f}"])
    table("quantiles of 95 % of words with phi > .02", ["draws", "coverage"], rows)


def learnt_priors(seed, options):
    """Learnt sum of alpha and eta, as shares of the truth, on weak corpora: 15 topics, 200 documents of 20 words."""
    K, h = 15, 0.3
    X = make_lda_corpus(200, 300, K, doc_length=20, doc_topic_prior=h, topic_word_prior=h, random_state=seed).data
    found = {}
    for kind, learn in (("asymmetric", True), ("symmetric", "symmetric")):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            lda = GibbsLDA(K, learn_priors=learn, random_state=seed).set_params(**options.parameters).fit(X)
        alpha = float(np.sum(np.broadcast_to(lda.doc_topic_prior_, K)))
        found[kind] = alpha / (K * h), float(lda.topic_word_prior_) / h, len(caught)
    return found


def learnt_priors_table(found):
    rows = []
    for kind in found[0]:
        alpha, eta, warned = np.array([each[kind] for each in found]).T
        spread = [f"{np.median(x):.2f} ({x.min():.2f} to {x.max():.2f})" for x in (alpha, eta)]
        rows.append([kind, *spread, f"{(warned > 0).sum():.0f} of {len(found)}"])
    table("learnt priors by the truth", ["learn_priors", "sum of alpha", "eta", "with a warning"], rows)


# --- standard deviations of proportions and mixtures, regions of priors -----------------------------------------------


def proportions(seed, options):
    """z-scores of true proportions and mixtures, if no topic is far from the true one; else of another mode."""
    K, found = 4, {}
    for estimator in ("GibbsLDA", "CompoundLDA", "EmpiricalBayesLDA"):
        sizes, given = {"doc_length": 60, "topic_word_prior": 0.05, "random_state": seed}, {}
        if estimator == "CompoundLDA":
            truth = make_compound_lda_corpus([60, 40, 20], 120, K, doc_concentration=1.0, **sizes)
            given = {"collections": truth.collections}
        else:
            truth = make_lda_corpus(120, 120, K, doc_topic_prior=0.25, **sizes)
        lda = getattr(sklda, estimator)(K, **{"n_chains": 2} | options.parameters, random_state=seed)
        lda, _ = fitted(lda, truth.data, **given)
        order, distances = matching(truth.topic_word, lda.topic_word_)
        mode = "" if distances.max() < 0.3 else ", another mode"
        for name in ("doc_topic", "collection_topic") if given else ("doc_topic",):
            mean, std = (getattr(lda, f"{name}{end}")[:, order] for end in ("_", "_std_"))
            found[f"{estimator}, {name}{mode}"] = ((mean - getattr(truth, name)) / std).tolist()
    return found


def proportions_table(found):
    names = sorted({name for each in found for name in each})
    rows = [coverage([each for each in found if name in each], [name])[0] for name in names]
    counts = [str(sum(name in each for each in found)) for name in names]
    header = ["estimate +- 1.96 std", "coverage", "RMS z", "corpora"]
    table("proportions and mixtures", header, [[*row, count] for row, count in zip(rows, counts, strict=True)])


def regions(seed, options):
    """Whether the 95 % statistical region of EmpiricalBayesLDA contains the priors that made the corpus."""
    truth = {"doc_topic_prior": 0.3, "topic_word_prior": 0.5}
    X = make_lda_corpus(60, 20, 2, doc_length=30, **truth, random_state=seed).data
    lda, seconds = fitted(sklda.EmpiricalBayesLDA(2, **options.parameters, random_state=seed), X)
    return {"inside": bool(lda.confidence_region(0.95, "statistical").contains(**truth)), "seconds": seconds}


def regions_table(found):
    inside, seconds = (np.mean([each[name] for each in found]) for name in ("inside", "seconds"))
    rows = [[str(len(found)), f"{inside:.2f}", f"{seconds:.2f}"]]
    table("regions of 95 % of alpha and eta", ["corpora", "inside", "CPU s"], rows)


# --- topics that are none ---------------------------------------------------------------------------------------------


def empty_topics(seed, options):
    """Thirty topics for twenty, in four chains and in eight fits, and ten topics of one Zipf distribution."""
    sizes = {"doc_length": 80, "doc_topic_prior": 0.05, "topic_word_prior": 0.05}
    truth = make_lda_corpus(500, 1000, 20, **sizes, random_state=seed)
    found = {}
    for name, given in (("learnt", {}), ("given", {"learn_priors": False, **dict(list(sizes.items())[1:])})):
        lda, _ = fitted(GibbsLDA(30, n_chains=4, random_state=seed, **given), truth.data)
        true, stability = _are_true(truth.topic_word, lda.topic_word_), lda.topic_stability_
        # A comparison with NaN is False.
        found |= {f"{name} empty, .5": int((stability[~true] >= 0.5).sum()), f"{name} empty": int((~true).sum())}
        found |= {f"{name} empty, .7": int((stability[~true] >= 0.7).sum())}
        found |= {f"{name} true, .7": int((stability[true] >= 0.7).sum()), f"{name} true": int(true.sum())}
        lda = GibbsLDA(30, max_iter=200, **given)
        model, _ = fitted(ConsensusTopics(lda, n_splits=0, random_state=seed), truth.data)
        true = _are_true(truth.topic_word, model.topic_word_)
        found |= {f"{name} consensus, empty": int((~true).sum()), f"{name} consensus, true": int(true.sum())}
    for n_features in (300, 1000, 3000):
        p = 1 / np.arange(1, n_features + 1)
        X = np.random.default_rng(seed).multinomial(60, p / p.sum(), size=300)
        model, _ = fitted(ConsensusTopics(GibbsLDA(10), n_splits=0, random_state=seed), X)
        found[f"one distribution, {n_features} words"] = int(model.n_components_)
    return found


def _are_true(truth, topics):
    """Which topics are at a distance of at most 0.5 from a true one."""
    return match_topics(topics, truth).distances.min(axis=1) <= 0.5 if len(topics) else np.zeros(0, bool)


def empty_topics_table(found):
    rows = [[name, f"{np.mean([each[name] for each in found]):.1f}"] for name in found[0]]
    table(f"topics of {len(found)} corpora, means", ["topics", "number"], rows)


# --- errors over folds ------------------------------------------------------------------------------------------------

# Documents, words, true topics, tokens of a document, standard deviation of their logarithm, alpha, eta, fitted topics.
FOLDS = {
    "6 topics": (200, 200, 6, 40, 0, 0.2, 0.1, [4, 6, 8]),
    "6 topics, unequal lengths": (200, 200, 6, 40, 1, 0.2, 0.1, [4, 6, 8]),
    "5 topics that are easy to find": (300, 400, 5, 60, 0, 0.1, 0.05, [4, 5, 7]),
    "12 topics": (200, 300, 12, 30, 0, 0.2, 0.15, [8, 12, 16]),
    "docstrings, 400 of 1,638 documents": None,
}
MEASURES = "score", "gain", "coherence", "exclusivity", "found_again", "found_share"


def found_again(seed, options):
    """`compare_topic_counts` of corpora from the same topics, or of documents of the same corpus."""
    found = {}
    for name, shape in FOLDS.items():
        rng, numbers = np.random.default_rng(seed), [15]
        if shape is None:
            X = load_docstrings().data
            X = X[rng.permutation(X.shape[0])[:400]]
        else:
            n_documents, n_features, T, length, spread, alpha, eta, numbers = shape
            topics = np.random.default_rng(0).dirichlet(np.full(n_features, eta), T)
            theta = rng.dirichlet(np.full(T, alpha), n_documents)
            lengths = np.maximum(length * np.exp(spread * rng.standard_normal(n_documents)), 2).astype(int)
            X = np.array([rng.multinomial(n, each @ topics) for n, each in zip(lengths, theta, strict=True)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = compare_topic_counts(GibbsLDA(max_iter=80), X, numbers, random_state=seed).counts
        for row in table.to_dict("records"):
            found[f"{name}, fitted {row['n_components']}"] = row
    return found


def found_again_table(found):
    """Errors by the spread over corpora, and how often intervals by Student's t contain the mean of other corpora."""
    rows = []
    for name in found[0]:
        for measure in MEASURES:
            values, errors = (np.array([each[name][key] for each in found]) for key in (measure, f"{measure}_std"))
            if np.isnan(values).any():
                continue
            spread, stated = values.std(ddof=1), np.sqrt(np.mean(errors**2))
            others = (values.sum() - values) / (len(values) - 1)
            covers = np.mean(np.abs(values - others) <= stdtrit(found[0][name]["n_fits"] - 1, 0.975) * errors + 1e-9)
            numbers = f"{values.mean():.3f}", f"{spread:.4f}", f"{stated:.4f}", f"{stated / spread:.2f}"
            rows.append([f"{name}, {measure}", *numbers, f"{np.median(errors) / spread:.2f}", f"{covers:.2f}"])
    header = ["corpus, measure", "mean", "spread", "stated", "ratio", "median ratio", "covers"]
    table(f"errors over four folds, {len(found)} corpora", header, rows)


# --- all parts --------------------------------------------------------------------------------------------------------

PARTS = {
    "topic_count": (topic_count, topic_count_table),
    "topic_count_of_shares": (topic_count_of_shares, topic_count_table),
    "topic_count_of_sizes": (topic_count_of_sizes, topic_count_table),
    "shares": (shares, shares_table),
    "proportions": (proportions, proportions_table),
    "regions": (regions, regions_table),
    "word_quantiles": (word_quantiles, word_quantiles_table),
    "learnt_priors": (learnt_priors, learnt_priors_table),
    "hdp": (hdp, hdp_table),
    "new_hdp": (new_hdp, hdp_table),
    "hdp_one_topic": (hdp_one_topic, hdp_table),
    "hdp_of_others": (hdp_of_others, hdp_of_others_table),
    "hdp_of_collections": (hdp_of_collections, hdp_of_others_table),
    "empty_topics": (empty_topics, empty_topics_table),
    "found_again": (found_again, found_again_table),
    "cluster_effects": (cluster_effects, effects_table("intervals of no effect of a property of sources")),
    "group_effects": (group_effects, effects_table("intervals of no difference of a group")),
    "rare_category": (rare_category, effects_table("intervals of coefficients of a category")),
    "periods": (periods, effects_table("intervals of mean proportions by period")),
    "mode_effects": (mode_effects, effects_table("intervals of effects of a number")),
    "fits_and_common_topics": (fits_and_common_topics, effects_table("errors of effects by those of single fits")),
    "topic_correlation": (topic_correlations, topic_correlations_table),
    "check_of_the_model": (check_of_the_model, check_of_the_model_table),
    "group_lengths": (group_lengths, group_lengths_table),
    "authors": (authors, authors_table),
    "author_ratios": (author_ratios, log_ratios_table),
    "planted_topics": (planted_topics, planted_topics_table),
    "log_ratios": (log_ratios, log_ratios_table),
    "few_words": (few_words, few_words_table),
}


def one(part, seed, options):
    with threadpool_limits(1):
        found = PARTS[part][0](seed, options)
    say(part, seed, found)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=list(PARTS), default="topic_count")
    parser.add_argument("--corpora", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--parameters", type=json.loads, default={}, help="of the estimator, as JSON; none: defaults")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.corpora)
    found = Parallel(options.jobs)(delayed(one)(options.part, seed, options) for seed in seeds)
    PARTS[options.part][1](found)
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
