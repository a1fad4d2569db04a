"""Initialisation of chains, the search between modes included."""

from sklda._core import random
from sklda._mode_search.redraw import REDRAW_SWEEPS
from sklda._mode_search.search import improve_modes
from sklda._sampling import initialisation
from sklda._sampling.annealed_start import NOT_ANNEALED, Annealing, anneal
from sklda._sampling.chain import ChainState
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.initialisation import check_exchangeable, initialise_chain, weights_of_model
from sklda._sampling.point_estimates import check_assignments
from sklda._sampling.run_chains import NO_RUN

INITS = (*initialisation.INITS, "search")


def start_of(init, X, corpus, n_components, n_sweeps, burn_in=None, seed_words=None):
    """The start of the chains of a fit, as `initialise_chains` takes it, and their annealed sweeps.

    Parameters
    ----------
    init : str, array-like or fitted model
    X : array-like or sparse matrix
        What the model transforms.
    corpus : Corpus
    n_components : int
    n_sweeps : int
        Number of sweeps of the fit. With ``"anneal"``, the first ones are annealed.
    burn_in : int, default=None
        Its burn-in, if it is given.
    seed_words : SeedWords, default=None
        They make the first state, without annealed sweeps, in which seeds are lost to other topics.

    Returns
    -------
    init : str, SeedWords, ndarray or (ndarray, ndarray)
    annealing : Annealing

    Raises
    ------
    ValueError
        If `init` is another first state than that of the seeds.
    """
    if seed_words is not None:
        if not isinstance(init, str) or init not in ("anneal", "random"):
            shown = f"init={init!r}" if isinstance(init, str) else "init, an array or a model,"
            raise ValueError(
                f"{shown} is another first state than that of seed_words, which put their tokens into their topics: "
                "leave init out, or seed_words."
            )
        return seed_words, NOT_ANNEALED
    if isinstance(init, str):
        return ("random", Annealing.within(n_sweeps, burn_in)) if init == "anneal" else (init, NOT_ANNEALED)
    # A Series of pandas has a method of this name.
    if not hasattr(init, "transform") or hasattr(init, "__array__"):
        return check_assignments(init, corpus, n_components, "init")[0], NOT_ANNEALED
    return weights_of_model(init, X, corpus, n_components), NOT_ANNEALED


def initialise_chains(corpus, priors, seeds, init, n_jobs=None, kind=GibbsChain, run=NO_RUN):
    """Initialise chains with the same target.

    Parameters
    ----------
    corpus : Corpus
    priors : Priors
        ``"prune"`` and ``"search"`` need topics with equal priors.
    seeds : list of numpy.random.SeedSequence
        One for each chain.
    init : {"random", "sequential", "anneal", "prune", "search"}, SeedWords, ndarray or (ndarray, ndarray)
        As in `initialise_chain`. ``"search"``: every chain begins in the mode that a search of its own finds from an
        annealed state.
    n_jobs : int, default=None
        Number of chains at a time, as in joblib. A search uses so many workers itself.
    kind : type, default=GibbsChain
        The class of the chains.
    run : Run, optional
        The work is stages of it.

    Returns
    -------
    list of `kind`
        Their ``n_sweeps`` is 0.
    """
    how = init if isinstance(init, str) else "given"
    if how == "prune":
        check_exchangeable(priors, "init='prune' merges topics")
    if how != "search":
        tasks = [(init, corpus, priors, seed, kind) for seed in seeds]
        return run.parallel(initialise_chain, tasks, n_jobs, always_in_threads=False)
    check_exchangeable(priors, "init='search' redraws groups of topics")
    starts = run.parallel(_annealed, [(corpus, priors, random.child(seed, 0)) for seed in seeds], n_jobs)
    found = [
        improve_modes(corpus, priors, [start], seed=random.child(seed, 1), n_jobs=n_jobs, run=run)[0].topics
        for start, seed in zip(starts, seeds, strict=True)
    ]
    states = [ChainState(z, random.stream(random.child(seed, 2))) for z, seed in zip(found, seeds, strict=True)]
    return [kind(corpus, priors, state) for state in states]


def _annealed(corpus, priors, seed, stop):
    return anneal(corpus, priors, seed, stop, REDRAW_SWEEPS).topics
