"""Fitted attributes of compound LDA: mixtures, topics of an ascent, the number of topics in use and concentrations."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sklda._chain_results import total_variance
from sklda._inference.compound.hdp import RECORDED, HDPMixtures, shown_draws, shown_mixtures
from sklda._inference.diagnostics import std_of_proportions
from sklda._inference.sampling.run_chains import best_chain, log_joint_traces
from sklda._inference.warn import warn
from sklda._labels import as_list, listed

# R-hat of the number of topics from which a fit gets a warning. Default fits whose intervals contain the truth have a
# median of 1.25. With fewer sweeps R-hat is unreliable.
_LARGE_R_HAT, _FEWEST_SWEEPS = 1.5, 50
# Tail probabilities of credible intervals.
_TAILS = 0.025, 0.975
NEEDED = dict.fromkeys(
    (
        "topic_count_draws_",
        "topic_count_mean_",
        "topic_count_interval_",
        "large_topic_count_draws_",
        "large_topic_count_mean_",
        "large_topic_count_interval_",
        "topic_concentration_",
        "concentration_draws_",
    ),
    "needs collection_topic_prior='hdp'",
) | {"collection_concentration_": "needs collection_topic_prior='hdp' and several collections"}


def mixture_attributes(chains, results):
    """Means, standard deviations and draws of the mixtures, with the topics of all chains in the same order."""
    ordered = [
        ([each[:, order] for each in shown_mixtures(chain)], [pi[:, order] for pi in shown_draws(chain)])
        for chain, order in zip(chains, results.orders(), strict=True)
    ]
    means, stds = zip(*(moments for moments, _ in ordered), strict=True)
    draws = [pi for _, each in ordered for pi in each]
    return {
        "collection_topic_": means[results.best],
        "collection_topic_std_": std_of_proportions(total_variance(means, np.square(stds))),
        "collection_topic_draws_": np.array(draws).reshape(-1, *means[0].shape),
    }


def mixtures_of(fitted, collections):
    """The mixture of the collection of every document, (n_documents, n_components); of the corpus for None."""
    index = {label: j for j, label in enumerate(fitted.collections_.tolist())}
    index[None] = len(index)
    mixtures = np.vstack([fitted.collection_topic_, fitted.corpus_topic_])
    labels = as_list(collections)
    for d, label in enumerate(labels):
        if label not in index:
            raise ValueError(
                f"collections[{d}] = {label!r} is not a collection of the fit, which had "
                f"{listed(fitted.collections_)}. Give None for a document of unknown collection."
            )
    return mixtures[[index[label] for label in labels]]


def ascent_attributes(ascents):
    """Topics and topic proportions of the best variational ascent."""
    traces = log_joint_traces(ascents)
    found = {"log_joint_trace_": traces, "n_iter_": traces.shape[1], "best_chain_": best_chain(ascents)}
    best = ascents[found["best_chain_"]]
    theta = best.doc_topic / best.doc_topic.sum(axis=1, keepdims=True)
    found |= {
        "components_": best.topic_word_parameter.copy(),
        "doc_topic_": theta,
        "topic_share_": best.corpus.lengths @ theta / best.corpus.n_tokens,
        "doc_concentration_": best.gamma,
        "_chain_states_": [each.state() for each in ascents],
        "_fingerprint_": best.corpus.fingerprint,
    }
    return found if best.eta is None else found | {"topic_word_prior_": best.eta}


def hdp_attributes(chains):
    """From the sweeps after the burn-in of all chains, a dict."""
    steps = [chain.step(HDPMixtures) for chain in chains]
    several = steps[0].model.n_collections > 1
    draws = {name: np.concatenate([step.recorded(name) for step in steps]) for name in RECORDED}
    found = {}
    for name in ("topic_count", "large_topic_count"):
        counts = draws.pop(name).astype(int)
        low, high = np.quantile(counts, _TAILS, method="inverted_cdf")
        found |= {
            f"{name}_draws_": counts,
            f"{name}_mean_": float(counts.mean()),
            f"{name}_interval_": (int(low), int(high)),
        }
    if not several:
        del draws["collection_concentration"]
    found["collection_topic_prior_"] = float(draws["topic_concentration"].mean()) / len(steps[0].log_base)
    return found | {f"{name}_": float(each.mean()) for name, each in draws.items()} | {"concentration_draws_": draws}


def warn_of_truncation(chains, n_components):
    """Warn if the draws use more than half of the topics that the model has."""
    draws = [chain.step(HDPMixtures).recorded("topic_count") for chain in chains]
    most = max(int(np.quantile(each, _TAILS[1], method="inverted_cdf")) for each in draws)
    if most > n_components / 2:
        warn(
            f"The draws use up to {most} of the n_components={n_components} topics, so the truncation matters: new "
            f"topics are made less often than in the HDP, by the share {most / n_components:.2f}. Fit with "
            f"n_components={5 * most}; topics that are not in use cost little."
        )


def warn_of_unsettled_count(results):
    """Warn if the number of topics in use differs between chains, or between the halves of their draws."""
    counts, r_hat = results.traces["topic_count"][:, results.n_burn_in :], results.diagnostics["topic_count"].r_hat
    n = counts.shape[1]
    if n < _FEWEST_SWEEPS or not r_hat > _LARGE_R_HAT:
        return
    first, last = counts[:, : n // 2].mean(), counts[:, n // 2 :].mean()
    # A change of less than half a standard deviation says nothing about the direction.
    bias = (
        "" if abs(last - first) < counts.std() / 2 else f", so it is probably too {'high' if last < first else 'low'}"
    )
    warn(
        f"The number of topics in use has not settled: its R-hat is {r_hat:.2f}, and its mean is {first:.1f} in the "
        f"first half of the draws and {last:.1f} in the second{bias}. Its interval may be too narrow. Make max_iter "
        "larger, or n_chains.",
        ConvergenceWarning,
    )
