"""What goes with what: all pairs of a model of chains and a capability, by fits; and the table of the page."""

import re
from inspect import signature
from pathlib import Path

import numpy as np
import pytest

import sklda
from sklda._models.capabilities import REFUSED
from sklda.datasets import make_compound_lda_corpus

# What a model can have beside its own prior of documents.
CAPABILITIES = {
    "seed_words": "seed words",
    "known_topics": "known topics",
    "vocabulary": "names of words",
    "doc_topic_prior": "a prior of the proportions that is given",
    "learn_priors='symmetric'": "one alpha that is learnt",
    "sampler": "samplers that use several cores",
    "init": "every first state",
    "merges and splits": "moves between modes",
    "tol": "an end when the log joint is flat",
    "n_chains": "several chains",
    "warm_start": "more sweeps later",
    "collections": "collections of documents",
    "covariates": "covariates of documents",
}
MODELS = "GibbsLDA", "CompoundLDA", "CovariateLDA", "HDPLDA", "TopicCountLDA", "DaskGibbsLDA"
PAGE = Path(__file__).parents[2] / "doc" / "start" / "which_estimator.rst"
made = make_compound_lda_corpus([30, 20], 40, 3, doc_length=40, random_state=0)
X, GROUPS = made.data, made.collections
WORDS = [f"word{v}" for v in range(40)]
SHORT = {"max_iter": 12, "n_draws": 2, "draw_every": 1, "random_state": 0}
OWN = {
    "CompoundLDA": {"collections": GROUPS},
    "HDPLDA": {"collections": GROUPS},
    "CovariateLDA": {"covariates": GROUPS},
}

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:The draws use up to:UserWarning"),
    pytest.mark.filterwarnings("ignore:(seed_words|Most tokens of the seed words):UserWarning"),
]


def fit(model, own=None, **parameters):
    own_count = {"HDPLDA": {"max_components": 12}, "TopicCountLDA": {"min_components": 4, "max_components": 4}}.get(
        model
    )
    lda = getattr(sklda, model)(**(own_count or {"n_components": 4}), **(SHORT | parameters))
    return lda.fit(X, **(OWN.get(model, {}) if own is None else own))


def has_seed_words(model):
    eta = fit(model, seed_words={1: {3: 5.0, 5: 2.0}}, topic_word_prior=0.1).topic_word_prior_
    return np.allclose(eta[1, [3, 5]], [5.1, 2.1]) and np.allclose(np.delete(eta, 1, axis=0), 0.1)


def has_known_topics(model):
    known = made.topic_word[:2]
    lda = fit(model, known_topics=known, known_weight=np.inf)
    return np.allclose(lda.topic_word_[:2], known, atol=1e-6) and lda.known_weight_.tolist() == [np.inf] * 2


def has_vocabulary(model):
    names = sklda.inspection.topic_table(fit(model, vocabulary=WORDS))
    return "word" in str(names)


def has_doc_topic_prior(model):
    fixed = {} if model == "TopicCountLDA" else {"learn_priors": False}
    few, many = (fit(model, doc_topic_prior=alpha, **fixed).doc_topic_ for alpha in (1e-3, 1e3))
    return few.max(axis=1).mean() > many.max(axis=1).mean()


def is_symmetric(model):
    return np.ndim(fit(model, learn_priors="symmetric").doc_topic_prior_) == 0


def has_samplers(model):
    kinds = "partitioned", "grouped", "partially_collapsed"
    return [fit(model, sampler=each).sampler_ for each in kinds] == list(kinds)


def has_inits(model):
    first = np.arange(X.sum()) % 4
    for init in ("anneal", "random", "sequential", "prune", "search", first, fit("GibbsLDA")):
        assert fit(model, init=init).topic_word_.shape == (4, 40)
    return True


def is_merged_and_split(model):
    return any(type(step).__name__ == "MergeAndSplit" for step in fit(model)._results_.states[0].steps)


def has_tol(model):
    return fit(model, tol=1e3, max_iter=400).n_iter_ < 400


def has_chains(model):
    lda = fit(model, n_chains=2)
    return len(lda.chains_) == 2 and lda.topic_stability_.shape == (len(lda.components_),)


def has_warm_start(model):
    lda = fit(model, warm_start=True)
    return lda.set_params(max_iter=5).fit(X, **OWN.get(model, {})).n_iter_ == 17


def has_collections(model):
    lda = fit(model, own={"collections": GROUPS})
    return not np.allclose(*lda.transform(X[[0, 0]], collections=lda.collections_[:2].tolist()))


def has_covariates(model):
    lda = fit(model, own={"covariates": GROUPS})
    return not np.allclose(*lda.transform(X[[0, 0]], covariates=[min(GROUPS), max(GROUPS)]))


TRIED = {
    "seed_words": has_seed_words,
    "known_topics": has_known_topics,
    "vocabulary": has_vocabulary,
    "doc_topic_prior": has_doc_topic_prior,
    "learn_priors='symmetric'": is_symmetric,
    "sampler": has_samplers,
    "init": has_inits,
    "merges and splits": is_merged_and_split,
    "tol": has_tol,
    "n_chains": has_chains,
    "warm_start": has_warm_start,
    "collections": has_collections,
    "covariates": has_covariates,
}


def test_the_table_has_all_pairs():
    assert set(TRIED) == set(CAPABILITIES)
    assert {model for model, _ in REFUSED} <= set(MODELS) and {what for _, what in REFUSED} <= set(CAPABILITIES)


@pytest.mark.parametrize("what", CAPABILITIES)
@pytest.mark.parametrize("model", [each for each in MODELS if each != "DaskGibbsLDA"])
def test_what_the_table_does_not_refuse_goes_together(model, what):
    if (model, what) not in REFUSED:
        assert TRIED[what](model)
        return
    if what == "merges and splits":
        assert not TRIED[what](model)
        return
    with pytest.raises((TypeError, ValueError)):
        TRIED[what](model)


def test_the_cluster_has_what_the_table_says():
    """Its fits are in `tests/cluster`."""
    taken = {*signature(sklda.DaskGibbsLDA).parameters, *signature(sklda.DaskGibbsLDA.fit).parameters}
    for what in CAPABILITIES:
        # It has two first states, and a prior of the proportions that may be learnt in both ways.
        if what.isidentifier() and what != "init":
            assert (what in taken) == (("DaskGibbsLDA", what) not in REFUSED)


def test_the_page_has_the_table():
    text = PAGE.read_text(encoding="utf-8")
    reasons = list(dict.fromkeys(REFUSED.values()))
    for number, reason in enumerate(reasons, 1):
        assert re.search(
            rf"\n{number}\. {re.escape(reason[0].upper() + reason[1:])}\.\n", re.sub(r"\n   ", " ", text)
        ), reason
    for what, words in CAPABILITIES.items():
        cells = [
            str(reasons.index(REFUSED[model, what]) + 1) if (model, what) in REFUSED else "yes" for model in MODELS
        ]
        assert f"   {words}, {', '.join(cells)}\n" in text, (words, cells)
