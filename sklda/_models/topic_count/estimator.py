"""TopicCountLDA: the posterior over the number of topics."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch, check_scalar
from sklearn.utils.validation import check_is_fitted

from sklda._core import random
from sklda._core.priors import Priors, at_topics, check_prior
from sklda._input.memory import check_memory
from sklda._input.types import Counts, Seed, TopicPrior
from sklda._models.chain_lda import LocalChainLDA
from sklda._models.fit_run import all_or_nothing
from sklda._models.parameters import POSITIVE, HasMethods, Interval, StrOptions
from sklda._models.progress import with_callbacks
from sklda._models.topic_count.count_prior import TOKENS_OF_LARGEST, CountPrior
from sklda._models.topic_count.finite_mixtures import FEW_TOKENS
from sklda._models.topic_count.finite_prior import EQUAL, ETA_PRIOR, FinitePrior
from sklda._models.topic_count.prior import NumberOfTopics, is_burst
from sklda._sampling.chain import ChainState
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.draws import draw_parameters
from sklda._sampling.mixture_step import LARGEST_GAMMA, SMALLEST_GAMMA, document_prior
from sklda._sampling.prior_learning import DefaultPrior
from sklda._sampling.prior_of_topics import PriorOfTopics


class TopicCountLDA(LocalChainLDA):
    """Latent Dirichlet allocation with a posterior over the number of topics, whose shares are unknown too.

    The number of topics T has the prior p(T). The shares pi of the topics are Dirichlet(g, ..., g), the topic
    proportions of a document Dirichlet(gamma pi), and topics Dirichlet(eta), with an eta for each word. All of T, pi,
    g, gamma, eta and the topics of the tokens change along each chain. So topics may have unequal shares, words that
    are frequent everywhere make no topics, and the interval of T contains that shares and priors are unknown.

    A chain begins with `max_components` topics. In the burn-in, topics with similar words are merged, and small topics
    are removed whose tokens other topics describe as well. With 500 to 60,000 tokens, merges go on to one topic, and
    the chain continues in a mode that may have the largest evidence (Chib 1995). After the burn-in all moves are exact:
    sweeps add and remove topics of a few tokens. With fewer than 500 tokens the whole chain is exact: topics are added
    and removed along annealed paths of all tokens (Karagiannis & Andrieu 2013).

    Parameters
    ----------
    min_components : int, default=1
        The smallest number of topics.
    max_components : int, default=None
        The largest number of topics. None: one for every 25 tokens, but at least 10 and at most 200.
    topic_count_prior : array-like of shape (max_components - min_components + 1,), scipy.stats distribution or None, \
