"""Shares of topics in documents under a fit: posterior means and draws, and errors that documents have in common."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pandas import DataFrame
from scipy.special import digamma

from sklda._core import random
from sklda._core.diagnostics import FEWEST_DRAWS
from sklda._core.priors import SMALLEST
from sklda._core.warn import warn
from sklda._description.models import Description, corpus_and_model, inner_model, topics_with_words
from sklda._description.view import View, view
from sklda._likelihood.held_out.proportion_draws import draw_proportions
from sklda._likelihood.held_out.token_topics import draw_topics
from sklda._models.base import BaseLDA
from sklda._models.consensus.estimator import ConsensusTopics
from sklda._models.empirical_bayes.estimator import EmpiricalBayesLDA
from sklda._models.merging import MergedTopics
from sklda._models.results import ChainResults
from sklda._sampling.draws import FEWEST_EFFECTIVE, at_draws, effective_number, posterior_means
from sklda._sampling.new_documents import draws_with_new_documents
from sklda._sampling.prior_learning import LEAST_TOKENS
from sklda._sampling.prior_of_documents import SharedAlpha

# Draws of the topics of a model without chains, and of theta given each.
_TOPIC_DRAWS, _DRAWS_EACH = 8, 5
# Sweeps given the topics, by which the tokens of documents that a chain does not have begin.
_FIRST_SWEEPS = 30
# The smallest number of draws of theta, of which variances and estimates are computed.
_FEWEST_DRAWS = 10


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
    groups_of_prior : ndarray of shape (n_documents, n_groups) or None
        Columns of a linear model of the shares that are in their prior.
    error_is_unknown : bool
        Whether nothing tells how far the topics are from the true ones.
    """

    mean: np.ndarray
    given: np.ndarray
    theta: np.ndarray
    columns: np.ndarray
    alpha: np.ndarray | None = None
    prior: LearntPrior | None = None
    groups_of_prior: np.ndarray | None = None
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


def share_moments(model: Any, X: Any, used_of: Any, seed: np.random.SeedSequence) -> tuple[View, list[ShareMoments]]:
    """The view of the documents, and `ShareMoments` of each chain or fit for the documents ``used_of(view)``."""
    described = Description.of(model, X)
    if described.X is None:
        raise ValueError("outcome_effects needs the documents to which the outcomes belong: give X.")
    if isinstance(described.estimator, tuple):
        corpus, phi, alpha = corpus_and_model(X, model)
        found = view(replace(described, estimator=(phi, np.ones((corpus.n_documents, len(phi))))))
        return found, [_of_topics(corpus, phi, alpha, None, np.eye(len(phi), dtype=bool), used_of(found), seed)]
    found = view(described)
    used = used_of(found)
    inner, X = inner_model(described.estimator, described.X)
    if not isinstance(inner, ConsensusTopics):
        return found, _of_fit(inner, X, found, described, used, seed)
    moments = []
    for f, fit in enumerate(inner.estimators_):
        members = np.zeros((len(fit.components_), inner.n_components_), bool)
        for c, pairs in enumerate(inner.members_):
            members[pairs[pairs[:, 0] == f, 1], c] = True
        own_view = view(fit, X)
        for each in _of_fit(fit, X, own_view, Description(fit), used, random.child(seed, f)):
            # A chain has a common topic if it has all topics of the fit that are in it.
            lacks = (members & ~each.columns.any(axis=1)[:, None]).any(axis=0)
            moments.append(replace(each, columns=members & ~lacks))
    return found, moments


def _of_fit(inner, X, found, described, used, seed):
    has_words = topics_with_words(inner, inner.components_)
    # Merged topics are sums of topics of the chains.
    fitted, place = inner, np.arange(len(has_words))
    if isinstance(inner, MergedTopics):
        fitted, place = inner.model, inner._place
    if isinstance(getattr(fitted, "_results_", None), ChainResults):
        new = None
        if not found.is_training:
            corpus, _, alpha = corpus_and_model(X, fitted, described.collections, described.covariates)
            new = corpus.take(used), alpha[used] if len(alpha) > 1 else alpha
        return _of_chains(fitted, place, inner._has_topics() & has_words, used, new, seed)
    if isinstance(inner, BaseLDA) and found.is_training:
        corpus, phi, alpha = found.corpus, found.topic_word, np.maximum(found.alpha, SMALLEST)
    else:
        corpus, phi, alpha = corpus_and_model(X, inner, described.collections, described.covariates)
    topics = inner._draw_topic_word if isinstance(inner, BaseLDA) else None
    return [_of_topics(corpus, phi, alpha, topics, np.diag(has_words), used, seed)]


def _of_chains(fitted, place, known, used, new, seed):
    """`ShareMoments` of each chain, whose topics are in the order of the kept one.

    `place` is the shown topic of each topic of the fit, and `known` the shown topics of each chain. `new` are documents
    that the fit did not have, and their alpha; None: the documents are those `used` of the fit.
    """
    results, columns = fitted._results_, np.eye(known.shape[1], dtype=bool)[place]
    # EmpiricalBayesLDA always learns its priors.
    documents = getattr(fitted, "_prior_of_documents_", None)
    learns_alpha = isinstance(fitted, EmpiricalBayesLDA)
    learns_alpha |= isinstance(documents, SharedAlpha) and documents.m_step is not None
    learns_alpha &= new is None or (len(new[1]) == 1 and new[0].n_tokens >= LEAST_TOKENS)
    groups = fitted._known_groups()
    groups = None if groups is None or new is not None else groups[used]
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
        found.append(ShareMoments(mean, given, theta, columns & known[c], alpha, prior, groups, unknown))
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


def _of_topics(corpus, phi, alpha, topics, columns, used, seed):
    """`ShareMoments` of documents given topics phi. `topics` iterates over draws of phi; None: they are known.

    The means are those given phi, the posterior mean of the topics. The words of a document tell some draws of phi from
    others, so a mean over draws that do not know them would have too little spread.
    """
    corpus, alpha = corpus.take(used), alpha[used] if len(alpha) > 1 else alpha
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
