"""The chains with which the estimate of m(h) begins: near the posterior of (h, z), in the best modes of z.

The posterior of z has modes that chains do not leave, and each mode has its own maximum of m(h). So after a burn-in
better modes are searched from every chain, and the chains continue in the modes with the highest evidence. On larger
corpora that would cost too much: the chains continue where they are.
"""

import time
from dataclasses import dataclass, field

import numpy as np

from sklda._inference import random
from sklda._inference.hyperparameters.burn_in import SettledChain, burn_in, grid_around, settle, sweep_on_grid, union
from sklda._inference.hyperparameters.marginal_likelihood import Curve
from sklda._inference.modes.mode_evidence import NEGLIGIBLE, can_tell_modes_apart, log_mode_weights
from sklda._inference.modes.search import improve_modes
from sklda._inference.parallel import in_parallel
from sklda._inference.priors import Priors
from sklda._inference.sampling.annealed_start import ANNEAL_SWEEPS
from sklda._inference.sampling.choice import chain_class
from sklda._inference.sampling.collapsed import ChainState
from sklda._inference.sampling.initialisation import initialise_chains

# Up to this many tokens, chains begin annealed, at an h that a first chain has found. With more that would cost too
# much: they begin with random topics, and h is fixed in this share of the first sweeps, in which the topics form.
_FEW_TOKENS, _FIXED = 50_000, 1 / 3
# Modes are searched on corpora with this many tokens, and if this many temperatures would tell modes apart. With fewer
# tokens chains leave modes by themselves.
_SEARCHED, _TEMPERATURES = (2_000, 60_000), 200
# The largest number of rounds of the burn-in.
_ROUNDS = 2
# There are no topics to find if K V eta or K D alpha is this many times the number of tokens.
_SOME_TIMES = 3.0
# Stages of `n_tuning` sweeps of every fit.
_STAGES = 4


@dataclass(frozen=True, eq=False)
class ModeSearch:
    """The result of the search.

    Attributes
    ----------
    chains : list of GibbsChain
    agree : bool
        Whether the chains have the same distribution.
    curve : Curve
        A first estimate of m(h), from these chains.
    region : pair of (float, float)
        h within 3.5 standard deviations of the maximum of `curve`.
    no_topics : bool
        Whether there are no topics to find: at the maximum, topics or documents are nearly equal.
    log_evidence : ndarray of shape (n_chains,)
        log p(w | h) at a common h, of the modes found by the search, in nats. Empty if there was none.
    log_evidence_std : float
        Standard error of a value.
    """

    chains: list
    agree: bool
    curve: Curve
    region: tuple
    no_topics: bool = False
    log_evidence: np.ndarray = field(default_factory=lambda: np.empty(0))
    log_evidence_std: float = np.nan


def search_modes(pool, seed):
    """Initialise chains, burn them in, and move them to better modes.

    Parameters
    ----------
    pool : ChainPool
        It has the corpus, the first h, the box that is searched, and `n_tuning`: the sweeps of the first round of the
        burn-in. Its chains are not used.
    seed : numpy.random.SeedSequence

    Returns
    -------
    ModeSearch
    """
    corpus, within, n_sweeps = pool.corpus, pool.settings.region, pool.settings.n_tuning
    K, evidence = pool.priors.n_components, {}
    start = time.process_time()
    chains, n_made = _initialise(pool, seed)
    _say_cost(pool, (time.process_time() - start) / n_made)
    tasks = [(chain, within, n_sweeps, random.child(seed, 3, c)) for c, chain in enumerate(chains)]
    settled = in_parallel(settle, tasks, pool.n_jobs)
    few, many = _SEARCHED
    searchable = few <= corpus.n_tokens <= many and can_tell_modes_apart(corpus, K, _TEMPERATURES)
    found = burn_in(settled, within, n_sweeps, random.child(seed, 4), pool.n_jobs, 1 if searchable else _ROUNDS)
    pool.say(f"burn-in: chains {'agree' if found.agree else 'do not agree yet'} about {_described(found.region)}")
    slow, no_topics = False, _no_topics(found, corpus, K)
    if searchable and not no_topics:
        pool.say("search between modes of the topic assignments")
        log_reference = np.median([SettledChain.of(each.chain).log_h for each in found.settled], axis=0)
        priors, starts = _symmetric(log_reference, corpus, K), [each.chain.topics for each in found.settled]
        modes = improve_modes(corpus, priors, starts, seed=random.child(seed, 5), n_jobs=pool.n_jobs)
        values, std = np.array([mode.log_evidence for mode in modes]), max(mode.std for mode in modes)
        evidence = {"log_evidence": values, "log_evidence_std": std}
        pool.say(f"log evidence of the best modes: {', '.join(f'{x:.1f}' for x in values)}, each +- {std:.1f} nats")
        settled, slow = _in_best_modes(pool, found, priors, log_reference, modes, seed)
        found = burn_in(settled, within, n_sweeps, random.child(seed, 7), pool.n_jobs, _ROUNDS)
    # Chains without records of their burn-in.
    chains = [_chain(corpus, each.chain.priors, each.chain.topics, each.chain.stream) for each in found.settled]
    return ModeSearch(chains, found.agree or slow, found.curve, found.region, no_topics, **evidence)


