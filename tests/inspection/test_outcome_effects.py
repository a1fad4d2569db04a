"""Effects of topics on an outcome: exact regressors, errors, and bad arguments."""

import warnings

import numpy as np
import pandas
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import binomtest
from sklearn.linear_model import LinearRegression

from sklda import HDPLDA, CompoundLDA, ConsensusTopics, CovariateLDA, GibbsLDA, merge_topics
from sklda._core.corpus import Corpus
from sklda._core.linear_models import LinearModels
from sklda._sampling.new_documents import draws_with_new_documents
from sklda.datasets import make_lda_corpus
from sklda.inspection import describe, outcome_effects, topics_by_group
from sklda.inspection._outcome_effects import _logistic
from sklda.inspection._outcome_words import words_beyond_shares
from sklda.inspection._prior_check import unshrunk
from sklda.inspection._theta import LearntPrior, ShareMoments

K, V, D = 3, 30, 200
CORPUS = make_lda_corpus(D, V, K, doc_length=25, doc_topic_prior=[0.8, 0.4, 0.3], topic_word_prior=0.2, random_state=0)
X = CORPUS.data.toarray()
B = np.array([0.0, 2.0, -1.0])
RNG = np.random.default_rng(0)
NUMBER = RNG.standard_normal(D)
Y = CORPUS.doc_topic @ B + 0.5 * NUMBER + 0.5 * RNG.standard_normal(D)
LDA = GibbsLDA(K, max_iter=300, random_state=0).fit(X)
COLUMNS = ["estimate", "standard_error", "low", "high", "t", "p_value", "df", "topic_error", "from_draws"]
KNOWN = CORPUS.topic_word, np.array([0.8, 0.4, 0.3])
ALARM = 1e-5


def named(model, n_words=V):
    return describe(model, vocabulary=[f"w{v}" for v in range(n_words)])


def effects(lda=None, documents=X, y=Y, covariates=None, **options):
    return outcome_effects(named(LDA if lda is None else lda), documents, y, covariates, random_state=0, **options)


def place(lda, k):
    """The topic of a fit that is nearest to a true one."""
    return int((np.sqrt(CORPUS.topic_word[k]) @ np.sqrt(lda.topic_word_).T).argmax())


def test_estimates_are_least_squares_on_posterior_means():
    table = effects(covariates=NUMBER)
    fit = LinearRegression().fit(np.column_stack([LDA.doc_topic_[:, 1:], NUMBER]), Y)
    b = np.r_[0, fit.coef_[: K - 1]]
    shares = LDA.doc_topic_.mean(axis=0)
    others = [b[k] - np.delete(shares, k) @ np.delete(b, k) / np.delete(shares, k).sum() for k in range(K)]
    assert_allclose(table["estimate"][:K], others, rtol=1e-4)
    assert_allclose(table["estimate"][K:], [fit.intercept_ + shares @ b, fit.coef_[-1]], rtol=1e-4)
    assert table["topic"][:K].tolist() == [0, 1, 2]
    assert table["topic"][K:].isna().all()
    assert table["name"][K:].tolist() == ["intercept", "x0"]
    assert table["found_in"].tolist() == [1] * 5
    against = effects(covariates=NUMBER, base=0)
    assert_allclose(against["estimate"][: K - 1], b[1:], rtol=1e-4)
    assert against["topic"][: K - 1].tolist() == [1, 2]
    assert set(against["base"][: K - 1]) == {table["name"][0]}


def test_the_effects_are_found_and_draws_make_them_smaller():
    table = effects(covariates=NUMBER, topics=[place(LDA, 1)], base=place(LDA, 0))
    assert table["low"][0] < 2 < table["high"][0]
    assert abs(table["estimate"][0] - 2) < 4 * table["standard_error"][0] < 2
    assert table["from_draws"][0] < 0.95 * table["estimate"][0]
    assert table["p_value"][0] == 1e-6
    assert_allclose(table["estimate"] / table["standard_error"], table["t"])
    assert 0 < table["topic_error"][0] < 0.5 * table["standard_error"][0]


def test_weights_are_those_of_least_squares():
    weights = np.random.default_rng(1).gamma(1, size=D)
    table = effects(weights=weights, base=0)
    fit = LinearRegression().fit(LDA.doc_topic_[:, 1:], Y, sample_weight=weights)
    assert_allclose(table["estimate"][: K - 1], fit.coef_, rtol=1e-4)
    pandas.testing.assert_frame_equal(effects(weights=1e3 * weights, base=0)[COLUMNS], table[COLUMNS])
    kept = NUMBER > -1
    zero = effects(weights=kept.astype(float), base=0)
    own = LinearRegression().fit(LDA.doc_topic_[kept, 1:], Y[kept])
    assert_allclose(zero["estimate"][: K - 1], own.coef_, rtol=1e-4)


