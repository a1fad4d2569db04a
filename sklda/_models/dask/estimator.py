"""DaskGibbsLDA: topics by Gibbs sampling of a Dask array, on the workers of its cluster."""

from __future__ import annotations

import sys
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from sklearn.utils.validation import validate_data

from sklda._input.dask_arrays import is_dask
from sklda._input.document_values import DocumentValues
from sklda._input.memory import check_memory_of_topics
from sklda._input.types import Seed, TopicPrior, TopicWords
from sklda._models.chain_lda import ChainLDA
from sklda._models.dask.cluster_chain import ClusterChain
from sklda._models.dask.cluster_corpus import ClusterCorpus
from sklda._models.fit_run import all_or_nothing
from sklda._models.parameters import StrOptions
from sklda._models.progress import with_callbacks
from sklda._models.results import RunResults, most_draws, set_traces, shares_with_std, warn_of_short_fit


class DaskGibbsLDA(ChainLDA):
    """Latent Dirichlet allocation by exact Gibbs sampling of a Dask array, on the workers of its cluster.

    It is for a corpus whose tokens do not fit into the memory of one machine. One chain runs on all workers: every
    worker keeps the tokens of its documents and draws their topics. With the same `random_state`, the draws and the
    learnt priors are those of ``GibbsLDA(sampler="partially_collapsed")`` without rounds of merges and splits. They
    depend neither on the number of workers, nor on their threads, nor on the blocks of X. The user guide describes it
    ("Larger than memory, several machines").

    Parameters
    ----------
    n_components : int, default=10
        Number of topics, K.
    learn_priors : bool or "symmetric", default=True
        Which priors are learnt if they are None, as in `GibbsLDA`.
    doc_topic_prior : float, array-like of shape (n_components,), str or callable, default=None
        alpha, the Dirichlet parameter per topic of the topic proportions, as in `GibbsLDA`.
    topic_word_prior : float or array-like of shape (n_features,) or (n_components, n_features), default=None
        eta, the Dirichlet parameter per word of the topics. It is not changed.
    seed_words : dict of {str or int: sequence of words, or dict of {word: float}}, default=None
        Seed words of topics, as in `GibbsLDA`. Words need `vocabulary`, or are numbers of columns.
    vocabulary : array-like of n_features str, or dict of {str: int}, default=None
        Words of the columns of X, for `seed_words`, and for all tables and plots.
    init : {"anneal", "random"}, default="anneal"
        Every token begins with a random topic. With ``"anneal"``, both priors decrease from twenty times their values
        in the first two fifths of the sweeps, but at most 400; not with `seed_words`. There are no rounds of merges
        and splits, so a topic that is much larger than the others often becomes several copies, and small topics share
        one.
    max_iter : int, default=500
        Number of sweeps over the corpus.
    burn_in : int, default=None
        Number of sweeps before the draws, in which priors are learnt. None: the annealed sweeps and half of the others.
    tol : float, default=None
        In nats per token: a fit that has converged ends before `max_iter`, as in `GibbsLDA`.
    n_draws : int, default=15
        Topics and topic proportions are means over this number of draws, as in `GibbsLDA`. The workers keep them.
    draw_every : int, default=10
        Number of sweeps between two draws.
    point_estimate : {"cgs_p", "cgs"}, default="cgs_p"
        Estimate of topics and topic proportions from each draw, as in `GibbsLDA`.
    fold_in_iter : int, default=6
        Number of sweeps over a document in `transform`, after CVB0.
    n_jobs : int, default=None
        Number of blocks of 64 documents at a time in `transform`. Results do not depend on it, and `fit` does not use
        it: the workers use all their threads.
    verbose : int, default=0
        1 shows one line that is updated in a terminal or a notebook, and otherwise prints ten lines; 2 prints a line
        for every sweep.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        With an int, the results of `fit` and of `transform` after it are reproducible.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features), float32
        Topic-word counts plus prior, means over draws. `topic_word_` has the normalised rows.
    topic_word_ : ndarray of shape (n_components, n_features)
        Topics as distributions over words.
    doc_topic_ : dask.array.Array of shape (n_documents, n_components), float32
        Topic proportions of the training documents, means over draws. Like the next two, it has the blocks of X, which
        are on the workers, and is lost when the cluster ends. A saved estimator does not have it.
    doc_topic_std_ : dask.array.Array of shape (n_documents, n_components), float32
        Posterior standard deviations of the proportions, within the chain.
    topic_assignments_ : dask.array.Array of shape (n_tokens,), int32
        The topic of every token in the last draw, document by document. The tokens of a document are in ascending order
        of word ids; a word of count c has c tokens.
    topic_share_, topic_share_std_ : ndarray of shape (n_components,)
        Share of the tokens in each topic, and its posterior standard deviation within the chain.
    n_draws_ : int
        Number of draws that were averaged. It is smaller than `n_draws` if the chain had fewer draws, if there are many
        topics for the number of sweeps, or if topics exchanged their names: then only the draws after that are used.
    doc_topic_prior_, topic_word_prior_ : float or ndarray
        alpha and eta, learnt or given.
    traces_ : dict of {str: ndarray of shape (1, n_iter_)}
        Quantities after every sweep: ``"log_joint"``, ``"log_topics"`` and ``"squared_shares"``, as in `GibbsLDA`.
    diagnostics_ : dict of {str: Diagnosis}
        For every quantity of `traces_`, after `n_burn_in_` sweeps: ``r_hat`` and ``n_effective``.
    log_joint_trace_ : ndarray of shape (1, n_iter_)
        log p(w, z | alpha, eta) after every sweep, in nats.
    n_burn_in_ : int
        Number of sweeps of the burn-in. At least one sweep follows.
    n_iter_ : int
        Number of sweeps.
    best_chain_ : int
        0: there is one chain.
    n_features_in_ : int
        Size of the vocabulary.
    topic_names_ : ndarray of shape (n_components,)
        Names of the topics. Only after `set_topic_names`.

    Warns
    -----
    sklearn.exceptions.ConvergenceWarning
        If the log joint still rises: there were too few sweeps.

    See Also
    --------
    GibbsLDA : Several chains, warm starts, known topics and other samplers, for an X in memory or on disk. It reads a
        Dask array block by block.

    Notes
    -----
    In a sweep, every worker draws phi given the counts of all documents, with the same random numbers as the others;
    then the topics of its own tokens given phi, with theta integrated out; then the workers add up the changes of the
    counts along a binary tree. If a worker is lost, another one reads its blocks again, all go back to the last
    checkpoint or to the beginning, and the sweeps since then are repeated with the same random numbers.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from dask.distributed import Client
    >>> from sklda import DaskGibbsLDA
    >>> X = da.from_array(np.random.default_rng(0).poisson(0.3, (60, 40)), chunks=(20, 40))
    >>> with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None):
    ...     lda = DaskGibbsLDA(2, max_iter=20, random_state=0).fit(X)
    ...     theta = lda.doc_topic_.compute()
    >>> theta.shape, lda.topic_word_.shape
    ((60, 2), (2, 40))
    """

    # As of `ChainLDA`.
    sampler = "partially_collapsed"
    components_: np.ndarray
    topic_share_: np.ndarray
    topic_share_std_: np.ndarray

    _parameter_constraints = {"init": [StrOptions({"anneal", "random"})]}

    def __init__(
        self,
        n_components: int = 10,
        *,
        learn_priors: bool | Literal["symmetric"] = True,
        doc_topic_prior: TopicPrior | None = None,
        topic_word_prior: ArrayLike | None = None,
        seed_words: TopicWords | None = None,
        vocabulary: ArrayLike | dict[str, int] | None = None,
        init: Literal["anneal", "random"] = "anneal",
        max_iter: int = 500,
        burn_in: int | None = None,
        tol: float | None = None,
        n_draws: int = 15,
        draw_every: int = 10,
        point_estimate: Literal["cgs_p", "cgs"] = "cgs_p",
        fold_in_iter: int = 6,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Seed = None,
    ) -> None:
        self.n_components = n_components
        self.learn_priors = learn_priors
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.seed_words = seed_words
        self.vocabulary = vocabulary
        self.init = init
        self.max_iter = max_iter
        self.burn_in = burn_in
        self.tol = tol
        self.n_draws = n_draws
        self.draw_every = draw_every
        self.point_estimate = point_estimate
        self.fold_in_iter = fold_in_iter
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @all_or_nothing
    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find topics in a corpus on the present cluster.

        Parameters
        ----------
        X : dask.array.Array of shape (n_documents, n_features)
            Word counts, dense or sparse. Numbers of documents may be unknown. The workers that are there when the fit
            begins read the blocks of documents.
        y : None
            Not used.

        Returns
        -------
        self : DaskGibbsLDA
            The fitted estimator. If an error or Ctrl-C ends the fit, the estimator is as it was before, and the workers
            are free.

        Raises
        ------
        ValueError
            If there is no client of a Dask cluster, X has a negative, missing, infinite or fractional count (the
            message names the block and the place in it), X has no token, or a parameter is out of range.
        TypeError
            If X is not a Dask array, or a parameter has the wrong type.
        RuntimeError
            If workers are lost again and again, or there is none.
        """
        self._validate_params()
        corpus = self._read(X)
        with corpus.ended_by_errors():
            # A Dask array has no names of columns.
            validate_data(self, csr_array((1, corpus.n_features)), accept_sparse=True, reset=True)
            self._check_training(corpus)
            return self._fit_corpus(corpus, DocumentValues({}), X, y)

    def _check_memory(self, corpus, doc_prior):
        # The documents are on the workers.
        check_memory_of_topics(self.n_components, 4 * corpus.n_features)

    def _new_chains(self, corpus, priors, doc_prior, topic_prior, start, run):
        return [ClusterChain(corpus, priors, run.chain_seeds(1)[0], topic_prior.seeds)]

    def _warn(self, n_tokens):
        # There is one chain, whose draws are on the workers.
        warn_of_short_fit(self, n_tokens)

    @classmethod
    def _read(cls, X):
        if not is_dask(X):
            raise TypeError(
                f"{cls.__name__} fits a Dask array, got a {type(X).__name__}: GibbsLDA fits arrays and sparse matrices."
            )
        return ClusterCorpus(X, present_client())

    def _set_results(self, chains):
        (chain,) = chains
        most = most_draws(self.point_estimate, chain.n_sweeps, self.n_components)
        self.components_, shares = chain.means(self.point_estimate, most)
        columns = (self.n_components,)
        self.doc_topic_: Any = on_workers(chain.corpus, "doc_topic", columns, np.float32)
        self.doc_topic_std_: Any = on_workers(chain.corpus, "doc_topic_std", columns, np.float32)
        self.topic_assignments_: Any = on_workers(chain.corpus, "topics", (), np.int32)
        self.topic_share_, self.topic_share_std_ = shares_with_std(shares, [shares])
        self.n_draws_: int = len(shares)
        vars(self).update(
            self._prior_of_documents_.chain_attributes(chain) | self._prior_of_topics_.chain_attributes(chain.priors)
        )
        set_traces(self, RunResults(chains, chain.n_burn_in, best=0))

    # They are on the workers, and end with the cluster.
    _has_posterior = False

    def _sample_posterior(self, n_draws, seed):
        raise ValueError(
            f"the draws of a {type(self).__name__} are on the workers of its cluster, and end with it: fit a part of "
            "the documents with GibbsLDA for draws of topics and of training documents. outcome_effects also takes the "
            "pair (topic_word_, doc_topic_prior_), whose topics count as known."
        )


def present_client():
    """The client of the Dask cluster on which a fit runs."""
    distributed = sys.modules.get("distributed")
    try:
        client = None if distributed is None else distributed.get_client()
    except ValueError:
        client = None
    if client is None or client.asynchronous:
        raise ValueError(
            "there is no client of a Dask cluster that is not asynchronous: make one, such as "
            "dask.distributed.Client(), before the fit. Without a cluster, GibbsLDA reads a Dask array block by block."
        )
    return client


def on_workers(corpus, name, columns, dtype):
    """A Dask array whose blocks are on the workers, where their documents are."""
    import dask.array as da

    sizes = corpus.block_documents if columns else corpus.block_tokens
    blocks = zip(corpus.results(name), sizes, strict=True)
    return da.concatenate([da.from_delayed(future, (int(size), *columns), dtype) for future, size in blocks])
