"""theta of documents under a fit: posterior draws and means, and errors that documents have in common.

All that is asked of a model is asked through its `View`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pandas import DataFrame
from scipy.sparse import csr_array
from scipy.special import digamma

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.diagnostics import FEWEST_DRAWS
from sklda._core.priors import SMALLEST
from sklda._core.rounding import rounding
from sklda._description.models import topics_with_words
from sklda._description.view import View, lacks
from sklda._input.warn import warn
from sklda._likelihood.held_out.proportion_draws import draw_proportions
from sklda._likelihood.held_out.token_topics import draw_topics
from sklda._sampling.draws import FEWEST_EFFECTIVE, at_draws, effective_number, posterior_means
from sklda._sampling.new_documents import draws_with_new_documents
from sklda._sampling.prior_learning import LEAST_TOKENS

# Draws of theta for errors.
N_DRAWS = 50
# Sweeps over a document for each draw of theta, for documents that the model was not fitted to.
_FOLD_IN_SWEEPS = 30
# Documents of each model that are simulated for the attenuation, which then has an error of about .02.
_SIMULATED = 2000
# Draws of the topics of a model without chains, and of theta given each.
_TOPIC_DRAWS, _DRAWS_EACH = 8, 5
# Sweeps given the topics, by which the tokens of documents that a chain does not have begin.
_FIRST_SWEEPS = 30
# The smallest number of draws of theta, of which variances and estimates are computed.
_FEWEST_DRAWS = 10


@dataclass(frozen=True, eq=False)
class ThetaDraws:
    """Draws of theta of documents.

    Attributes
    ----------
    view : View
    used : ndarray of shape (n_used,)
        Rows of the documents in X.
    theta : iterator of (n_used, n_topics)
        NaN in the columns of topics that a fit does not have.
    has_topics : ndarray of shape (n_chains, n_topics), bool
        Which topics every chain or fit has. None has a topic without words of its own.
    """

    view: View
    used: np.ndarray
    theta: Iterator[np.ndarray]
    has_topics: np.ndarray


def theta_draws(found: View, used: np.ndarray, seed: Any, n_draws: int = N_DRAWS) -> ThetaDraws:
    """Draws of theta of the documents `used`: at least one of each chain or fit, because a topic may be in few of them.

    For the documents of a fit by this package, they are posterior draws of all chains in turn; a chain that does not
    have a topic has none of it. For other documents and models, the topics of all tokens are drawn given phi and alpha
    of the model, and theta given these. The draws of common topics are those of the fits in turn. A model that has no
    prior of theta has one draw: the proportions themselves.
    """
    fits = found.fits() if found.has_counts else []
    if fits:
        n_draws, n_fits = max(n_draws, len(fits)), len(fits)
        parts = [
            theta_draws(own, used, random.child(seed, f), n_draws // n_fits + (f < n_draws % n_fits)).theta
            for f, (own, _) in enumerate(fits)
        ]
        members = [members for _, members in fits]
        theta = (summed(next(parts[i % n_fits]), members[i % n_fits]) for i in range(n_draws))
        return ThetaDraws(found, used, theta, np.array([each.any(axis=0) for each in members]))
    # Common topics have the draws of their fits.
    if found.is_of_fit and found.has_draws and hasattr(found.model, "_draw_doc_topic"):
        has_topics = found.model._has_topics()
        theta = found.model._draw_doc_topic(max(n_draws, len(has_topics)), seed)
        return ThetaDraws(found, used, (each[used] for each in theta), has_topics & _with_words(found))
    has_topics = _with_words(found)[None]
    if found.has_counts and found.alpha is not None:
        corpus, phi, alpha = _prior_of(found, used)
        return ThetaDraws(found, used, _folded_in(corpus, phi, alpha, n_draws, seed), has_topics)
    proportions: Any = found.doc_topic
    return ThetaDraws(found, used, iter([np.asarray(proportions[used], dtype=np.float64)]), has_topics)


def _with_words(found):
    """Which topics have words of their own, (n_topics,) bool."""
    model = found.model
    return np.ones(found.n_topics, bool) if model is None else topics_with_words(model, model.components_)


def summed(theta: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Proportions of common topics, from those of a fit; NaN for topics that it does not have."""
    return np.where(members.any(axis=0), theta @ members, np.nan)


