"""CollapsedVariationalLDA: topics by collapsed variational Bayes, from a corpus or from a stream of documents."""

from functools import partial
from numbers import Integral, Real

import numpy as np
from joblib import cpu_count, effective_n_jobs
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from sklda._base import BaseLDA, _all_or_nothing
from sklda._callbacks import Progress
from sklda._inference import random
from sklda._inference.corpus import Corpus
from sklda._inference.parallel import with_team
from sklda._inference.priors import Priors
from sklda._inference.sampling.parameters import draw_dirichlets
from sklda._inference.sampling.prior_learning import KINDS, PriorLearning, prior_settings
from sklda._inference.variational.batch import Batch
from sklda._inference.variational.fixed_topics import infer, perplexity
from sklda._inference.variational.passes import OnlinePasses, make_passes, proportions, topics
from sklda._inference.variational.prior_learning import Learner
from sklda._inference.variational.stream import Stream, initial_counts


class CollapsedVariationalLDA(BaseLDA):
    """Latent Dirichlet allocation by collapsed variational Bayes (CVB0), for whole corpora and for streams."""

    _parameter_constraints = {
        **{name: value for name, value in BaseLDA._parameter_constraints.items() if name != "fold_in_iter"},
        "learn_priors": [StrOptions(set(KINDS)), "boolean"],
        "learning_method": [StrOptions({"batch", "online"})],
        "learning_decay": [Interval(Real, 0, 1, closed="both")],
        "learning_offset": [Interval(Real, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "evaluate_every": [Integral],
        "total_samples": [Interval(Real, 0, None, closed="neither")],
        "perp_tol": [Interval(Real, 0, None, closed="left")],
        "mean_change_tol": [Interval(Real, 0, None, closed="left")],
        "max_doc_update_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_components=10,
        *,
        learn_priors="asymmetric",
        doc_topic_prior=None,
        topic_word_prior=None,
        learning_method="batch",
        learning_decay=0.7,
        learning_offset=10.0,
        max_iter=50,
        batch_size=128,
        evaluate_every=-1,
        total_samples=1e6,
        perp_tol=0.1,
        mean_change_tol=1e-3,
        max_doc_update_iter=100,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self.n_components = n_components
        self.learn_priors = learn_priors
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.learning_method = learning_method
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.evaluate_every = evaluate_every
        self.total_samples = total_samples
        self.perp_tol = perp_tol
        self.mean_change_tol = mean_change_tol
        self.max_doc_update_iter = max_doc_update_iter
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _fit(self, corpus, data):
        seed = random.seed_sequence(self.random_state)
        given = self._kind_of_learning(), self.doc_topic_prior, self.topic_word_prior
        priors, learning = prior_settings(*given, None, self.n_components, corpus)
        learner = None if learning is None else Learner(learning, priors)
        if self.learning_method == "batch":
            model = Batch(corpus, priors, random.child(seed, 0), learner)
            if self.verbose:
                print(f"[{type(self).__name__}] the distributions of topics take {model.n_bytes / 1e6:.1f} MB")
        else:
            counts = initial_counts(corpus, priors, corpus.n_documents, random.child(seed, 0))
            stream = self._stream(counts, priors, learner, total_samples=corpus.n_documents)
            model = OnlinePasses(corpus, stream, self.batch_size, random.child(seed, 2))
        # The model for callbacks while the fit runs.
        progress = Progress(self, data, lambda _: self._fitted(model, seed, []))
        trace = with_team(
            self._n_threads(),
            lambda team: make_passes(
                model,
                self.max_iter,
                team,
                after_pass=progress.stage,
                evaluate_every=self.evaluate_every,
                tolerance=self.perp_tol,
            ),
        )
        progress.end(model)
        return self._fitted(model, seed, trace)

    def _fitted(self, model, seed, trace):
        """The fitted attributes after passes over a corpus."""
        theta = proportions(model, self.n_jobs)
        position = model.position(self.batch_size)
        return self._topics(model.counts, model.priors, position) | {
            "doc_topic_": theta,
            "bound_": perplexity(model.corpus, theta, topics(model)),
            "perplexity_trace_": np.array(trace),
            "n_iter_": model.n_sweeps,
            "_fold_in_seed_": random.key(random.child(seed, 1)),
        }

    def _topics(self, counts, priors, position):
        """The fitted attributes of the topics, of the priors and of the place in the stream."""
        asymmetric = self._kind_of_learning() == "asymmetric" if self.doc_topic_prior is None else None
        as_array = asymmetric if asymmetric is not None else np.ndim(self.doc_topic_prior) > 0
        eta = priors.topic_word() if np.ndim(self.topic_word_prior) == 2 else priors.word
        return {
            "components_": counts + priors.topic_word(),
            "doc_topic_prior_": priors.doc[0].copy() if as_array else float(priors.doc[0, 0]),
            "topic_word_prior_": np.array(eta, dtype=np.float64) if np.ndim(self.topic_word_prior) else float(eta[0]),
            "n_batch_iter_": position["n_chunks"],
            "_position_": position,
        }

    @_all_or_nothing
    def partial_fit(self, X, y=None):
        """Move the topics towards those of a chunk of a stream of documents."""
        self._validate_params()
        known = hasattr(self, "components_")
        corpus = Corpus.from_counts(X, partial(validate_data, self, reset=not known, ensure_min_samples=0))
        key, stream = self._resumed(corpus) if known else self._begun(corpus)

        def work(team):
            for first, last in corpus.blocks(n_documents=self.batch_size):
                stream.step(corpus.take(np.arange(first, last)), team)

        with_team(self._n_threads(), work)
        # The documents of an earlier fit do not belong to the new topics.
        for name in ("doc_topic_", "bound_", "perplexity_trace_"):
            vars(self).pop(name, None)
        vars(self).update(self._topics(stream.counts, stream.priors, stream.position()), _fold_in_seed_=key)
        return self

    def _begun(self, corpus):
        """The key of the documents' seeds, and a stream with random topics."""
        seed, K = random.seed_sequence(self.random_state), self.n_components
        given = (1 / K if prior is None else prior for prior in (self.doc_topic_prior, self.topic_word_prior))
        priors = Priors.make(*given, K, corpus.n_features)
        counts = initial_counts(corpus, priors, self.total_samples, random.child(seed, 0))
        return random.key(random.child(seed, 1)), self._stream(counts, priors, self._learner(priors))

    def _resumed(self, corpus):
        """The same for the stream of the earlier calls."""
        if self.n_components != len(self.components_):
            raise ValueError(
                f"partial_fit continues with the {len(self.components_)} topics that it has, but n_components is now "
                f"{self.n_components}. Clone the estimator to begin again."
            )
        position = dict(self._position_)
        priors = Priors.make(self.doc_topic_prior_, self.topic_word_prior_, self.n_components, corpus.n_features)
        # Counts of a corpus of another size become those of `total_samples` documents.
        counts = np.maximum(self.components_ - priors.topic_word(), 0)
        counts *= self.total_samples / position.pop("total_samples")
        return self._fold_in_seed_, self._stream(counts, priors, self._learner(priors), **position)

    def _stream(self, counts, priors, learner, **position):
        return Stream(
            counts,
            priors,
            decay=self.learning_decay,
            offset=self.learning_offset,
            n_updates=self.max_doc_update_iter,
            tolerance=self.mean_change_tol,
            learner=learner,
            **{"total_samples": self.total_samples} | position,
        )

    def _learner(self, priors):
        """How the stream learns priors; None if it does not."""
        kind, given = self._kind_of_learning(), (self.doc_topic_prior, self.topic_word_prior)
        if not kind or None not in [None if prior is None else True for prior in given]:
            return None
        return Learner(PriorLearning(kind, *given), priors)

    def _kind_of_learning(self):
        """`learn_priors` as a str, or False."""
        if isinstance(self.learn_priors, str):
            return self.learn_priors
        return KINDS[0] if self.learn_priors else False

    def _n_threads(self):
        return min(effective_n_jobs(self.n_jobs), cpu_count())

    def transform(self, X, *, normalize=True):
        """Topic proportions of documents, given the topics."""
        return self._proportions(X, normalize)

    def _expected_counts(self, corpus, alpha):
        return infer(
            corpus,
            self.topic_word_,
            alpha[0],
            n_updates=self.max_doc_update_iter,
            tolerance=self.mean_change_tol,
            n_jobs=self.n_jobs,
        )

    def _sample_posterior(self, n_samples, seed):
        if not hasattr(self, "doc_topic_"):
            raise ValueError(
                "sample_posterior draws the topic proportions of the documents of fit, and partial_fit keeps no "
                "documents. Call fit."
            )
        return draw_dirichlets((self._doc_parameter_, self.components_), n_samples, np.random.default_rng(seed))
