"""TopicCountLDA: the posterior over the number of topics against the exact one, and the promises of an estimator."""

import itertools
import pickle
import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from enumeration import CASES, EXACT, Enumeration, make_chain, make_corpus
from scipy.special import logsumexp, softmax
from scipy.stats import poisson, randint
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from sklda import TopicCountLDA
from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.count_histograms import CountHistograms
from sklda._core.gibbs_em import BOUNDS
from sklda._core.parallel import NEVER_STOP
from sklda._core.priors import Priors
from sklda._likelihood.evidence.estimates import EvidenceSettings
from sklda._likelihood.held_out.averages import log_mean_exp
from sklda._models.topic_count.posterior import standard_errors
from sklda._models.topic_count.runs import CENTRE, SPREAD, PriorRule, new_chain, run_chain
from sklda._sampling.chain import ChainState
from sklda._sampling.collapsed import GibbsChain
from sklda.datasets import make_lda_corpus

FLAT = "three words, 1, 1"
TINY = {"doc_topic_prior": 1.0, "topic_word_prior": 1.0, "random_state": 0}
QUICK = {"max_iter": 3000, "random_state": 0}
ignore = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
# A prior that is far from the truth makes copies of topics, and so unequal shares.
ignore_shares = pytest.mark.filterwarnings("ignore:The shares of the topics:UserWarning")


@pytest.fixture(scope="module")
def tiny():
    return make_corpus(*EXACT[FLAT][:2]).to_counts()


@pytest.fixture(scope="module")
def X():
    return make_lda_corpus(120, 40, 4, doc_length=60, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0).data


@pytest.fixture(scope="module")
def fitted(X):
    return TopicCountLDA(2, 7, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0).fit(X)


def exact(case):
    """Counts, options that name the priors, and log p(w | T) for T = 1..4."""
    docs, n_features, alpha, eta, log_p = EXACT[case]
    options = {"doc_topic_prior": alpha, "topic_word_prior": eta, "random_state": 0}
    return make_corpus(docs, n_features).to_counts(), options, np.array(log_p)


@ignore
@pytest.mark.parametrize("case", CASES)
def test_the_scan_finds_the_exact_posterior(case):
    X, options, log_p = exact(case)
    # Eight chains need more sweeps than the default for so few tokens.
    lda = TopicCountLDA(1, 4, n_chains=8, max_iter=50_000, **options).fit(X)
    assert lda.topic_counts_.tolist() == [1, 2, 3, 4]
    errors = lda.topic_count_posterior_ - softmax(log_p)
    assert (np.abs(errors) < 4.5 * lda.topic_count_posterior_std_).all()
    assert (lda.topic_count_posterior_std_ < 0.1).all()
    found, std = (values[~np.isnan(values)] for values in (lda.log_evidence_ - log_p, lda.log_evidence_std_))
    assert len(found) >= 3
    # One topic leaves nothing to chance.
    assert (np.abs(found)[1:] < 4.5 * std[1:]).all()
    assert abs(found[0]) < 1e-4
    assert lda.log_evidence_std_[0] < 1e-12


@ignore
@pytest.mark.parametrize("prior", [[4, 3, 2, 1], [1, 0, 1, 2], poisson(2)], ids=["falling", "with a gap", "poisson"])
def test_a_prior_over_the_number_of_topics(prior):
    X, options, log_p = exact(FLAT)
    lda = TopicCountLDA(1, 4, topic_count_prior=prior, n_chains=8, **options).fit(X)
    p = prior.pmf(np.arange(1, 5)) if hasattr(prior, "pmf") else np.array(prior)
    expected = (np.exp(log_p) * p)[p > 0] / (np.exp(log_p) * p).sum()
    assert lda.topic_counts_.tolist() == (np.arange(1, 5)[p > 0]).tolist()
    assert (np.abs(lda.topic_count_posterior_ - expected) < 4.5 * lda.topic_count_posterior_std_).all()
    assert (lda.topic_count_posterior_std_ < 0.1).all()


def test_the_truth_is_the_mode(X, fitted):
    assert fitted.n_components_ == 4
    assert fitted.topic_count_posterior_.sum() == pytest.approx(1)
    low, high = fitted.topic_count_interval_
    assert low <= 4 <= high
    assert fitted.components_.shape == (4, 40)
    assert fitted.transform(X).shape == (120, 4)
    assert fitted.get_feature_names_out().tolist() == [f"topiccountlda{k}" for k in range(4)]
    assert np.isfinite(fitted.score(X))
    assert 1 < fitted.perplexity(X) < 40


