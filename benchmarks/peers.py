"""Corpora, and one interface for all samplers that `bench_sampler.py` compares."""

import gzip
import os
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln
from sklearn.decomposition import LatentDirichletAllocation

import sklda
from sklda._core.corpus import Corpus
from sklda._core.priors import Priors
from sklda._sampling.choice import chain_class

ALPHA, ETA = 0.1, 0.01


def gibbs(n_topics, **parameters):
    return sklda.GibbsLDA(n_topics, doc_topic_prior=ALPHA, topic_word_prior=ETA, **parameters)


def variational(n_topics, **parameters):
    return LatentDirichletAllocation(n_topics, doc_topic_prior=ALPHA, topic_word_prior=ETA, **parameters)


def read_ldac(path):
    """Counts of a file with one document per line, ``n_distinct id:count id:count …``; plain text or gzip."""
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rt") as lines:
        documents = [[pair.split(":") for pair in line.split()[1:]] for line in lines]
    pairs = np.array([pair for document in documents for pair in document], np.int64).reshape(-1, 2)
    indptr = np.cumsum([0, *map(len, documents)])
    return _occurring(sp.csr_matrix((pairs[:, 1], pairs[:, 0], indptr)))


def synthetic(n_documents=20_000, n_features=19_084):
    """A corpus of 100 topics, with documents of about 150 tokens; by default about 3 million tokens."""
    corpus = sklda.datasets.make_lda_corpus(
        n_documents,
        n_features,
        100,
        doc_length=(100, 200),
        doc_topic_prior=0.1,
        topic_word_prior=0.05,
        zipf_exponent=0.8,
        random_state=0,
    )
    return _occurring(corpus.data)


def _occurring(X):
    """X without empty documents and unused words, which some libraries drop, so that V is the same for all."""
    X = X[X.getnnz(axis=1) > 0][:, X.getnnz(axis=0) > 0]
    X.sum_duplicates()
    return X


def split(X, groups, seed, share=0.2):
    """Training documents, held-out documents, and the groups of the held-out ones."""
    order = np.random.default_rng(seed).permutation(X.shape[0])
    test, train = np.split(order, [int(share * X.shape[0])])
    return X[train], X[test], groups[test]


def word_lists(X):
    """The documents as lists of words; the words are the column numbers."""
    rows = (slice(*X.indptr[row : row + 2]) for row in range(X.shape[0]))
    return [np.repeat(X.indices[own], X.data[own]).astype(str).tolist() for own in rows]


def in_columns(topic_word, words, n_features):
    """Topics with their words in the order of the columns; every column must be among the words."""
    columns = np.array(words, np.int64)
    assert np.array_equal(np.sort(columns), np.arange(n_features))
    ordered = np.empty((len(topic_word), n_features))
    ordered[:, columns] = topic_word
    return ordered


def describe(X):
    """One line of text about the corpus."""
    frequencies = np.sort(np.asarray(X.sum(axis=0)).ravel())[::-1]
    n = frequencies.sum()
    return (
        f"{X.shape[0]:,} documents, {n:,} tokens, {X.shape[1]:,} words; "
        f"the most frequent word is {frequencies[0] / n:.1%} of the tokens, the first hundred are "
        f"{frequencies[:100].sum() / n:.0%}"
    )


class Sklda:
    """The chain of GibbsLDA, for single sweeps."""

    name = "sklda"

    def __init__(self, X, n_topics, seed):
        corpus = Corpus.from_counts(X)
        priors = Priors.make(ALPHA, ETA, n_topics, X.shape[1])
        kind = chain_class("collapsed", corpus, priors)
        self.chain = kind.initialise_randomly(corpus, priors, np.random.SeedSequence(seed))

    @property
    def tokens(self):
        return self.chain.corpus.words, self.chain.corpus.token_documents

    def sweep(self, n=1):
        for _ in range(n):
            self.chain.sweep()

    def topics(self):
        return self.chain.topics


