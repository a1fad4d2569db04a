"""A chain of a fit that goes on with new documents: what the words of all documents say of their topics."""

from dataclasses import replace

import numpy as np

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.gibbs_em import BOUNDS, MStep
from sklda._sampling.chain import ChainState, KeptDraws
from sklda._sampling.choice import chain_class
from sklda._sampling.draws import at_draws

# Sweeps before the first draw, draws, and sweeps from one to the next. With topics of 100 documents and 600 new ones,
# of which nine tenths of the outcome are known, coverage was .91; with 60, 20 and 4 it was .87, with 40 draws .91.
_BURN_IN, _N_DRAWS, _BETWEEN = 100, 20, 10
# Sweeps between two updates of alpha, and the draws that the last of these uses.
_EVERY, _LAST_DRAWS = 5, 6


def draws_with_new_documents(corpus, draws, new, alpha, topics, *, learns_alpha, seed):
    """Draws of the topics of all tokens, of the documents of a fit and of new ones.

    Documents of the fit that are among the new ones take part once.

    Parameters
    ----------
    corpus : Corpus
        That of the fit.
    draws : KeptDraws
        Of the fit. The chain begins with the last one, and has its eta.
    new : Corpus
    alpha : ndarray of shape (1 or n_new_documents, n_components)
        Of the new documents.
    topics : ndarray of shape (n_new_tokens,), int32
        The first topics of the tokens of the new documents; -1 for a word that no topic has.
    learns_alpha : bool
        Whether the alpha of the new documents, which is one row, is learnt from them.
    seed : numpy.random.SeedSequence

    Returns
    -------
    both : Corpus
        The new documents are the last ones.
    found : KeptDraws
    """
    before = next(at_draws(corpus, draws.last(1), 1))
    # As many of equal documents as there are among the new ones.
    keys, n_copies = np.unique(new.document_keys(0), return_counts=True)
    own = corpus.document_keys(0)
    place = np.minimum(np.searchsorted(keys, own), len(keys) - 1)
    others = np.flatnonzero(corpus.copies() >= np.where(keys[place] == own, n_copies[place], 0))
    is_other = np.zeros(corpus.n_documents, bool)
    is_other[others] = True
    both = Corpus.joined([corpus.take(others), new])
    topics = np.concatenate([before.topics[np.repeat(is_other, corpus.lengths)], np.maximum(topics, 0)])

    n_rows = len(before.priors.doc)
    of_others = before.priors.row_of[others] if len(before.priors.row_of) else np.zeros(len(others), np.int32)
    of_new = n_rows + (np.arange(new.n_documents) if len(alpha) > 1 else np.zeros(new.n_documents))
    rows = np.concatenate([of_others, of_new]).astype(np.int32)
    priors = replace(before.priors, doc=np.concatenate([before.priors.doc, alpha]), row_of=rows)
    state = ChainState(topics.astype(np.int32), random.stream(seed))
    chain = chain_class("collapsed", both, priors)(both, priors, state)

    m_step, statistics = MStep((BOUNDS, None), per_topic=bool(np.ptp(alpha[0]) > 0)), []
    for i in range(1, _BURN_IN + 1):
        chain.sweep()
        if learns_alpha and i % _EVERY == 0:
            own_priors = replace(before.priors, doc=chain.priors.doc[-1:], row_of=rows[:0])
            own_topics = chain.topics[both.n_tokens - new.n_tokens :]
            own = chain_class("collapsed", new, own_priors)(new, own_priors, ChainState(own_topics, state.stream))
            statistics = [*statistics, m_step.statistics(own)][-_LAST_DRAWS:]
            log_h = m_step.maximum(statistics if i == _BURN_IN else statistics[-1:], m_step.present(own))
            m_step.set(own, log_h)
            doc = np.concatenate([chain.priors.doc[:-1], own.priors.doc])
            chain.priors = replace(chain.priors, doc=doc)
    for _ in range(_N_DRAWS):
        for _ in range(_BETWEEN):
            chain.sweep()
        chain.keep_draw(_N_DRAWS)
    return both, KeptDraws(chain.priors, chain.draws)
