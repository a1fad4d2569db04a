"""The log evidence of each number of topics, its standard error and its bias."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

from sklda._inference.evidence.combining import chain_means, combine_chains, without_failed_chains

# The variance between chains is estimated with the chains of this many neighbours on either side. The larger of two
# numbers of topics must be at most this many times the smaller one, plus the last number.
_NEIGHBOURS, _NEAR, _NEAR_PLUS = 2, 1.25, 2
# A variance between runs with fewer degrees of freedom is pooled with those of other numbers of topics.
_ENOUGH_FREEDOM = 30
# The downward bias of a single run is half the distance to a run back along its path. Without one, it is the gain by
# the last doubling of the temperatures times this ratio, between 1.0 and 1.8 on corpora of 2,400 to 600,000 tokens.
_BIAS_RATIO = 1.4
# The standard error of that bias, relative to it, and common to all numbers of topics with runs of one length.
_BIAS_STD = 0.25
# Chains are in different modes if the variance between them is this many times that of a run, and this many nats
# squared.
_DIFFERENT, _LEAST_DIFFERENCE = 2, 1
# Draws over the errors of the evidence, so that the simulation error of a posterior probability is below 0.008.
_N_DRAWS = 4000
# The smallest variance whose logarithm is taken, in nats squared.
_LEAST_VARIANCE = 1e-12


@dataclass(frozen=True, eq=False)
class CountEvidence:
    """The evidence of one number of topics, its priors and its chains.

    Attributes
    ----------
    priors : Priors
    states : list of ChainState
        The states of the chains.
    temperatures : int
        Length of the longest runs so far; `log_weights`, `ends` and `label_error` are those of these runs.
    log_weights : ndarray of shape (n_chains, n_runs) or None
        None before the first run.
    ends : list of ChainState
        The states at the ends of the runs, chain by chain.
    label_error : float
        The largest error of a sum over topic labels, in nats.
    biases : ndarray of shape (n_chains,) or None
        If there is one run from each chain, the downward biases of these runs; None: not known.
    """

    priors: object
    states: list
    temperatures: int = 0
    log_weights: np.ndarray | None = None
    ends: tuple = ()
    label_error: float = 0.0
    biases: np.ndarray | None = None

    def with_chains(self, states):
        """The same with more chains, which have no runs yet."""
        return replace(self, states=[*self.states, *states])

    def with_other_chains(self, states):
        """The same with other chains in place of these; the runs are kept until the others have some."""
        return replace(self, states=states)

    @property
    def in_different_modes(self):
        """Whether the chains' values differ by more than the errors of single runs explain."""
        if self.biases is None or len(self.biases) < 2:
            return False
        values = self.log_weights[:, 0] + self.biases
        return values.var(ddof=1) > max(_DIFFERENT * self.biases.mean(), _LEAST_DIFFERENCE)

    def with_runs(self, found, temperatures):
        """The same after runs from all chains, or from the last ones.

        Runs of all chains replace earlier ones. Runs of the last chains are added to those of the other chains, which
        must have as many runs.

        Parameters
        ----------
        found : Estimates
        temperatures : list of int
            Temperatures of the runs of each chain. The longest runs are used; shorter ones give their bias.
        """
        full = np.array(temperatures) == max(temperatures)
        log_weights, biases = found.log_weights[:, full], self._biases(found, full)
        ends = tuple(end for end, is_full in zip(found.ends, np.tile(full, len(found.states)), strict=True) if is_full)
        n_others = len(self.states) - len(found.states)
        label_error = found.label_error
        if n_others and self.log_weights is not None:
            log_weights = np.concatenate([self.log_weights, log_weights])
            ends, label_error = (*self.ends, *ends), max(self.label_error, label_error)
            known = biases is not None and self.biases is not None
            biases = np.concatenate([self.biases, biases]) if known else None
        states = [*self.states[:n_others], *found.states]
        return CountEvidence(self.priors, states, max(temperatures), log_weights, ends, label_error, biases)

    def with_more_runs(self, found):
        """The same with more runs, as long as these, from all chains."""
        n_chains = len(self.states)
        ends = [
            end
            for old, new in zip(
                np.array_split(np.arange(len(self.ends)), n_chains),
                np.array_split(np.arange(len(found.ends)), n_chains),
                strict=True,
            )
            for end in (*(self.ends[i] for i in old), *(found.ends[i] for i in new))
        ]
        return replace(
            self,
            states=found.states,
            log_weights=np.concatenate([self.log_weights, found.log_weights], axis=1),
            ends=tuple(ends),
            label_error=max(self.label_error, found.label_error),
            biases=None,
        )

    def _biases(self, found, full):
        """The biases of the longest runs, if each chain has one."""
        if full.sum() > 1:
            return None
        value = found.log_weights[:, full][:, 0]
        if found.upper is not None:
            return np.maximum(found.upper - value, 0) / 2
        shorter = self.log_weights if full.all() else found.log_weights[:, ~full]
        if shorter is None:
            return None
        gained = combine_chains(value[:, None]).value - combine_chains(shorter).value
        return np.full(len(value), _BIAS_RATIO * max(gained, 0.0))


