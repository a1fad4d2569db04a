"""The actor of one worker: it reads documents, holds their topics, and sweeps them together with the other actors."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from sklda._core.corpus import Corpus
from sklda._core.parallel import Stop, Stopped, aligned
from sklda._core.priors import Priors, padded
from sklda._kernels import _tokens
from sklda._models.dask.shard_chain import NonzeroCounts, ShardChain
from sklda._models.dask.tree import Tree
from sklda._sampling.chain import ChainState, compact_topics
from sklda._sampling.draws import std_of_theta
from sklda._sampling.matching import same_names
from sklda._sampling.partially_collapsed import random_topics
from sklda._sampling.point_estimates import add_estimates


class Shard(Tree):
    """Consecutive blocks of documents of a chain.

    The caller calls `join`, then other methods by `run`. All are coroutines: the work is done in a thread, and the
    event loop of the worker answers the other workers meanwhile.

    Parameters
    ----------
    first_block : int
        The number of the first block.
    """

    def __init__(self, first_block):
        self.first_block = first_block
        self.chain, self.draws, self._loaded, self._work = None, {}, None, None
        self._thread, self._stop = ThreadPoolExecutor(1), Stop()

    def take_blocks(self, blocks):
        """Keep the documents of blocks, a sequence of `Corpus`. It is called before all coroutines."""
        self.facts = [(block.n_documents, block.n_tokens, block.fingerprint) for block in blocks]
        self.corpus = Corpus.joined(blocks)

    async def describe(self):
        """Numbers of documents and of tokens, and the hash, of every block."""
        return self.facts

    async def join(self, epoch, index, actors, n_threads):
        """Take a place among the actors. Work that belongs to an earlier place ends first."""
        # Calls may overtake each other.
        if epoch > self.epoch:
            await self.end()
        if epoch > self.epoch:
            self._stop, self.n_threads = Stop(), n_threads
            self.join_tree(epoch, index, actors)

    async def end(self):
        """End the present work."""
        self._stop.flag[0] = 1
        self.leave_tree()
        if self._work is not None:
            self._work.cancel()
        # It ends after the work before it.
        await self.in_thread(int)

    async def run(self, epoch, method, *arguments):
        """The result of a method; an error if `join` or `end` is called meanwhile, or `epoch` is an earlier one."""
        self.check_epoch(epoch)
        self._work = asyncio.ensure_future(getattr(self, method)(*map(aligned, arguments)))
        try:
            return await self._work
        except (asyncio.CancelledError, Stopped):
            raise RuntimeError("the work of this worker was ended") from None

    async def in_thread(self, function, *arguments):
        """``function(*arguments)`` in the thread of this actor."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, partial(function, *arguments))

    async def facts_of_all(self):
        """Number of tokens of every word, and number of documents of each length, in the whole corpus."""
        own = self.corpus.word_frequencies, self.corpus.length_histogram
        return await self.sum_over_shards(own, _sums_of_pairs)

    async def begin(self, first_document, first_token, frequencies, priors, key, stream, seed_words):
        """Give every token a random topic, or one by `seed_words`; it depends on `key` and its document only."""
        if seed_words is None:
            topics = await self.in_thread(random_topics, self.corpus.words, first_token, unpacked(*priors), key)
        else:
            documents = self.corpus.words, self.corpus.offsets
            topics = await self.in_thread(seed_words.first_topics, *documents, first_token, unpacked(*priors), key)
        self.draws = {}
        await self._set_up(first_document, frequencies, priors, ChainState(topics, stream))

    async def begin_at(self, first_document, frequencies, priors, stream, n_sweeps):
        """Begin with the topics and draws of `load`."""
        (topics, self.draws), self._loaded = self._loaded, None
        await self._set_up(first_document, frequencies, priors, ChainState(topics, stream, n_sweeps))

    async def _set_up(self, first_document, frequencies, priors, state):
        edges = np.cumsum([0] + [n_documents for n_documents, _, _ in self.facts]).tolist()
        make = partial(ShardChain, self.corpus, unpacked(*priors), state, first_document, edges, frequencies)
        self.chain = await self.in_thread(make)
        await self._exchange()

    async def sweep(self, priors):
        """Make one sweep.

        Parameters
        ----------
        priors : tuple or None
            `packed` priors. None: they have not changed.

        Returns
        -------
        ndarray of shape (n_components,) or None
            m_k, from the first shard.
        """
        if priors is not None:
            await self.take(priors)
        await self.in_thread(self._draw)
        await self._exchange()
        return self._for_caller(self.chain.topic_totals.copy())

    async def take(self, priors):
        """Change the priors."""
        self.chain.priors = unpacked(*priors)

    def _draw(self):
        self.chain.with_threads(self.n_threads, lambda: self.chain.sweep(self._stop))

    async def _exchange(self):
        """Add the changes of all workers to the counts."""
        own = await self.in_thread(self._own_changes)
        cells = await self.sum_over_shards(own, self._sum_of_changes)
        await self.in_thread(self.chain.change, cells)

    def _own_changes(self):
        self._dense = self.chain.changed()
        return NonzeroCounts.of(self._dense)

    def _sum_of_changes(self, parts):
        for part in parts[1:]:
            part.add_to(self._dense)
        return NonzeroCounts.of(self._dense)

    async def log_joint(self):
        """log p(z | alpha) of every block of X, and a share of the terms of log p(w | z, eta); two lists."""
        return await self.in_thread(self._log_joint)

    def _log_joint(self):
        chain = self.chain
        return chain.with_threads(
            self.n_threads, lambda: (chain.log_topics_of_blocks(), chain.log_words_of(self.index, self.n_shards))
        )

    async def doc_histogram(self):
        """`GibbsChain.doc_histogram` of all documents."""
        own = await self.in_thread(self.chain.doc_histogram)
        return self._for_caller(await self.sum_over_shards(own, _sum_of_histograms))

    async def doc_histogram_by_topic(self):
        """`GibbsChain.doc_histogram_by_topic` of all documents."""
        own = await self.in_thread(self.chain.doc_histogram_by_topic)
        return self._for_caller(await self.sum_over_shards(own, _sum_of_matrices))

    def _for_caller(self, result):
        """The result of the first shard; nothing from the others."""
        return result if self.index == 0 else None

    async def word_histogram(self):
        return await self.in_thread(self.chain.word_histogram)

    async def sent(self):
        """Bytes of the changes that this worker sent in the last sweep."""
        own, total = (results[max(results)].result().nbytes for results in (self._subtotals, self._totals))
        return own * (self.index > 0) + total * len(self._children)

    async def stream(self):
        """The seed of the next sweep."""
        return self.chain.stream

    async def word_topic_counts(self):
        return await self.in_thread(lambda: self.chain.word_topic_counts)

    async def keep_draw(self, sweep, n_draws):
        """Keep the present topics; drop the oldest ones beyond `n_draws`."""
        self.draws[sweep] = await self.in_thread(compact_topics, self.chain.topics, self.chain.priors.n_components)
        self.draws = dict(sorted(self.draws.items())[-n_draws:])

    async def keep_only(self, sweeps):
        self.draws = {sweep: topics for sweep, topics in self.draws.items() if sweep in sweeps}

    async def means(self, priors, method, most):
        """See `posterior_means`. The first shard returns the topics and their shares, the others nothing."""
        await self.take(priors)
        K, V = self.chain.priors.shape
        found, shares, later = _Means.zeros(self.corpus.n_documents, K, V), [], None
        for sweep in sorted(self.draws, reverse=True)[:most]:
            counts = await self._counts_of_draw(self.draws[sweep])
            words = csr_array(counts[:, :K])
            if later is not None and not await self.in_thread(same_names, words, later):
                break
            later = words
            totals = counts[:, :K].sum(axis=0, dtype=np.int64)
            shares.append(totals / totals.sum())
            await self.in_thread(self._add_estimates, counts, self.draws[sweep], method, found)
        self.used = sorted(self.draws)[-len(shares) :]
        self.doc_topic = await self.in_thread(found.doc_topic_mean, len(shares), self.chain.priors)
        topic_word = await self.sum_over_shards(found.topic_word, sum)
        if self.index:
            return None
        topic_word = topic_word / len(shares) + self.chain.priors.topic_word()
        return topic_word.astype(np.float32), np.array(shares[::-1])

    async def _counts_of_draw(self, topics):
        """m_kv of a draw of all documents, (n_features, width) int32."""
        K, V = self.chain.priors.shape

        def count():
            self._dense = np.zeros((V, padded(K)), np.int32)
            _tokens.count_topics(self.corpus.words, topics.astype(np.int32), self._dense, np.zeros(K, np.int64))
            return NonzeroCounts.of(self._dense)

        total = await self.sum_over_shards(await self.in_thread(count), self._sum_of_changes)
        counts = np.zeros((V, padded(K)), np.int32)
        await self.in_thread(total.add_to, counts)
        return counts

    def _add_estimates(self, counts, topics, method, found):
        priors = self.chain.priors
        for tokens, documents, block in self._blocks():
            add_estimates(
                block,
                priors,
                topics[tokens],
                found.doc_topic[documents],
                found.topic_word,
                method,
                self._stop,
                counts,
            )

    def _blocks(self):
        """The tokens, the documents and the corpus of every block of X."""
        first = 0
        for n_documents, _, _ in self.facts:
            documents = slice(first, first + n_documents)
            tokens = slice(self.corpus.offsets[first], self.corpus.offsets[documents.stop])
            yield tokens, documents, self.corpus.part(first, documents.stop)
            first = documents.stop

    def result(self, block, name):
        """What stays on the workers, of one block: ``"doc_topic"``, ``"doc_topic_std"`` or ``"topics"``."""
        tokens, documents, corpus = list(self._blocks())[block]
        if name == "doc_topic":
            return self.doc_topic[documents]
        if name == "topics":
            return self.chain.topics[tokens]
        draws = [self.draws[sweep][tokens] for sweep in self.used]
        return std_of_theta(corpus.offsets, draws, [self.chain.priors.doc] * len(draws))

    async def save(self, folder, name, mark):
        """Write the topics and the draws of every block to a file, so that any worker can go on with them.

        Returns
        -------
        OSError or None
            Why this was not possible. It is not raised, because the work of the workers goes on.
        """
        try:
            await self.in_thread(self._save, folder, name, mark)
        except OSError as error:
            return error

    def _save(self, folder, name, mark):
        for block, (tokens, _, _) in enumerate(self._blocks()):
            path = self._path(folder, name, block)
            beside = path.with_name(f"{path.name}.part")
            try:
                with open(beside, "wb") as file:
                    draws = {f"draw_{sweep}": topics[tokens] for sweep, topics in self.draws.items()}
                    np.savez(file, mark=mark, topics=self.chain.topics[tokens], **draws)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(beside, path)
            finally:
                with suppress(OSError):
                    beside.unlink()

    async def load(self, folder, name, mark):
        """Read what `save` wrote with the same mark, for `begin_at`. Returns the names of files that are damaged."""
        self._loaded, damaged = await self.in_thread(self._load, folder, name, mark)
        return damaged

    def _load(self, folder, name, mark):
        topics, draws, damaged = [], {}, []
        for block in range(len(self.facts)):
            path = self._path(folder, name, block)
            try:
                with np.load(path) as file:
                    saved = dict(file)
                if saved.pop("mark") != mark:
                    raise ValueError("a file of another state")
            except Exception:
                # A damaged file can raise any error.
                damaged.append(path.name)
                continue
            topics.append(saved.pop("topics"))
            for key, values in saved.items():
                draws.setdefault(int(key.removeprefix("draw_")), []).append(values)
        if damaged:
            return None, damaged
        return (np.concatenate(topics), {sweep: np.concatenate(parts) for sweep, parts in draws.items()}), []

    def _path(self, folder, name, block):
        return Path(folder) / f"{name}-{self.first_block + block}.npz"


