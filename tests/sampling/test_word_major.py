"""The word-major sweep against enumeration and against the dense one."""

import itertools
import pickle

import numpy as np
import pytest
from enumeration import DOCS, PRIORS, Enumeration, K, V, chi_square_p, make_chain, make_corpus, poisson_p

from sklda import GibbsLDA
from sklda._core.corpus import Corpus
from sklda._core.priors import Priors
from sklda._kernels import _word_major
from sklda._sampling import word_major
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.prior_path import PriorPath
from sklda._sampling.word_major import WordMajorChain

ALARM = 1e-5


@pytest.fixture(params=["lists", "rows"])
def storage(request, monkeypatch):
    """How the counts of documents are stored."""
    monkeypatch.setattr(WordMajorChain, "least_for_row", np.inf if request.param == "lists" else 0.0)


@pytest.mark.parametrize("n_components", [2, 18, 33])
def test_rows_of_32_bits_have_the_same_draws(n_components, monkeypatch):
    monkeypatch.setattr(WordMajorChain, "least_for_row", 0.0)
    drawn = []
    for largest in (word_major._LARGEST, -1):
        monkeypatch.setattr(word_major, "_LARGEST", largest)
        for eta in (0.3, np.full((n_components, V), 0.3)):
            priors = Priors.make(np.arange(n_components) + 0.1, eta, n_components, V)
            chain = make_chain(make_corpus(DOCS * 50, V), priors, np.arange(350) % n_components, kind=WordMajorChain)
            chain.sweep()
            drawn.append(chain.topics)
    np.testing.assert_array_equal(drawn[:2], drawn[2:])


def one_sweep_p(truth, start, n_draws, priors=None, **wrong):
    """p-value of `n_draws` single sweeps from `start` against the exact transition, word by word."""
    chain = make_chain(truth.corpus, priors or truth.priors, start, kind=WordMajorChain)
    restart, draws = begin_again(chain), []
    for _ in range(n_draws):
        restart()
        for name, amount in wrong.items():
            getattr(chain, name)[0] += amount
        chain.sweep()
        draws.append(chain.topics)
    order = np.argsort(truth.corpus.words, kind="stable")
    return chi_square_p(truth.frequencies(draws), truth.transition(start, order))


@pytest.mark.mutation("test_a_dropped_prior_is_found")
@pytest.mark.parametrize("alpha, eta", PRIORS.values(), ids=PRIORS)
@pytest.mark.parametrize("start", [(0, 0, 0, 0, 0, 0, 0), (0, 1, 0, 1, 1, 0, 1)])
def test_one_sweep_has_the_exact_transition(alpha, eta, start, storage):
    assert one_sweep_p(Enumeration(DOCS, V, K, alpha, eta), start, 2_500) > ALARM


@pytest.mark.mutation("test_a_wrong_count_is_found")
@pytest.mark.parametrize("own", [False, True], ids=["shared priors", "own priors"])
@pytest.mark.parametrize("n_components", [3, 18, 33])
def test_one_sweep_is_exact_for_any_number_of_lanes(n_components, own, storage):
    rng = np.random.default_rng(0)
    alpha, eta = rng.gamma(1, size=n_components) + 0.1, rng.gamma(1, size=2) + 0.1
    if own:
        alpha, eta = alpha + rng.poisson(0.3, size=(2, n_components)), rng.gamma(1, size=(n_components, 2)) + 0.1
    truth = Enumeration([[0], [1, 0]], 2, n_components, alpha, eta)
    assert one_sweep_p(truth, rng.integers(n_components, size=3), 2_500) > ALARM


@pytest.mark.parametrize("wrong", [{"topic_totals": 1}, {"_entries": 1 << 16}, {"_topics": 1}])
def test_a_wrong_count_is_found(wrong, monkeypatch):
    monkeypatch.setattr(WordMajorChain, "least_for_row", np.inf)
    truth = Enumeration(DOCS, V, K, 0.4, 0.3)
    assert one_sweep_p(truth, (0, 1, 0, 1, 1, 0, 1), 4_000, **wrong) < ALARM


@pytest.mark.parametrize("alpha, eta", list(PRIORS.values())[1:], ids=list(PRIORS)[1:])
def test_a_dropped_prior_is_found(alpha, eta, storage):
    truth = Enumeration(DOCS, V, K, alpha, eta)
    flat = Priors.make(np.mean(alpha), np.mean(eta), K, V)
    assert one_sweep_p(truth, (0, 1, 0, 1, 1, 0, 1), 2_500, priors=flat) < ALARM


