"""The sampler of labelled LDA against enumeration, and its expected counts."""

import pickle

import numpy as np
import pytest
from enumeration import DOCS as OPEN_DOCS
from enumeration import Enumeration, chi_square_p, make_corpus
from label_cases import PRIORS, LabelEnumeration, indicator, make_case
from sklearn.naive_bayes import MultinomialNB

from sklda import LabeledLDA
from sklda._models.labels.label_chain import LabelChain
from sklda._models.labels.open_topics import LabelPriors, OpenTopics
from sklda._models.labels.results import LabelMeans, LabelSums
from sklda._sampling.steps import advance

ALARM = 1e-5
# One allowed state of the seven tokens.
START = (0, 0, 0, 2, 2, 1, 2)


def one_sweep_p(truth, alpha, eta, n_draws=5_000, break_it=lambda chain: None, start=START):
    """p-value of single sweeps from `start` against the exact transition."""
    chain = truth.chain(alpha, eta, start)
    choices = chain.topics.copy()
    draws = np.empty((n_draws, len(start)), np.int32)
    for draw in draws:
        chain.set_topics(choices)
        break_it(chain)
        chain.sweep()
        draw[:] = chain.token_topics()
    return chi_square_p(truth.frequencies(draws), truth.transition(start))


@pytest.mark.mutation("test_a_wrong_count_and_a_dropped_prior_are_found")
@pytest.mark.parametrize("n_shared", [0, 1])
@pytest.mark.parametrize("name", PRIORS)
def test_one_sweep_has_the_exact_transition(name, n_shared):
    assert one_sweep_p(*make_case(name, n_shared)) > ALARM


def miscount_pairs(chain):
    chain.pair_counts[:5] += 1


def miscount_topic(chain):
    chain.topic_totals[0] += 3


@pytest.mark.parametrize("wrong", [miscount_pairs, miscount_topic, *list(PRIORS)[1:]])
def test_a_wrong_count_and_a_dropped_prior_are_found(wrong):
    truth, alpha, eta = make_case("symmetric" if callable(wrong) else wrong)
    break_it = wrong if callable(wrong) else lambda chain: None
    assert one_sweep_p(truth, np.mean(alpha), np.mean(eta), break_it=break_it) < ALARM


@pytest.mark.mutation
@pytest.mark.parametrize("kind", ["labels", "shared topics"])
def test_with_all_labels_open_the_chain_has_the_posterior_of_lda(kind):
    n_labels = 2 if kind == "labels" else 1
    labels = [[*range(n_labels)]] * 3
    truth = Enumeration(OPEN_DOCS, 4, 2, 0.4, 0.3)
    own = LabelEnumeration(OPEN_DOCS, labels, n_labels, 2 - n_labels, 4, 0.4, 0.3)
    priors = own.chain(0.4, 0.3, [0] * 7).priors
    draws = []
    for seed in np.random.SeedSequence(1).spawn(1500):
        chain = LabelChain.initialise(truth.corpus, priors, seed)
        for _ in range(20):
            chain.sweep()
        draws.append(chain.token_topics())
    assert chi_square_p(truth.frequencies(draws), truth.posterior) > ALARM
    other = Enumeration(OPEN_DOCS, 4, 2, 0.8, 0.3)
    assert chi_square_p(truth.frequencies(draws), other.posterior) < ALARM