def test_set_output(X, fitted):
    pytest.importorskip("pandas")
    frame = pickle.loads(pickle.dumps(fitted)).set_output(transform="pandas").transform(X)
    assert frame.columns.tolist() == fitted.get_feature_names_out().tolist()
    np.testing.assert_array_equal(frame.to_numpy(), fitted.transform(X))


def test_sample_posterior(X, fitted):
    draws = fitted.sample_posterior(5, random_state=0)
    assert draws.n_components.shape == (5,)
    for T, z, theta, phi in zip(
        draws.n_components, draws.topic_assignments, draws.doc_topic, draws.topic_word, strict=True
    ):
        assert z.shape == (X.sum(),)
        assert 0 <= z.min() <= z.max() < T
        assert theta.shape == (120, T)
        assert phi.shape == (T, 40)
        np.testing.assert_allclose(theta.sum(axis=1), 1)
        np.testing.assert_allclose(phi.sum(axis=1), 1)
    again = fitted.sample_posterior(5, random_state=0)
    assert (again.topic_assignments[3] == draws.topic_assignments[3]).all()


@ignore
def test_draws_follow_the_posterior(tiny):
    """A chi-square of 3 degrees of freedom, at 1e-5; uniform ones would not pass."""
    lda = TopicCountLDA(1, 4, **QUICK | TINY).fit(tiny)
    seen = np.bincount(lda.sample_posterior(1000, random_state=0).n_components, minlength=5)[1:]
    expected = 1000 * lda.topic_count_posterior_
    assert ((seen - expected) ** 2 / expected).sum() < 25.9
    assert ((seen - 250) ** 2 / 250).sum() > 25.9


@ignore
def test_nothing_depends_on_n_jobs_or_the_format(X, same_fit):
    first = TopicCountLDA(2, 4, **QUICK).fit(X)
    assert same_fit(first, TopicCountLDA(2, 4, n_jobs=2, **QUICK).fit(X))
    dense = TopicCountLDA(2, 4, **QUICK).fit(X.toarray())
    assert (dense.components_ == first.components_).all()
    copy = pickle.loads(pickle.dumps(first))
    assert (copy.transform(X) == first.transform(X)).all()
    assert (copy.sample_posterior(2, 0).doc_topic[1] == first.sample_posterior(2, 0).doc_topic[1]).all()
    with pytest.raises(NotFittedError):
        clone(first).sample_posterior()


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"min_components": 5, "max_components": 3}, "min_components=5 is larger than max_components=3"),
        ({"topic_count_prior": [0, 0, 0]}, "topic_count_prior is zero everywhere from 2 to 4"),
        ({"topic_count_prior": [1, 1]}, r"topic_count_prior has shape \(2,\)"),
        ({"topic_count_prior": [1, np.nan, 1]}, "topic_count_prior is nan at 3 topics"),
        ({"topic_count_prior": [1, 1, -2]}, "topic_count_prior is -2 at 4 topics"),
        ({"topic_count_prior": [1, 1, 1], "max_components": None}, "needs max_components"),
        ({"topic_word_prior": "K/2"}, "topic_word_prior = 'K/2': a text must be a number over K or T"),
    ],
)
def test_bad_parameters(X, parameters, message):
    lda = TopicCountLDA(**{"min_components": 2, "max_components": 4, **QUICK, **parameters})
    with pytest.raises(ValueError, match=message):
        lda.fit(X)
    assert not [name for name in vars(lda) if name.endswith("_")]


def test_a_prior_of_the_count_without_an_order(X):
    for prior in ({2: 0.5, 3: 0.5}, {0.5}):
        with pytest.raises(TypeError, match="topic_count_prior must be an array with a value of each number of topics"):
            TopicCountLDA(2, 3, topic_count_prior=prior, **QUICK).fit(X)