@pytest.mark.mutation
@pytest.mark.parametrize("n_lists", [5, 16, 40, 100])
def test_lists_of_any_length(n_lists, storage):
    """Eta so large, and alpha so small, that a token takes the topic of another in its document.

    Before it is drawn, the last word stands in a document of n_lists topics with counts 1, 2, 3 and 1, 2, 3 again.
    """
    counts = np.arange(n_lists) % 3 + 1
    n = counts.sum() + 1
    n_documents = 1000
    words = np.tile(np.append(np.zeros(n - 1, np.int32), np.int32(1)), n_documents)
    topics = np.tile(np.append(np.repeat(np.arange(n_lists), counts), 0), n_documents)
    corpus = Corpus(words, np.arange(0, n * n_documents + 1, n), 2)
    chain = make_chain(corpus, Priors.make(1e-12, 1e12, n_lists, 2), topics, kind=WordMajorChain)
    # Only the second word is swept.
    chain._blocks = [1, 2]
    start = begin_again(chain)
    seen = np.zeros(n_lists)
    for _ in range(10):
        start()
        chain.sweep()
        seen += np.bincount(chain.topics[n - 1 :: n], minlength=n_lists)
    assert chi_square_p(seen, counts / counts.sum()) > ALARM
    assert chi_square_p(seen, np.roll(counts, 1) / counts.sum()) < ALARM


@pytest.mark.mutation
@pytest.mark.exhaustive
def test_a_rare_topic_is_drawn_at_its_rate_from_all():
    """Topic 17 has 9.9e-8 of the weight of topic 1 in its lane: added to it in single precision, it would be nothing.

    The priors are so large that tokens do not attract each other: 1.2e8 draws give it 11.9 on average, and with a
    probability of 6.9e-6 none.
    """
    length, n_documents, n_components, n_sweeps = 50_000, 200, 18, 12
    n = length * n_documents
    alpha = np.full(n_components, 1e-6)
    alpha[[1, 17]] = 1e10, 990
    corpus = Corpus(np.zeros(n, np.int32), np.arange(0, n + 1, length), 1)
    chain = make_chain(corpus, Priors.make(alpha, 1e12, n_components, 1), np.zeros(n), kind=WordMajorChain)
    start = begin_again(chain)
    drawn = 0
    for _ in range(n_sweeps):
        start()
        chain.sweep()
        drawn += np.count_nonzero(chain._topics == 17)
    expected = n * n_sweeps * 990 / 1e10
    assert poisson_p(drawn, expected) > ALARM
    # In single precision the topic would never be drawn.
    assert poisson_p(0, expected) < ALARM


@pytest.mark.mutation
@pytest.mark.exhaustive
def test_a_rare_topic_is_drawn_at_its_rate_from_a_list():
    """Topic 17 stands where its weight comes after that of topic 1, of which it has less than 1e-7.

    All topics but these two are made unlikely by their totals. Of 1.5e8 draws 12.3 are expected.
    """
    n_documents, n_components, n_sweeps, n_first, n_drawn = 60, 18, 2500, 3000, 1000
    words = np.repeat(np.array([0, 1], np.int32), [n_first + 29, n_drawn])
    topics = np.repeat([1, *range(2, 16), 17, 0], [n_first, *[2] * 14, 1, n_drawn])
    corpus = Corpus(np.tile(words, n_documents), np.arange(n_documents + 1) * len(words), 2)
    priors = Priors.make(1e-12, 1e9, n_components, 2)
    chain = make_chain(corpus, priors, np.tile(topics, n_documents), kind=WordMajorChain)
    chain._blocks = [1, 2]
    totals = np.full(n_components, 10**18)
    totals[1], totals[17] = chain.topic_totals[1], int(1e9 / (0.95e-7 * n_first / 2))
    chain.topic_totals[:] = totals
    start = begin_again(chain)
    drawn = 0
    for _ in range(n_sweeps):
        start()
        chain.sweep()
        drawn += chain.topic_totals[17] - totals[17]
    weight = 1e9 / (totals[17] + 2e9)
    expected = n_sweeps * n_documents * (weight / (0.5 * (n_first + np.arange(n_drawn)))).sum()
    assert poisson_p(drawn, expected) > ALARM
    # In single precision the topic would never be drawn.
    assert poisson_p(0, expected) < ALARM