def test_errors_of_clusters_are_those_of_so_many_sources():
    clusters = np.arange(D) // 20
    shared = np.random.default_rng(2).standard_normal(10)[clusters]
    rating = (clusters % 2).astype(float)
    apart, alone = (effects(y=Y + shared, covariates=rating, clusters=each) for each in (clusters, None))
    assert apart["estimate"].tolist() == alone["estimate"].tolist()
    assert apart["standard_error"].iloc[-1] > 1.5 * alone["standard_error"].iloc[-1]
    assert apart["df"].iloc[-1] < 9


@pytest.mark.filterwarnings("ignore:The outcome depends on the words")
@pytest.mark.filterwarnings("ignore:The fit learnt one alpha for all topics")
def test_every_kind_of_model():
    groups = np.arange(D) % 2
    fits = {
        "chains": GibbsLDA(K, max_iter=40, n_chains=3, random_state=0).fit(X),
        "given priors": GibbsLDA(K, max_iter=40, doc_topic_prior=0.5, topic_word_prior=0.2, random_state=0).fit(X),
        "symmetric": GibbsLDA(K, max_iter=40, learn_priors="symmetric", random_state=0).fit(X),
        "compound": CompoundLDA(K, max_iter=40, random_state=0).fit(X, collections=groups),
        "consensus": ConsensusTopics(GibbsLDA(K, max_iter=40), n_fits=3, random_state=0).fit(X),
    }
    for name, lda in fits.items():
        table = effects(lda)
        found = table["estimate"][: len(table) - 1]
        assert len(found) >= 2, name
        assert np.isfinite(table[COLUMNS].to_numpy(float)).all(), name
        assert (table["low"] < table["estimate"]).all() and (table["estimate"] < table["high"]).all(), name
    assert effects(fits["chains"])["found_in"].tolist() == [3] * 4
    assert effects(fits["consensus"])["found_in"].iloc[-1] == 3
    assert (effects(fits["given priors"])["topic_error"] <= effects(fits["symmetric"])["topic_error"].max() * 5).all()
    merged = effects(merge_topics(LDA, [[0, 1]]))
    assert len(merged) == 3


def test_merged_topics_have_the_sums_of_every_chain():
    """Topics with different effects become one, so its words have different effects."""
    merged = merge_topics(LDA, [[0, 1]])
    slope = LinearRegression().fit(merged.doc_topic_[:, 1:], Y).coef_[0]
    with pytest.warns(UserWarning, match=r"beyond their shares: 0: .*z = "):
        table = effects(merged)
    assert_allclose(table["estimate"][:2], [-slope, slope], rtol=1e-4)
    chains = merge_topics(GibbsLDA(K, n_chains=2, max_iter=100, random_state=0).fit(X), [[0, 1]])
    with pytest.warns(UserWarning, match="beyond their shares"):
        assert effects(chains)["found_in"].tolist() == [2] * 3


def test_words_of_a_topic_with_one_effect_do_not_matter():
    """Outcomes of known topics have deviates of a standard normal distribution; with two topics in one they are far."""
    rng = np.random.default_rng(0)
    documents, shares = X, CORPUS.doc_topic

    def deviates(y, topic_word, shares, clusters=None):
        columns = np.column_stack([np.ones(D), shares[:, 1:]])
        residuals = y - columns @ np.linalg.lstsq(columns, y)[0]
        return words_beyond_shares(documents, topic_word, shares, residuals, columns, clusters, rng)

    outcomes = [shares @ B + rng.standard_exponential(D) for _ in range(60)]
    found = np.array([deviates(y, CORPUS.topic_word, shares) for y in outcomes])
    assert abs(found.mean()) < 0.5
    assert 0.6 < found.std() < 1.4
    together = np.stack([shares[:, 0] + shares[:, 1], shares[:, 2]], axis=1)
    weights = shares.mean(axis=0)[:2] / shares.mean(axis=0)[:2].sum()
    topic_word = np.stack([weights @ CORPUS.topic_word[:2], CORPUS.topic_word[2]])
    assert deviates(Y, topic_word, together)[0] > 6
    # A common residual of all documents of a cluster says nothing of their words.
    clusters = np.arange(D) // 20
    common = [3 * rng.standard_normal(10)[clusters] for _ in range(40)]
    found = np.array([deviates(y, CORPUS.topic_word, shares, clusters) for y in common])
    assert found.max() < 6