@ignore
@pytest.mark.parametrize(
    "X, low, high",
    [
        (np.array([[1, 1, 0], [0, 1, 1]]), 1, 8),
        (np.array([[3, 2, 4]]), 1, 3),
        (np.array([[0, 0, 0], [3, 2, 4], [0, 0, 0], [1, 0, 5]]), 1, 3),
        (np.array([[3, 2, 4], [1, 1, 5]]), 1, 1),
    ],
    ids=["fewer tokens than topics", "one document", "empty documents", "one topic"],
)
def test_small_corpora(X, low, high):
    lda = TopicCountLDA(low, high, **QUICK).fit(X)
    assert lda.topic_counts_.tolist() == list(range(low, high + 1))
    assert lda.topic_count_posterior_.sum() == pytest.approx(1)
    assert lda.transform(X).shape == (len(X), lda.n_components_)


@ignore
def test_warnings(X, tiny):
    with pytest.warns(ConvergenceWarning, match="at the end of the range, 3 topics"):
        TopicCountLDA(2, 3, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0).fit(X)
    with pytest.warns(ConvergenceWarning, match="at the start of the range, 5 topics: .* Lower min_components"):
        TopicCountLDA(5, 7, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0).fit(X)
    # Where the prior ends there is nothing to raise.
    for prior in (randint(1, 4), [1, 1, 1]):
        lda = TopicCountLDA(1, 3, topic_count_prior=prior, n_chains=8, max_iter=40_000, **TINY)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert lda.fit(tiny).topic_count_posterior_[-1] > 0.1


@ignore
def test_verbose(tiny, capsys):
    TopicCountLDA(1, 3, **QUICK).fit(tiny)
    assert capsys.readouterr() == ("", "")
    TopicCountLDA(1, 3, verbose=1, **QUICK).fit(tiny)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 2
    assert all(re.fullmatch(r"\[TopicCountLDA\] .*, [\d.]+ s", line) for line in lines)


@ignore
@pytest.mark.mutation(
    "sklda._models.topic_count.estimator.PriorRule", lambda alpha, eta, n_features: PriorRule("1/T", "1/T", n_features)
)
def test_priors_are_found(X):
    """The mutation has the priors of Chen & Doss."""
    lda = TopicCountLDA(3, 5, random_state=0, max_iter=6000).fit(sp.csr_matrix(X))
    # The corpus was made with 0.1 and 0.1: of 120 x 4 and 4 x 40 proportions a factor of 2 is over five errors away.
    assert 0.05 < lda.doc_topic_prior_ < 0.2
    assert 0.05 < lda.topic_word_prior_ < 0.2
    assert 0 < lda.log_joint_trace_.shape[1] < lda.n_iter_


@ignore
@ignore_shares
def test_a_prior_that_is_given_stays(X):
    """alpha is found with an eta per word, too."""
    eta = np.where(np.arange(40) < 20, 0.08, 0.12)
    lda = TopicCountLDA(3, 5, topic_word_prior=eta, **QUICK).fit(X)
    np.testing.assert_array_equal(lda.topic_word_prior_, eta)
    assert 0.05 < lda.doc_topic_prior_ < 0.2
    lda.set_params(doc_topic_prior=0.5, topic_word_prior=None).fit(X)
    assert lda.doc_topic_prior_ == 0.5
    assert 0.05 < lda.topic_word_prior_ < 0.2


@ignore
def test_the_range_has_no_end(X):
    lda = TopicCountLDA(2, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0).fit(X)
    assert lda.topic_counts_[-1] == 200
    assert lda.n_components_ == 4


@ignore
@ignore_shares
def test_what_is_out_of_the_question_is_passed_over(X):
    options = {
        "doc_topic_prior": 0.1,
        "topic_word_prior": 0.1,
        "random_state": 0,
    }
    lda = TopicCountLDA(4, 40, **options).fit(X)
    assert lda.n_components_ == 4
    passed_over = np.isnan(lda.log_evidence_)
    assert passed_over.sum() > 20
    assert np.isnan(lda.log_evidence_std_[passed_over]).all()
    assert lda.topic_count_posterior_[lda.topic_counts_ > 8].sum() < 0.05
    # Not so where the prior makes up for the evidence.
    prior = np.where(lda.topic_counts_ == 9, 1, 1e-300)
    likely = TopicCountLDA(4, 40, topic_count_prior=prior, **options).fit(X)
    assert likely.n_components_ == 9
    assert np.isfinite(likely.log_evidence_[lda.topic_counts_ == 9])