def _no_topics(found, corpus, n_components):
    """Whether the priors are certainly some times the counts: topics or documents are then nearly equal."""
    least = np.array(found.region)[:, 0] * n_components * [corpus.n_features, corpus.n_documents]
    return bool((least > _SOME_TIMES * corpus.n_tokens).any())


def _initialise(pool, seed):
    """Annealed chains at an h that a first chain has found, or random ones if the corpus is large; and their sweeps."""
    corpus, n_sweeps, K = pool.corpus, pool.settings.n_tuning, pool.priors.n_components
    seeds = [random.child(seed, 2, c) for c in range(pool.n_chains)]
    kind = chain_class("collapsed", corpus, pool.priors)
    if corpus.n_tokens <= _FEW_TOKENS:
        scout = kind.initialise_randomly(corpus, pool.priors, random.child(seed, 0))
        log_h = settle(scout, pool.settings.region, n_sweeps // 2, random.child(seed, 1)).log_h
        priors, inits = _symmetric(log_h, corpus, K), ["anneal"] * len(seeds)
        chains = initialise_chains(corpus, priors, seeds, inits, pool.n_jobs, kind)
        return chains, n_sweeps // 2 + ANNEAL_SWEEPS * len(seeds)
    chains = [kind.initialise_randomly(corpus, pool.priors, each) for each in seeds]
    n_fixed = round(_FIXED * n_sweeps)
    return in_parallel(_swept, [(chain, n_fixed) for chain in chains], pool.n_jobs), n_fixed * len(chains)


def _say_cost(pool, seconds):
    """State the expected cost, given the CPU seconds of one sweep of one chain."""
    settings = pool.settings
    # Settling, one or two rounds of burn-in, one or two stages on the grid, and the sweeps at the maximum.
    least = (_STAGES * settings.n_tuning) * pool.n_chains
    most = least + settings.max_iter * pool.n_chains
    pool.say(
        f"expected: {least} to {most} sweeps of {pool.corpus.n_tokens} tokens with {pool.n_chains} chains, about "
        f"{least * seconds:.1f} to {most * seconds:.1f} CPU seconds; more if chains are in different modes"
    )


def _described(region):
    (eta_low, eta_high), (alpha_low, alpha_high) = region
    return f"doc_topic_prior {alpha_low:.3g} to {alpha_high:.3g}, topic_word_prior {eta_low:.3g} to {eta_high:.3g}"


def _swept(chain, n_sweeps, stop):
    chain.sweeps(n_sweeps, stop)
    return chain


def _in_best_modes(pool, found, priors, log_reference, modes, seed):
    """Settled chains in the modes whose weight is not negligible, in turn; and whether their evidence is the same."""
    grid = grid_around(union(found.settled), pool.settings.region, pool.corpus, priors.n_components)

    def settled_in(modes, first):
        tasks = []
        for c, mode in enumerate(modes, first):
            chain = _chain(pool.corpus, priors, mode.topics, random.stream(random.child(seed, 6, c)))
            tasks.append((chain, grid, pool.settings.n_tuning, random.child(seed, 8, c)))
        return [SettledChain.of(chain) for chain in in_parallel(sweep_on_grid, tasks, pool.n_jobs)]

    settled, std = settled_in(modes, 0), max(mode.std for mode in modes)
    # The weight of a mode is its evidence at its own best h. Its curve gives the difference from the common h.
    reference = np.exp(log_reference)
    rises = [each.curve.log_ratio(*np.exp(each.log_h)[:, None], reference)[0][0] for each in settled]
    log_weights = log_mode_weights(np.array([mode.log_evidence for mode in modes]) + rises, std)
    best = [int(c) for c in np.argsort(-log_weights, kind="stable") if log_weights[c] > np.log(NEGLIGIBLE)]
    again = [modes[best[i % len(best)]] for i in range(pool.n_chains - len(best))]
    return [settled[c] for c in best] + (settled_in(again, len(modes)) if again else []), not log_weights[best].any()


def _chain(corpus, priors, topics, stream):
    return chain_class("collapsed", corpus, priors)(corpus, priors, ChainState(topics, stream))


def _symmetric(log_h, corpus, n_components):
    eta, alpha = (float(x) for x in np.exp(log_h))
    return Priors.make(alpha, eta, n_components, corpus.n_features)
