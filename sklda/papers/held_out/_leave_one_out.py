"""Leave-one-out predictive likelihood: the likelihood of each document given all others, at given priors.

For document d, L_d = p(w_d | words of the others) = p(w) / p(words of the others) is a ratio of two normalising
constants. Let z be the topics of the other documents. Annealing over the topics of document d gives an unbiased
estimate of p(w_d | z), with theta and phi integrated out. Annealing in the reverse direction, from a draw given all
documents, gives an unbiased estimate of the inverse. So there are log weights f and b with

    E exp(f) = L_d       f from chains without the document,
    E exp(-b) = 1 / L_d  b from a chain with all documents.

Bennett's acceptance ratio (the optimal bridge of Meng & Wong) combines the two. Either direction can also be used
alone. The first is the direct Monte Carlo estimate of George & Doss, equation 5.1, whose logarithm is too low on
average. The second is the harmonic mean over one chain of all documents, whose logarithm is too high on average.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.parallel import in_parallel
from sklda._core.priors import Priors
from sklda._description.models import Description, has_covariates, inner_model
from sklda._input.arguments import check_int
from sklda._input.types import Counts, Model, Seed
from sklda._kernels import _leave_one_out
from sklda._kernels._leave_one_out import GUIDE_ROWS
from sklda._likelihood.held_out.averages import bennett, log_mean
from sklda._sampling.chain import ChainState
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.point_estimates import check_assignments

_TRIPLE = "(topic_assignments, doc_topic_prior, topic_word_prior)"
# CVB0 iterations that make the guide, and its strength at the first and the last temperature.
_GUIDE_ITERATIONS, _FIRST_STRENGTH, _LAST_STRENGTH = 10, 10.0, 0.01
# Tokens. A longer document is left out in pieces of about equal length, because the variance of the log weights grows
# with the number of tokens that are left out at a time.
_PIECE = 200
# Sweeps between two draws given all documents. One chain serves all documents, so more sweeps cost little.
_SWEEPS_PER_DRAW = 5
# Batches of draws for the jackknife.
_BATCHES = 5


def leave_one_out_score(
    estimator: Model,
    X: Counts,
    *,
    rows: ArrayLike | None = None,
    n_draws: int = 100,
    n_temperatures: int = 30,
    n_components: int | None = None,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> Bunch:
    """Mean log probability of each training document given all others, to compare priors and numbers of topics.

    For document d, L_d = p(w_d | words of all other documents), with topics, proportions and assignments integrated
    out. The score is the mean of log L_d over documents, in nats per document; greater is better. It is the logarithm
    of the S(h) of George & Doss (Section 5.2) and of the S(T) of Chen & Doss (posterior predictive checking). It
    depends on the priors and on the number of topics, not on point estimates. So it compares models in which priors
    and numbers of topics differ.

    Parameters
    ----------
    estimator : estimator, pipeline, or triple (topic_assignments, doc_topic_prior, topic_word_prior)
        A fitted `GibbsLDA`, a pipeline or search that has one, or the topic of every token with alpha and eta. The
        chains begin at these topics. The topics should come from a chain that has converged, because the score is that
        of the posterior around their mode.
    X : array-like or sparse matrix of shape (n_documents, n_features)
        Word counts, those that the model was fitted to; with a pipeline, its input.
    rows : array-like of int, default=None
        Documents to leave out. None: all. A document takes about ``1.5 n_draws`` sweeps over the corpus for every 200
        of its tokens. For a large corpus choose some documents at random, the same for all models.
    n_draws : int, default=100
        Draws of the chains, given all documents and given all but one. At least 10.
    n_temperatures : int, default=30
        Sweeps over a document in each annealing run.
    n_components : int, default=None
        Number of topics, only with a triple. None: one more than the largest topic given.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        An int gives the same result every time.
    n_jobs : int, default=None
        Documents that run at the same time, as in joblib; results do not depend on it.

    Returns
    -------
    sklearn.utils.Bunch
        - ``score``: mean over documents of ``log_likelihood``, nats.
        - ``std``: its Monte Carlo standard error, within the mode of the posterior in which the chains are.
        - ``log_likelihood`` (n_left_out,): log L_d, nats, without the multinomial coefficient; 0 for an empty document.
        - ``log_likelihood_std`` (n_left_out,): standard errors.
        - ``lower``, ``upper``: mean log-likelihoods from the chains without the document only, and from the chain with
          all documents only. They are on average too low and too high. A wide gap means that `n_draws` is too small.

    Raises
    ------
    ValueError
        If X is not a matrix of counts or not that of the fit or of the assignments, or an argument is out of range.
    TypeError
        If the model has labels, collections or covariates of documents, which this score does not know, or no topic
        assignments.

    Notes
    -----
    Given the topics of the other documents, the likelihood of a document is estimated without bias by annealing, with
    theta and phi integrated out. It goes forwards from chains without the document, and backwards from the chain of all
    documents. Both together give log L_d by Bennett's acceptance ratio. Documents of more than 200 tokens are left out
    piece by piece. The estimate is consistent; its bias is of the order of its squared error. The standard error is a
    jackknife over five batches of draws. It is too small if the draws of a chain are correlated over more than a fifth
    of it.

    References
    ----------
    George & Doss (2018). Principled selection of hyperparameters in the latent Dirichlet allocation model. JMLR 18.
    Equation 5.1.

    Chen & Doss. Inference for the number of topics in the latent Dirichlet allocation model via Bayesian mixture
    modelling. Equation 5.2.

    Bennett (1976). Efficient estimation of free energy differences from Monte Carlo data. J. Computational Physics 22.

    Examples
    --------
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.papers.held_out import leave_one_out_score
    >>> X = make_lda_corpus(30, 20, 3, doc_length=30, random_state=0).data
    >>> good, bad = (GibbsLDA(3, doc_topic_prior=alpha, topic_word_prior=0.1, random_state=0) for alpha in (0.1, 10))
    >>> good, bad = (leave_one_out_score(lda.fit(X), X, n_draws=20, random_state=0) for lda in (good, bad))
    >>> bool(good.score > bad.score)
    True
    """
    for name, value, least in (("n_draws", n_draws, 10), ("n_temperatures", n_temperatures, 1)):
        check_int(value, name, least)
    fingerprint, estimator = None, Description.of(estimator).estimator
    if isinstance(estimator, tuple):
        if len(estimator) != 3:
            raise ValueError(f"model is a tuple of {len(estimator)}; arrays are given as a triple {_TRIPLE}.")
        topic_assignments, doc_topic_prior, topic_word_prior = estimator
    else:
        estimator, X = inner_model(estimator, X, "topic_assignments_", f"fit a GibbsLDA, or give a triple {_TRIPLE}")
        if n_components is not None:
            raise ValueError("n_components is for a triple of arrays; an estimator has its own.")
        topic_assignments, n_components = estimator.topic_assignments_, len(estimator.components_)
        doc_topic_prior, topic_word_prior = estimator.doc_topic_prior_, estimator.topic_word_prior_
        fingerprint = getattr(estimator, "_fingerprint_", None)
        own_priors = hasattr(estimator, "classes_"), hasattr(estimator, "collections_"), has_covariates(estimator)
        for has, what in zip(own_priors, ("labels", "collections", "covariates"), strict=True):
            if has:
                raise TypeError(
                    f"{type(estimator).__name__} has {what} of documents, which this score does not know. Give "
                    "a GibbsLDA, "
                    f"or a triple {_TRIPLE}."
                )
    corpus = Corpus.from_counts(X)
    if fingerprint not in (None, corpus.fingerprint):
        raise ValueError("X is different from the X of the fit, to which the topics of its tokens belong.")
    assignments, n_components = check_assignments(topic_assignments, corpus, n_components)
    priors = Priors.make(doc_topic_prior, topic_word_prior, n_components, corpus.n_features, corpus.n_documents)
    documents = _checked_rows(rows, corpus)
    seed = random.seed_sequence(random_state)
    found = leave_one_out(
        GibbsChain(corpus, priors, ChainState(assignments, random.stream(random.child(seed, 0)))),
        documents,
        n_draws=n_draws,
        n_temperatures=n_temperatures,
        seed=random.child(seed, 1),
        n_jobs=n_jobs,
    )
    value, (lower, upper) = found.log_likelihood(), found.one_sided()
    replicates = found.jackknife()
    factor = np.sqrt(len(replicates) - 1)
    return Bunch(
        score=float(value.mean()),
        std=float(factor * replicates.mean(axis=1).std()),
        log_likelihood=value,
        log_likelihood_std=factor * replicates.std(axis=0),
        lower=float(lower.mean()),
        upper=float(upper.mean()),
    )


def _checked_rows(given, corpus):
    if given is None:
        return np.arange(corpus.n_documents)
    rows = np.asarray(given)
    if rows.ndim != 1 or not len(rows) or rows.dtype.kind not in "iu":
        raise ValueError(f"rows must be numbers of rows, got {given!r}.")
    bad = (rows < 0) | (rows >= corpus.n_documents)
    if bad.any():
        raise ValueError(f"rows holds {rows[bad][0]}; X has rows 0 to {corpus.n_documents - 1}.")
    return rows


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Log weights of the pieces of documents, in both directions."""

    documents: np.ndarray  # (n_left_out,)
    piece_documents: np.ndarray  # (n_pieces,): the position in `documents` of each piece
    # Log weights f and b (see above) given the earlier pieces of the document, (n_pieces, n_draws).
    forward: np.ndarray
    backward: np.ndarray

    def log_likelihood(self, draws=slice(None)):
        """log L_d by Bennett's acceptance ratio with the chosen draws, in nats; (n_left_out,).

        A probability is at most 1, so an estimate above 0 is set to 0.
        """
        return np.minimum(self._sum(bennett(self.forward[:, draws], self.backward[:, draws])), 0.0)

    def one_sided(self):
        """log L_d from the forward weights alone, and from the backward weights alone; two arrays (n_left_out,)."""
        return self._sum(log_mean(self.forward, axis=1)), self._sum(-log_mean(-self.backward, axis=1))

    def jackknife(self):
        """log L_d with each batch of draws left out in turn; (n_batches, n_left_out)."""
        n_draws = self.forward.shape[1]
        batch = np.arange(n_draws) * min(_BATCHES, n_draws) // n_draws
        return np.array([self.log_likelihood(batch != b) for b in range(batch[-1] + 1)])

    def _sum(self, values):
        return np.bincount(self.piece_documents, weights=values, minlength=len(self.documents))