@pytest.mark.parametrize("n_shared", [0, 1, pytest.param(2, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("name", PRIORS)
def test_the_mean_of_expected_counts_is_the_exact_mean(name, n_shared):
    """Summed over all states, with their probabilities."""
    truth, alpha, eta = make_case(name, n_shared)
    states = np.flatnonzero(truth.posterior)
    chain = truth.chain(alpha, eta, truth.states[states[0]])
    doc, pair = np.zeros(len(truth.opened.topics)), np.zeros(len(truth.opened.pairs))
    for i in states:
        chain.set_topics(truth.choices(truth.states[i]))
        sums = LabelSums(0, 1, "cgs_p")
        sums.add(chain)
        doc += truth.posterior[i] * sums.doc
        pair += truth.posterior[i] * sums.pair
    exact_doc, exact_pair = (np.tensordot(truth.posterior, each, 1) for each in (truth.n_dk, truth.m_kv))
    np.testing.assert_allclose(truth.opened.document_matrix(doc).toarray(), exact_doc, atol=1e-12)
    np.testing.assert_allclose(truth.opened.pair_matrix(pair).toarray().T, exact_pair, atol=1e-12)


@pytest.mark.parametrize("name", PRIORS)
def test_the_log_joint(name):
    truth, alpha, eta = make_case(name, 1)
    states = np.flatnonzero(truth.posterior)[::5]
    chain = truth.chain(alpha, eta, truth.states[states[0]])
    found = []
    for i in states:
        chain.set_topics(truth.choices(truth.states[i]))
        found.append(chain.log_joint())
    # The normalisers of the two differ by what the closed topics would add.
    difference = np.array(found) - truth.log_joint[states]
    np.testing.assert_allclose(difference, difference[0], atol=1e-10)


def test_one_label_per_document_is_naive_bayes():
    rng = np.random.default_rng(0)
    X, y = rng.poisson(0.7, (60, 30)), rng.integers(4, size=60)
    lda = LabeledLDA(topic_word_prior=0.25, random_state=0).fit(X, y)
    bayes = MultinomialNB(alpha=0.25).fit(X, y)
    np.testing.assert_allclose(np.log(lda.topic_word_), bayes.feature_log_prob_, rtol=1e-12)
    np.testing.assert_array_equal(lda.doc_topic_, np.eye(4)[y])


def test_a_pickled_chain_continues_with_the_same_draws():
    truth, alpha, eta = make_case("eta per topic and word", 2)
    chain = truth.chain(alpha, eta, START)
    chain.step(LabelSums).add(chain)
    copy = pickle.loads(pickle.dumps(chain))
    for each in (chain, copy):
        each.sweep()
        each.step(LabelSums).add(each)
    np.testing.assert_array_equal(copy.topics, chain.topics)
    np.testing.assert_array_equal(copy.step(LabelSums).pair, chain.step(LabelSums).pair)
    assert copy.step(LabelSums).n_draws == chain.step(LabelSums).n_draws == 2


def test_results_before_the_first_draw_do_not_change_the_chain():
    truth, alpha, eta = make_case()
    chain = truth.chain(alpha, eta, START)
    means = LabelMeans.of([chain], 3)
    assert means.doc_counts.sum() == pytest.approx(7)
    assert means.pair_counts.sum() == pytest.approx(7)
    assert chain.step(LabelSums).n_draws == 0
    assert not np.any(chain.step(LabelSums).doc)


def test_documents_without_open_topics_do_not_count():
    corpus = make_corpus([[0, 1], [1, 1], []], 2)
    opened = OpenTopics.make(corpus, indicator([[], [1], [0]], 2), 0)
    priors = LabelPriors.make(0.5, 0.5, opened)
    chain = LabelChain.initialise(corpus, priors, np.random.SeedSequence(0))
    sums = LabelSums(0, 1, "cgs")
    advance(chain, [sums])
    assert chain.token_topics().tolist() == [-1, -1, 1, 1]
    assert chain.topic_totals.tolist() == [0, 2]
    assert sums.doc.tolist() == [2, 0]


def test_shared_topics_are_matched_before_chains_are_averaged():
    truth, alpha, eta = make_case("symmetric", 2)
    chains = [truth.chain(alpha, eta, truth.states[np.flatnonzero(truth.posterior)[0]]) for _ in range(2)]
    a, b = (chain.step(LabelSums) for chain in chains)
    rng = np.random.default_rng(0)
    a.doc, a.pair = rng.random(len(truth.opened.topics)), rng.random(len(truth.opened.pairs))
    a.theta, a.shares = rng.random((2, len(a.doc))), [rng.random(5)]

    def swapped(sums, topics):
        found, shared = sums.copy(), topics >= 3
        found[shared] = sums[shared].reshape(-1, 2)[:, ::-1].ravel()
        return found

    b.doc, b.pair = swapped(a.doc, truth.opened.topics), swapped(a.pair, truth.opened.pairs)
    b.theta = np.array([swapped(each, truth.opened.topics) for each in a.theta])
    b.shares = [a.shares[0][[0, 1, 2, 4, 3]]]
    a.n_draws = b.n_draws = 1
    means = LabelMeans.of(chains, 3)
    np.testing.assert_allclose(means.doc_counts, a.doc)
    np.testing.assert_allclose(means.pair_counts, a.pair)
    np.testing.assert_allclose(means.theta_moments, a.theta)
    np.testing.assert_allclose(means.shares, [a.shares[0]] * 2)


def test_standard_deviations_of_proportions_are_those_of_the_mixture():
    """Draws in proportion to the posterior: theta has the second moment of a mixture of Dirichlet distributions."""
    truth, alpha, eta = make_case()
    chain = truth.chain(alpha, eta, START)
    possible = truth.posterior > 0
    sums, mean, square = chain.step(LabelSums), 0.0, 0.0
    for z, p in zip(truth.states[possible], truth.posterior[possible], strict=True):
        own = truth.chain(alpha, eta, z)
        a = own.doc_counts() + own.priors.doc[truth.opened.topics]
        A = np.repeat(truth.opened.document_matrix(a).sum(axis=1), truth.opened.numbers)
        mean, square = mean + p * a / A, square + p * a * (a + 1) / (A * (A + 1))
        sums.theta = np.add(sums.theta, (p * a / A, p * (a / A) ** 2))
    sums.doc, sums.pair = chain.doc_counts(), np.zeros(len(truth.opened.pairs))
    sums.shares, sums.n_draws = [np.ones(3)], 1
    found = LabelMeans.of([chain], 3).theta_std(chain.priors)
    np.testing.assert_allclose(found.data, np.sqrt(square - mean**2), rtol=1e-9)
