"""Weights that vanish, overflow or are NaN, and flushed subnormal numbers: every draw is a topic.

Code that could end the process runs in another process.
"""

import platform

import numpy as np
import pytest
from workers import run_program

from sklda._core.priors import padded
from sklda._kernels import _annealing, _chib, _fold_in


@pytest.fixture
def run(tmp_path):
    """Run a program in another process; return what it prints."""

    def run(code, *arguments):
        exit_code, out, err = run_program(code, tmp_path, *arguments)
        assert exit_code == 0, f"exit code {exit_code}\n{err}"
        return out

    return run


def guarded(shape, dtype):
    """An array of zeros inside a larger array, and the larger array."""
    size = int(np.prod(shape))
    whole = np.full(size + 128, 77, dtype)
    own = whole[64 : 64 + size].reshape(shape)
    own[...] = 0
    return own, whole


def test_kernels_survive_words_without_a_topic():
    K, P, n, S = 3, padded(3), 5, 4
    words, offsets = np.array([0, 0, 1, 1, 1], np.int32), np.array([0, n])
    keys, alpha = np.arange(1, dtype=np.uint64), np.full((1, K), 0.1)
    word_topic = np.zeros((2, P), np.float32)
    word_topic[0, :K] = [1, 0.5, 0.2]
    arrays = []

    def scratch(shape, dtype=np.float64):
        own, whole = guarded(shape, dtype)
        arrays.append((own, whole))
        return own

    f32, i32 = np.float32, np.int32
    result, streams = scratch(1), scratch((1, 4), np.uint64)
    topics = scratch(n, i32)
    _annealing.guided(
        words, offsets, keys, word_topic, alpha, np.geomspace(10, 0.01, S)[None], 3, topics, streams, result,
        scratch((2, P), f32), scratch((2, 2), i32), scratch((_annealing.GUIDE_ROWS, P), f32), scratch(P, i32),
        scratch((3, P)), np.zeros(1, i32),
    )  # fmt: skip
    assert np.isneginf(result[0])
    assert topics.tolist()[2:] == [-1] * 3
    full = np.zeros((2, P), f32)
    full[:, :K] = 1
    for first, last in ((word_topic, full), (full, word_topic), (word_topic, word_topic)):
        for geometric in (False, True):
            topics[:], result[:], streams[:] = -1, 0, 1
            _annealing.between_models(
                words, offsets, first, last, alpha, alpha, np.linspace(0.25, 1, S), geometric, 2, topics, streams,
                result, scratch((2, P), f32), scratch((3, 2, P)), scratch((1, P), f32), scratch(n, i32),
                scratch(P, i32), scratch((2, P)), np.zeros(1, i32),
            )  # fmt: skip
            assert not np.isfinite(result[0])
    _chib.chib(
        words, offsets, keys, word_topic, alpha, S, 2, result, scratch((4, n), i32), scratch((1, P), f32),
        scratch(P, i32), scratch((2, S)), np.zeros(1, i32),
    )  # fmt: skip
    assert not np.isfinite(result[0])
    expected = scratch((1, K))
    _fold_in.fold_in(
        words, offsets, keys, word_topic, alpha, 6, 2, 0, 9, 0.01, 3.0, np.ones(len(word_topic), f32), expected,
        scratch((3, n), i32), scratch((n, P), f32), scratch((11, P), f32), scratch(P, i32), scratch(P // 16),
        np.zeros(1, i32),
    )  # fmt: skip
    assert expected.sum() == pytest.approx(2)
    for own, whole in arrays:
        assert (whole[:64] == 77).all() and (whole[64 + own.size :] == 77).all()


def test_totals_do_not_drift(run):
    """An emptied topic had a total of 0: its tokens were lost, or written beyond the counts."""
    run(
        """
        from sklda import GibbsLDA
        for alpha in ([1e-12, 1e12], [1, 1e9], [1e12, 1e-12]):
            for seed in range(8):
                lda = GibbsLDA(2, doc_topic_prior=alpha, topic_word_prior=1e-12, max_iter=3, random_state=seed)
                lda.fit([[40000]])
                assert abs(lda.components_.sum() - 40000) < 1e-3, lda.components_
        """
    )


def test_small_weights_beside_a_large_one(run):
    """One topic has as much weight as rounding lets the others keep; the last span of topics holds few."""
    run(
        """
        import numpy as np
        from sklda import GibbsLDA
        X = np.eye(200, dtype=int)
        for K in (257, 258, 272, 513, 528):
            for large in (K - 1, 0):
                for bits in (52, 50):
                    alpha = np.full(K, 1e12 / 256 / 2**bits)
                    alpha[large] = 1e12
                    lda = GibbsLDA(K, doc_topic_prior=alpha, topic_word_prior=1e-12, max_iter=100, random_state=0)
                    assert abs(lda.fit(X).components_.sum() - 200) < 1e-3
        """
    )


POISONED = """
    import sys
    import numpy as np
    from sklda._kernels import (
        _annealing, _chib, _collapsed, _dirichlet, _fold_in, _grouped, _independent, _leave_one_out,
        _partially_collapsed, _sequential, _word_major,
    )
    from sklda._sampling.collapsed import GibbsChain
    from sklda._core.corpus import Corpus
    from sklda._sampling.partitioned import PartitionedChain
    from sklda._core.priors import Priors, padded
    from sklda._sampling.word_major import WordMajorChain

    f32, i32, u64 = np.float32, np.int32, np.uint64
    rng = np.random.default_rng(0)
    for K in (1, 15, 16, 257):
        P = padded(K)
        for poison in (0.0, 1e-45, np.nan, np.inf, 1e38):
            for where in ("all", "some"):
                X = rng.poisson(1.0, (6, 5))
                X[:, 0] += 1
                corpus = Corpus.from_counts(X)
                words, offsets, N = corpus.words, corpus.offsets, corpus.n_tokens
                longest = int(corpus.lengths.max())
                keys = np.arange(6, dtype=u64)
                word_topic = np.zeros((5, P), f32)
                word_topic[:, :K] = rng.random((5, K))
                chosen = rng.random((5, P)) < (2 if where == "all" else 0.3)
                chosen[:, K:] = False
                word_topic[chosen] = poison
                alpha = np.full((1, K), 0.1)

                def check(topics, lowest=0):
                    assert ((topics >= lowest) & (topics < K)).all(), (K, poison, where, topics)

                def tables():
                    return np.empty(P, f32), np.empty(P, i32), np.empty(P // 16)

                for kernel in (_grouped.sweep, _partially_collapsed.dense):
                    topics = rng.integers(0, K, N).astype(i32)
                    for first in range(3):
                        kernel(words, offsets, first, 1, word_topic, alpha, np.zeros(6, i32), topics, *tables())
                        check(topics)
                sums = np.empty((5, -(-K // 32)))
                _dirichlet.scale_words(0, 5, np.ones(K, f32), alpha[0], word_topic, sums)
                topics = rng.integers(0, K, N).astype(i32)
                for first in range(3):
                    _partially_collapsed.sparse(
                        words, offsets, first, 1, word_topic, alpha[0], sums, topics, np.zeros(P, i32),
                        np.full(K, -1, i32), np.zeros(P), np.empty(P),
                    )
                    check(topics)
                topics = np.full(N, -1, i32)
                _independent.draw(
                    words, offsets, np.full((6, K), 0.5), word_topic[:, :K].astype(float), topics,
                    rng.integers(0, 2**60, 4).astype(u64), np.empty(K),
                )
                check(topics)
                _fold_in.fold_in(
                    words, offsets, keys, word_topic, alpha, 3, 1, 0, 9, 0.01, 3.0, np.ones(len(word_topic), f32),
                    np.empty((6, K)), np.empty((3, longest), i32), np.empty((longest, P), f32),
                    np.empty((_fold_in.FLOAT_ROWS, P), f32), *tables()[1:], np.zeros(1, i32),
                )
                topics, streams, result = np.full(N, -1, i32), np.zeros((6, 4), u64), np.zeros(6)
                _annealing.guided(
                    words, offsets, keys, word_topic, alpha, np.geomspace(10, 0.01, 4)[None], 3, topics, streams,
                    result, np.empty((5, P), f32), np.empty((2, 5), i32), np.empty((_annealing.GUIDE_ROWS, P), f32),
                    np.empty(P, i32), np.empty((3, P)), np.zeros(1, i32),
                )
                check(topics, -1)
                for geometric in (True, False):
                    _annealing.between_models(
                        words, offsets, word_topic, word_topic[::-1].copy(), alpha, alpha, np.linspace(0.25, 1, 4),
                        geometric, 1, topics, streams, result, np.empty((5, P), f32), np.empty((3, 5, P)),
                        np.empty((1, P), f32), np.empty(longest, i32), np.empty(P, i32), np.empty((2, P)),
                        np.zeros(1, i32),
                    )
                    check(topics, -1)
                _chib.chib(
                    words, offsets, keys, word_topic, alpha, 4, 2, result, np.empty((4, longest), i32),
                    np.empty((1, P), f32), np.empty(P, i32), np.empty((2, max(P // 16, 4))), np.zeros(1, i32),
                )
                _sequential.left_to_right(
                    words, offsets, keys, word_topic, alpha, result, np.empty((2, longest), i32),
                    np.empty((1, P), f32), *tables()[1:], np.zeros(1, i32),
                )
                _sequential.particle_filter(
                    words, offsets, keys, word_topic, alpha, result, np.empty(longest, i32),
                    np.empty((2, 3, longest), i32), np.empty((3, P), f32), np.empty((3, P), i32), np.empty(P // 16),
                    np.empty(3), np.zeros(1, i32),
                )
                # the collapsed samplers, whose weights are made of priors
                for own in (False, True):
                    for chain_class in (GibbsChain, WordMajorChain, PartitionedChain):
                        priors = Priors.make(0.1, np.full((K, 5), 0.1) if own else 0.1, K, 5, 6)
                        chain = chain_class.initialise_randomly(corpus, priors, np.random.SeedSequence(0))
                        for array in (priors.doc, priors.word, priors.topic[:, :K], priors.totals):
                            poisoned = rng.random(array.shape) < (2 if where == "all" else 0.3)
                            array.flags.writeable = True
                            array[poisoned] = poison
                        for _ in range(3):
                            chain.sweep()
                            check(chain.topics)
                            assert (np.bincount(chain.topics, minlength=K) == chain.topic_totals).all()
                lists = type("Lists", (WordMajorChain,), {"least_for_row": np.inf})
                for chain_class in (WordMajorChain, lists):
                    priors = Priors.make(rng.poisson(0.5, (6, K)) + 0.1, 0.1, K, 5, 6)
                    chain = chain_class.initialise_randomly(corpus, priors, np.random.SeedSequence(0))
                    chain._excess[(chain._excess > 0) & (rng.random(len(chain._excess)) < 0.5)] = poison
                    for _ in range(3):
                        chain.sweep()
                        check(chain.topics)
                        assert (np.bincount(chain.topics, minlength=K) == chain.topic_totals).all()
                shapes, sums = rng.choice([poison, -1.0, 1.0], 5), np.empty(K)
                _dirichlet.draw_words(
                    0, 5, np.zeros((5, P), np.uint16), np.zeros((0, P), i32), np.zeros(0, i32), shapes,
                    np.empty((0, P), f32), 1, np.empty((5, P), f32), sums,
                )
    print("done")
"""


def test_kernels_choose_a_topic_whatever_the_weights(run):
    assert run(POISONED).endswith("done\n")


FLUSHED = """
    import ctypes, math, struct, sys
    import numpy as np
    from sklda import CollapsedVariationalLDA, CompoundLDA
    from sklda._sampling.blocked import GroupedChain
    from sklda._sampling.partially_collapsed import PartiallyCollapsedChain
    from sklda._sampling.collapsed import GibbsChain
    from sklda._core.corpus import Corpus
    from sklda._likelihood.held_out.log_likelihoods import METHODS, log_likelihoods
    from sklda._likelihood.held_out.fold_in import fold_in
    from sklda._sampling.partitioned import PartitionedChain
    from sklda._core.priors import Priors
    from sklda._sampling.word_major import WordMajorChain
    from sklda.papers.held_out import chib, leave_one_out_score, left_to_right, particle_filter
    from sklda import GibbsLDA

    if sys.argv[1] == "True":
        # glibc's fenv_t on x86-64 ends with MXCSR: bits 15 and 6 flush results and operands.
        libm, environment = ctypes.CDLL("libm.so.6"), ctypes.create_string_buffer(32)
        assert libm.fegetenv(environment) == 0
        (mxcsr,) = struct.unpack_from("I", environment, 28)
        struct.pack_into("I", environment, 28, mxcsr | 0x8040)
        assert libm.fesetenv(environment) == 0
        assert float("1e-300") * float("1e-20") == 0

    rng = np.random.default_rng(1)
    V = 4
    def prior(shape):
        ends = rng.choice([-12, -6, 0, 6, 12], 2)
        return 10.0 ** rng.uniform(ends.min(), ends.max() + 1e-9, shape).clip(-12, 12)
    for repeat in range(int(sys.argv[2])):
        for K in (1, 2, 17, 257):
            X = rng.poisson(rng.choice([0.3, 3.0]), (5, V))
            X[0, 0] += 1
            corpus = Corpus.from_counts(X)
            for own in (False, True):
                priors = Priors.make(prior(K), prior((K, V)) if own else prior(V), K, V, 5)
                for kind in (GibbsChain, WordMajorChain, GroupedChain, PartiallyCollapsedChain, PartitionedChain):
                    chain = kind.initialise_randomly(corpus, priors, np.random.SeedSequence(repeat))
                    for _ in range(4):
                        chain.sweep()
                    assert ((chain.topics >= 0) & (chain.topics < K)).all()
                    assert (np.bincount(chain.topics, minlength=K) == chain.topic_totals).all()
                    counts = np.zeros((V, K), int)
                    np.add.at(counts, (corpus.words, chain.topics), 1)
                    assert (counts == chain.word_topic_counts[:, :K]).all()
                    assert math.isfinite(chain.log_joint())
            phi, alpha = 0.999 * rng.dirichlet(prior(V).clip(1e-3), K) + 0.001 / V, prior((1, K))
            for method in METHODS:
                if method != "exact":
                    log_likelihoods(corpus, phi, alpha, seed=np.random.SeedSequence(0), method=method,
                                    n_temperatures=5)
            for estimate in (left_to_right, particle_filter, chib):
                estimate((phi, alpha[0]), X, random_state=0)
            expected = fold_in(corpus, phi, alpha, n_sweeps=4, seed=1)
            assert np.allclose(expected.sum(axis=1), corpus.lengths, rtol=1e-3)
            lda = GibbsLDA(K, doc_topic_prior=alpha[0], topic_word_prior=prior(V), max_iter=3, random_state=0).fit(X)
            for method in ("batch", "online"):
                cvb = CollapsedVariationalLDA(K, doc_topic_prior=alpha[0], topic_word_prior=prior((K, V)), max_iter=3,
                                              learning_method=method, random_state=0).fit(X)
                for theta in (cvb.doc_topic_, cvb.partial_fit(X).transform(X)):
                    assert np.allclose(theta.sum(axis=1), 1) and (theta >= 0).all()
                assert np.isfinite(cvb.components_).all() and (cvb.components_ > 0).all()
            leave_one_out_score(lda, X, n_draws=10, n_temperatures=3, random_state=0)
            if 1 < K < 20:
                CompoundLDA(K, topic_word_prior=prior(V), max_iter=4, random_state=0).fit(
                    X, collections=[0, 0, 1, 1, 1]
                )
    print("done")
"""


@pytest.mark.parametrize("flushed", [False, True])
def test_priors_over_24_orders_of_magnitude(run, flushed):
    """Also with subnormal numbers flushed to zero, as any library in the process may switch it on."""
    if flushed and not (platform.machine() == "x86_64" and platform.libc_ver()[0] == "glibc"):
        pytest.skip("flushing is switched on by the layout of fenv_t in glibc on x86-64")
    assert run(FLUSHED, flushed, 2).endswith("done\n")
