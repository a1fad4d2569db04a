"""CVB0 and SCVB0 against a plain version in NumPy, and their distance to exact posterior means."""

import numpy as np
import pytest
from enumeration import DOCS, PRIORS, Enumeration, K, V, make_corpus

from sklda._core.corpus import Corpus
from sklda._core.parallel import NEVER_STOP, with_team
from sklda._core.priors import Priors, padded
from sklda._models.variational.batch import Batch
from sklda._models.variational.fixed_topics import infer
from sklda._models.variational.passes import proportions, topics
from sklda._models.variational.stream import Stream
from sklda.datasets import make_lda_corpus

SHARED = {name: priors for name, priors in PRIORS.items() if name != "alpha per document"}
SEED = np.random.SeedSequence(3)


def a_corpus(n_documents=40, n_features=30):
    """Documents of zero to thirty tokens, with repeated words."""
    X = make_lda_corpus(n_documents, n_features, 3, doc_length=np.arange(n_documents) % 31, random_state=0).data
    return make_corpus([np.repeat(row.indices, row.data) for row in map(X.getrow, range(n_documents))], n_features)


def some_priors(name, n_components, n_features):
    rng = np.random.default_rng(5)
    alpha = rng.uniform(0.05, 1, n_components) if name == "alpha per topic" else 0.3
    shape = {"eta per word": n_features, "eta per topic and word": (n_components, n_features)}.get(name, ())
    return Priors.make(alpha, rng.uniform(0.01, 0.5, shape), n_components, n_features)


def plain_update(block, own, word_topic, totals, priors, n_updates=1, new=False, removed=1.0):
    """The updates of a block one word at a time, in double precision. Changes its arguments; returns n_dk.

    `removed` is the share of a token's own distribution that its update does not count.
    """
    alpha, eta = priors.doc[0], np.broadcast_to(priors.topic_word(), priors.shape)
    doc_topic = np.zeros((block.n_documents, len(alpha)))
    for d in range(block.n_documents):
        entries = range(block.offsets[d], block.offsets[d + 1])
        n = sum((block.repeats[i] * own[i] for i in entries), np.zeros(len(alpha)))
        if new:
            totals += n
            for i in entries:
                word_topic[block.words[block.rows[i]]] += block.repeats[i] * own[i]
        now = totals.copy()
        before = n.copy()
        for i in [*entries] * n_updates:
            v, c = block.words[block.rows[i]], block.repeats[i]
            mine = removed * own[i]
            weights = (n - mine + alpha) * (word_topic[v] - mine + eta[:, v]) / (now - mine + eta.sum(axis=1))
            step = weights / weights.sum() - own[i]
            own[i] += step
            n += c * step
            word_topic[v] += c * step
        totals += n - before
        doc_topic[d] = n
    return doc_topic


def plain_sweep(batch):
    """A sweep of `batch` in NumPy: its distributions, m_kv by word, and n_dk."""
    n = batch.priors.n_components
    own = [each[:, :n].astype(float) for each in batch.own]
    word_topic, totals, doc_topic = batch.word_topic[:, :n].copy(), batch.topic_totals.copy(), []
    for g in range(0, len(own), batch.group_blocks):
        now, total_now = word_topic.copy(), totals.copy()
        for b in range(g, min(g + batch.group_blocks, len(own))):
            changed, total_changed = now.copy(), total_now.copy()
            doc_topic.append(plain_update(batch.blocks[b], own[b], changed, total_changed, batch.priors))
            word_topic += changed - now
            totals += total_changed - total_now
    return own, word_topic, np.concatenate(doc_topic)