@ignore
def test_draws_where_there_were_no_runs(X):
    lda = TopicCountLDA(2, 12, max_iter=1200, random_state=0).fit(X)
    without = lda.topic_counts_[np.isnan(lda.log_evidence_)]
    drawn = lda.sample_posterior(8, random_state=0)
    assert np.isin(drawn.n_components, without).any()
    for T, phi in zip(drawn.n_components, drawn.topic_word, strict=True):
        assert phi.shape == (T, 40)


@ignore
def test_the_chains_at_the_mode(X, fitted):
    assert fitted.log_joint_trace_.shape == (2, 100)
    assert len(fitted.chains_) == 2
    assert fitted.n_draws_ == 10
    assert fitted.doc_topic_std_.shape == (120, 4)
    assert fitted.topic_stability_.shape == (4,)
    assert (fitted.topic_stability_ > 0.8).all()


def test_errors_of_the_posterior_are_calibrated():
    """Two cover the truth of 2,000 probabilities, where log evidence is normal about it, as often as they should.

    0.94 were found, with an error of 0.007; by the deviation of the draws 0.90.
    """
    rng = np.random.default_rng(0)
    truth = np.array([-2.0, 0.0, 0.5, -0.7, -3.0])
    covered = []
    for _ in range(400):
        values = truth + 1.5 * rng.standard_normal(5)
        draws = softmax(values + 1.5 * rng.standard_normal((1000, 5)), axis=1)
        errors = np.abs(draws.mean(axis=0) - softmax(truth))
        covered.append([errors < 2 * standard_errors(draws), errors < 2 * draws.std(axis=0)])
    found, by_draws = np.mean(covered, axis=(0, 2))
    assert found > 0.91
    assert found - by_draws > 0.02


def corpus_of(seed):
    """A corpus of LDA with 2 to 8 topics, and priors that are not 1 / T; and its number of topics."""
    rng = np.random.default_rng(seed)
    T, V, D = int(rng.integers(2, 9)), int(rng.integers(150, 500)), int(rng.integers(60, 120))
    alpha, eta = np.exp(rng.uniform(np.log([0.05, 0.02]), np.log([0.4, 0.2])))
    theta = rng.dirichlet(np.full(T, alpha), D)
    gamma = rng.gamma(np.full((T, V), eta)) + 1e-300
    p = theta @ (gamma / gamma.sum(axis=1, keepdims=True))
    return np.array([rng.multinomial(40, row / row.sum()) for row in p]), T


@ignore
@pytest.mark.exhaustive
@pytest.mark.mutation(
    "sklda._models.topic_count.estimator.PriorRule", lambda alpha, eta, n_features: PriorRule("1/T", "1/T", n_features)
)
def test_intervals_contain_the_number_of_topics():
    """If one in twenty misses, three misses of six have a probability of 2e-3, and four of 9e-5.

    The mutation has the priors of Chen & Doss, by which T is drawn to 1 / eta.
    """
    inside = 0
    for seed in range(6):
        X, T = corpus_of(seed)
        low, high = TopicCountLDA(random_state=0).fit(X).topic_count_interval_
        inside += low <= T <= high
    assert inside >= 3


def exact_log_evidence(docs, n_features, T):
    """log p(w | T) with alpha and eta integrated over their priors by quadrature, all z enumerated."""
    log_h = np.linspace(*np.log(BOUNDS), 120)
    log_prior = -(((log_h - np.log(CENTRE)) / SPREAD) ** 2) / 2
    log_prior -= logsumexp(log_prior)
    corpus, states = make_corpus(docs, n_features), itertools.product(range(T), repeat=sum(map(len, docs)))
    parts = []
    for z in states:
        counts = CountHistograms.of(make_chain(corpus, Priors.make(1.0, 1.0, T, n_features), z))
        parts.append((counts.doc_part(np.exp(log_h))[0], counts.word_part(np.exp(log_h))[0]))
    of_alpha, of_eta = np.array(parts).transpose(1, 0, 2)
    # Given z, the two are independent.
    return logsumexp(logsumexp(of_alpha + log_prior, axis=1) + logsumexp(of_eta + log_prior, axis=1))


