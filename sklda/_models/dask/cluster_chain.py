"""One chain on a Dask cluster, as the caller sees it."""

import os

from sklda._checkpoints.files import Damaged
from sklda._core import random
from sklda._core.parallel import NEVER_STOP
from sklda._input.warn import warn
from sklda._models.dask.cluster_corpus import WorkerLost
from sklda._models.dask.shard import packed
from sklda._sampling import log_joint


class ClusterChain:
    """A partially collapsed chain whose documents and topics are on the workers of a Dask cluster.

    It has the methods of a `GibbsChain` that runs of chains and Gibbs-EM call. A sweep is exact: phi is drawn given z,
    and the documents given phi, with theta integrated out. Every worker draws the same phi. The draws depend neither on
    the workers nor on the division of X into blocks.

    If a worker is lost, its blocks are read again, and all workers repeat the sweeps since the last saved state with
    the same random numbers. So the draws are those of a chain that has lost no worker.

    Parameters
    ----------
    corpus : ClusterCorpus
    priors : Priors
    seed : numpy.random.SeedSequence
    seed_words : SeedWords, default=None

    Attributes
    ----------
    draws : list of (int, None)
        The numbers of the sweeps whose topics the workers keep.
    """

    sampler = "partially_collapsed"
    keeps_parameters, saves_parts = False, True

    def __init__(self, corpus, priors, seed, seed_words=None):
        self.corpus, self.priors = corpus, priors
        self.n_sweeps = self.n_burn_in = self.n_annealed = 0
        self.trace, self.label_free, self.draws, self.steps = [], [], [], []
        key, stream = random.key(random.child(seed, 0)), random.stream(random.child(seed, 1))
        # The state from which the workers begin, and what they have done since then.
        self._beginning, self._done, self._sent = ("begin", (packed(priors), key, stream, seed_words)), [], priors
        # Where the workers have saved this state: the folder, the first part of the names of the files, and their mark.
        self._saved = None
        self._recovering(self._begin)

    def _begin(self):
        method, arguments = self._beginning
        corpus, first = self.corpus, self.corpus.first_of_shards
        if self._saved is None:
            places = zip(first(corpus.block_documents), first(corpus.block_tokens), strict=True)
            self._call(method, corpus.word_frequencies, *arguments, by_shard=list(places))
        else:
            damaged = [name for names in self._call("load", *self._saved) for name in names]
            if damaged:
                raise Damaged(damaged[0] + (f" and {len(damaged) - 1} more files" if damaged[1:] else ""))
            places = [(each,) for each in first(corpus.block_documents)]
            self._call(method, corpus.word_frequencies, *arguments, by_shard=places)

    def _begin_again(self):
        """Bring the workers from the last saved state to the present one."""
        self._begin()
        for method, arguments in self._done:
            self._call(method, *arguments)

    def _call(self, method, *arguments, by_shard=None):
        return self.corpus.call(method, *arguments, by_shard=by_shard)

    def _recovering(self, work):
        """Return ``work()``; if a worker is lost, bring the others to the present state and repeat it."""
        lost = False
        while True:
            try:
                if lost:
                    self.corpus.make_actors()
                    self._begin_again()
                    lost = False
                result = work()
                self.corpus.progress()
                return result
            except WorkerLost:
                if not lost:
                    first = self.n_sweeps - sum(method == "sweep" for method, _ in self._done)
                    warn(
                        f"A worker was lost after sweep {self.n_sweeps}. Its documents are read again, and the sweeps "
                        f"after sweep {first} are repeated with the same draws."
                    )
                lost = True
            except Damaged as error:
                if not lost:
                    raise
                raise RuntimeError(
                    f"a worker was lost, and {error} of the last saved state in {self._saved[0]} cannot be read, so "
                    "the documents of the worker cannot continue from it: resume the fit, or fit again."
                ) from error

    def _change(self, method, *arguments):
        """Call a method that changes the state of the workers, and remember it."""
        result = self._recovering(lambda: self._call(method, *arguments))
        self._done.append((method, arguments))
        return result

    def _new_priors(self):
        """The priors if the workers do not know them."""
        if self.priors is self._sent:
            return None
        self._sent = self.priors
        return packed(self.priors)

    def with_workers(self, n_jobs, work):
        """Return ``work(stop)``, which ends with the fit; see `ClusterCorpus.ended_by_errors`."""
        return work(NEVER_STOP)

    def sweep(self, stop=NEVER_STOP):
        """Draw every token once."""
        self.topic_totals = self._change("sweep", self._new_priors())[0]
        self.n_sweeps += 1

    def record(self):
        """See `GibbsChain.record`."""
        priors = self._new_priors()
        if priors is not None:
            self._change("take", priors)
        found = self._recovering(lambda: self._call("log_joint"))
        cells = sum(part for topics, _ in found for part in topics)
        log_topics = log_joint.of_topics(self.corpus, self.priors, cells)
        log_words = sum(part for _, words in found for part in words)
        self.trace.append(log_topics + log_words)
        self.label_free.append((log_topics, float(((self.topic_totals / self.corpus.n_tokens) ** 2).sum())))

    def doc_histogram(self):
        return self._recovering(lambda: self._call("doc_histogram"))[0]

    def doc_histogram_by_topic(self):
        return self._recovering(lambda: self._call("doc_histogram_by_topic"))[0]

    def word_histogram(self):
        return self._recovering(lambda: self._of_first("word_histogram"))

    @property
    def word_topic_counts(self):
        return self._recovering(lambda: self._of_first("word_topic_counts"))

    def _of_first(self, method):
        return self.corpus.call_first(method)

    def keep_draw(self, n_draws):
        """Keep the present topics on the workers."""
        self._change("keep_draw", self.n_sweeps, n_draws)
        self.draws = [*self.draws, (self.n_sweeps, None)][-n_draws:]

    def keep_only(self, every):
        """See `GibbsChain.keep_only`."""
        self.draws = [(sweep, None) for sweep, _ in self.draws if sweep > self.n_burn_in and sweep % every == 0]
        self._change("keep_only", [sweep for sweep, _ in self.draws])

    def means(self, method, most=None):
        """Topics, (n_components, n_features) float32, and the shares of topics in each draw that was used.

        With `most`, at most so many draws are used, the last ones.
        """
        return self._recovering(lambda: self._call("means", packed(self.priors), method, most))[0]

    def save_parts(self, folder, name):
        """Write the state of the workers to files in a folder. After the loss of a worker it is read from there.

        Raises
        ------
        OSError
            If a worker cannot write there. The chain can go on.
        """
        # Files of another state or fit have another mark.
        saved = str(folder), name, os.urandom(8).hex()
        for error in self._recovering(lambda: self._call("save", *saved)):
            if error is not None:
                raise OSError(f"a worker cannot write its part: {error}")
        stream = self._recovering(lambda: self.corpus.call_first("stream"))
        self._beginning, self._done = ("begin_at", (packed(self._sent), stream, self.n_sweeps)), []
        self._saved = saved

    def load_parts(self, folder):
        """Begin at the state that `save_parts` wrote; its files are in `folder` now.

        Raises
        ------
        Damaged
            If a file cannot be read, or belongs to another state.
        """
        self._saved = str(folder), *self._saved[1:]
        self._recovering(self._begin_again)
