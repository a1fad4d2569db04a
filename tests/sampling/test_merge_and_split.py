"""Merge and split: what a move changes, which topics take part, and the topics that fits find where shares differ."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.exceptions import ConvergenceWarning

from sklda import CompoundLDA, CovariateLDA, GibbsLDA
from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.priors import Priors
from sklda._sampling import merge_and_split
from sklda._sampling.chain import ChainState
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.merge_and_split import Move, exchangeable_topics, round_of_moves
from sklda.datasets import make_lda_corpus

SEED = np.random.SeedSequence(0)


def skewed_corpus(seed, n_components=8, n_documents=300, **parameters):
    """Topics of which the first has half of the tokens."""
    alpha = np.r_[0.4, np.full(n_components - 1, 0.4 / (n_components - 1))]
    settings = {"doc_length": (10, 70), "doc_topic_prior": alpha, "topic_word_prior": 0.1} | parameters
    return make_lda_corpus(n_documents, 300, n_components, random_state=seed, **settings)


def worst_cosine(topic_word, truth):
    """The cosine of the true topic that was found worst, by the best assignment of topics."""
    unit = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in (truth, topic_word)]
    cosines = unit[0] @ unit[1].T
    return cosines[linear_sum_assignment(-cosines)].min()


def chain_of(corpus, priors, topics):
    return GibbsChain(corpus, priors, ChainState(topics, random.stream(SEED)))


def bad_state(found):
    """The topics of all tokens with topics 1 and 2 of the truth as one, and half of topic 0 in the place of 2."""
    topics = found.topic_assignments.copy()
    topics[topics == 2] = 1
    whole = np.flatnonzero(topics == 0)
    topics[whole[np.random.default_rng(0).random(len(whole)) < 0.5]] = 2
    return topics


@pytest.mark.parametrize("alpha", [0.1, np.linspace(0.05, 0.2, 8)], ids=["equal", "learnt"])
def test_a_round_mends_a_copy_and_a_mixture(alpha):
    found = skewed_corpus(0)
    corpus = Corpus.from_counts(found.data)
    priors = Priors.make(alpha, 0.1, 8, 300)
    topics = bad_state(found)
    before = topics.copy()
    after, moves = round_of_moves(corpus, priors, topics, np.arange(8), SEED, lambda: None)
    assert [(set(move.joined), move.divided) for move in moves] == [({0, 2}, (1,))]
    # The array that a round takes is not changed.
    np.testing.assert_array_equal(topics, before)
    # Nearly all tokens are where they were drawn. Only topics 1 and 2 may have exchanged their names.
    same = np.mean(np.isin(after, [1, 2]) == np.isin(found.topic_assignments, [1, 2]))
    assert same > 0.9
    equal = Priors.make(float(np.mean(alpha)), 0.1, 8, 300)
    assert chain_of(corpus, equal, after).log_joint() > chain_of(corpus, equal, before).log_joint() + 1000


def test_a_round_keeps_the_truth():
    found = skewed_corpus(1)
    corpus, topics = Corpus.from_counts(found.data), found.topic_assignments
    after, moves = round_of_moves(corpus, Priors.make(0.1, 0.1, 8, 300), topics, np.arange(8), SEED, lambda: None)
    assert moves == []
    assert after is topics


def test_gains_of_merges_and_splits_add_up():
    """The gain by which moves are chosen is the change of the log joint."""
    found = skewed_corpus(0)
    corpus, priors, topics = Corpus.from_counts(found.data), Priors.make(0.1, 0.1, 8, 300), bad_state(found)
    labels = topics.copy()
    nine = merge_and_split._equal_priors(0.1, priors.word, 9)
    merges = merge_and_split._Merges(corpus, labels, nine, False, lambda: None)
    two = merge_and_split._equal_priors(0.1, priors.word, 2)
    splits = merge_and_split._splits(corpus, topics, np.arange(8), two, SEED, lambda: None)
    before = chain_of(corpus, priors, topics).log_joint()
    for joined, divided in (((0, 2), (1,)), ((3, 5), (4,)), ((0, 2, 6), (1, 7))):
        move = Move(joined, divided)
        gain = sum(splits[k].gain for k in divided)
        again = merge_and_split._Merges(corpus, topics.copy(), merges.priors, False, lambda: None)
        for k in joined[1:]:
            gain += again.gains[joined[0], k]
            again.merge(joined[0], k)
        inside = np.isin(topics, move.topics)
        after = topics.copy()
        after[inside] = move.of_topics(topics[inside], splits)
        change = chain_of(corpus, priors, after).log_joint() - before
        assert change == pytest.approx(gain, abs=1e-3), move
        assert set(np.flatnonzero(np.bincount(after, minlength=8))) == set(range(8))


def pair_entropy(X, corpus, topics, i, j):
    """The entropy of topics i and j of all their tokens, token by token, at alpha and eta of 0.1."""
    documents = np.repeat(np.arange(len(X)), corpus.lengths)
    found = 0.0
    for t in np.flatnonzero(np.isin(topics, [i, j])):
        others = np.arange(len(topics)) != t
        weights = []
        for k in (i, j):
            own = others & (topics == k)
            of_word = (own & (corpus.words == corpus.words[t])).sum() + 0.1
            weights.append((own & (documents == documents[t])).sum() + 0.1)
            weights[-1] *= of_word / (own.sum() + 0.1 * X.shape[1])
        p = weights[0] / sum(weights)
        found -= p * np.log(p) + (1 - p) * np.log(1 - p)
    return found


def not_subtracted(merges, i, j):
    return 0.0


@pytest.mark.mutation("sklda._sampling.merge_and_split._Merges._entropy_of", not_subtracted)
def test_the_best_merge_is_that_of_all_pairs_with_their_entropies():
    """Entropies are computed only for pairs that may be the best ones."""
    X = nested_corpus(5)[0][:40]
    corpus = Corpus.from_counts(X)
    priors = merge_and_split._equal_priors(0.1, np.full(300, 0.1), 10)
    chain = GibbsChain.initialise_randomly(corpus, Priors.make(0.1, 0.1, 9, 300), SEED)
    for _ in range(50):
        chain.sweep()
    merges = merge_and_split._Merges(corpus, chain.topics.copy(), priors, True, lambda: None)
    of_joint = merges.gains.copy()

    def with_entropies(topics):
        gains = merge_and_split._Merges(corpus, topics.copy(), priors, False, lambda: None).gains
        for i, j in np.argwhere(np.isfinite(gains)).tolist():
            if {i, j} <= set(topics.tolist()):
                gains[i, j] -= pair_entropy(X, corpus, topics, i, j)
        return gains

    expected = with_entropies(chain.topics)
    best = merges.best([], -np.inf)
    assert best == np.unravel_index(expected.argmax(), expected.shape)
    assert best != np.unravel_index(of_joint.argmax(), of_joint.shape)
    assert merges.gains[best] == pytest.approx(expected.max(), abs=1e-3)
    # 21 of the 36 pairs are not looked at.
    assert (merges.gains < of_joint).sum() < 20
    assert merges.best([], expected.max() + 1) is None
    # Without one of these topics, and after a merge.
    expected[best[0]] = expected[:, best[0]] = -np.inf
    second = merges.best([best[0]], -np.inf)
    assert second == np.unravel_index(expected.argmax(), expected.shape)
    merges.merge(*best)
    expected = with_entropies(merges.topics)
    third = merges.best([], -np.inf)
    assert merges.gains[third] == pytest.approx(expected[third], abs=1e-3)
    assert third == np.unravel_index(np.where(np.isfinite(merges.gains), expected, -np.inf).argmax(), expected.shape)


def test_shares_go_with_topics():
    logs = np.log([[0.1, 0.2, 0.3, 0.25, 0.15], [0.5, 0.1, 0.1, 0.2, 0.1]])
    found = np.exp(Move((0, 2), (3,)).of_logs(logs))
    np.testing.assert_allclose(found, [[0.4, 0.2, 0.125, 0.125, 0.15], [0.6, 0.1, 0.1, 0.1, 0.1]])
    several = np.exp(Move((4, 0, 1), (2, 3)).of_logs(logs))
    np.testing.assert_allclose(several[0], [0.15, 0.125, 0.15, 0.125, 0.45])


def test_topics_with_other_priors_take_no_part():
    eta = np.full((5, 30), 0.1)
    eta[1, 3] = 2.0
    np.testing.assert_array_equal(exchangeable_topics(Priors.make(0.1, eta, 5, 30), True), [0, 2, 3, 4])
    alpha = np.array([0.1, 0.2, 0.1, 0.1, 0.3])
    np.testing.assert_array_equal(exchangeable_topics(Priors.make(alpha, 0.1, 5, 30), False), [0, 2, 3])
    np.testing.assert_array_equal(exchangeable_topics(Priors.make(alpha, 0.1, 5, 30), True), np.arange(5))
    np.testing.assert_array_equal(exchangeable_topics(Priors.make(alpha, eta, 5, 30), False), [0, 2, 3])


def test_seeded_topics_keep_their_places():
    found = skewed_corpus(2)
    seeds = {k: np.argsort(-found.topic_word[k])[:5].tolist() for k in (3, 5)}
    lda = GibbsLDA(8, seed_words=seeds, random_state=0).fit(found.data)
    assert worst_cosine(lda.topic_word_, found.topic_word) > 0.9
    assert worst_cosine(lda.topic_word_[[3, 5]], found.topic_word[[3, 5]]) > 0.9


def without_moves(corpus, priors, topics, *_):
    return topics, []


FITS = {
    "default": lambda: GibbsLDA(8, random_state=0),
    "random": lambda: GibbsLDA(8, init="random", random_state=0),
    "symmetric": lambda: GibbsLDA(8, learn_priors="symmetric", random_state=0),
    "given": lambda: GibbsLDA(8, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0),
    "grouped": lambda: GibbsLDA(8, sampler="grouped", random_state=0),
    "partially_collapsed": lambda: GibbsLDA(8, sampler="partially_collapsed", random_state=0),
    "partitioned": lambda: GibbsLDA(8, sampler="partitioned", random_state=0),
    "tol": lambda: GibbsLDA(8, tol=1e-3, random_state=0),
}


@pytest.mark.filterwarnings("ignore:The fit has too few sweeps")
@pytest.mark.mutation("sklda._sampling.merge_and_split.round_of_moves", without_moves, cases="default")
@pytest.mark.parametrize("name", FITS)
def test_all_topics_are_found(name):
    found = skewed_corpus(3)
    assert worst_cosine(FITS[name]().fit(found.data).topic_word_, found.topic_word) > 0.9


def nested_corpus(seed):
    """Three parents with three topics each, which have half of their words from the parent; the first is large."""
    rng = np.random.default_rng(seed)
    parents, own = (rng.dirichlet(np.full(300, 0.05), n) for n in (3, 9))
    alpha = np.r_[0.5, np.full(8, 0.06)]
    topic_word = (parents[np.arange(9) // 3] + own) / 2
    X = np.array([rng.multinomial(60, theta @ topic_word) for theta in rng.dirichlet(alpha, 300)])
    return X, topic_word


def by_log_joint(corpus, labels, priors, own, splits, stop, seeded):
    """Moves that are chosen without the entropy of z."""
    merges = merge_and_split._Merges(corpus, labels.copy(), priors, False, stop, seeded)
    gains = {k: split.gain for k, split in splits.items() if split.gain >= 0}
    return [(move, False) for move in merge_and_split._best_moves(own, merges, gains)]


@pytest.mark.filterwarnings("ignore:The fit has too few sweeps")
@pytest.mark.mutation("sklda._sampling.merge_and_split._candidates", by_log_joint)
def test_topics_that_share_half_of_their_words_are_found():
    """All of them in seven of eight corpora, and in 28 of 32 others; in three and seven by the log joint alone."""
    n_missed = 0
    for seed in range(8):
        X, topic_word = nested_corpus(seed)
        n_missed += worst_cosine(GibbsLDA(9, random_state=0).fit(X).topic_word_, topic_word) <= 0.9
        assert n_missed <= 1


def test_models_with_other_alphas_find_all_topics():
    found = skewed_corpus(5)
    halves = np.repeat(["a", "b"], 150)
    compound = CompoundLDA(8, random_state=0).fit(found.data, collections=halves)
    assert worst_cosine(compound.topic_word_, found.topic_word) > 0.9
    covariate = CovariateLDA(8, random_state=0).fit(found.data, covariates=(halves == "a").astype(float)[:, None])
    assert worst_cosine(covariate.topic_word_, found.topic_word) > 0.9


def test_draws_are_after_the_moves(monkeypatch):
    """Priors and topics of the draws, and the trace after the burn-in, belong to topics that stay."""
    seen = []
    original = merge_and_split.round_of_moves

    def watched(corpus, priors, topics, *rest):
        topics, moves = original(corpus, priors, topics, *rest)
        seen.append(len(moves))
        return topics, moves

    monkeypatch.setattr(merge_and_split, "round_of_moves", watched)
    found = skewed_corpus(3)
    lda = GibbsLDA(8, random_state=0).fit(found.data)
    assert seen[0] > 0
    assert seen[-1] == 0
    first = round(200 + merge_and_split._WAIT * (lda.n_burn_in_ - 200))
    assert first + (len(seen) - 1) * merge_and_split._EVERY < lda.n_burn_in_
    rise = np.diff(lda.log_joint_trace_[0])
    assert rise.argmax() < lda.n_burn_in_


@pytest.mark.filterwarnings("ignore:The fit has too few sweeps")
def test_short_fits_make_no_moves(monkeypatch):
    monkeypatch.setattr(merge_and_split, "round_of_moves", None)
    found = skewed_corpus(3)
    GibbsLDA(8, max_iter=140, random_state=0).fit(found.data)
    GibbsLDA(8, burn_in=0, learn_priors=False, random_state=0).fit(found.data)


def test_given_topics_keep_their_places(monkeypatch):
    monkeypatch.setattr(merge_and_split, "round_of_moves", None)
    found = skewed_corpus(3)
    GibbsLDA(8, init=found.topic_assignments, random_state=0).fit(found.data)


def test_a_fit_whose_topics_still_change_says_so(monkeypatch):
    moves = [Move((0, 1), (2,))]

    def always_moves(corpus, priors, topics, *_):
        return topics, moves

    monkeypatch.setattr(merge_and_split, "round_of_moves", always_moves)
    found = skewed_corpus(3)
    with pytest.warns(ConvergenceWarning, match="too few sweeps.*Merging some topics and splitting others"):
        GibbsLDA(8, random_state=0).fit(found.data)


def test_a_warm_start_continues_as_one_fit():
    found = skewed_corpus(4)
    settings = {"doc_topic_prior": 0.1, "topic_word_prior": 0.1, "burn_in": 350, "random_state": 0}
    whole = GibbsLDA(8, max_iter=500, init="random", **settings).fit(found.data)
    parts = GibbsLDA(8, max_iter=400, init="random", warm_start=True, **settings).fit(found.data)
    parts.set_params(max_iter=100).fit(found.data)
    np.testing.assert_array_equal(whole.topic_assignments_, parts.topic_assignments_)
    assert worst_cosine(parts.topic_word_, found.topic_word) > 0.9


@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_few_topics(n_components):
    GibbsLDA(n_components, random_state=0).fit(skewed_corpus(0, n_documents=60).data)


def test_more_topics_than_tokens():
    GibbsLDA(400, max_iter=200, random_state=0).fit(skewed_corpus(0, n_documents=5).data)
