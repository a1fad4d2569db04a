"""ChainLDA: the one fit of all models whose topics are drawn by Gibbs chains."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.validation import check_is_fitted

from sklda._core import random
from sklda._description.models import columns_of_words
from sklda._input.document_values import DocumentValues
from sklda._input.memory import check_memory_of_results
from sklda._mode_search.searched_start import searched_chains
from sklda._models.base import BaseLDA
from sklda._models.capabilities import refuse_symmetric
from sklda._models.fit_run import FitRun
from sklda._models.known_topics import read_known_topics
from sklda._models.results import ChainAttributes, ChainResults, warn_of_short_fit
from sklda._models.seed_words import seeds_of, set_seeds
from sklda._sampling.annealed_start import NOT_ANNEALED
from sklda._sampling.choice import chain_class
from sklda._sampling.initialisation import annealing_of, check_start, initialise_chains, start_of
from sklda._sampling.known_weights import log_std, weight_likelihood
from sklda._sampling.merge_and_split import MergeAndSplit
from sklda._sampling.partitioned import TOKENS_PER_WORKER
from sklda._sampling.prior_learning import DefaultPrior
from sklda._sampling.prior_of_documents import PriorOfDocuments, SharedAlpha
from sklda._sampling.prior_of_topics import PriorOfTopics
from sklda._sampling.run_chains import Schedule, burn_in_of


class ChainLDA(BaseLDA):
    """Base class of the models whose topics are drawn by Gibbs chains.

    They differ in what they say of the proportions of a document, and of the topics: `_priors` says it. All else is
    `_fit`. The abstract methods say where the chains are.
    """

    # What a model has that takes no such parameter.
    seed_words: Any = None
    known_topics: Any = None
    learn_priors: Any = False
    init: Any = "random"
    sampler: Any = "collapsed"
    n_chains = 1

    _prior_of_documents_: Any
    _prior_of_topics_: PriorOfTopics

    def _priors(self, corpus, values, columns) -> tuple[PriorOfDocuments, PriorOfTopics]:
        """The prior of documents that have these `DocumentValues`, here one alpha for all; and that of the topics.

        `columns` are those of the words, a dict, or None.
        """
        default = DefaultPrior.of(self.learn_priors, corpus.n_tokens, self.n_components)
        documents = SharedAlpha(self._alpha, default, self.learn_priors, self.n_components)
        return documents, self._read_topic_prior(corpus, default, columns)

    @property
    def _learns_alpha(self):
        return self._prior_of_documents_.shares_alpha and self._prior_of_documents_.m_step is not None

    @abstractmethod
    def _check_memory(self, corpus: Any, doc_prior: PriorOfDocuments) -> None:
        """Refuse a fit that does not fit into the memory."""

    @abstractmethod
    def _new_chains(self, corpus, priors, doc_prior, topic_prior, start, run) -> list[Any]:
        """Chains before their first sweep, with their steps."""

    @abstractmethod
    def _warn(self, n_tokens: int) -> None:
        """Warn of results that are probably wrong."""

    def _fit(self, X: Any, y: Any = None, *, needed: Any = None, **values: Any) -> Self:
        """Fit chains to the documents X with their values; `needed` are the covariates that must not be missing."""
        corpus, read = self._training_documents(X, needed, **values)
        refuse_symmetric(self)
        check_start(self.init, self.seed_words)
        return self._fit_corpus(corpus, read, X, y)

    def _fit_corpus(self, corpus: Any, values: DocumentValues, X: Any, y: Any) -> Self:
        """Fit chains to a corpus, and set the fitted attributes."""
        with FitRun(self, corpus, X, y, **values.given) as run:
            columns = columns_of_words(self, corpus.n_features, corpus.n_documents)
            doc_prior, topic_prior = self._priors(corpus, values, columns)
            self._check_memory(corpus, doc_prior)
            priors = topic_prior.priors(doc_prior.alpha, doc_prior.n_components, corpus.n_features)

            if run.former is None:
                annealing = annealing_of(self.init, topic_prior.seeds, self.max_iter, self.burn_in)
                burn_in = burn_in_of(self.burn_in, self.max_iter, annealing.n_sweeps)
                start = start_of(self.init, topic_prior.seeds, X, corpus, doc_prior.n_components)
                run.begin(n_chains=self.n_chains, n_sweeps=self.max_iter, n_annealed=annealing.n_sweeps)
                chains = self._new_chains(corpus, priors, doc_prior, topic_prior, start, run)
                for chain in chains:
                    chain.n_annealed, chain.n_burn_in = annealing.n_sweeps, burn_in
            else:
                annealing = NOT_ANNEALED
                # Before the attributes of the previous fit go.
                chains = self._continued_chains(corpus, priors, doc_prior, topic_prior, run.former)
                run.begin(n_chains=self.n_chains, n_sweeps=self.max_iter)

            self._prior_of_documents_, self._prior_of_topics_ = doc_prior, topic_prior
            # After each sweep: places of known and seeded topics, merges and splits; then, given these topics, the
            # steps of the prior of documents and what learns priors; last the trace, the draws and the end.
            schedule = Schedule(
                n_draws=self.n_draws,
                draw_every=self.draw_every,
                tol=self.tol,
                annealing=annealing,
                m_steps=tuple(each for each in (doc_prior.m_step, topic_prior.m_step) if each is not None),
                learning=topic_prior.learning,
            )
            if self.verbose and doc_prior.chains is None:
                self._advise(corpus.n_tokens, doc_prior.n_components)
            chains = run.sweep(chains, self.max_iter, schedule=schedule, n_jobs=self.n_jobs)
            run.progress.end(chains)
            self._set_results(chains)
            self._warn(corpus.n_tokens)
            set_seeds(self, topic_prior.seeds, columns)
            return run.finish()

    def _read_topic_prior(self, corpus, default, columns):
        """The prior of topics that may be known or have seeds; `default` is the `DefaultPrior`."""
        known = None
        if self.known_topics is not None:
            known = read_known_topics(self.known_topics, self.known_weight, self.n_components, corpus, columns)
        seeds = seeds_of(self, corpus, columns, known)
        return PriorOfTopics.make(self.topic_word_prior, default, corpus.n_tokens, seeds, known)

    def _continued_chains(self, corpus, priors, doc_prior, topic_prior, former):
        """Chains at the last states of the previous fit. Learnt priors stay, and given ones may change."""
        doc_prior.check_continues(self._prior_of_documents_)
        topic_prior.check_continues(self._prior_of_topics_)
        kind = self._class_of_chains(corpus, priors, doc_prior)
        chains, learns = [], doc_prior.changes or topic_prior.m_step is not None
        for before, state in zip(former.priors, former.states, strict=True):
            # What was learnt in the burn-in stays with it.
            if not (learns and state.n_sweeps):
                burn_in = burn_in_of(self.burn_in, state.n_sweeps + self.max_iter, state.n_annealed)
                state = replace(state, n_burn_in=burn_in)
            now = topic_prior.continued(priors, self._prior_of_topics_, before)
            # Where alpha has rows, the steps set it, and no prior may change.
            if doc_prior.shares_alpha:
                now = replace(now, doc=before.doc) if doc_prior.changes else now
                # Draws at other priors are not averaged with those to come.
                state = state if now.equal(before) else replace(state, draws=(), parameters=())
            chains.append(kind(corpus, now, state))
        return chains

    def _class_of_chains(self, corpus, priors, doc_prior):
        return doc_prior.chains or chain_class(self.sampler, corpus, priors, doc_prior.shares_alpha)

    def _advise(self, n_tokens, n_components):
        # With more topics, collapsed sweeps by words are as fast on one core as partitioned ones on two.
        large = n_tokens >= 2 * TOKENS_PER_WORKER and n_components <= 500
        if self.n_chains == 1 and effective_n_jobs(self.n_jobs) > 1 and self.sampler == "collapsed" and large:
            print(f'[{type(self).__name__}] one chain uses one core here; sampler="partitioned" uses several')


class LocalChainLDA(ChainAttributes, ChainLDA):
    """Base class of the models whose chains are in the memory of one machine."""

    def _check_memory(self, corpus, doc_prior):
        doc_prior.check_memory()
        # alpha has several rows, twice while it changes.
        n_rows = (self.n_chains + 1) * doc_prior.n_rows
        check_memory_of_results(corpus, doc_prior.n_components, self.n_chains, self.n_draws, n_rows)

    def _new_chains(self, corpus, priors, doc_prior, topic_prior, start, run):
        kind = self._class_of_chains(corpus, priors, doc_prior)
        seeds = run.chain_seeds(self.n_chains)
        steps = [doc_prior.steps(random.child(seed, 1)) for seed in seeds]
        # Chains without steps have the whole seed, as that of `DaskGibbsLDA`, whose draws are the same.
        starts = [random.child(seed, 0) if own else seed for seed, own in zip(seeds, steps, strict=True)]
        if isinstance(start, str) and start == "search":
            chains = searched_chains(corpus, priors, starts, self.n_jobs, kind, run)
        else:
            chains = initialise_chains(corpus, priors, starts, start, self.n_jobs, kind, run)
        for chain, own in zip(chains, steps, strict=True):
            chain.steps = own
            if isinstance(self.init, str) and not doc_prior.merges:
                # Topics that are given keep their places.
                moves = MergeAndSplit(doc_prior.alpha_moves, topic_prior.seeds)
                chain.steps = [*topic_prior.steps(doc_prior.alpha_moves), moves, *own]
        return chains

    def _set_results(self, chains):
        doc_prior, topic_prior = self._prior_of_documents_, self._prior_of_topics_
        shown = doc_prior.shown(chains)
        records = [
            doc_prior.chain_attributes(chain, draws, topics) | topic_prior.chain_attributes(draws.priors)
            for chain, draws, topics in zip(chains, shown.draws, shown.topics, strict=True)
        ]
        results = ChainResults(chains, shown, records)
        chains.clear()  # They have arrays for sweeps.
        results.estimate(self.point_estimate, self.n_jobs)
        self._set_chain_results(results)
        vars(self).update(topic_prior.facts() | doc_prior.facts() | shown.attributes | doc_prior.attributes(results))

    def _warn(self, n_tokens):
        results = self._results_
        results.warn_of_disagreement()
        if self._learns_alpha:
            results.warn_of_weak_alpha()
        warn_of_short_fit(self, n_tokens, results.signs_of_short_fit(self._learns_alpha))
        self._prior_of_documents_.warn(results, vars(self))

    @cached_property
    def known_weight_log_std_(self) -> np.ndarray:
        """Standard errors of the logarithms of the learnt weights of known topics, (n_known,)."""
        check_is_fitted(self)
        if not hasattr(self, "known_weight_"):
            raise AttributeError("known_weight_log_std_ is an attribute of fits with known_topics.")
        found = np.full(len(self.known_weight_), np.nan)
        known = self._prior_of_topics_.known
        if known is not None and known.learnt.any():
            results = self._results_
            likelihood = weight_likelihood(results.corpus, results.kept_draws(), self._prior_of_topics_)
            found[known.learnt] = log_std(likelihood, np.log(self.known_weight_[known.learnt]))
        return found
