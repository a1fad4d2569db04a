"""What models whose topics are drawn by Gibbs chains cannot have, and why: one table, for errors and for the page.

Everything that is not in it goes together. The page "Which estimator" shows it, and `tests/models/test_capabilities.py`
tries all pairs.
"""

from typing import Any

_NO_VALUES = (
    "its documents have one prior; CompoundLDA and HDPLDA take collections, CovariateLDA takes covariates, and "
    "topic_effects has effects of covariates after any fit"
)
_MIXTURES = "the prior of a document, gamma pi_j, has a mixture that differs between topics"
_EXCHANGED = "its topics must be exchangeable: which of them are in use is drawn"
_ON_WORKERS = "the topics of the tokens are on the workers, and it needs all of them in one place"
_ONE_CHAIN = "the workers hold one chain, and lose it when the fit ends"

# The reason by model and capability.
REFUSED = {
    ("GibbsLDA", "collections"): _NO_VALUES,
    ("GibbsLDA", "covariates"): _NO_VALUES,
    ("CompoundLDA", "doc_topic_prior"): "doc_concentration and collection_topic_prior are its priors of proportions",
    ("CompoundLDA", "learn_priors='symmetric'"): _MIXTURES,
    ("CompoundLDA", "covariates"): "its documents have the prior of their collection; CovariateLDA takes covariates",
    ("CovariateLDA", "learn_priors='symmetric'"): "alpha differs between topics and documents",
    ("CovariateLDA", "collections"): "a collection is a category: give it as a covariate",
    ("HDPLDA", "seed_words"): _EXCHANGED,
    ("HDPLDA", "known_topics"): _EXCHANGED,
    ("HDPLDA", "doc_topic_prior"): "its concentrations are its priors of proportions",
    ("HDPLDA", "learn_priors='symmetric'"): _MIXTURES,
    ("HDPLDA", "sampler"): "its sweeps take only the topics that are in use",
    ("HDPLDA", "init"): "a chain begins with more topics than there are, and merges them",
    ("HDPLDA", "merges and splits"): "it has merges of its own, which change the number of topics",
    ("HDPLDA", "covariates"): "its documents have the prior of their collection; CovariateLDA takes covariates",
    ("TopicCountLDA", "seed_words"): _EXCHANGED,
    ("TopicCountLDA", "known_topics"): _EXCHANGED,
    ("TopicCountLDA", "learn_priors='symmetric'"): "priors that are not given are drawn; share_concentration='equal'",
    ("TopicCountLDA", "sampler"): "its sweeps take only the topics that are in use",
    ("TopicCountLDA", "init"): "a chain begins with more topics than there are, and merges them",
    ("TopicCountLDA", "merges and splits"): "it has moves of its own, which change the number of topics",
    ("TopicCountLDA", "collections"): _NO_VALUES,
    ("TopicCountLDA", "covariates"): _NO_VALUES,
    ("DaskGibbsLDA", "known_topics"): _ON_WORKERS,
    ("DaskGibbsLDA", "sampler"): "its sampler is that whose documents are independent given phi",
    ("DaskGibbsLDA", "init"): _ON_WORKERS,
    ("DaskGibbsLDA", "merges and splits"): _ON_WORKERS,
    ("DaskGibbsLDA", "n_chains"): _ONE_CHAIN,
    ("DaskGibbsLDA", "warm_start"): _ONE_CHAIN,
    ("DaskGibbsLDA", "collections"): _NO_VALUES,
    ("DaskGibbsLDA", "covariates"): _NO_VALUES,
}


def not_taken(model: str, name: str) -> TypeError:
    """An argument that a model does not take, and why; a model that is not in the table has one prior, as GibbsLDA."""
    reason = REFUSED.get((model, name), REFUSED.get(("GibbsLDA", name)))
    return TypeError(f"{model} does not take {name!r}{f': {reason}' if reason else ''}.")


def refuse_symmetric(model: Any) -> None:
    """Raise a ValueError if `learn_priors` of a model is "symmetric", and it cannot have one alpha."""
    reasons = (REFUSED.get((kind.__name__, "learn_priors='symmetric'")) for kind in type(model).__mro__)
    if model.learn_priors == "symmetric" and (reason := next(filter(None, reasons), None)):
        raise ValueError(f"learn_priors='symmetric' is not possible: {reason}. Give learn_priors=True or False.")