class SkldaSequential(Sklda):
    """The chain of GibbsLDA with sequential initialisation, which counts as the first sweep."""

    name = "sklda, sequential"

    def __init__(self, X, n_topics, seed):
        super().__init__(X, n_topics, seed)
        self.seed, self.started = np.random.SeedSequence(seed), False

    def sweep(self, n=1):
        if not self.started:
            self.chain = type(self.chain).initialise_sequentially(self.chain.corpus, self.chain.priors, self.seed)
            self.started, n = True, n - 1
        super().sweep(n)


class Tomotopy:
    """tomotopy.LDAModel with one worker, fixed priors and all words."""

    name = "tomotopy"

    def __init__(self, X, n_topics, seed):
        import tomotopy

        self.model = tomotopy.LDAModel(k=n_topics, alpha=ALPHA, eta=ETA, min_cf=0, min_df=0, rm_top=0, seed=seed)
        self.model.optim_interval = 0
        self.model.burn_in = 0
        for words in word_lists(X):
            self.model.add_doc(words)
        self.model.train(0, workers=1)
        assert self.model.num_words == X.sum() and len(self.model.used_vocabs) == X.shape[1]
        assert np.allclose(self.model.alpha, ALPHA) and np.isclose(self.model.eta, ETA)
        words = np.concatenate([document.words for document in self.model.docs])
        documents = np.repeat(np.arange(len(self.model.docs)), [len(d.words) for d in self.model.docs])
        self.tokens = words, documents

    def sweep(self, n=1):
        self.model.train(n, workers=1)

    def topics(self):
        return np.concatenate([document.topics for document in self.model.docs])


class Lda:
    """The compiled sweep of the `lda` package. The arrays are filled here, because its initialisation is slow."""

    name = "lda"

    def __init__(self, X, n_topics, seed):
        import lda

        corpus = Corpus.from_counts(X)
        documents = np.repeat(np.arange(X.shape[0], dtype=np.intc), corpus.lengths)
        topics = np.random.default_rng(seed).integers(n_topics, size=corpus.n_tokens, dtype=np.intc)
        self.tokens = corpus.words, documents
        self.random = np.random.RandomState(seed)
        self.model = model = lda.LDA(n_topics, alpha=ALPHA, eta=ETA, random_state=seed)
        model.WS, model.DS, model.ZS = corpus.words, documents, topics
        model.nzw_ = np.zeros((n_topics, X.shape[1]), np.intc, order="F")
        model.ndz_ = np.zeros((X.shape[0], n_topics), np.intc)
        np.add.at(model.nzw_, (topics, model.WS), 1)
        np.add.at(model.ndz_, (documents, topics), 1)
        model.nz_ = np.bincount(topics, minlength=n_topics).astype(np.intc)

    def sweep(self, n=1):
        for _ in range(n):
            self.random.shuffle(self.model._rands)
            self.model._sample_topics(self.model._rands)

    def topics(self):
        return self.model.ZS


class SklearnLDA:
    """scikit-learn's variational Bayes; an iteration over the whole corpus counts as one sweep."""

    name = "scikit-learn"

    def __init__(self, X, n_topics, seed):
        from sklearn.decomposition import LatentDirichletAllocation

        self.X = X.astype(np.float64)
        self.model = LatentDirichletAllocation(
            n_topics, doc_topic_prior=ALPHA, topic_word_prior=ETA, max_iter=1, random_state=seed
        )
        self.model._init_latent_vars(X.shape[1])

    def sweep(self, n=1):
        for _ in range(n):
            self.model._em_step(self.X, total_samples=self.X.shape[0], batch_update=True)