def _prior_of(found, used):
    """The corpus of the documents `used`, phi and their alpha."""
    alpha = np.maximum(found.alpha, SMALLEST)
    return found.corpus.take(used), found.topic_word, alpha[used] if len(alpha) > 1 else alpha


def prior_knows(found: View, used: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Which columns of a linear model the prior of theta has, in all fits of common topics, (n_columns,)."""
    return np.all([own.prior_knows(used, matrix) for own, _ in found.fits() or [(found, None)]], axis=0)


def attenuations(found: View, used: np.ndarray, weights: np.ndarray | None, seed: Any, topics: Any) -> np.ndarray:
    """The part of an effect on each of some topics that the prior leaves, (n_rows,).

    These are the slopes of the proportions of simulated documents on those that they are simulated from. They contain
    what the prior takes from an effect, and what is lost because words do not tell topics apart. The proportions of a
    topic that all documents have alike have no slope: it is that of documents whose topics are known.
    """
    products, squares = np.zeros((2, len(topics)))
    known = []
    for f, (own, of_common) in enumerate(found.fits() or [(found, np.eye(found.n_topics))]):
        if own.alpha is None or not own.has_counts:
            return np.ones(len(topics))
        corpus, phi, alpha = _prior_of(own, used)
        part = corpus.lengths / (corpus.lengths + alpha.sum(axis=1))
        # The proportions of a document with one topic are known.
        known.append(np.average(np.where((alpha > SMALLEST).sum(axis=1) == 1, 1, part), weights=weights))
        seed_of = seed if own is found else random.child(seed, f)
        before, after = (summed(each, of_common > 0) for each in _simulated(corpus, phi, alpha, seed_of, weights))
        before, after = before[:, topics], after[:, topics]
        deviation = before - before.mean(axis=0)
        products += np.nan_to_num(deviation * after).sum(axis=0)
        squares += np.nan_to_num(deviation**2).sum(axis=0)
    varies = squares > rounding(1.0)
    return np.where(varies, np.clip(products / np.where(varies, squares, 1), 0, 1), np.mean(known))


def _folded_in(corpus, phi, alpha, n_draws, seed):
    documents, rng = corpus.token_documents, np.random.default_rng(random.child(seed, 0))
    # Equal documents have draws of their own: the errors of a common one would be larger in sums of them.
    copies = corpus.copies()
    for i in range(n_draws):
        key = random.key(random.child(seed, 1, i))
        topics = draw_topics(corpus, phi, alpha, n_sweeps=_FOLD_IN_SWEEPS, seed=key, copies=copies)
        counts = np.zeros((corpus.n_documents, len(phi)))
        known = topics >= 0
        np.add.at(counts, (documents[known], topics[known]), 1)
        yield np.exp(random.log_dirichlet(rng, counts + alpha))


def _simulated(corpus, phi, alpha, seed, weights):
    """Theta of documents chosen at random, and of documents whose words are drawn from it, less its mean."""
    rng, n_documents = np.random.default_rng(random.child(seed, 2)), _SIMULATED
    if weights is None or (weights == weights[0]).all():
        rows = np.sort(rng.choice(corpus.n_documents, n_documents, replace=corpus.n_documents < n_documents))
    else:
        rows = np.sort(rng.choice(corpus.n_documents, n_documents, p=weights / weights.sum()))
    alpha = np.broadcast_to(alpha, (corpus.n_documents, len(phi)))[rows]
    theta = next(_folded_in(corpus.take(rows), phi, alpha, 1, random.child(seed, 3)))
    theta /= theta.sum(axis=1, keepdims=True)
    by_topic = rng.multinomial(corpus.lengths[rows], theta)
    # Topic by topic.
    documents = np.concatenate([np.repeat(np.arange(n_documents), each) for each in by_topic.T])
    sizes = by_topic.sum(axis=0)
    words = np.concatenate([rng.choice(len(row), n, p=row / row.sum()) for row, n in zip(phi, sizes, strict=True)])
    counts = csr_array((np.ones(len(words), int), (documents, words)), (n_documents, phi.shape[1]))
    # The means of the prior are not shrunk.
    mean = alpha / alpha.sum(axis=1, keepdims=True)
    return theta - mean, next(_folded_in(Corpus.from_counts(counts), phi, alpha, 1, random.child(seed, 4))) - mean


@dataclass(frozen=True, eq=False)
class LearntPrior:
    """An alpha that was learnt, and how the shares of documents depend on it.

    Attributes
    ----------
    scores : ndarray of shape (n_documents, n_numbers)
        Derivatives of log p(w_d | alpha): E(log theta_j | w) - E(log theta_j). Their squares sum up to the information.
    logs : ndarray of shape (n_draws, n_documents, n_own), float32
        E(log theta | z).
    sizes : ndarray of shape (n_documents,)
        Tokens plus the sum of alpha.
    is_symmetric : bool
        Whether it was learnt as one number.
    """

    scores: np.ndarray
    logs: np.ndarray
    sizes: np.ndarray
    is_symmetric: bool

    @classmethod
    def of(cls, alpha, given, sizes):
        """`given` are E(theta | z), as in `ShareMoments`."""
        logs = np.array(
            [digamma(np.maximum(own * sizes[:, None], SMALLEST)) - digamma(sizes)[:, None] for own in given], np.float32
        )
        scores = logs.mean(axis=0, dtype=np.float64) - (digamma(alpha) - digamma(alpha.sum()))
        is_symmetric = np.ptp(alpha) == 0
        return cls(scores.sum(axis=1, keepdims=True) if is_symmetric else scores, logs, sizes, is_symmetric)

    def variance(self, forms, given, b):
        """Variances of linear forms of b . E(theta | w) due to the error of alpha, (n_forms,).

        The derivative of E(theta | w) with respect to alpha_j is Cov(theta, log theta_j | w): the mean of the
        covariance given z, (b_j - b . E(theta | z)) / size, and the covariance of the means.
        """
        centres = given @ b
        n = len(centres)
        moved = (b - centres.mean(axis=0)[:, None]) / self.sizes[:, None]
        if n > 1:
            moved += np.einsum("id,idj->dj", centres - centres.mean(axis=0), self.logs) / (n - 1)
        moved = forms @ (moved.sum(axis=1, keepdims=True) if self.is_symmetric else moved)
        inverse = np.linalg.pinv(self.scores.T @ self.scores, hermitian=True)
        return ((moved @ inverse) * moved).sum(axis=1)


@dataclass(frozen=True, eq=False)
class ShareMoments:
    """Shares of topics in documents under one chain or fit.

    Attributes
    ----------
    mean : ndarray of shape (n_documents, n_own)
        E(theta | all words).
    given : ndarray of shape (n_draws, n_documents, n_own), float32
        E(theta | z) for draws of z, or E(theta | w, phi) for draws of phi. One draw of phi: the topics are known.
    theta : ndarray of shape (n_theta_draws, n_documents, n_own), float32
        Draws of theta.
    columns : ndarray of shape (n_own, n_topics), bool
        Which own topics are in which of the topics that are shown. Own topics that are in none are a rest.
    alpha : ndarray of shape (n_own,) or None
        The prior of theta, if all documents have the same.
    prior : LearntPrior or None
    error_is_unknown : bool
        Whether nothing tells how far the topics are from the true ones.
    """

    mean: np.ndarray
    given: np.ndarray
    theta: np.ndarray
    columns: np.ndarray
    alpha: np.ndarray | None = None
    prior: LearntPrior | None = None
    error_is_unknown: bool = False

    def known(self) -> np.ndarray:
        """Which topics this fit has, (n_topics,) bool."""
        return np.asarray(self.columns.any(axis=0))

    def groups(self) -> np.ndarray:
        """(n_own, n_groups): the own topics of each known topic, and of the rest if there is one."""
        rest = ~self.columns.any(axis=1)
        own = self.columns[:, self.known()]
        return np.column_stack([own, rest] if rest.any() else [own]).astype(float)

    def variance_given_words(self, b: np.ndarray) -> np.ndarray:
        """Var(b . theta | w) of each document, (n_documents,)."""
        return (self.theta @ b).var(axis=0, ddof=1)

    def deviations(self) -> np.ndarray:
        """Draws of theta less its mean given the words, (n_theta_draws, n_documents, n_own).

        The mean over the draws is zero and their variance is that of theta, so that few draws are enough.
        """
        n = len(self.theta)
        return (self.theta - self.theta.mean(axis=0)) * np.sqrt(n / (n - 1))

    def common_variance(self, forms: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, float]:
        """Variances of linear forms of b . E(theta | w) by errors that documents have in common, (n_forms,).

        Draws of z change a form for two reasons. The changes of documents are independent given the topics, and these
        are in the residuals of a regression anyway. The rest is due to the topics. The mean over the draws has such an
        error, too. The error of alpha is added. The second result is the degrees of freedom. NaN: unknown.
        """
        if self.error_is_unknown:
            return np.full(len(forms), np.nan), np.inf
        apart = self.given @ b
        apart -= apart.mean(axis=0)
        found, n = np.zeros(len(forms)), np.inf
        if len(apart) > 1:
            together = apart @ forms.T
            n = max(effective_number(together), FEWEST_EFFECTIVE)
            alone = forms**2 @ apart.var(axis=0)
            found = np.maximum(together.var(axis=0) - alone, 0) * (n + 1) / (n - 1)
        return found if self.prior is None else found + self.prior.variance(forms, self.given, b), n - 1


def share_moments(found: View, used: np.ndarray, seed: np.random.SeedSequence) -> list[ShareMoments]:
    """`ShareMoments` of each chain or fit for the documents `used`."""
    fits = found.fits()
    if not fits:
        return _of_fit(found, used, seed)
    moments = []
    for f, (own, members) in enumerate(fits):
        for each in _of_fit(own, used, random.child(seed, f)):
            # A chain has a common topic if it has all topics of the fit that are in it.
            lacks = (members & ~each.columns.any(axis=1)[:, None]).any(axis=0)
            moments.append(replace(each, columns=members & ~lacks))
    return moments


def _of_fit(found, used, seed):
    model = found.model
    has_words = _with_words(found)
    # Merged topics are sums of topics of the chains.
    whole, place = found.unmerged()
    if whole.chains is not None:
        new = None
        if not whole.is_training:
            new = whole.corpus.take(used), whole.alpha[used] if len(whole.alpha) > 1 else whole.alpha
        return _of_chains(whole.model, place, model._has_topics() & has_words, used, new, seed)
    if found.alpha is None:
        raise lacks(model, "doc_topic_prior_", "the errors of shares need a prior")
    return [_of_topics(*_prior_of(found, used), getattr(model, "_draw_topic_word", None), np.diag(has_words), seed)]


def _of_chains(fitted, place, known, used, new, seed):
    """`ShareMoments` of each chain, whose topics are in the order of the kept one.

    `place` is the shown topic of each topic of the fit, and `known` the shown topics of each chain. `new` are documents
    that the fit did not have, and their alpha; None: the documents are those `used` of the fit.
    """
    results, columns = fitted._results_, np.eye(known.shape[1], dtype=bool)[place]
    learns_alpha = fitted._learns_alpha and (new is None or (len(new[1]) == 1 and new[0].n_tokens >= LEAST_TOKENS))
    found = []
    for c, order in enumerate(results.orders):
        corpus, means, rows = results.corpus, results.means[c], used
        if new is None:
            draws, mean = results.several_draws(c, random.child(seed, c, 2))
            if mean is None:
                mean = fitted.doc_topic_ if c == results.best else means.doc_topic
        else:
            draws = results.draws[c].last(len(means.topic_shares))
            alpha, phi = np.empty_like(new[1]), np.empty_like(fitted.topic_word_)
            alpha[:, order] = new[1]
            phi[order] = fitted.topic_word_
            key = random.key(random.child(seed, c, 0))
            topics = draw_topics(new[0], phi, alpha, n_sweeps=_FIRST_SWEEPS, seed=key)
            corpus, draws = draws_with_new_documents(
                corpus, draws, new[0], alpha, topics, learns_alpha=learns_alpha, seed=random.child(seed, c, 1)
            )
            mean = posterior_means(corpus, draws, "cgs_p").doc_topic
            rows = np.arange(corpus.n_documents - len(used), corpus.n_documents)
        mean = mean[rows][:, order].astype(np.float64)
        given, theta, sizes = _of_draws(corpus, draws, rows, order, np.random.default_rng(random.child(seed, c)))
        prior = LearntPrior.of(draws.priors.doc[-1, order], given, sizes) if learns_alpha else None
        rows_of_alpha = draws.mean_priors().doc_of(rows)[:, order]
        alpha = rows_of_alpha[0] if (rows_of_alpha == rows_of_alpha[0]).all() else None
        unknown = len(given) < FEWEST_DRAWS
        if unknown:
            warn("Topics change their names from draw to draw, so their errors are unknown. Make max_iter larger.")
        found.append(ShareMoments(mean, given, theta, columns & known[c], alpha, prior, unknown))
    return found


def _of_draws(corpus, draws, rows, order, rng):
    """E(theta | z) and theta of draws of z in some documents, and the sums of their Dirichlet parameters."""
    n_each = -(-_FEWEST_DRAWS // len(draws))
    given = np.empty((len(draws), len(rows), len(order)), np.float32)
    theta = np.empty((n_each * len(draws), len(rows), len(order)), np.float32)
    for i, chain in enumerate(at_draws(corpus, draws, len(draws))):
        parameters = chain.priors.add_doc(chain.doc_topic_counts())[rows][:, order]
        sizes = parameters.sum(axis=1)
        given[i] = parameters / sizes[:, None]
        for own in theta[i * n_each : (i + 1) * n_each]:
            own[:] = np.exp(random.log_dirichlet(rng, np.maximum(parameters, SMALLEST)))
    return given, theta, sizes


def _of_topics(corpus, phi, alpha, topics, columns, seed):
    """`ShareMoments` of documents given topics phi. `topics` iterates over draws of phi; None: they are known.

    The means are those given phi, the posterior mean of the topics. The words of a document tell some draws of phi from
    others, so a mean over draws that do not know them would have too little spread.
    """
    # Equal documents with one alpha have one mean, and draws of their own: a common error would not shrink with their
    # number.
    row = np.unique(alpha, axis=0, return_inverse=True)[1].ravel()
    own = DataFrame({"words": corpus.document_keys(0), "alpha": row if len(alpha) > 1 else 0})
    same, copies = own.groupby(["words", "alpha"]).ngroup().to_numpy(), corpus.copies()

    def moments(topic_word, draws, *name):
        key = random.key(random.child(seed, *name))
        return draw_proportions(corpus, topic_word, alpha, draws, seed=key, copies=copies).mean()

    theta = np.empty((_TOPIC_DRAWS * _DRAWS_EACH, corpus.n_documents, len(phi)), np.float32)
    mean = DataFrame(moments(phi, theta, 1)).groupby(same).transform("mean").to_numpy()
    given = [mean]
    if topics is not None:
        drawn, by_topics = topics(_TOPIC_DRAWS, random.child(seed, 0)), np.split(theta, _TOPIC_DRAWS)
        given = [moments(own, draws, 2, i) for i, (own, draws) in enumerate(zip(drawn, by_topics, strict=True))]
    return ShareMoments(mean, np.array(given, np.float32), theta, columns, alpha[0] if len(alpha) == 1 else None)