def leave_one_out(chain, documents, *, n_draws=100, n_temperatures=30, seed, n_jobs=None):
    """Draw the log weights of documents, each of which is left out in turn; a `LeaveOneOut`.

    The chain, a `GibbsChain` after its burn-in, continues with all documents: 5 sweeps for each draw. For each document
    there is another chain without the document, whose initial state is a state of the first chain, with one sweep for
    each draw. Its burn-in has a quarter as many sweeps as there are draws.
    """
    corpus = chain.corpus
    strengths = np.geomspace(_FIRST_STRENGTH, _LAST_STRENGTH, n_temperatures)
    pieces = [_cut(corpus, d) for d in documents]
    rng = np.random.default_rng(random.child(seed, 0))
    last, initial = [], []
    blocks = np.array_split(np.arange(len(documents)), -(-len(documents) // 16))
    for draw in range(n_draws):
        for _ in range(_SWEEPS_PER_DRAW):
            chain.sweep()
        keys = rng.integers(2**64, size=len(documents), dtype=np.uint64)
        work = [[(documents[i], pieces[i], keys[i]) for i in block] for block in blocks]
        parts = in_parallel(_last_pieces, [(chain, each, strengths) for each in work], n_jobs)
        last.append(np.concatenate(parts))
        if (draw + 1) * _BATCHES % n_draws < _BATCHES:
            initial.append(chain.topics.copy())
    tasks = [
        (chain, d, initial[i % len(initial)], of_document, n_draws, strengths, random.child(seed, 1, int(d)))
        for i, (d, of_document) in enumerate(zip(documents, pieces, strict=True))
    ]
    parts = in_parallel(_leave_out, tasks, n_jobs)
    last = np.array(last).T
    return LeaveOneOut(
        documents=np.asarray(documents),
        piece_documents=np.repeat(np.arange(len(documents)), [len(of_document) for of_document in pieces]),
        forward=np.concatenate([forward for forward, _ in parts]),
        # The backward weights of the last piece of each document come from the chain with all documents.
        backward=np.concatenate([np.vstack([backward, row]) for (_, backward), row in zip(parts, last, strict=True)]),
    )


def _cut(corpus, d):
    """The token ranges of the pieces of a document. A short document has one piece, an empty one an empty piece."""
    first, last = int(corpus.offsets[d]), int(corpus.offsets[d + 1])
    edges = np.linspace(first, last, 1 + max(1, -(-(last - first) // _PIECE))).astype(int)
    return list(itertools.pairwise(edges.tolist()))


def _last_pieces(chain, work, strengths, stop):
    """Backward weights of the last pieces of documents, given all documents."""
    log_weights = np.empty(len(work))
    for i, (d, pieces, key) in enumerate(work):
        stop()
        log_weights[i] = -_anneal(chain, d, chain.corpus, pieces[-1], strengths, key, True)
    return log_weights


def _leave_out(chain, d, topics, pieces, n_draws, strengths, seed, stop):
    """Forward weights of all pieces, (n_pieces, n_draws), and backward weights of all but the last piece."""
    forward, backward = np.zeros((len(pieces), n_draws)), np.zeros((len(pieces) - 1, n_draws))
    corpus = chain.corpus
    if not corpus.lengths[d]:
        return forward, backward
    rng, stream = np.random.default_rng(random.child(seed, 0)), random.stream(random.child(seed, 1))
    end = corpus.offsets[d + 1]
    for j in reversed(range(len(pieces))):
        # The chain does not have the tokens of this piece and of later pieces.
        removed = np.s_[pieces[j][0] : end]
        offsets = corpus.offsets.copy()
        offsets[d + 1 :] -= end - pieces[j][0]
        rest = Corpus(np.delete(corpus.words, removed), offsets, corpus.n_features)
        without = GibbsChain(rest, chain.priors, ChainState(np.delete(topics, removed), stream))
        for i in range(-(n_draws // 4), n_draws):
            without.sweep(stop)
            if i >= 0:
                keys = rng.integers(2**64, size=2, dtype=np.uint64)
                forward[j, i] = _anneal(without, d, corpus, pieces[j], strengths, keys[0], False)
                if j:
                    backward[j - 1, i] = -_anneal(without, d, corpus, pieces[j - 1], strengths, keys[1], True)
        # The next chain continues from the end of this one, with one more piece removed.
        topics, stream = np.insert(without.topics, pieces[j][0], np.zeros(end - pieces[j][0], np.int32)), without.stream
    return forward, backward


def _anneal(chain, d, corpus, piece, strengths, key, backward):
    """Log weight of a piece of document d. If `backward`, the chain has these tokens; otherwise it does not."""
    first, last = piece
    if first == last:
        return 0.0
    priors = chain.priors
    # Only the rows of its words: those of the whole vocabulary would be made anew for every piece and draw.
    words, index = np.unique(corpus.words[first:last], return_inverse=True)
    counts = chain.rows.dense(words)
    K, (n_words, width) = priors.n_components, counts.shape
    prior = priors.doc_of([d])[0]
    # The topic counts of earlier pieces of the document are added to the prior of theta.
    prior = prior + np.bincount(chain.topics[corpus.offsets[d] : first], minlength=K)
    length = last - first
    log_weight = np.empty(1)
    _leave_one_out.evidence(
        index.astype(np.int32),
        np.array([0, length], np.int64),
        np.array([key]),
        prior[None],
        priors.word[words] if len(priors.word) else priors.word,
        priors.topic[words] if len(priors.topic) else priors.topic,
        priors.totals,
        counts,
        chain.topic_totals,
        chain.topics[first:last] if backward else np.empty(0, np.int32),
        strengths,
        _GUIDE_ITERATIONS,
        backward,
        log_weight,
        np.empty((4, length), np.int32),
        np.empty((n_words, width)),
        np.empty((2 * n_words + GUIDE_ROWS, width), np.float32),
        np.empty((n_words + 1, width), np.int32),
        np.empty((5, width)),
        np.empty(4, np.uint64),
    )
    return log_weight[0]