class _Means:
    """Sums over draws of the estimates of theta and phi."""

    def __init__(self, doc_topic, topic_word):
        self.doc_topic, self.topic_word = doc_topic, topic_word

    @classmethod
    def zeros(cls, n_documents, n_components, n_features):
        # Double precision, so that the number of workers changes rounding errors only.
        return cls(np.zeros((n_documents, n_components), np.float32), np.zeros((n_components, n_features)))

    def doc_topic_mean(self, n_draws, priors):
        theta = self.doc_topic / np.float32(n_draws)
        theta += priors.doc
        theta /= theta.sum(axis=1, keepdims=True, dtype=np.float64)
        return theta


def packed(priors):
    """Priors in a form that takes few bytes if eta is one number; the arguments of `unpacked`."""
    word = priors.word
    if len(word) and (word == word[0]).all():
        word = word[:1].copy()
    return priors.doc, word, priors.topic, priors.totals, len(priors.word)


def unpacked(doc, word, topic, totals, n_words):
    """The inverse of `packed`."""
    return Priors(doc, np.ascontiguousarray(np.broadcast_to(word, n_words)), topic, totals)


def _sum_of_histograms(parts):
    result = np.zeros(max(map(len, parts)), np.int64)
    for part in parts:
        result[: len(part)] += part
    return result


def _sums_of_pairs(parts):
    return tuple(_sum_of_histograms(each) for each in zip(*parts, strict=True))


def _sum_of_matrices(parts):
    """The sum of sparse matrices with as many rows."""
    width = max(part.shape[1] for part in parts)
    return sum(csr_array((part.data, part.indices, part.indptr), shape=(part.shape[0], width)) for part in parts)