default=None
        p(T), up to a factor. None: uniform.
    share_concentration : float, "equal" or None, default=None
        g. With a larger value, the shares of the topics are more equal; ``"equal"`` is the symmetric alpha of the usual
        model. None: it is unknown, at least 0.5, with a log-normal prior.
    doc_topic_prior : float, str or callable, default=None
        gamma / T, the mean over topics of the Dirichlet parameter of a document's proportions. A text such as ``"5/T"``
        is a number over T; a function is called with T. None: gamma is unknown, with a weak prior: log gamma is normal
        around 0 with a standard deviation of 2, so that 95 % of it lie between .02 and 50.
    topic_word_prior : float, str or array-like of shape (n_features,), default=None
        eta, the Dirichlet parameter per word of a topic; a text as for `doc_topic_prior`. None: it is unknown and
        differs between words. It is a power of two times a common number, which has a log-normal prior around 0.1, 95 %
        between .002 and 5.
    vocabulary : array-like of n_features str, or dict of {str: int}, default=None
        Words of the columns of X, for all tables and plots.
    max_iter : int, default=800
        Sweeps over the corpus of each chain. With `warm_start`, the number of further ones.
    burn_in : int, default=None
        Sweeps before the draws. None: half of them.
    tol : float, default=None
        In nats per token: a chain that has converged ends before `max_iter`, as in `GibbsLDA`. Its burn-in does not end
        while topics are merged.
    n_draws : int, default=15
        Draws of each chain that are kept, the last ones. Topics and proportions are means over those at the most likely
        number of topics.
    draw_every : int, default=10
        Number of sweeps between two draws.
    point_estimate : {"cgs_p", "cgs"}, default="cgs_p"
        How topics and proportions are computed from the draws. ``"cgs_p"``: from every token's full conditional
        given the others (Papanikolaou et al. 2017). ``"cgs"``: from the topics drawn.
    n_chains : int, default=2
        Independent chains. The posterior is that of all of them. Topics come from the chain with the highest mean log
        joint over the last half of its sweeps, of those with a draw at the most likely number of topics.
    fold_in_iter : int, default=6
        Sweeps over a document in `transform`, after CVB0.
    warm_start : bool, default=False
        Whether `fit` continues from the last state of the previous fit, on the same X. The results are then those of
        one longer fit with the burn-in of the first. Parameters that the chains depend on must not change.
    n_jobs : int, default=None
        Chains, or blocks of 64 documents in `transform`, that run at the same time. Results do not depend on it.
    verbose : int, default=0
        1 shows one line that is updated in a terminal or a notebook, and else prints ten lines; 2 prints a line for
        every sweep.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        With an int, the fit and `transform` after it are the same every time.

    Attributes
    ----------
    topic_counts_ : ndarray of shape (n_counts,), int
        The possible numbers of topics, ascending.
    topic_count_posterior_ : ndarray of shape (n_counts,)
        p(T | w): the mean over sweeps after the burn-in, of all chains, of the probability of T given the topics of the
        tokens. With 500 to 60,000 tokens, the mean over all modes that the chains came through, weighed by their
        evidence. With more tokens, a variance is added: the mean number of topics that one chain has and another one
        has not.
    topic_count_draws_ : ndarray of shape (n_chains * n_sweeps,), int
        T after every sweep after the burn-in, chain by chain.
    topic_count_interval_ : tuple of (int, int)
        Credible interval of 0.95.
    n_components_ : int
        The most likely number of topics that a stored draw has.
    few_tokens_interval_ : tuple of (int, int)
        Credible interval of 0.95 of the number of topics with fewer than 50 tokens, those without tokens included.
    corpus_topic_, corpus_topic_std_ : ndarray of shape (n_components_,)
        pi, the shares of the topics: posterior means and standard deviations over the draws.
    share_concentration_, doc_concentration_ : float
        Posterior means of g, by its logarithm, and of gamma.
    doc_topic_prior_ : ndarray of shape (n_components_,)
        Mean of gamma pi over the draws.
    topic_word_prior_ : float or ndarray of shape (n_features,)
        eta: if it is unknown, the mean over the draws for each word; else as given.
    components_, topic_word_, doc_topic_, doc_topic_std_, topic_share_, topic_share_std_, topic_assignments_
        Topics and proportions at the most likely number of topics, as in `GibbsLDA`, sorted by size.
    chains_, topic_stability_, topic_prevalence_, n_draws_, log_joint_trace_, best_chain_, sampler_
        As in `GibbsLDA`.
    traces_, diagnostics_ : dict
        Quantities after every sweep of each chain, and their R-hat and effective draws: ``"topic_count"`` (T),
        ``"used_topic_count"``, ``"large_topic_count"`` (the largest topics with 99 % of the tokens),
        ``"few_tokens_count"``, ``"share_concentration"``, ``"doc_concentration"``, ``"log_joint"`` and others.
    model_check_z_ : float
        How far the words of the topics depend on the documents, in standard deviations of what the model allows. Above
        4 there is a warning: the number of topics is that of a model that does not fit. Topics in fewer than ten
        documents do not count. See `inspection.topic_check`.
    n_iter_, n_burn_in_ : int
        Sweeps of a chain, and of its burn-in.
    topic_names_ : ndarray of shape (n_components_,)
        Names of the topics. Only after `set_topic_names`.
    n_features_in_, feature_names_in_
        Number of words, and their names if X had string column names.

    Warns
    -----
    sklearn.exceptions.ConvergenceWarning
        If p(T | w) is above 0.1 at an end of the range, if chains clearly disagree, or if the log joint still rises.
    UserWarning
        If words depend on documents by more than the model allows.

    See Also
    --------
    HDPLDA : Topics whose number grows with the corpus, also for collections of documents.
    ConsensusTopics : Topics that most fits have.

    References
    ----------
    Miller & Harrison (2018). Mixture models with a prior on the number of components. Journal of the American
    Statistical Association 113.

    Frühwirth-Schnatter, Malsiner-Walli & Grün (2021). Generalized mixtures of finite mixtures and telescoping sampling.
    Bayesian Analysis 16.

    Chib (1995). Marginal likelihood from the Gibbs output. Journal of the American Statistical Association 90.

    Karagiannis & Andrieu (2013). Annealed importance sampling reversible jump MCMC algorithms. Journal of Computational
    and Graphical Statistics 22.

    Chen & Doss (2018). Inference for the number of topics in the latent Dirichlet allocation model via Bayesian mixture
    modelling.

    Examples
    --------
    >>> from sklda import TopicCountLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> X = make_lda_corpus(60, 30, 3, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0).data
    >>> lda = TopicCountLDA(max_components=8, max_iter=60, random_state=0).fit(X)
    >>> lda.n_components_, lda.topic_word_.shape
    (3, (3, 30))
    """

    _continued = (
        "min_components",
        "max_components",
        "topic_count_prior",
        "share_concentration",
        "doc_topic_prior",
        "topic_word_prior",
        "burn_in",
        "n_chains",
    )
    _parameter_constraints = {
        "min_components": [POSITIVE],
        "max_components": [None, POSITIVE],
        "topic_count_prior": [None, "array-like", HasMethods("pmf")],
        "share_concentration": [None, Interval(Real, 0, None, closed="neither"), StrOptions({"equal"})],
        "doc_topic_prior": [None, Interval(Real, 0, None, closed="neither"), str, callable],
        "topic_word_prior": [None, Interval(Real, 0, None, closed="neither"), str, "array-like"],
    }

    def __init__(
        self,
        *,
        min_components: int = 1,
        max_components: int | None = None,
        topic_count_prior: ArrayLike | Any | None = None,
        share_concentration: float | Literal["equal"] | None = None,
        doc_topic_prior: TopicPrior | None = None,
        topic_word_prior: ArrayLike | str | None = None,
        vocabulary: ArrayLike | dict[str, int] | None = None,
        max_iter: int = 800,
        burn_in: int | None = None,
        tol: float | None = None,
        n_draws: int = 15,
        draw_every: int = 10,
        point_estimate: Literal["cgs_p", "cgs"] = "cgs_p",
        n_chains: int = 2,
        fold_in_iter: int = 6,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Seed = None,
    ) -> None:
        self.min_components = min_components
        self.max_components = max_components
        self.topic_count_prior = topic_count_prior
        self.share_concentration = share_concentration
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.vocabulary = vocabulary
        self.max_iter = max_iter
        self.burn_in = burn_in
        self.tol = tol
        self.n_draws = n_draws
        self.draw_every = draw_every
        self.point_estimate = point_estimate
        self.n_chains = n_chains
        self.fold_in_iter = fold_in_iter
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @all_or_nothing
    @with_callbacks
    def fit(self, X: Counts, y: Any = None) -> Self:
        """Find the posterior over the number of topics, and topics at its mode.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts: non-negative whole numbers of any dtype, as from `CountVectorizer`. Documents may be empty.
        y : None
            Not used.

        Returns
        -------
        self : TopicCountLDA
            The fitted estimator. If an error or Ctrl-C ends the fit, the estimator is as it was before.

        Raises
        ------
        ValueError
            If X has a negative, missing, infinite or fractional count (the message names the first one), if X has no
            token, or if a parameter is out of range.
        TypeError
            If a parameter has the wrong type.
        """
        return self._fit(X, y)

    def _range_of_counts(self, n_tokens: int) -> CountPrior:
        return CountPrior(self.topic_count_prior, self.min_components, self.max_components, n_tokens)

    def _setting(self, name):
        if name not in ("doc_topic_prior", "topic_count_prior"):
            return getattr(self, name)
        # At all numbers of topics of the largest corpora.
        log_p = self._range_of_counts(TOKENS_OF_LARGEST).log_p
        if name == "topic_count_prior":
            return log_p
        return [at_topics(self.doc_topic_prior, name, T) for T in log_p]

    def _priors(self, corpus, values, columns):
        prior = self._range_of_counts(corpus.n_tokens)
        counts, log_p = np.array(list(prior.log_p)), np.array(list(prior.log_p.values()))
        gammas, etas, eta = self._gammas(counts), None, self.topic_word_prior
        if np.ndim(eta) > 1:
            raise ValueError("topic_word_prior must be a number, or one for each word: all topics have the same prior.")
        if isinstance(eta, str):
            etas = np.array([at_topics(eta, "topic_word_prior", T) for T in counts.tolist()])
            check_prior(etas, "topic_word_prior", {"one per number of topics": etas.shape})
        g = EQUAL if self.share_concentration == "equal" else self.share_concentration
        finite = FinitePrior(
            counts,
            log_p,
            corpus.distinct_lengths,
            corpus.n_features,
            g=None if g is None else float(g),
            gammas=gammas,
            etas=etas,
            draws_eta=self.topic_word_prior is None,
        )
        # The step sets an eta that is unknown or depends on T.
        if eta is None:
            eta = np.full(corpus.n_features, ETA_PRIOR[0])
        given = None if isinstance(eta, str) else eta
        topic_prior = PriorOfTopics.make(given, DefaultPrior(is_learnt=False, value=ETA_PRIOR[0]), corpus.n_tokens)
        return NumberOfTopics(corpus.n_documents, prior, finite), topic_prior

    def _gammas(self, counts):
        """gamma at each number of topics, or None if alpha is unknown."""
        if self.doc_topic_prior is None:
            return None
        alphas = [at_topics(self.doc_topic_prior, "doc_topic_prior", T) for T in counts.tolist()]
        if any(np.ndim(alpha) for alpha in alphas):
            raise ValueError("doc_topic_prior must give one number, because all topics have the same prior.")
        gammas = np.array([check_prior(alpha, "doc_topic_prior", {}) for alpha in alphas]) * counts
        if not SMALLEST_GAMMA <= gammas.min() <= gammas.max() <= LARGEST_GAMMA:
            raise ValueError(
                f"doc_topic_prior times the number of topics goes from {gammas.min():g} to {gammas.max():g}; it "
                f"must lie between {SMALLEST_GAMMA:g} and {LARGEST_GAMMA:g}."
            )
        return gammas

    def sample_posterior(self, n_draws: int = 1, random_state: Seed = None) -> Bunch:
        """Draws of the number of topics, assignments, proportions and topics from their posterior.

        T has the probabilities of `topic_count_posterior_` at those numbers of topics that a stored draw has, and z is
        that of such a draw. theta and phi are drawn from their Dirichlet distributions given z.

        Parameters
        ----------
        n_draws : int, default=1
        random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None

        Returns
        -------
        sklearn.utils.Bunch
            ``n_components`` (n_draws,), and lists of `n_draws` arrays: ``topic_assignments`` (n_tokens,),
            ``doc_topic`` (n_documents, T) and ``topic_word`` (T, n_features). Topics of different draws do not
            correspond to each other.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.

        Examples
        --------
        >>> from sklda import TopicCountLDA
        >>> from sklda.datasets import make_lda_corpus
        >>> X = make_lda_corpus(40, 20, 3, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0).data
        >>> lda = TopicCountLDA(max_components=5, max_iter=40, random_state=0).fit(X)
        >>> draws = lda.sample_posterior(3, random_state=0)
        >>> [theta.shape[1] for theta in draws.doc_topic] == draws.n_components.tolist()
        True
        """
        check_is_fitted(self)
        n_draws = check_scalar(n_draws, "n_draws", Integral, min_val=1)
        corpus, rng = self._results_.corpus, np.random.default_rng(random.seed_sequence(random_state))
        draws = [draw for state in self._results_.states for draw in state.draws]
        stored = np.array([draw.added["n_topics"] for draw in draws])
        p = self.topic_count_posterior_[np.searchsorted(self.topic_counts_, stored)] / np.bincount(stored)[stored]
        chosen = rng.choice(len(draws), n_draws, p=p / p.sum() if p.any() else None)
        counts = stored[chosen]
        n_bytes = 4 * int(counts.sum()) * (corpus.n_documents + corpus.n_features)
        check_memory(n_bytes, f"{n_draws} draws need at least", "Give a smaller n_draws.")
        samples: dict[str, list] = {"topic_assignments": [], "doc_topic": [], "topic_word": []}
        for i in chosen:
            chain = _chain_at(corpus, draws[i], self._prior_of_topics_.eta)
            for name, value in zip(samples, (chain.topics, *draw_parameters(chain, rng)), strict=True):
                samples[name].append(value)
        return Bunch(n_components=counts, **samples)

    def summary(self) -> str:
        """What the fit says of the number of topics, in sentences.

        Returns
        -------
        str

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.

        Examples
        --------
        >>> from sklda import TopicCountLDA
        >>> from sklda.datasets import make_lda_corpus
        >>> X = make_lda_corpus(40, 20, 3, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0).data
        >>> TopicCountLDA(max_components=5, max_iter=40, random_state=0).fit(X).summary()[:16]
        '3 topics (95 %).'
        """
        check_is_fitted(self)
        low, high = self.topic_count_interval_
        found = f"{low} to {high} topics (95 %)."
        if low == high:
            found = f"{low} topic{'s' if low > 1 else ''} (95 %)."
        elif (largest := self.topic_count_posterior_.max()) > 0.5:
            found += f" {self.n_components_} are the most likely, with a probability of {largest:.2f}."
        else:
            found += " The data do not decide within this range."
        low, high = self.few_tokens_interval_
        if high:
            found += (
                f" Of them, {low if low == high else f'{low} to {high}'} have fewer than {FEW_TOKENS} tokens or none, "
                "too few for a reader to find."
            )
        found += " This is the number of topics that describes the words best, not that of the subjects."
        if is_burst(self.model_check_z_):
            found += (
                f" Words depend on documents by {self.model_check_z_:.0f} standard deviations more than the model "
                "allows, so it may be too large."
            )
        return found


def _chain_at(corpus, draw, given):
    """A chain at a stored draw, with T topics; `given` is an eta that is not drawn."""
    shares = draw.added["mixtures"][0]
    members = np.flatnonzero(shares > 0)
    eta = given if draw.added["eta"] is None else draw.added["eta"]
    alpha = document_prior(draw.added["gamma"], shares[members])
    priors = Priors.make(alpha, eta, len(members), corpus.n_features)
    topics = np.searchsorted(members, draw.topics).astype(np.int32)
    return GibbsChain(corpus, priors, ChainState(topics, np.zeros(4, np.uint64)))
