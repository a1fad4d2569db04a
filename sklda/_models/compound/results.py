"""Fitted attributes of compound LDA: mixtures, the number of topics in use and concentrations."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sklda._core.diagnostics import std_of_proportions
from sklda._input.names import listed, read_labels
from sklda._input.warn import warn
from sklda._models.compound.concentrations import SMALLEST_HDP_ETA
from sklda._models.compound.hdp import RECORDED
from sklda._models.results import FEWEST_SWEEPS, TAILS, total_variance

# R-hat of the number of topics from which a fit gets a warning. Default fits whose intervals contain the truth have a
# median of 1.25.
_LARGE_R_HAT = 1.5


def corpus_mixture(mixtures, collections, corpus):
    """The mixture of the corpus: the mean of those of the collections, weighted by their documents with words."""
    weights = np.bincount(collections[corpus.lengths > 0], minlength=len(mixtures))
    return weights @ mixtures / weights.sum()


def check_same_collections(labels, collections, labels_before, collections_before):
    """Refuse a warm start if the collections of the documents are not those of the previous fit."""
    for d, (j, before) in enumerate(zip(collections, collections_before, strict=True)):
        now, then = (known[i : i + 1].tolist()[0] for known, i in ((labels, j), (labels_before, before)))
        if now != then:
            raise ValueError(
                f"warm_start=True continues the previous fit, in which collections[{d}] was {then!r}, but now it "
                f"is {now!r}. Fit with warm_start=False to begin again."
            )


def mixtures_of_chains(results):
    """Means, standard deviations and draws of the mixtures, with the topics of all chains in the same order, a dict."""
    means, stds, draws = (results.in_order(f"collection_topic_{name}") for name in ("", "std_", "draws_"))
    return {
        "collection_topic_": means[results.best],
        "collection_topic_std_": std_of_proportions(total_variance(means, np.square(stds))),
        "collection_topic_draws_": np.concatenate(draws),
    }


def mixtures_of(fitted, collections):
    """The mixture of the collection of every document, (n_documents, n_components); of the corpus for None."""
    index = {label: j for j, label in enumerate(fitted.collections_.tolist())}
    index[None] = len(index)
    mixtures = np.vstack([fitted.collection_topic_, fitted.corpus_topic_])
    labels = read_labels(collections, "collections", may_be_missing=True)
    for d, label in enumerate(labels):
        if label not in index:
            raise ValueError(
                f"collections[{d}] = {label!r} is not a collection of the fit, which had "
                f"{listed(fitted.collections_.tolist())}. Give None for a document of unknown collection."
            )
    return mixtures[[index[label] for label in labels]]


def _recorded(results, name):
    """A quantity after every sweep of the draws of each chain; after the last one if there are no such sweeps."""
    return [
        trace[: state.n_sweeps][-max(state.n_sweeps - state.n_burn_in, 1) :]
        for trace, state in zip(results.traces[name], results.states, strict=True)
    ]


def hdp_attributes(results):
    """From the sweeps after the burn-in of all chains, a dict."""
    draws = {name: np.concatenate(_recorded(results, name)) for name in RECORDED if name in results.traces}
    found = {}
    for name in ("topic_count", "large_topic_count"):
        counts = draws.pop(name).astype(int)
        low, high = np.quantile(counts, TAILS, method="inverted_cdf")
        found |= {
            f"{name}_draws_": counts,
            f"{name}_mean_": float(counts.mean()),
            f"{name}_interval_": (int(low), int(high)),
        }
    return found | {f"{name}_": float(each.mean()) for name, each in draws.items()} | {"concentration_draws_": draws}


def warn_of_truncation(results, n_components):
    """Warn if the draws use more than half of the topics that the model has."""
    counts = _recorded(results, "topic_count")
    most = max(int(np.quantile(each, TAILS[1], method="inverted_cdf")) for each in counts)
    if most > n_components / 2:
        warn(
            f"The draws use up to {most} of the max_components={n_components} topics, so the truncation matters: new "
            f"topics are made less often than in the HDP, by the share {most / n_components:.2f}. Fit with "
            f"max_components={5 * most}; topics that are not in use cost little."
        )


def warn_of_smallest_eta(results):
    """Warn if all chains learnt the smallest eta that they can learn, so that the number of topics follows from it."""
    # A bound of the logarithm has a rounding error.
    if all(record["topic_word_prior_"] < 1.0001 * SMALLEST_HDP_ETA for record in results.records):
        warn(
            f"topic_word_prior was learnt and is at its smallest value, {SMALLEST_HDP_ETA}: topics have few words, or "
            "words are repeated within documents more often than in the model, as in most real texts. With such "
            "repetitions, the number of topics depends on this value and is not a property of the corpus: "
            "give topic_word_prior to choose how finely topics are divided. With a larger one there are fewer topics."
        )


def warn_of_unsettled_count(results):
    """Warn if the number of topics in use differs between chains, or between the halves of their draws."""
    counts, r_hat = results.traces["topic_count"][:, results.n_burn_in :], results.diagnostics["topic_count"].r_hat
    n = counts.shape[1]
    if n < FEWEST_SWEEPS or not r_hat > _LARGE_R_HAT:
        return
    first, last = counts[:, : n // 2].mean(), counts[:, n // 2 :].mean()
    # A change of less than half a standard deviation says nothing about the direction.
    bias = (
        "" if abs(last - first) < counts.std() / 2 else f", so it is probably too {'high' if last < first else 'low'}"
    )
    means = counts.mean(axis=1)
    chains = f" Means of the chains are from {means.min():.1f} to {means.max():.1f}." if len(means) > 1 else ""
    warn(
        f"The number of topics in use has not settled: its R-hat is {r_hat:.2f}. Its mean is {first:.1f} in the first "
        f"half of the draws and {last:.1f} in the second{bias}.{chains} Its interval may be too narrow. Make "
        "max_iter larger, or n_chains. Chains can agree on the number and have different topics: topic_prevalence_ has "
        "the part of the chains that have each topic.",
        ConvergenceWarning,
    )