@dataclass(frozen=True, eq=False)
class EvidenceTable:
    """Log evidence by number of topics, with its error.

    Attributes
    ----------
    counts : ndarray of shape (n_counts,)
    value, std, downward_bias : ndarray of shape (n_counts,)
        See `combining.Combined`.
    common_std : ndarray of shape (n_counts,)
        The part of `std` that all numbers of topics with runs of one length have in common.
    """

    counts: np.ndarray
    value: np.ndarray
    std: np.ndarray
    downward_bias: np.ndarray
    common_std: np.ndarray

    @classmethod
    def of(cls, by_count):
        """The table of a dict of `CountEvidence` by number of topics, ascending, all with runs."""
        rows = []
        for (T, evidence), within, freedom, others in zip(by_count.items(), *variances(by_count), strict=True):
            if evidence.biases is not None:
                # Half the distance of two runs, one in either direction, is their bias and the variance of their mean.
                moved = evidence.log_weights + evidence.biases[:, None]
                value = combine_chains(evidence.log_weights, 0.0).value
                corrected, std, _ = combine_chains(moved, 0.0, other_chains=others)
                own = evidence.biases.mean()
                # The distance is itself random: of a mean of b its variance is b. This is seldom below b.
                variance = own + np.sqrt(own) + 1 if T > 1 else 0.0
                std = np.hypot(np.nan_to_num(std), np.sqrt(variance / len(moved)))
                bias, common = max(corrected - value, 0.0), _BIAS_STD * own
            else:
                pooled = within if freedom else None
                value, std, bias = combine_chains(evidence.log_weights, pooled, other_chains=others)
                common = within / np.sqrt(2 * freedom) if freedom and bias else 0.0
            rows.append((value, np.sqrt(std**2 + common**2 + evidence.label_error**2), bias, common))
        return cls(np.array(list(by_count)), *np.array(rows).T)

    @property
    def corrected(self):
        """Log evidence plus its downward bias."""
        return self.value + self.downward_bias

    @property
    def own_std(self):
        """The part of `std` that is not common; 0 if `std` is not known."""
        return np.sqrt(np.maximum(np.nan_to_num(self.std) ** 2 - self.common_std**2, 0))

    def posterior_draws(self, log_prior, seed):
        """Draws of p(T | w) over the errors of the evidence, (n_draws, n_counts), by `log_prior` (n_counts,)."""
        rng, log_posterior = np.random.default_rng(seed), log_prior + self.corrected
        # Shorter runs have a larger common error, but they were compared with the best when its runs were as short.
        common = np.minimum(self.common_std, self.common_std[np.argmax(log_posterior)])
        noise = self.own_std * rng.standard_normal((_N_DRAWS, len(common)))
        noise += common * rng.standard_normal((_N_DRAWS, 1))
        return normalised(log_posterior + noise)


def variances(by_count):
    """Variances between runs and values of chains, for each number of topics.

    If there are few runs, the variance between them is pooled with that of other T with runs of the same length, as a
    power of T. The variance between chains is assumed to be that of neighbouring numbers of topics. A single topic has
    no variance, and is not pooled.

    Parameters
    ----------
    by_count : dict of {int: CountEvidence}
        Ascending.

    Returns
    -------
    within : ndarray of shape (n_counts,)
        Variance between runs of one chain.
    freedom : ndarray of shape (n_counts,)
        Degrees of freedom of a variance that is pooled; 0 if it is not.
    others : list of list of ndarray of shape (n_chains,)
        The values of the chains of neighbours.
    """
    counts, evidences = np.array(list(by_count)), list(by_count.values())
    log_weights = [without_failed_chains(evidence.log_weights) for evidence in evidences]
    length = np.array([evidence.temperatures for evidence in evidences])
    repeated = np.array([each.shape[1] > 1 for each in log_weights])
    within, freedom, others = np.zeros(len(counts)), np.zeros(len(counts)), []
    for n in np.unique(length):
        here = np.flatnonzero((length == n) & repeated & (counts > 1))
        if len(here):
            own = np.array([log_weights[i].var(axis=1, ddof=1).mean() for i in here])
            free = np.array([log_weights[i].size - len(log_weights[i]) for i in here])
            few = free < _ENOUGH_FREEDOM
            within[here] = np.where(few, _power_law(counts[here], own, free), own)
            freedom[here] = np.where(few, free.sum(), 0)
    for i, T in enumerate(counts):
        near = [j for j in range(i - _NEIGHBOURS, i + _NEIGHBOURS + 1) if 0 <= j < len(counts) and j != i]
        near = [j for j in near if max(T, counts[j]) <= _NEAR * min(T, counts[j]) + _NEAR_PLUS]
        others.append([chain_means(log_weights[j]) for j in near if min(T, counts[j]) > 1])
    return within, freedom, others


def _power_law(counts, variances, freedom):
    """Variances as a power of the number of topics, by least squares on logarithms; the exponent is shrunk to 1."""
    x, y = np.log(counts), np.log(np.maximum(variances, _LEAST_VARIANCE))
    weight = freedom / freedom.sum()
    dx, dy = x - weight @ x, y - weight @ y
    # The logarithm of a variance with f degrees of freedom has variance 2 / f; the exponent has the prior N(1, 1).
    precision = freedom / 2
    slope = (1 + (precision * dx) @ dy) / (1 + (precision * dx) @ dx)
    law = np.exp(slope * dx)
    return law * (weight @ variances) / (weight @ law)


def normalised(log_weights):
    """Weights that sum to one over the last axis."""
    return np.exp(log_weights - logsumexp(log_weights, axis=-1, keepdims=True))
