"""Chains for each number of topics by pruning: from more topics down, with one merge at a time."""

from math import ceil

from sklda._inference import random
from sklda._inference.parallel import in_parallel
from sklda._inference.sampling.initialisation import best_random_initialisation, merge

# First number of topics, relative to the largest number needed; chains from random topics, of which the best by log
# joint is pruned; sweeps of each; sweeps after a merge. With these, prunings found the truth on simulated corpora of 6
# and 20 topics (60,000 to 600,000 tokens), where random initialisations at that number ended hundreds of nats below.
_EXCESS, _RESTARTS, _FIRST_SWEEPS, _SWEEPS_AFTER_MERGE = 1.4, 2, 100, 15


def prune(corpus, rule, counts, seeds, n_jobs=None):
    """Prune independent chains, and return their states at several numbers of topics.

    Parameters
    ----------
    corpus : Corpus
    rule : PriorRule
    counts : list of int
        The numbers of topics.
    seeds : list of numpy.random.SeedSequence
        One for each pruning.
    n_jobs : int, default=None

    Returns
    -------
    priors : dict of {int: Priors}
        By number of topics: those of `rule`, or if learnt, the geometric means over the prunings.
    states : dict of {int: list of ChainState}
        By number of topics, one for each pruning.
    """
    found = in_parallel(_prune, [(corpus, rule, counts, seed) for seed in seeds], n_jobs)
    priors = {T: rule.mean([rules[T] for _, rules in found])(T) for T in counts}
    return priors, {T: [states[T] for states, _ in found] for T in counts}


def _prune(corpus, rule, counts, seed, stop):
    """The states of one pruning and its rules, as dicts by number of topics."""
    seeds = [random.child(seed, r) for r in range(_RESTARTS)]
    first = max(ceil(_EXCESS * max(counts)), max(counts) + 1)
    chain = best_random_initialisation(corpus, rule(first), seeds, _FIRST_SWEEPS, stop)
    states, rules = {}, {}
    while True:
        rule = rule.learn(chain)
        T = chain.priors.n_components
        if T in counts:
            states[T] = chain.state().compact(T)
            rules[T] = rule
        if min(counts) == T:
            break
        chain = merge(chain, rule(T - 1), _SWEEPS_AFTER_MERGE, stop)
    return states, rules
