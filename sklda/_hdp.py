"""Fitted attributes of a hierarchical Dirichlet process: the number of topics in use, and the concentrations."""

import numpy as np

from sklda._inference.compound.hdp_chain import RECORDED
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
            f"The draws use up to {most} of the n_components={n_components} topics, so the truncation matters: with u "
            f"topics in use, new ones are made less often than in the HDP, by the share u / n_components. Fit with "
            f"n_components={10 * most}; topics that are not used cost little."
        )