@pytest.mark.mutation("sklda._models.topic_count.runs._conditional", lambda *args: np.zeros(1), cases="2")
@pytest.mark.mutation("sklda._models.topic_count.runs._log_prior", np.zeros_like, cases="2")
@pytest.mark.parametrize("T", [1, 2, 3])
def test_the_evidence_at_unknown_priors(T):
    """The mean over 30 chains of one run, with its own standard error, of which 4.5 are 3e-5.

    The two mutations leave out the posterior density of the priors, and the prior density.
    """
    docs, n_features = [[0, 0, 1], [2, 2], [0, 2]], 3
    corpus, rule = make_corpus(docs, n_features), PriorRule(None, None, n_features)
    settings = EvidenceSettings("guided_ais", 60, 1)
    seeds = [random.child(random.seed_sequence(T), c) for c in range(30)]
    runs = [run_chain(corpus, rule, rule.at(T), settings, 60, c, seed, NEVER_STOP) for c, seed in enumerate(seeds)]
    found, error = log_mean_exp(np.ravel([each.forward for each in runs]))
    assert abs(found - exact_log_evidence(docs, n_features, T)) < max(4.5 * error, 1e-6)
    assert error < 0.3


@pytest.mark.mutation(
    "sklda._models.topic_count.runs.round_of_moves", lambda corpus, priors, topics, *rest: (topics, [])
)
def test_a_new_chain_leaves_a_poor_mode():
    """The chain begins with a large topic in two parts and two small ones as one. The mutation makes no moves."""
    shares = np.r_[0.4, np.full(7, 0.4 / 7)]
    truth = make_lda_corpus(500, 300, 8, doc_length=40, doc_topic_prior=shares, topic_word_prior=0.1, random_state=0)
    corpus, rule = Corpus.from_counts(truth.data), PriorRule(None, None, 300)
    topics = truth.topic_assignments.astype(np.int32)
    topics[topics == 2] = 1
    topics[np.flatnonzero(topics == 0)[::2]] = 2

    def start(corpus, priors, seed, stop, n_sweeps):
        return GibbsChain(corpus, priors, ChainState(topics, random.stream(seed)))

    chain = new_chain(corpus, rule, rule.at(8), start, 150, random.seed_sequence(0), NEVER_STOP)
    # The largest topic has half of the tokens again, and each of its parts had a quarter.
    assert chain.shares().max() > 0.4


@pytest.mark.parametrize("alpha", [0.05, 2.0])
def test_more_topics_are_empty_topics(alpha):
    """log p(w | T + n) is at least log p(w | T) plus the bound, at the same alpha and eta, by enumeration."""
    docs = [[0, 0, 1], [1, 2], [2, 2]]
    rule, corpus = PriorRule(alpha, 0.3, 3), make_corpus(docs, 3)
    exact = np.array([logsumexp(Enumeration(docs, 3, T, alpha, 0.3).log_joint) for T in (1, 2, 3)])
    bounds = exact[0] + rule.log_share_with_empty_topics(corpus, alpha, 1, np.array([2, 3]))
    assert (bounds <= exact[1:]).all()
    # One topic of three has all tokens with a probability that can be seen.
    assert (bounds > exact[1:] - 9).all()


@ignore
def test_bursts_are_said(X, fitted):
    """A document has its words two times: more dependence of words on documents than the model has."""
    assert fitted.model_check_z_ < 4
    lda = clone(fitted)
    with pytest.warns(UserWarning, match="depend on the documents by .* See sklda.inspection.topic_check"):
        lda.fit(2 * X)
    assert lda.model_check_z_ > 4


@ignore
@pytest.mark.mutation("sklda._models.topic_count.estimator.TopicCountLDA._variation_of_shares", lambda self: 0.0)
def test_unequal_shares_are_said(fitted):
    """One topic has half of the tokens. Equal shares exceed the bound in one corpus of 10,000."""
    rng = np.random.default_rng(0)
    phi = rng.dirichlet(np.full(100, 0.1), 4)
    theta = rng.dirichlet([1.0, 0.3, 0.3, 0.3], 300)
    unequal = np.array([rng.multinomial(40, p / p.sum()) for p in theta @ phi])
    text = "differ by more than the model allows"
    with pytest.warns(UserWarning, match=text):
        lda = TopicCountLDA(4, 4, random_state=0).fit(unequal)
    assert text in lda.summary()
    assert text not in fitted.summary()
