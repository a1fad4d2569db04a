"""``init="search"``: chains that begin in the modes that searches find."""

from sklda._core import random
from sklda._mode_search.redraw import REDRAW_SWEEPS
from sklda._mode_search.search import improve_modes
from sklda._sampling.annealed_start import annealed_chain
from sklda._sampling.chain import ChainState


def searched_chains(corpus, priors, seeds, n_jobs, kind, run):
    """Chains of class `kind` before their first sweep, each in the mode that a search from an annealed state finds.

    The searches are stages of `run`, and use `n_jobs` workers themselves.
    """
    priors.check_exchangeable("init='search' redraws groups of topics")
    starts = run.parallel(_annealed, [(corpus, priors, random.child(seed, 0)) for seed in seeds], n_jobs)
    found = [
        improve_modes(corpus, priors, [start], seed=random.child(seed, 1), n_jobs=n_jobs, run=run)[0][0].topics
        for start, seed in zip(starts, seeds, strict=True)
    ]
    states = [ChainState(z, random.stream(random.child(seed, 2))) for z, seed in zip(found, seeds, strict=True)]
    return [kind(corpus, priors, state) for state in states]


def _annealed(corpus, priors, seed, stop):
    return annealed_chain(corpus, priors, seed, stop, REDRAW_SWEEPS).topics
