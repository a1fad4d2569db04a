"""New chains at a number of topics, and their runs."""

from functools import partial

from sklda._inference.evidence.estimates import runs_of_chain
from sklda._inference.sampling.annealed_start import anneal
from sklda._inference.sampling.initialisation import prune

# Least sweeps in which a chain before runs is annealed, relative to those of the first runs (no unit), also if the
# budget shortens these. With 600,000 tokens and 20 topics, four chains of 72 sweeps ended 4,000 to 34,000 nats below
# those of 144, which differed by 1,500.
_START_SHARE = 0.5


def start_sweeps(settings, n_sweeps):
    """Sweeps of an annealed chain before runs of this length."""
    return max(n_sweeps, int(_START_SHARE * settings.n_sweeps))


# The kinds of new chains at a number of topics, in turn. On simulated corpora with fewer topics than are true, annealed
# chains end in modes 50 to 1,000 nats below those of pruned ones; on some real corpora pruned ones end lower.
_STARTS = prune, anneal


def run_chain(corpus, priors, settings, n_sweeps, kind, seed, stop):
    """`Runs` of a new chain."""
    start = partial(_STARTS[kind % len(_STARTS)], n_sweeps=start_sweeps(settings, n_sweeps))
    return runs_of_chain(corpus, priors, settings, n_sweeps, start, seed, stop)


def learn_chain(corpus, rule, T, n_sweeps, seed, stop):
    """A new annealed chain's rule, with the priors that it learns, and its state."""
    chain = anneal(corpus, rule(T), seed, stop, n_sweeps)
    return rule.learn(chain), chain.state().compact(T)
