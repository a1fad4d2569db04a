"""CompoundLDA: topics shared by collections of documents, and a mixture of them for each collection."""

from __future__ import annotations

import copy
from functools import partial
from numbers import Integral, Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

from sklda._base import BaseLDA
from sklda._callbacks import Progress, described
from sklda._collections import CollectionLDA
from sklda._inference import random
from sklda._inference.compound import driver
from sklda._inference.compound.model import METHODS, Model
from sklda._inference.compound.priors import Hyperparameters, document_prior
from sklda._inference.priors import Priors
from sklda._inference.sampling.parameters import draw_dirichlets
from sklda._inference.sampling.point_estimates import METHODS as POINT_ESTIMATES
from sklda._inference.sampling.point_estimates import reserve_memory
from sklda._inference.types import Seed
from sklda._inference.warn import warn
from sklda._labels import encode

# Parameters that must not change before a warm start, because the averages of a chain depend on them.
_SETTINGS = (
    "n_components",
    "collection_topic_prior",
    "doc_concentration",
    "topic_word_prior",
    "method",
    "learn_priors",
    "burn_in",
)


class CompoundLDA(CollectionLDA):
    """Latent Dirichlet allocation of several collections that share their topics.

    Documents come in collections: years, sources, ratings. Each collection j has its own mixture pi_j of the common
    topics. The topic proportions of its documents vary around this mixture: theta_d is Dirichlet(gamma pi_j), and pi_j
    is Dirichlet(alpha, ..., alpha). With one collection this is LDA with an asymmetric prior that is learnt.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics, K.
    collection_topic_prior : float or tuple (shape, rate), default=1.0
        alpha, the Dirichlet parameter per topic of a collection's mixture. With a pair, alpha is drawn in every
        sweep, with a Gamma prior of this shape and rate that is cut off at 1e-6 and 1e6 (not with
        ``method="variational"``).
    doc_concentration : float, default=None
        gamma, between 1e-6 and 1e12. With a larger value, documents are closer to the mixture of their collection. It
        is the sum over topics of the Dirichlet parameter of theta. None: 1.0; with `learn_priors`, the first value.
    topic_word_prior : float or array-like of shape (n_features,) or (n_components, n_features), default=None
        eta, the Dirichlet parameter per word of a topic. None: ``1 / n_components``; with `learn_priors`, the first
        value of one number that is learnt.
    method : {"augmented", "langevin", "variational"}, default="augmented"
        - ``"augmented"``: Gibbs sampling with auxiliary counts (section 3.1.1 of the paper).
        - ``"langevin"``: after every sweep, a Metropolis-adjusted Langevin step for each mixture (section 3.1.2, but in
          the coordinates log phi). It mixes more slowly, and is meant for comparison.
        - ``"variational"``: maximises a lower bound of log p(w) (appendix E); the posterior is approximated.
    learn_priors : bool, default=False
        Whether `doc_concentration` and `topic_word_prior` are learnt if they are None: by Gibbs-EM in the burn-in, or
        in every variational iteration. gamma stays between 1e-6 and 1e6, eta between 1e-5 and 1e4. A value
        that is given stays fixed.
    max_iter : int, default=500
        Sweeps over the corpus of each chain. With ``"variational"``, the largest number of iterations. With
        `warm_start`, the number of further ones.
    burn_in : int, default=None
        Sweeps before the averages begin. gamma, eta and the size of Langevin steps change only in these. None: half of
        `max_iter`. Not used by ``"variational"``, which averages nothing.
    point_estimate : {"cgs_p", "cgs"}, default="cgs_p"
        How topics and proportions are computed from the last draw. ``"cgs_p"``: from expected counts under each token's
        full conditional (Papanikolaou et al. 2017). ``"cgs"``: from the counts of the draw. With
        ``method="variational"`` they are posterior means instead.
    n_chains : int, default=1
        Independent chains. The results are those of the chain with the highest mean log joint (or bound) over the last
        half of its sweeps.
    draw_every : int, default=None
        Sweeps between the draws of the mixtures that are kept in `collection_topic_draws_`, after the burn-in. None:
        no draws are kept.
    fold_in_iter : int, default=6
        Sweeps over a document in `transform`, after CVB0.
    warm_start : bool, default=False
        Whether `fit` continues from the last state of the previous fit, on the same X and collections. The results are
        then those of one longer fit with the burn-in of the first: step sizes and learnt priors stay, and further
        sweeps are averaged together with the earlier ones. A variational ascent that has converged makes one more
        iteration. Parameters that the chains depend on must not change; `draw_every` may change.
    n_jobs : int, default=None
        Chains, or blocks of 64 documents in `transform`, that run at the same time. Results do not depend on it.
    verbose : int, default=0
        1 prints about ten lines for each chain, 2 prints a line for every sweep.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        With an int, the fit and `transform` after it are the same every time.

    Attributes
    ----------
    collections_ : ndarray of shape (n_collections,)
        The labels of the collections, sorted; ``["all"]`` if the fit had none.
    collection_topic_ : ndarray of shape (n_collections, n_components)
        pi_j: posterior means over the sweeps after the burn-in; rows sum to one.
    collection_topic_std_ : ndarray of shape (n_collections, n_components)
        Posterior standard deviations.
    collection_topic_draws_ : ndarray of shape (n_draws, n_collections, n_components)
        Draws of the mixtures. Only with `draw_every`.
    corpus_topic_ : ndarray of shape (n_components,)
        Mean of the mixtures, weighted by the number of documents with words: the mixture for documents of unknown
        collection.
    collection_topic_prior_ : float
        alpha as given, or its posterior mean if it is drawn.
    doc_concentration_ : float
        gamma, as given or learnt.
    topic_word_prior_ : float or ndarray
        eta, as given or learnt.
    doc_topic_prior_ : ndarray of shape (n_components,)
        ``doc_concentration_ * corpus_topic_``.
    components_ : ndarray of shape (n_components, n_features)
        Topic-word counts plus prior.
    topic_word_ : ndarray of shape (n_components, n_features)
        Topics as distributions over words: `components_` with rows that sum to one.
    doc_topic_ : ndarray of shape (n_documents, n_components)
        Topic proportions of the training documents.
    topic_assignments_ : ndarray of shape (n_tokens,), int32
        Topic of every token in the last draw. Not with ``"variational"``.
    log_joint_trace_ : ndarray of shape (n_chains, n_iter_)
        log p(w, z | pi, gamma, eta) after every sweep, in nats; with ``"variational"`` the lower bound of log p(w).
        NaN after the last sweep of a chain that ended early.
    prior_trace_ : ndarray of shape (n_chains, n_iter_, 2)
        doc_concentration and topic_word_prior in every sweep; for a `topic_word_prior` given as an array, its mean. NaN
        after the last sweep of a chain that ended early. Only with `learn_priors`.
    acceptance_rate_ : float
        Share of Langevin steps accepted after the burn-in. Only with ``"langevin"``.
    n_iter_ : int
        Sweeps, or iterations, of the longest chain, those of earlier fits with `warm_start` included.
    n_burn_in_ : int
        Sweeps before the averages begin. Not with ``"variational"``.
    best_chain_ : int
        The chain of the results, a row of `log_joint_trace_`.
    n_features_in_ : int
        Size of the vocabulary.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Words, if X had them as column names.

    References
    ----------
    George, Xia & Michailidis (2019). Analyses of multi-collection corpora via compound topic modeling.

    Papanikolaou, Foulds, Rubin & Tsoumakas (2017). Dense distributions from sparse samples: improved Gibbs sampling
    parameter estimators for LDA. JMLR 18.

    Examples
    --------
    >>> from sklda import CompoundLDA
    >>> from sklda.datasets import make_compound_lda_corpus
    >>> corpus = make_compound_lda_corpus([30, 30], 40, 3, random_state=0)
    >>> lda = CompoundLDA(3, max_iter=100, random_state=0).fit(corpus.data, collections=corpus.collections)
    >>> lda.collection_topic_.shape, lda.transform(corpus.data, collections=corpus.collections).shape
    ((2, 3), (60, 3))
    """

    _parameter_constraints = {
        **{k: v for k, v in BaseLDA._parameter_constraints.items() if k != "doc_topic_prior"},
        "collection_topic_prior": [Interval(Real, 0, None, closed="neither"), tuple],
        "doc_concentration": [None, Interval(Real, 0, None, closed="neither")],
        "method": [StrOptions(set(METHODS))],
        "learn_priors": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "burn_in": [None, Interval(Integral, 0, None, closed="left")],
        "point_estimate": [StrOptions(set(POINT_ESTIMATES))],
        "n_chains": [Interval(Integral, 1, None, closed="left")],
        "draw_every": [None, Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        collection_topic_prior: ArrayLike = 1.0,
        doc_concentration: float | None = None,
        topic_word_prior: ArrayLike | None = None,
        method: Literal["augmented", "langevin", "variational"] = "augmented",
        learn_priors: bool = False,
        max_iter: int = 500,
        burn_in: int | None = None,
        point_estimate: Literal["cgs_p", "cgs"] = "cgs_p",
        n_chains: int = 1,
        draw_every: int | None = None,
        fold_in_iter: int = 6,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Seed = None,
    ) -> None:
        self.n_components = n_components
        self.collection_topic_prior = collection_topic_prior
        self.doc_concentration = doc_concentration
        self.topic_word_prior = topic_word_prior
        self.method = method
        self.learn_priors = learn_priors
        self.max_iter = max_iter
        self.burn_in = burn_in
        self.point_estimate = point_estimate
        self.n_chains = n_chains
        self.draw_every = draw_every
        self.fold_in_iter = fold_in_iter
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _fit(self, corpus, data, collections):
        if collections is None and data["y"] is not None:
            warn(
                "CompoundLDA does not use y. If it holds the collections of the documents, call fit(X, collections=y)."
            )
        labels, collections = encode(collections, corpus)
        continues = self.warm_start and hasattr(self, "_chain_states_")
        if continues:
            self._check_unchanged(corpus, labels, collections)
        hyperparameters = Hyperparameters.make(
            self.n_components,
            self.collection_topic_prior,
            self.doc_concentration,
            self.topic_word_prior,
            self.learn_priors,
        )
        model = Model.make(
            collections,
            len(labels),
            self.method,
            hyperparameters,
            max_iter=self.max_iter,
            burn_in=self.burn_in,
            draw_every=self.draw_every,
            earlier=(self._model_, self._chain_states_) if continues else None,
        )
        priors = Priors.make(1.0, hyperparameters.eta, self.n_components, corpus.n_features)
        reserved = reserve_memory(corpus, self.n_components)
        if continues:
            chains, fold_in_seed = driver.continued(corpus, priors, model, self._chain_states_), self._fold_in_seed_
        else:
            seed = random.seed_sequence(self.random_state)
            chains = driver.initialise(corpus, priors, model, hyperparameters, self.n_chains, random.child(seed, 0))
            fold_in_seed = random.key(random.child(seed, 1))
        eta = hyperparameters.eta
        attributes = {
            "_fold_in_seed_": fold_in_seed,
            "_settings_": copy.deepcopy({name: getattr(self, name) for name in _SETTINGS}),
            "collections_": labels,
            "topic_word_prior_": np.array(eta, dtype=np.float64) if np.ndim(eta) else float(eta),
        }

        fitted = partial(described, attributes, self._fitted_attributes)

        progress = Progress(self, data, fitted, len(chains), self.max_iter)
        chains = driver.run(chains, self.max_iter, n_jobs=self.n_jobs, listener=progress)
        del reserved
        progress.end(chains)
        return fitted(chains)

    def _sample_posterior(self, n_samples, seed):
        if self._model_.method != "variational":
            return super()._sample_posterior(n_samples, seed)
        state = self._chain_states_[self.best_chain_]
        parameters = state.doc_topic, state.topic_word_parameter
        return draw_dirichlets(parameters, n_samples, np.random.default_rng(seed))

    def _check_unchanged(self, corpus, labels, collections):
        """Refuse to continue if X, the collections or the parameters are not those of the previous fit."""
        self._check_same_corpus(corpus)
        for d, (j, before) in enumerate(zip(collections, self._model_.collections, strict=True)):
            now, then = (known[i : i + 1].tolist()[0] for known, i in ((labels, j), (self.collections_, before)))
            if now != then:
                raise ValueError(
                    f"warm_start=True continues the previous fit, in which collections[{d}] was {then!r}, but now it "
                    f"is {now!r}. Fit with warm_start=False to begin again."
                )
        self._check_same_parameters({**self._settings_, "n_chains": len(self._chain_states_)})

    def _fitted_attributes(self, chains):
        """Attributes that describe the chains as they are now."""
        traces = self._trace_attributes(chains)
        chain = chains[traces["best_chain_"]]
        mean, std = chain.mixtures()
        found = traces | {
            "collection_topic_": mean,
            "collection_topic_std_": std,
            "doc_concentration_": chain.gamma,
            "collection_topic_prior_": chain.alpha_mean(),
            "_chain_states_": [each.state() for each in chains],
            "_fingerprint_": chain.corpus.fingerprint,
            "_model_": chain.model,
        }
        weights = np.bincount(chain.model.collections[chain.corpus.lengths > 0], minlength=len(mean))
        found["corpus_topic_"] = weights @ mean / weights.sum()
        found["doc_topic_prior_"] = document_prior(chain.gamma, found["corpus_topic_"])
        if chain.model.learns:
            found["prior_trace_"] = driver.prior_trace(chains)
        if chain.model.learn_eta:
            found["topic_word_prior_"] = chain.eta
        if self.draw_every is not None:
            found["collection_topic_draws_"] = np.array(chain.mixture_draws).reshape(-1, *mean.shape)
        if self.method == "langevin":
            found["acceptance_rate_"] = chain.acceptance_rate()
        if self.method != "variational":
            found |= {"n_burn_in_": chain.model.burn_in, "_kept_chain_": chain.plain()}
            return found | self._topic_attributes(chain)
        doc_topic = chain.doc_topic / chain.doc_topic.sum(axis=1, keepdims=True)
        return found | {"components_": chain.topic_word_parameter.copy(), "doc_topic_": doc_topic}
