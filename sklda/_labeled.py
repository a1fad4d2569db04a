"""LabeledLDA: topics that are labels, for documents with several labels or one."""

from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from sklda._base import BaseLDA
from sklda._callbacks import Progress
from sklda._gibbs import GibbsLDA
from sklda._inference import random
from sklda._inference.labels.chain import LabelChain, Plan
from sklda._inference.labels.dependency import SAMPLERS
from sklda._inference.labels.fitting import document_shares, mean_counts, sample_parameters
from sklda._inference.labels.label_topics import label_prior
from sklda._inference.labels.open_topics import LabelPriors, OpenTopics
from sklda._inference.priors import LARGEST, SMALLEST
from sklda._inference.sampling.point_estimates import METHODS
from sklda._inference.sampling.run_chains import run_chains
from sklda._label_classifier import RANKING_SCORES, LabelClassifier
from sklda._label_targets import read_targets

_LABEL_PRIORS = ("uniform", "frequency", "dependency")
_LABEL_COUNTS = ("meta", "calibrated", "proportional")
# Sweeps of the chains over the labels, for label_prior="dependency".
_LABEL_TOPIC_SWEEPS = 200


class LabeledLDA(LabelClassifier):
    """DOC"""

    _parameter_constraints = {
        **BaseLDA._parameter_constraints,
        "n_shared": [Interval(Integral, 0, None, closed="left")],
        "burn_in": [Interval(Integral, 0, None, closed="left")],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
        "draw_every": [Interval(Integral, 1, None, closed="left")],
        "n_chains": [Interval(Integral, 1, None, closed="left")],
        "point_estimate": [StrOptions(set(METHODS))],
        "label_prior": [StrOptions(set(_LABEL_PRIORS))],
        "label_weight": [Interval(Real, 0, LARGEST, closed="both")],
        "even_weight": [Interval(Real, 0, LARGEST, closed="both")],
        "n_label_topics": [Interval(Integral, 1, None, closed="left")],
        "dependency_sampler": [StrOptions(set(SAMPLERS))],
        "ranking_score": [StrOptions(set(RANKING_SCORES))],
        "label_count": [
            StrOptions(set(_LABEL_COUNTS)),
            Interval(Integral, 1, None, closed="left"),
            HasMethods(["fit", "predict"]),
        ],
    }
    del _parameter_constraints["n_components"]

    def __init__(
        self,
        *,
        n_shared=0,
        doc_topic_prior=None,
        topic_word_prior=0.1,
        burn_in=50,
        n_draws=10,
        draw_every=5,
        n_chains=5,
        point_estimate="cgs_p",
        label_prior="frequency",
        label_weight=50.0,
        even_weight=30.0,
        n_label_topics=20,
        dependency_sampler="fast",
        ranking_score="proportions",
        label_count="meta",
        fold_in_iter=30,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self.n_shared = n_shared
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.burn_in = burn_in
        self.n_draws = n_draws
        self.draw_every = draw_every
        self.n_chains = n_chains
        self.point_estimate = point_estimate
        self.label_prior = label_prior
        self.label_weight = label_weight
        self.even_weight = even_weight
        self.n_label_topics = n_label_topics
        self.dependency_sampler = dependency_sampler
        self.ranking_score = ranking_score
        self.label_count = label_count
        self.fold_in_iter = fold_in_iter
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _fit(self, corpus, data):
        targets = read_targets(data["y"], corpus.n_documents, type(self).__name__)
        if self.label_weight + self.even_weight == 0:
            raise ValueError("label_weight and even_weight are both 0: one of them must be positive.")
        labels = targets.indicator
        is_labelled = np.diff(labels.indptr) > 0
        n_used = corpus.lengths[is_labelled].sum() if self.n_shared == 0 else corpus.n_tokens
        if not is_labelled.any() or not n_used:
            raise ValueError(
                f"y has {labels.nnz} labels, and the documents that have labels have {corpus.lengths[is_labelled].sum()} "
                "tokens: there is nothing to fit. Every document needs a label, unless n_shared is positive."
            )
        n_labels = labels.shape[1]
        opened = OpenTopics.make(corpus, labels, self.n_shared)
        alpha = 50 / n_labels if self.doc_topic_prior is None else self.doc_topic_prior
        priors = LabelPriors.make(alpha, self.topic_word_prior, opened)
        seed = random.seed_sequence(self.random_state)
        plan = Plan(self.burn_in, self.draw_every, self.point_estimate)
        chains = [
            LabelChain.initialise(corpus, opened, priors, plan, random.child(seed, 0, c)) for c in range(self.n_chains)
        ]
        known = {
            "classes_": targets.classes,
            "label_names_": targets.names,
            "multilabel_": targets.is_multilabel,
            "label_frequency_": np.bincount(labels.indices, minlength=n_labels) / is_labelled.sum(),
            "n_unlabeled_": int((~is_labelled).sum()),
            "topic_word_prior_": _copied(self.topic_word_prior),
            "n_burn_in_": self.burn_in,
            "_sparse_labels_": targets.is_sparse,
            "_fold_in_seed_": random.key(random.child(seed, 1)),
            "_fingerprint_": corpus.fingerprint,
        }
        numbers = np.diff(labels.indptr)[is_labelled]
        known["_numbers_of_labels_"] = int(numbers.min()), float(numbers.mean()), int(numbers.max())

        def fitted(chains):
            return known | self._chain_attributes(chains, known["label_frequency_"])

        n_sweeps = self.burn_in + self.n_draws * self.draw_every
        progress = Progress(self, data, fitted, len(chains), n_sweeps)
        chains = run_chains(chains, n_sweeps, n_jobs=self.n_jobs, listener=progress)
        known |= self._dependency_attributes(labels[is_labelled], numbers, random.child(seed, 2))
        known |= self._label_count_attributes(corpus, is_labelled, numbers, targets.is_multilabel)
        progress.end(chains)
        return fitted(chains)

    def _chain_attributes(self, chains, frequency):
        """Fitted attributes from chains."""
        n_labels = len(frequency)
        doc_counts, pair_counts = mean_counts(chains, n_labels)
        traces = self._trace_attributes(chains)
        chain = chains[traces["best_chain_"]]
        opened = chain.open_topics
        counts = opened.pair_matrix(pair_counts)
        totals = np.asarray(counts.sum(axis=0)).ravel()
        shared_odds = totals[n_labels:] / max(totals[:n_labels].sum(), 1)
        weights = self.label_weight, self.even_weight
        prior = label_prior(frequency, weights, shared_odds)
        base = label_prior(frequency, (0, sum(weights)), shared_odds)
        if self.label_prior == "uniform":
            prior = base
        base[:n_labels] = self.even_weight / n_labels
        return traces | {
            "doc_topic_prior_": np.clip(prior, SMALLEST, LARGEST),
            "_base_prior_": np.clip(base, SMALLEST, LARGEST),
            "_training_prior_": chain.priors.doc.copy(),
            "_word_topic_counts_": counts,
            "doc_label_": document_shares(chain, doc_counts),
            "topic_share_": totals / totals.sum(),
            "topic_assignments_": chain.topics(),
            "_kept_chain_": chain.__reduce__(),
        }

    def _dependency_attributes(self, labels, numbers, seed):
        """Topics of labels, one set for each chain: their draws cannot be averaged."""
        if self.label_prior != "dependency":
            return {}
        states = [np.random.Generator(np.random.PCG64(random.child(seed, c))) for c in range(self.n_chains)]
        # The priors of Rubin et al.: the topics of labels are vague, and a document has few of them.
        models = [
            GibbsLDA(
                self.n_label_topics,
                learn_priors=False,
                doc_topic_prior=1 / self.n_label_topics,
                topic_word_prior=1.0,
                max_iter=_LABEL_TOPIC_SWEEPS,
                n_draws=1,
                random_state=state,
            ).fit(sp.csr_matrix(labels, dtype=np.int64))
            for state in states
        ]
        return {
            "label_topics_": np.array([model.topic_word_ for model in models]),
            "_n_label_tokens_": max(int(np.rint(numbers.mean())), 1),
        }

    def _label_count_attributes(self, corpus, is_labelled, numbers, is_multilabel):
        """The regression of the number of labels on the words."""
        if not is_multilabel or self.label_count in ("calibrated", "proportional"):
            return {}
        if isinstance(self.label_count, Integral):
            return {}
        given = make_pipeline(TfidfTransformer(sublinear_tf=True), Ridge())
        regressor = given if isinstance(self.label_count, str) else clone(self.label_count)
        counts = corpus.to_counts()[is_labelled].astype(np.float64)
        return {"label_count_regressor_": regressor.fit(counts, numbers.astype(np.float64))}

    @property
    def doc_topic_(self):
        """Proportions of the training documents, given their labels, as a dense array; see `doc_label_`."""
        if not hasattr(self, "doc_label_"):
            raise AttributeError(f"{type(self).__name__} is not fitted.")
        return self.doc_label_.toarray()

    def _sample_posterior(self, n_samples, seed):
        kind, arguments = self._kept_chain_
        return sample_parameters(kind(*arguments), self.topic_word_prior_, n_samples, seed)


def _copied(prior):
    """A prior as an attribute: a float, or a copy of an array."""
    return np.array(prior, dtype=np.float64) if np.ndim(prior) else float(prior)