def begin_again(chain):
    """A function that puts the chain back to its present state."""
    arrays = [getattr(chain, name) for name in ("_topics", "_entries", "_excess", "_sizes", "topic_totals")]
    before = [array.copy() for array in arrays]

    def start():
        for array, values in zip(arrays, before, strict=True):
            array[:] = values

    return start


def odd_case(n_components, own=False):
    """A corpus of short, long and empty documents, and priors that differ."""
    rng = np.random.default_rng(0)
    corpus = make_corpus([rng.integers(50, size=n) for n in [0, 1, 700, *rng.integers(300, size=40), 0]], 60)
    alpha, eta = rng.gamma(1, size=n_components) + 0.01, rng.gamma(1, size=60) + 0.01
    if own:
        alpha = alpha + rng.poisson(0.1, size=(corpus.n_documents, n_components))
        eta = rng.gamma(1, size=(n_components, 60)) + 0.01
    return corpus, Priors.make(alpha, eta, n_components, 60, corpus.n_documents)


@pytest.mark.parametrize("own", [False, True], ids=["shared priors", "own priors"])
@pytest.mark.parametrize("n_components", [1, 2, 100, 700])
def test_its_state_is_that_of_a_dense_chain(n_components, own, storage):
    corpus, priors = odd_case(n_components, own)
    chain = WordMajorChain.initialise_randomly(corpus, priors, np.random.SeedSequence(0))
    for _ in range(3):
        chain.sweep()
    dense = GibbsChain(corpus, priors, chain.state())
    np.testing.assert_array_equal(chain.word_topic_counts, dense.word_topic_counts)
    np.testing.assert_array_equal(chain.topic_totals, dense.topic_totals)
    np.testing.assert_allclose(chain.log_topics(), dense.log_topics(), rtol=1e-12)
    np.testing.assert_allclose(chain.log_words(), dense.log_words(), rtol=1e-12)
    np.testing.assert_array_equal(chain.doc_histogram(), dense.doc_histogram())
    by_topic, expected = (each.doc_histogram_by_topic().toarray() for each in (chain, dense))
    np.testing.assert_array_equal(by_topic, expected)


def test_priors_can_change_between_sweeps(storage):
    """Lists are laid out anew if documents get an alpha of their own, and back."""
    corpus, own = odd_case(30, own=True)
    _, shared = odd_case(30)
    chain = WordMajorChain.initialise_randomly(corpus, shared, np.random.SeedSequence(0))
    for priors in (own, shared, own):
        chain.sweep()
        chain.priors = priors
        fresh = WordMajorChain(corpus, priors, chain.state())
        for each in (chain, fresh):
            each.sweep()
        np.testing.assert_array_equal(chain.topics, fresh.topics)
        assert chain.log_joint() == pytest.approx(GibbsChain(corpus, priors, chain.state()).log_joint(), rel=1e-12)


@pytest.mark.parametrize("shared", [True, False], ids=["multiples", "guide"])
def test_a_path_of_priors(shared, storage):
    """The kernels of a path against sweeps, changes of the priors and log joints one at a time."""
    corpus, _ = odd_case(30)
    rng = np.random.default_rng(1)
    priors = Priors.make(rng.gamma(1, size=30) + 0.01, rng.gamma(1, size=60) + 0.01, 30, 60)
    path = PriorPath.multiples(priors, np.geomspace(10, 1, 8))
    if not shared:
        doc = rng.poisson(0.1, size=(corpus.n_documents, 30)) + priors.doc
        slopes = doc, np.arange(len(doc), dtype=np.int32), np.empty(0), rng.gamma(1, size=(60, 30))
        path = PriorPath(priors, *slopes, np.geomspace(10, 0.1, 8))
    start = WordMajorChain.initialise_randomly(corpus, path.priors_at(path.positions[0]), np.random.SeedSequence(0))
    chain, other = (WordMajorChain(corpus, start.priors, start.state()) for _ in range(2))
    log_weight, expected = chain.anneal(path), 0.0
    for before, after in itertools.pairwise(map(path.priors_at, path.positions)):
        other.priors = before
        other.sweep()
        expected -= other.log_joint()
        other.priors = after
        expected += other.log_joint()
    # The excess of alpha is in single precision.
    assert log_weight == pytest.approx(expected, rel=1e-12 if shared else 1e-6)
    assert chain.priors.equal(path.priors_at(path.positions[-1]))
    if shared:
        np.testing.assert_array_equal(chain.topics, other.topics)
    again = WordMajorChain(corpus, start.priors, start.state())
    assert again.anneal(path, weigh=False) == 0
    np.testing.assert_array_equal(again.topics, chain.topics)


