"""Fitted attributes of compound LDA: mixtures, topics of an ascent, the number of topics in use and concentrations."""

import numpy as np

from sklda._chain_results import total_variance
from sklda._inference.compound.hdp_chain import RECORDED
from sklda._inference.diagnostics import std_of_proportions
from sklda._inference.sampling.run_chains import best_chain, log_joint_traces
from sklda._inference.warn import warn

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
        ([each[:, order] for each in chain.mixtures()], [pi[:, order] for pi in chain.shown_mixture_draws()])
        for chain, order in zip(chains, results.orders(), strict=True)
    ]
    means, stds = zip(*(moments for moments, _ in ordered), strict=True)
    draws = [pi for _, each in ordered for pi in each]
    return {
        "collection_topic_": means[results.best],
        "collection_topic_std_": std_of_proportions(total_variance(means, np.square(stds))),
        "collection_topic_draws_": np.array(draws).reshape(-1, *means[0].shape),
    }


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
    several = chains[0].model.n_collections > 1
    draws = {name: np.concatenate([chain.recorded(name) for chain in chains]) for name in RECORDED}
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
    found["collection_topic_prior_"] = float(draws["topic_concentration"].mean()) / chains[0].n_topics
    return found | {f"{name}_": float(each.mean()) for name, each in draws.items()} | {"concentration_draws_": draws}


def warn_of_truncation(chains, n_components):
    """Warn if the draws use more than half of the topics that the model has."""
    most = max(int(np.quantile(chain.recorded("topic_count"), _TAILS[1], method="inverted_cdf")) for chain in chains)
    if most > n_components / 2:
        warn(
            f"The draws use up to {most} of the n_components={n_components} topics, so the truncation matters: new "
            f"topics are made less often than in the HDP, by the share {most / n_components:.2f}. Fit with "
            f"n_components={5 * most}; topics that are not in use cost little."
        )