def test_one_topic_too_few_gets_a_warning():
    corpus = make_lda_corpus(500, 60, 3, doc_length=30, doc_topic_prior=0.3, topic_word_prior=0.2, random_state=0)
    y = corpus.doc_topic @ [0, 3, -3] + np.random.default_rng(0).standard_normal(500)
    enough, few = (GibbsLDA(n, max_iter=200, random_state=0).fit(corpus.data) for n in (3, 2))
    outcome_effects(named(enough, 60), corpus.data, y, random_state=0)
    with pytest.warns(UserWarning, match="different effects .*one topic"):
        outcome_effects(named(few, 60), corpus.data, y, random_state=0)


# The topics of so short a fit are mixtures.
@pytest.mark.filterwarnings("ignore:The outcome depends on the words of topics")
def test_topics_without_words_are_a_rest():
    model = HDPLDA(max_components=15, max_iter=60, random_state=0).fit(X)
    table = effects(model)
    assert table["estimate"].isna().sum() > 0
    assert table["found_in"][table["estimate"].isna()].tolist() == [0] * int(table["estimate"].isna().sum())
    # In the table of their shares, too, although these are known.
    shares = topics_by_group(named(model), X, np.arange(D) % 2, random_state=0)
    np.testing.assert_array_equal(shares["found_in"][::2], table["found_in"][: len(shares) // 2])
    assert shares["estimate"].notna().all()


def test_documents_that_are_not_those_of_the_fit_have_draws_of_their_own():
    new = make_lda_corpus(
        300, V, K, doc_length=25, doc_topic_prior=[0.8, 0.4, 0.3], topic_word_prior=0.2, random_state=1
    )
    rng = np.random.default_rng(1)
    documents = np.array([rng.multinomial(25, p / p.sum()) for p in new.doc_topic @ CORPUS.topic_word])
    y = new.doc_topic @ B + 0.3 * rng.standard_normal(300)
    table = effects(documents=documents, y=y, topics=[place(LDA, 1)], base=place(LDA, 0))
    assert abs(table["estimate"][0] - 2) < 4 * table["standard_error"][0] < 2
    assert table["topic_error"][0] > 0
    known = effects(KNOWN, documents, y, topics=[1], base=0)
    assert abs(known["estimate"][0] - 2) < 4 * known["standard_error"][0]
    assert known["topic_error"][0] == 0


def of_other_documents(seed):
    """The slope of estimates on true effects, for topics of 60 documents used on 400 others with another alpha."""
    rng = np.random.default_rng(seed)
    base = 1 / np.arange(1, 101) ** 0.8
    phi, alpha = rng.dirichlet(30 * base / base.sum(), 3), np.array([0.9, 0.5, 0.3])

    def documents(theta):
        lengths = np.maximum(rng.poisson(30 * np.exp(0.5 * rng.standard_normal(len(theta)))), 2)
        return np.array([rng.multinomial(n, p / p.sum()) for n, p in zip(lengths, theta @ phi, strict=True)])

    first, theta = documents(rng.dirichlet(alpha, 60)), rng.dirichlet(alpha[::-1], 400)
    lda = GibbsLDA(3, max_iter=200, random_state=seed).fit(first)
    own = [int((np.sqrt(each) @ np.sqrt(lda.topic_word_).T).argmax()) for each in phi]
    y = theta @ [0, 2.0, -1.0]
    options = {"topics": own[1:], "base": own[0], "random_state": seed}
    found = outcome_effects(named(lda, 100), documents(theta), y, **options)["estimate"][:2].to_numpy()
    return found @ [2, -1] / 5


@pytest.mark.filterwarnings("ignore:The fit has too few sweeps")
def test_topics_of_few_documents_do_not_shrink_the_shares_of_others():
    """With draws of the topics that do not know the new words, the mean slope is 1.3."""
    slopes = [of_other_documents(seed) for seed in range(8)]
    assert abs(np.mean(slopes) - 1) < 0.1


def test_documents_of_the_fit_in_another_order_take_part_once():
    order = np.random.default_rng(0).permutation(D)
    mixed, own = effects(documents=X[order], y=Y[order]), effects()
    assert_allclose(mixed["estimate"], own["estimate"], atol=0.3)
    assert_allclose(mixed["standard_error"], own["standard_error"], rtol=0.3)
    both, draws = draws_with_new_documents(
        LDA._results_.corpus,
        LDA._results_.kept_draws(),
        Corpus.from_counts(X[:50]),
        LDA._doc_prior(),
        np.zeros(X[:50].sum(), np.int32),
        learns_alpha=False,
        seed=np.random.SeedSequence(0),
    )
    assert both.n_tokens == X.sum()
    assert_allclose(both.to_counts().toarray()[-50:], X[:50])
    assert len(draws) > 5


def test_as_many_of_equal_documents_take_part_again_as_there_are_new_ones():
    """Of three equal documents of the fit, one is among the new ones: the other two are still documents of the fit."""
    documents = np.vstack([X[:40], X[:1], X[:1]])
    fit = GibbsLDA(3, max_iter=20, random_state=0).fit(documents)
    given = fit._doc_prior(), np.zeros(X[:20].sum(), np.int32)
    both, _ = draws_with_new_documents(
        fit._results_.corpus,
        fit._results_.kept_draws(),
        Corpus.from_counts(X[:20]),
        *given,
        learns_alpha=False,
        seed=np.random.SeedSequence(0),
    )
    assert_allclose(both.to_counts().toarray(), np.vstack([X[20:40], X[:1], X[:1], X[:20]]))


# Two topics of three words, and alpha.
TWO_TOPICS = np.array([[0.6, 0.2, 0.2], [0.2, 0.2, 0.6]]), np.array([0.7, 0.5])


def of_two_topics(rng, n_documents, length):
    """Shares and counts of documents."""
    theta = rng.dirichlet(TWO_TOPICS[1], n_documents)
    return theta, np.array([rng.multinomial(length, p) for p in theta @ TWO_TOPICS[0]])


@pytest.mark.parametrize("has_rows", [False, True])
def test_equal_documents_have_one_mean_without_a_common_error(has_rows):
    """Twenty-one different documents: the same error of each in all its copies would be in the estimate."""
    rng = np.random.default_rng(0)
    theta, documents = of_two_topics(rng, 4000, 5)
    phi, alpha = TWO_TOPICS
    prior = np.tile(alpha, (4000, 1)) if has_rows else alpha
    model = named((phi, prior), 3)
    one, other = (
        outcome_effects(model, documents, theta[:, 1], topics=[1], random_state=seed).iloc[0] for seed in (0, 1)
    )
    assert abs(one["estimate"] / other["estimate"] - 1) < 0.02
    assert abs(one["from_draws"] / other["from_draws"] - 1) < 0.05


def simulated(seed, means):
    """Estimate and interval with known topics of short documents, for the posterior means or another regressor."""
    rng = np.random.default_rng(seed)
    alpha, phi = np.array([0.6, 0.3, 0.4]), CORPUS.topic_word
    theta = rng.dirichlet(alpha, 150)
    documents = np.array([rng.multinomial(6, p / p.sum()) for p in theta @ phi])
    y = 3 * theta[:, 1] + 0.5 * rng.standard_normal(150)
    if means:
        table = outcome_effects(named((phi, alpha)), documents, y, topics=[1], base=[0, 2], random_state=seed)
        return table["estimate"][0], table["low"][0], table["high"][0], table["from_draws"][0]
    # Shares of words by their most probable topics, as if they were the shares of topics.
    shares = documents @ (phi / phi.sum(axis=0)).T / 6
    found = LinearModels.fit(np.column_stack([np.ones(150), shares[:, 1:]]), [y[:, None]], np.array([[0, 1.0, 0]]))
    estimate, _, low, high, *_ = (float(each[0, 0]) for each in found.summary(0.95))
    return estimate, low, high, np.nan


@pytest.mark.mutation("test_other_regressors_miss_the_truth")
def test_intervals_contain_the_truth():
    """Documents of six words, in which the topics explain 0.8 of the outcome. The bias is below 0.05 of the effect."""
    estimate, low, high, drawn = np.array([simulated(seed, True) for seed in range(80)]).T
    inside = (low < 3) & (high > 3)
    assert binomtest(int(inside.sum()), len(inside), 0.95).pvalue > ALARM
    assert abs(estimate.mean() - 3) < 0.15
    # Draws that do not know the outcome are what a plug-in of draws has.
    assert drawn.mean() < 2.4


def test_other_regressors_miss_the_truth():
    _, low, high, _ = np.array([simulated(seed, False) for seed in range(80)]).T
    inside = (low < 3) & (high > 3)
    assert binomtest(int(inside.sum()), len(inside), 0.95).pvalue < ALARM


def test_logistic_effects_without_spread_are_those_of_the_maximum():
    """Long documents of known topics, in which the words say everything."""
    rng = np.random.default_rng(0)
    theta = rng.dirichlet([1, 1, 1], 800)
    documents = np.round(1e3 * theta).astype(int)
    y = rng.random(800) < expit(theta @ [0, 2, -2] - 0.3)
    model = named((np.eye(3), np.ones(3)), 3)
    table = outcome_effects(model, documents, y, family="logistic", base=0, random_state=0)
    columns, b = np.column_stack([np.ones(800), theta[:, 1:]]), np.zeros(3)
    for _ in range(30):
        mean = expit(columns @ b)
        b += np.linalg.solve(columns.T @ (columns * (mean * (1 - mean))[:, None]), columns.T @ (y - mean))
    assert_allclose(table["estimate"][:2], b[1:], rtol=0.01)
    errors = np.sqrt(np.diag(np.linalg.inv(columns.T @ (columns * (mean * (1 - mean))[:, None]))))
    assert_allclose(table["standard_error"][:2], errors[1:], rtol=0.1)


def test_logistic_effects_know_what_short_documents_hide():
    """Twice the effect of a naive regression on means would be wrong by more than these bounds."""
    rng = np.random.default_rng(0)
    theta, documents = of_two_topics(rng, 6000, 5)
    y = rng.random(6000) < expit(6 * theta[:, 1] - 2)
    table = outcome_effects(named(TWO_TOPICS, 3), documents, y, family="logistic", topics=[1], random_state=0)
    assert abs(table["estimate"][0] - 6) < 0.08 * 6 + 4 * table["standard_error"][0]
    assert table["low"][0] > 5
    assert table["from_draws"][0] < 0.6 * 6


def test_logistic_effects_are_at_the_maximum_of_the_exact_likelihood():
    """Documents of three words and two topics, in which theta given the words is a sum over a grid."""
    rng = np.random.default_rng(1)
    theta, documents = of_two_topics(rng, 3000, 3)
    y = rng.random(3000) < expit(5 * theta[:, 1] - 2)
    (phi, alpha), grid = TWO_TOPICS, (np.arange(2000) + 0.5) / 2000
    shares = np.column_stack([1 - grid, grid])
    posterior = np.exp(documents @ np.log(shares @ phi).T) * np.prod(shares ** (alpha - 1), axis=1)
    posterior /= posterior.sum(axis=1, keepdims=True)

    def loss(b):
        return -np.log(np.where(y, *(posterior @ expit(side * (b[0] + b[1] * grid)) for side in (1, -1)))).sum()

    exact = minimize(loss, [-2.0, 5.0]).x[1]
    table = outcome_effects(named(TWO_TOPICS, 3), documents, y, family="logistic", topics=[1], random_state=0)
    assert abs(table["estimate"][0] / exact - 1) < 0.05


def test_the_error_of_alpha_is_that_of_other_alphas():
    """One word a topic, so n_dk are known: the means for other alphas are closed forms."""
    rng = np.random.default_rng(0)
    counts, alpha = rng.multinomial(8, [0.5, 0.3, 0.2], 400), np.array([0.7, 0.4, 0.3])
    sizes = counts.sum(axis=1) + alpha.sum()
    given = ((counts + alpha) / sizes[:, None]).astype(np.float32)[None]
    b, forms = np.array([0.0, 2.0, -1.0]), rng.standard_normal((2, 400)) / 400
    prior = LearntPrior.of(alpha, given, sizes)

    def slopes(other):
        return forms @ ((counts + other) @ b / (counts + other).sum(axis=1))

    step = 1e-5
    gradient = np.array([(slopes(alpha + step * e) - slopes(alpha - step * e)) / (2 * step) for e in np.eye(3)]).T
    inverse = np.linalg.inv(prior.scores.T @ prior.scores)
    assert_allclose(prior.variance(forms, given, b), np.einsum("cj,jk,ck->c", gradient, inverse, gradient), rtol=1e-3)


def test_errors_of_topics_are_what_documents_have_in_common():
    """Draws that shift all documents alike, beside ones that are independent."""
    rng = np.random.default_rng(0)
    given = np.full((4000, 50, 2), 0.5)
    given[:, :, 0] += 0.01 * rng.standard_normal((4000, 1)) + 0.1 * rng.standard_normal((4000, 50))
    given[:, :, 1] = 1 - given[:, :, 0]
    moments = ShareMoments(given.mean(axis=0), given, given, np.eye(2, dtype=bool))
    forms = np.full((1, 50), 1 / 50)
    found, freedom = moments.common_variance(forms, np.array([1.0, 0.0]))
    assert_allclose(found, 1e-4, rtol=0.3)
    assert freedom > 1000
    # Draws that depend on each other count as fewer, and say less of the spread.
    few = ShareMoments(moments.mean, given[:15], given, np.eye(2, dtype=bool))
    assert 4 <= few.common_variance(forms, np.array([1.0, 0.0]))[1] <= 14


def test_errors_of_topics_after_one_draw_come_from_further_sweeps():
    priors = {"doc_topic_prior": LDA.doc_topic_prior_, "topic_word_prior": LDA.topic_word_prior_}
    one = GibbsLDA.from_assignments(X, LDA.topic_assignments_, **priors)
    many, few = (effects(each)["topic_error"][:K].to_numpy() for each in (LDA, one))
    # Each is a standard deviation of 15 dependent draws, less the part of single documents.
    assert 0.2 < np.sqrt((few**2).mean() / (many**2).mean()) < 5
    shares = one._results_.several_draws(0, np.random.SeedSequence(0))[0]
    assert len({draw.topics.tobytes() for draw in shares.draws}) > 4


def test_the_error_of_topics_that_nothing_tells_is_not_zero():
    given = np.full((1, 20, 2), 0.5)
    moments = ShareMoments(given[0], given, given, np.eye(2, dtype=bool), error_is_unknown=True)
    assert np.isnan(moments.common_variance(np.ones((1, 20)), np.array([1.0, 0.0]))[0]).all()


def test_a_covariate_that_the_prior_does_not_know_gets_a_warning():
    """Documents of eight words; the covariate moves the shares."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(600)
    alpha = np.array([0.6, 0.3, 0.4]) * np.exp(np.outer(x, [0.8, -0.8, 0]))
    theta = np.array([rng.dirichlet(each) for each in alpha])
    documents = np.array([rng.multinomial(8, p / p.sum()) for p in theta @ CORPUS.topic_word])
    y = 3 * theta[:, 1] + 0.5 * rng.standard_normal(600)
    plain = GibbsLDA(K, max_iter=200, random_state=0).fit(documents)
    with pytest.warns(UserWarning, match=r"'x0' .*CovariateLDA"):
        table = effects(plain, documents, y, x)
    assert table["high"].iloc[-1] < 0
    known = CovariateLDA(K, max_iter=200, random_state=0).fit(documents, covariates=x)
    table = effects(known, documents, y, x)
    assert abs(table["estimate"].iloc[-1]) < 3 * table["standard_error"].iloc[-1]
    # Without such a connection there is none.
    effects(plain, documents, y, rng.standard_normal(600))


def test_a_prior_that_is_not_that_of_the_documents_gets_a_warning():
    """Documents of eight words with known topics. The effect is 3."""
    rng = np.random.default_rng(0)
    alpha, phi = np.array([0.4, 0.3, 0.3]), CORPUS.topic_word
    theta = rng.dirichlet(alpha, 1500)
    documents = np.array([rng.multinomial(8, p / p.sum()) for p in theta @ phi])
    y = 3 * theta[:, 1] + 0.5 * rng.standard_normal(1500)

    def estimate(alpha):
        return effects((phi, alpha), documents, y, topics=[1])["estimate"][0]

    assert abs(estimate(alpha) - 3) < 0.4
    with pytest.warns(UserWarning, match=r"too much.* 1\.[1-9]"):
        assert estimate(5 * alpha) > 3.5
    with pytest.warns(UserWarning, match=r"too little.* 0\.[4-9]"):
        assert estimate(alpha / 5) < 2.7
    # The mean of the prior is wrong, rather than its sum: then the shares of documents move together.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The outcome depends on the words of topics")
        with pytest.warns(UserWarning, match=r"the estimates are about (0\.9|1\.0)\d of the effects"):
            assert abs(estimate(alpha * [1, 0.01, 1]) - 3) < 0.4


def test_what_a_wrong_prior_does_to_normal_shares():
    """Means of two normal shares, known with errors, under a prior with another variance: slopes are exact."""
    rng = np.random.default_rng(0)
    n, total_alpha = 200_000, 3.0
    prior = (np.eye(3) / 3 - 1 / 9)[:2, :2] / 4
    root = np.linalg.cholesky(prior)
    theta = rng.standard_normal((n, 2)) * [1.3, 0.8] @ root.T
    noise = rng.standard_normal((n, 2)) * [0.7, 1.1] @ root.T
    part = np.linalg.inv(np.eye(2) + np.diag([0.7, 1.1]) ** 2)
    part = root @ part @ np.linalg.inv(root)
    given_words = prior - part @ prior
    means = (theta + noise) @ part.T
    draws = rng.standard_normal((6, n, 2)) @ np.linalg.cholesky(given_words).T
    b = np.array([2.0, -1.0])
    slopes = np.linalg.lstsq(means, theta @ b)[0]
    assert np.abs(slopes - b).max() > 0.1
    found, sizes = unshrunk(slopes, means + 1 / 3, draws, total_alpha, np.ones((n, 1)), None)
    assert_allclose(found[0], b, atol=0.05)
    assert_allclose(found[1:], np.tile(b, (20, 1)), atol=0.1)
    expected = np.linalg.eigvalsh(np.linalg.solve(root, np.cov(means.T) + given_words) @ np.linalg.inv(root).T)
    assert_allclose(sizes, np.tile(expected, (21, 1)), atol=0.03)


def test_shares_that_do_not_vary_as_their_prior_says_get_a_warning():
    """Logistic-normal shares of five topics, and then those of a Dirichlet distribution with unequal means."""
    rng = np.random.default_rng(0)
    phi = make_lda_corpus(1, 200, 5, doc_length=1, topic_word_prior=0.1, random_state=0).topic_word
    odds = rng.standard_normal((600, 5)) @ rng.standard_normal((5, 5))
    normal = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    y = rng.standard_normal(600)

    def found(theta, **options):
        documents = np.array([rng.multinomial(40, p / p.sum()) for p in theta @ phi])
        lda = GibbsLDA(5, max_iter=200, random_state=0, **options).fit(documents)
        outcome_effects(named(lda, 200), documents, y, random_state=0)

    with pytest.warns(UserWarning, match="shares of topics vary more than their prior"):
        found(normal)
    theta = rng.dirichlet([2, 0.3, 0.3, 0.2, 0.2], 600)
    found(theta)
    with pytest.warns(UserWarning, match=r"one alpha for all topics, .* with learn_priors=True"):
        found(theta, learn_priors="symmetric")


@pytest.mark.parametrize("weights", [None, 0.5 + np.arange(200) % 3])
def test_logistic_estimates_have_firths_penalty(weights):
    """Known shares: half of the log determinant of the information is added to the log-likelihood (Firth 1993)."""
    rng = np.random.default_rng(0)
    columns = np.column_stack([np.ones(200), rng.standard_normal((200, 2))])
    y = (rng.random(200) < expit(columns @ [-2.5, 1, 0])).astype(float)
    relative = np.ones(200) if weights is None else weights / weights.mean()

    def penalised(b):
        p = expit(columns @ b)
        information = (columns.T * (relative * p * (1 - p))) @ columns
        return -(relative @ np.where(y > 0, np.log(p), np.log1p(-p))) - np.linalg.slogdet(information)[1] / 2

    found = _logistic(columns, y, weights, np.zeros((1, 200, 2))).coefficients
    assert_allclose(found, minimize(penalised, np.zeros(3), tol=1e-10).x, atol=1e-4)


def test_the_same_seed_gives_the_same_table():
    pandas.testing.assert_frame_equal(effects(), effects())


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"y": None}, ValueError, "y is None: give the outcome of each document"),
        ({"y": Y[:5]}, ValueError, "y has 5 values; there are 200 documents"),
        ({"y": np.where(np.arange(D) == 7, np.nan, Y)}, ValueError, "y is missing in document 7"),
        ({"y": ["good"] * D}, TypeError, "y must hold real numbers"),
        ({"family": "probit"}, ValueError, "family must be one of"),
        ({"family": "logistic"}, ValueError, "outcomes of a logistic regression are 0 and 1"),
        ({"family": "logistic", "y": np.ones(D)}, ValueError, "y is 1 for all documents"),
        ({"family": "logistic", "y": Y > 1, "weights": Y > 1}, ValueError, "y is 1 for all documents that take part"),
        ({"family": "logistic", "y": LDA.doc_topic_[:, 0] > 0.4}, ValueError, "tell the two outcomes apart"),
        ({"base": [0, 1, 2]}, ValueError, "is all topics"),
        ({"base": 0, "topics": [0, 1]}, ValueError, "base = 0 is among the topics"),
        ({"base": 5}, ValueError, "topics must be numbers from 0 to 2"),
        ({"formula": "x0"}, ValueError, "belong to covariates"),
        ({"level": 0}, ValueError, "level must lie between 0 and 1"),
        ({"weights": np.zeros(D)}, ValueError, "all weights of documents with words are 0"),
        ({"weights": np.arange(D) < 3}, ValueError, "3 documents do not determine 3 coefficients"),
        ({"covariates": LDA.doc_topic_[:, 0]}, ValueError, "is a combination of the terms before it"),
        ({"y": np.full(D, 0.3)}, ValueError, "y is 0.3 for all documents that take part"),
        ({"y": 1 + 2 * NUMBER, "covariates": NUMBER}, ValueError, "without any rest, 'x0'"),
        ({"family": "logistic", "y": Y > 1, "covariates": np.where(Y > 2, "far", "near")}, ValueError, r"'x0\[near\]'"),
        ({"clusters": np.zeros(D)}, ValueError, "one label for all documents"),
    ],
)
def test_bad_arguments(options, error, message):
    with pytest.raises(error, match=message):
        effects(**options)


@pytest.mark.parametrize("family", ["linear", "logistic"])
def test_units_and_origins_of_a_covariate_change_its_own_effect_only(family):
    y = Y if family == "linear" else Y > 1
    year = np.round(2005 + 5 * NUMBER)
    own = effects(y=y, covariates=pandas.DataFrame({"t": year - 2005, "t2": (year - 2005) ** 2}), family=family)
    raw = effects(y=y, covariates=pandas.DataFrame({"t": year, "t2": year**2}), family=family)
    assert_allclose(raw[COLUMNS][:K], own[COLUMNS][:K], rtol=1e-3, atol=1e-6)
    own, seconds = (effects(y=y, covariates=each, family=family) for each in (NUMBER, 1.6e18 + 3e16 * NUMBER))
    assert_allclose(seconds[COLUMNS][:K], own[COLUMNS][:K], rtol=1e-3, atol=1e-6)
    assert_allclose(3e16 * seconds["estimate"].iloc[-1], own["estimate"].iloc[-1], rtol=1e-4)


def test_a_formula_without_an_intercept():
    """Shares of all topics sum up to one, so the same model has one; and levels in its place are compared as before."""
    number, level = NUMBER + 5, np.random.default_rng(1).choice(["a", "b", "c"], D)
    with_ones, without = (effects(covariates={"x": number}, formula=f"{n} + x").iloc[-1] for n in "10")
    assert_allclose(without["estimate"], with_ones["estimate"], rtol=1e-6)
    tables = [effects(covariates={"g": level}, formula=f"{n} + g").set_index("name")["estimate"] for n in "10"]
    assert_allclose(tables[1]["g[b]"] - tables[1]["g[a]"], tables[0]["g[b]"], rtol=1e-6)
    assert_allclose(tables[1]["g[a]"], tables[0]["intercept"], rtol=1e-6)


def test_a_large_constant_of_the_outcome_is_in_the_intercept():
    own, far = effects(covariates=NUMBER), effects(y=Y + 1e9, covariates=NUMBER)
    kept = own["name"] != "intercept"
    assert_allclose(far[COLUMNS][kept], own[COLUMNS][kept], rtol=1e-4)
    assert_allclose(far["estimate"][~kept] - 1e9, own["estimate"][~kept], atol=1e-5)


def test_a_draw_that_tells_the_outcomes_apart_does_not_end_the_call():
    chosen = np.random.default_rng(10).choice(D, 40, replace=False)
    y = CORPUS.doc_topic[chosen, 0] + 0.1 * np.random.default_rng(1).normal(size=40) > 0.4
    assert np.isfinite(effects(KNOWN, X[chosen], y, family="logistic")["estimate"]).all()


def test_bad_models():
    with pytest.raises(ValueError, match="X is None"):
        outcome_effects(LDA, None, Y)
    with pytest.raises(TypeError, match="exchanged"):
        outcome_effects(X, LDA, Y)


def test_errors_of_alpha_are_those_of_the_fit_whatever_its_parameters_are_now():
    lda = GibbsLDA(K, max_iter=60, random_state=0).fit(X)
    before = effects(lda)
    assert_allclose(
        effects(lda.set_params(learn_priors=False, doc_topic_prior=1.0))["topic_error"], before["topic_error"]
    )