class Mallet:
    """MALLET's ParallelTopicModel on one thread, by its command line, with one process for each number of sweeps."""

    name = "MALLET"

    def __init__(self, X, n_topics, seed, jars):
        self.folder = tempfile.TemporaryDirectory()
        self.java = ["java", "-Xmx4g", "-XX:ActiveProcessorCount=1", "-cp", os.pathsep.join(map(str, jars))]
        self.n_topics, self.seed = n_topics, seed
        text, self.corpus = Path(self.folder.name) / "text", Path(self.folder.name) / "corpus"
        with text.open("w") as file:
            for row, words in enumerate(word_lists(X)):
                print(row, "none", *words, file=file)
        self._run(
            "cc.mallet.classify.tui.Csv2Vectors",
            *["--input", text, "--output", self.corpus, "--keep-sequence", "--token-regex", r"\S+"],
        )
        # Time that is not sampling: start of the virtual machine, reading, initialisation.
        self.overhead = self._train(0)[0]

    def run(self, n_sweeps):
        """CPU seconds of `n_sweeps` sweeps, and the tokens (words, documents) and their topics at the end."""
        spent, state = self._train(n_sweeps)
        with gzip.open(state, "rt") as lines:
            rows = [line.split() for line in lines if not line.startswith("#")]
        documents, words, topics = np.array([(row[0], row[4], row[5]) for row in rows], np.int64).T
        return max(spent - self.overhead, 0.0), (words, documents), topics

    def _train(self, n_sweeps):
        state = Path(self.folder.name) / "state.gz"
        options = {
            "--input": self.corpus,
            "--num-topics": self.n_topics,
            "--alpha": ALPHA * self.n_topics,
            "--beta": ETA,
            "--num-iterations": n_sweeps,
            "--num-threads": 1,
            "--optimize-interval": 0,
            "--random-seed": self.seed + 1,
            "--output-state": state,
        }
        spent = self._run("cc.mallet.topics.tui.TopicTrainer", *(part for pair in options.items() for part in pair))
        return spent, state

    def _run(self, *command):
        before = sum(os.times()[2:4])
        subprocess.run([*self.java, *map(str, command)], check=True, capture_output=True)
        return sum(os.times()[2:4]) - before


class Topica:
    """topica.LDA on one thread with fixed priors, from random topics. Its sweeps cannot be made in turns: one fit."""

    name = "topica"

    def __init__(self, X, n_topics, seed):
        self.n_topics, self.seed = n_topics, seed
        self.texts = word_lists(X)

    def turns(self, n_sweeps, repeats, settle):
        """CPU and wall seconds of `repeats` times `n_sweeps` sweeps, after `settle` sweeps."""
        import topica

        clocks = []

        def look(sweep, *_):
            if sweep >= settle:
                clocks.append((time.process_time(), time.perf_counter()))

        model = topica.LDA(
            self.n_topics,
            alpha_sum=ALPHA * self.n_topics,
            beta=ETA,
            optimize_interval=0,
            use_symmetric_alpha=True,
            seed=self.seed,
            num_threads=1,
        )
        # Calls are at multiples of the interval.
        settle = -(-settle // n_sweeps) * n_sweeps
        model.fit(
            self.texts,
            iters=settle + repeats * n_sweeps,
            num_samples=1,
            keep_theta_draws=False,
            progress=look,
            progress_interval=n_sweeps,
        )
        return np.diff(np.array(clocks), axis=0).tolist()


PEERS = {peer.name: peer for peer in (Sklda, Tomotopy, Lda, Topica, SklearnLDA)}


def log_joint(tokens, topics, n_topics):
    """log p(w, z | alpha, eta) in nats, with theta and phi integrated out; the same function for all samplers."""
    words, documents = tokens
    V, topics = words.max() + 1, topics.astype(np.int64)

    def polya(cells, size, prior):
        counts = np.bincount(cells, minlength=size * n_topics)
        counts = counts[counts > 0]
        return np.sum(gammaln(counts + prior)) - len(counts) * gammaln(prior)

    lengths, totals = np.bincount(documents), np.bincount(topics, minlength=n_topics)
    return (
        polya(documents * n_topics + topics, len(lengths), ALPHA)
        - np.sum(gammaln(lengths + n_topics * ALPHA) - gammaln(n_topics * ALPHA))
        + polya(words * np.int64(n_topics) + topics, V, ETA)
        - np.sum(gammaln(totals + V * ETA) - gammaln(V * ETA))
    )


@contextmanager
def stopwatch():
    """Yield a dictionary that gets the CPU seconds of this process (all threads) and the wall seconds."""
    taken = {}
    cpu, wall = time.process_time(), time.perf_counter()
    yield taken
    taken["cpu"], taken["wall"] = time.process_time() - cpu, time.perf_counter() - wall


def peak_memory():
    """Peak memory of this process so far, in bytes."""
    try:
        # ru_maxrss contains memory of the parent process at the time of the start.
        with open("/proc/self/status") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