def run(batch, n_sweeps):
    def work(team):
        batch.initialise(team)
        for _ in range(n_sweeps):
            batch.sweep(team)

    with_team(1, work)
    return batch


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize("n_components", [2, 16, 37])
@pytest.mark.parametrize("entries", [10**6, 50])
def test_a_sweep_is_that_of_a_plain_version(name, n_components, entries):
    corpus = a_corpus()
    batch = run(Batch(corpus, some_priors(name, n_components, 30), SEED, block_entries=entries, group_blocks=2), 2)
    own, word_topic, doc_topic = plain_sweep(batch)
    with_team(1, batch.sweep)
    found = np.concatenate(batch.own)
    np.testing.assert_allclose(found[:, :n_components], np.concatenate(own), rtol=0, atol=1e-6)
    assert (found[:, n_components:] == 0).all()
    np.testing.assert_allclose(batch.counts.T, word_topic, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(batch.doc_topic()[batch.order], doc_topic, rtol=1e-6, atol=5e-6)
    np.testing.assert_allclose(batch.counts.sum(), corpus.n_tokens, rtol=1e-6)


def test_an_update_that_counts_its_own_token_is_found():
    """The tolerance of the test above must find this error."""
    batch = run(Batch(a_corpus(), some_priors("symmetric", 3, 30), SEED), 2)
    block, wrong = batch.blocks[0], batch.own[0][:, :3].astype(float)
    right = wrong.copy()
    for own, removed in ((right, 1.0), (wrong, 0.999)):
        counts = batch.word_topic[:, :3].copy(), batch.topic_totals.copy()
        plain_update(block, own, *counts, batch.priors, removed=removed)
    with_team(1, batch.sweep)
    assert np.abs(batch.own[0][:, :3] - right).max() < 1e-6
    assert np.abs(batch.own[0][:, :3] - wrong).max() > 1e-5


@pytest.mark.parametrize("name", SHARED)
def test_documents_enter_as_in_a_plain_version(name):
    corpus, priors = a_corpus(), some_priors(name, 5, 30)
    batch = Batch(corpus, priors, SEED)
    batch.own[0][:, :5] = np.random.default_rng(1).dirichlet(np.ones(5), len(batch.own[0]))
    own, word_topic = batch.own[0][:, :5].astype(float), np.zeros((30, 5))
    doc_topic = plain_update(batch.blocks[0], own, word_topic, np.zeros(5), priors, 3, new=True)
    changes, totals = batch._update(0, batch._slots[0], NEVER_STOP, 3, True)
    np.testing.assert_allclose(batch.own[0][:, :5], own, rtol=0, atol=1e-6)
    n_words = len(batch.blocks[0].words)
    np.testing.assert_allclose(changes[:n_words, :5], word_topic[batch.blocks[0].words], rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(totals, doc_topic.sum(axis=0), rtol=1e-5)


def test_blocks_of_a_corpus():
    corpus = a_corpus()
    batch = Batch(corpus, some_priors("symmetric", 3, 30), SEED, block_entries=50)
    assert len(batch.blocks) > 4
    tokens = [np.sort(corpus.words[corpus.offsets[d] : corpus.offsets[d + 1]]) for d in batch.order]
    for block in batch.blocks:
        words, counts = block.words[block.rows], block.repeats.astype(int)
        for d, document in enumerate(tokens[slice(*block.documents)]):
            own = slice(block.offsets[d], block.offsets[d + 1])
            assert np.repeat(words[own], counts[own]).tolist() == document.tolist()
    assert batch.blocks[-1].documents[1] == corpus.n_documents


# By prior: the largest distance of theta to its posterior mean, over documents, topics and ten starts. It is the error
# of the approximation. Topics with equal priors have the mean 1/2, and every start ends in one of two modes.
DISTANCES = {"alpha per topic": 0.2202, "eta per topic and word": 0.0924}


@pytest.mark.parametrize("name", DISTANCES)
def test_the_distance_to_the_posterior_mean(name):
    alpha, eta = PRIORS[name]
    truth = Enumeration(DOCS, V, K, alpha, eta)
    mean = np.tensordot(truth.posterior, truth.n_dk, 1) + truth.alpha
    mean /= mean.sum(axis=1, keepdims=True)
    priors = Priors.make(alpha, eta, K, V)
    found = [proportions(run(Batch(truth.corpus, priors, np.random.SeedSequence(s)), 300)) for s in range(10)]
    distance = np.abs(np.array(found) - mean).max()
    assert abs(distance - DISTANCES[name]) < 0.002


def test_a_long_run_ends_at_a_fixed_point():
    batch = run(Batch(a_corpus(), some_priors("symmetric", 3, 30), SEED), 2000)
    own, _, _ = plain_sweep(batch)
    np.testing.assert_allclose(np.concatenate(batch.own)[:, :3], np.concatenate(own), atol=1e-4)


# --- fixed topics -----------------------------------------------------------------------------------------------------

PHI = np.array([[0.5, 0.3, 0.1, 0.1], [0.1, 0.1, 0.2, 0.6], [0.25, 0.25, 0.25, 0.25]])


def plain_inference(words, phi, alpha, n_updates):
    """n_k of one document, token by token, where the tokens of a word share their distribution."""
    distinct, counts = np.unique(np.array(words, int), return_counts=True)
    own = alpha * phi[:, distinct].T
    own /= own.sum(axis=1, keepdims=True)
    n = counts @ own
    for _ in range(n_updates):
        for i, c in enumerate(counts):
            now = (n - own[i] + alpha) * phi[:, distinct[i]]
            now /= now.sum()
            n += c * (now - own[i])
            own[i] = now
    return n


@pytest.mark.parametrize("n_updates", [1, 2, 50])
def test_fixed_topics_as_in_a_plain_version(n_updates):
    alpha = np.array([0.2, 0.5, 1.0])
    docs = [[0], [], [0, 1, 3], [3, 3, 3, 0, 0, 1, 2, 3], [0, 3] * 10]
    found = infer(make_corpus(docs, 4), PHI, alpha, n_updates=n_updates, tolerance=0.0)
    for document, counts in zip(docs, found, strict=True):
        np.testing.assert_allclose(counts, plain_inference(document, PHI, alpha, n_updates), rtol=1e-5, atol=1e-6)


def test_the_distance_to_the_mean_given_the_topics():
    """Exact means as in test_fold_in.py. CVB0 is exact for one token; the largest distance here is 0.129."""
    from likelihood.held_out.test_fold_in import EXACT

    distances = []
    for words, alpha, exact in EXACT:
        n = infer(make_corpus([words], 4), PHI[: len(alpha)], alpha, n_updates=10**4, tolerance=0.0)[0]
        distances.append(np.abs((n + alpha) / (len(words) + alpha.sum()) - exact).max())
        if len(words) == 1:
            assert distances[-1] < 1e-6
    assert abs(max(distances) - 0.129) < 0.001


def test_updates_end_by_the_tolerance():
    corpus, alpha = make_corpus([[0, 3] * 10], 4), np.full(3, 0.5)
    found = {t: infer(corpus, PHI, alpha, n_updates=10**4, tolerance=t) for t in (0.0, 1e-3, 1e9)}
    one = infer(corpus, PHI, alpha, n_updates=1, tolerance=0.0)
    assert np.array_equal(found[1e9], one)
    assert 0 < np.abs(found[1e-3] - found[0.0]).max() < 0.1


# --- streams ----------------------------------------------------------------------------------------------------------


def a_stream(counts, priors, **options):
    settings = {"total_samples": 40, "decay": 0.7, "offset": 10.0, "n_updates": 1, "tolerance": 0.0}
    return Stream(counts, priors, **settings | options)


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize("size", [1.0, 0.25])
def test_a_step_moves_the_counts_to_those_of_the_chunk(name, size):
    corpus, priors = a_corpus(), some_priors(name, 5, 30)
    counts = np.random.default_rng(0).gamma(1, 20, (5, 30))
    phi = counts + priors.topic_word()
    phi /= phi.sum(axis=1, keepdims=True)
    expected = np.zeros((5, 30))
    for d in range(corpus.n_documents):
        words = corpus.words[corpus.offsets[d] : corpus.offsets[d + 1]]
        distinct, c = np.unique(np.array(words, int), return_counts=True)
        own = priors.doc[0] * phi[:, distinct].T
        own /= own.sum(axis=1, keepdims=True)
        n = c @ own
        for i in range(len(c)):
            now = (n - own[i] + priors.doc[0]) * phi[:, distinct[i]]
            n += c[i] * (now / now.sum() - own[i])
            own[i] = now / now.sum()
        expected[:, distinct] += (c[:, None] * own).T
    stream = a_stream(counts, priors, total_samples=80)
    with_team(1, lambda team: stream.step(corpus, team, size))
    # 40 documents stand for 80.
    np.testing.assert_allclose(stream.counts, (1 - size) * counts + size * 2 * expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(stream.topic_totals, stream.counts.sum(axis=1), rtol=1e-5)


def test_one_chunk_and_a_step_of_one_is_the_update_of_cvb0():
    """Documents that enter a corpus ten million times larger: what CVB0 subtracts from the topics does not count."""
    corpus = a_corpus()
    given = 1e7 * np.random.default_rng(0).gamma(1, 1, (5, 30))
    batch = Batch(corpus, Priors.make(0.3, given, 5, 30), SEED)
    block, own = batch.blocks[0], batch.own[0]
    own[:, :5] = (given / given.sum(axis=1, keepdims=True))[:, block.words[block.rows]].T
    own /= own.sum(axis=1, keepdims=True)
    changes, _ = batch._update(0, batch._slots[0], NEVER_STOP, 1, True)
    stream = a_stream(given, Priors.make(0.3, 1e-12, 5, 30))
    with_team(1, lambda team: stream.step(corpus, team, 1.0))
    np.testing.assert_allclose(stream.counts[:, block.words].T, changes[: len(block.words), :5], rtol=1e-5, atol=1e-5)


def test_many_small_steps_keep_their_digits():
    corpus, priors = a_corpus(), some_priors("symmetric", 5, 30)
    counts = np.random.default_rng(0).gamma(1, 20, (5, 30))
    stream, plain = a_stream(counts, priors), counts.copy()

    def work(team):
        nonlocal plain
        for _ in range(60):
            before = a_stream(plain, priors)
            before.step(corpus, team, 0.5)
            stream.step(corpus, team, 0.5)
            plain = before.counts

    with_team(1, work)
    np.testing.assert_allclose(stream.counts, plain, rtol=1e-4, atol=1e-6)


def test_topics_of_rows():
    batch = run(Batch(a_corpus(), some_priors("eta per word", 3, 30), SEED), 3)
    np.testing.assert_allclose(topics(batch).sum(axis=1), 1)
    np.testing.assert_allclose(proportions(batch).sum(axis=1), 1)
    assert batch.word_topic.shape[1] == padded(3)


def test_a_round_of_moves_keeps_the_tokens():
    """Counts after a round are those of the distributions, whose sums are one; and topics of the truth are found."""
    alpha = np.r_[0.4, np.full(7, 0.4 / 7)]
    found = make_lda_corpus(
        500, 300, 8, doc_length=(10, 70), doc_topic_prior=alpha, topic_word_prior=0.1, random_state=3
    )
    corpus = Corpus.from_counts(found.data)
    batch = Batch(corpus, Priors.make(0.05, 0.1, 8, 300), SEED)

    def work(team):
        batch.initialise(team)
        for _ in range(20):
            batch.sweep(team)
        while batch.merge_and_split(team.stop):
            np.testing.assert_allclose(batch.word_topic.sum(axis=1), corpus.word_frequencies, rtol=1e-5)
            np.testing.assert_allclose(batch.topic_totals.sum(), corpus.n_tokens, rtol=1e-5)
            # The proportions belong to the topics after the round.
            np.testing.assert_allclose(batch.doc_topic().sum(axis=1), corpus.lengths, rtol=1e-4)
            np.testing.assert_allclose(batch.doc_topic().sum(axis=0), batch.topic_totals, rtol=1e-4)
            for own in batch.own:
                np.testing.assert_allclose(own.sum(axis=1), 1, rtol=1e-4)
            for _ in range(5):
                batch.sweep(team)

    with_team(1, work)
    topic_word = topics(batch)
    unit = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in (found.topic_word, topic_word)]
    assert (unit[0] @ unit[1].T).max(axis=1).min() > 0.9