def test_a_path_needs_a_shared_alpha():
    corpus, own = odd_case(30, own=True)
    chain = WordMajorChain.initialise_randomly(corpus, own, np.random.SeedSequence(0))
    with pytest.raises(ValueError, match="share alpha"):
        chain.anneal(PriorPath.multiples(own, [2.0, 1.0]))


@pytest.mark.parametrize("length", [2**16 - 1, 2**16, 2**16 + 1])
def test_long_documents_beside_short_ones(length):
    """At the border between counts of 16 and of 32 bits. All tokens of the long document can have one topic."""
    words = np.concatenate([np.sort(np.arange(length) % 50), np.tile(np.arange(50), 40)]).astype(np.int32)
    corpus = Corpus(words, np.append(0, length + 50 * np.arange(41)).astype(np.int64), 50)
    priors = Priors.make(np.append(1e6, np.full(299, 1e-3)), 10.0, 300, 50)
    chain = make_chain(corpus, priors, np.zeros(corpus.n_tokens), kind=WordMajorChain)
    for _ in range(2):
        chain.sweep()
    dense = GibbsChain(corpus, priors, chain.state())
    assert chain.doc_topic_counts()[0, 0] > 0.99 * length
    np.testing.assert_array_equal(chain.doc_histogram(), dense.doc_histogram())
    np.testing.assert_allclose(chain.log_topics(), dense.log_topics(), rtol=1e-12)


def test_goes_on_draw_for_draw_and_in_blocks(counts):
    corpus = Corpus.from_counts(counts)
    priors = Priors.make(0.1, 0.1, 40, corpus.n_features)
    chain = WordMajorChain.initialise_randomly(corpus, priors, np.random.SeedSequence(0))
    for _ in range(5):
        chain.sweep()
    other = WordMajorChain(corpus, priors, chain.state())
    other._blocks = list(range(corpus.n_features + 1))
    for _ in range(5):
        chain.sweep()
        other.sweep()
    np.testing.assert_array_equal(chain.topics, other.topics)


@pytest.mark.parametrize(
    "sampler, n_components, options",
    [("sparse", 300, {}), ("dense", 20, {}), ("sparse", 300, {"topic_word_prior": np.full((300, 60), 0.1)})],
)
def test_the_sampler_is_chosen(counts, sampler, n_components, options):
    lda = GibbsLDA(n_components, max_iter=2, random_state=0, **options).fit(counts)
    assert lda.sampler_ == sampler


@pytest.mark.parametrize("length, sampler", [(300, "dense"), (70_000, "sparse")])
def test_the_choice_depends_on_the_documents(length, sampler):
    """Lists of 211 topics are slow. Documents with a row of all counts are fast, if words have many tokens."""
    X = np.full((2, 50), length // 50)
    assert GibbsLDA(400, max_iter=1, random_state=0).fit(X).sampler_ == sampler


def test_an_estimator_at_many_topics(counts, same_fit):
    """Everything that a chain is asked for: warm start, several chains, jobs, pickles."""
    options = {"n_chains": 2, "init": "random", "random_state": 0}
    once = GibbsLDA(300, max_iter=4, **options).fit(counts)
    twice = GibbsLDA(300, max_iter=2, n_jobs=2, warm_start=True, **options).fit(counts)
    twice = pickle.loads(pickle.dumps(twice)).fit(counts)
    assert once.sampler_ == "sparse"
    np.testing.assert_array_equal(twice.topic_assignments_, once.topic_assignments_)
    np.testing.assert_array_equal(twice.log_joint_trace_, once.log_joint_trace_)
    np.testing.assert_array_equal(twice.components_, once.components_)


@pytest.mark.parametrize("own", [False, True], ids=["shared priors", "own priors"])
def test_draws_are_the_same_in_any_vectors(own, storage):
    if not _word_major.wide_vectors():
        pytest.skip("this machine has no wide vectors")
    corpus, priors = odd_case(300, own)
    topics = []
    for wide in (True, False):
        chain = WordMajorChain.initialise_randomly(corpus, priors, np.random.SeedSequence(0))
        chain._wide = wide
        for _ in range(10):
            chain.sweep()
        topics.append(chain.topics)
    np.testing.assert_array_equal(*topics)
