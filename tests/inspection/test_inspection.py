"""Displays: what they draw is what the estimator says, at the places where it says it."""

import warnings

import numpy as np
import pytest
from scipy.stats import chi2
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from workers import run_program

from sklda import EmpiricalBayesLDA, GibbsLDA, TopicCountLDA
from sklda.datasets import make_lda_corpus
from sklda.inspection import MarginalLikelihoodDisplay, TopicCountDisplay, document_table, token_topics, topic_table
from sklda.papers.held_out import leave_one_out_score

plt = pytest.importorskip("matplotlib.pyplot")

CENTER = np.array([0.3, 0.2])
REGION = ((0.15, 0.6), (0.1, 0.4))
COVARIANCE = np.array([[0.04, -0.01], [-0.01, 0.02]])


class Ellipse:
    """The interface of what `confidence_region` returns; along an infinite variance the boundary is cut."""

    def __init__(self, covariance, level, kind):
        self.covariance, self.level, self.kind = covariance, level, kind

    def boundary(self):
        angles = np.linspace(0, 2 * np.pi, 100)
        axes = np.linalg.cholesky(np.where(np.isinf(self.covariance), 100, self.covariance))
        radius = np.sqrt(chi2.ppf(self.level, 2))
        points = CENTER * np.exp(radius * np.stack([np.cos(angles), np.sin(angles)], axis=1) @ axes.T)
        return np.clip(points, *np.array(REGION).T)


class Fitted(BaseEstimator):
    """The interface of EmpiricalBayesLDA over a log m(h) that is quadratic in log h."""

    def fit(self):
        self.doc_topic_prior_, self.topic_word_prior_ = CENTER
        self.grid_ = np.geomspace(0.15, 0.6, 5), np.geomspace(0.1, 0.4, 4)
        self.occupancy_ = np.full((5, 4), 1 / 19)
        self.occupancy_[0, 3] = 0
        return self

    def log_marginal_likelihood(self, doc_topic_prior, topic_word_prior, *, return_std=False):
        away = np.log(np.stack([doc_topic_prior, topic_word_prior], axis=-1) / CENTER)
        value = -0.5 * np.einsum("...i,ij,...j", away, np.linalg.inv(COVARIANCE), away) - 1234
        std = 0.1 * np.abs(away).sum(axis=-1)
        return (value, np.where(std > 0.1, np.inf, std)) if return_std else value

    def confidence_region(self, level, kind):
        return Ellipse(COVARIANCE / (1 if kind == "statistical" else 100), level, kind)

    def posterior_expectation(self, name, doc_topic_prior, topic_word_prior, *, level):
        value = doc_topic_prior * 2 + topic_word_prior
        return value, value - 1 + level, value + 1 - level


@pytest.fixture
def fitted():
    yield Fitted().fit()


def test_contours(fitted):
    display = MarginalLikelihoodDisplay.from_estimator(fitted, n_points=20)
    alpha, eta = display.doc_topic_priors, display.topic_word_priors
    assert 0.3 in alpha and 0.2 in eta and len(alpha) == len(eta) == 21
    assert alpha[[0, -1]] == pytest.approx([0.15 / 1.05, 0.6 * 1.05])
    assert eta[[0, -1]] == pytest.approx([0.1 / 1.05, 0.4 * 1.05])
    log_m = fitted.log_marginal_likelihood(alpha[:, None] * np.ones(21), eta * np.ones((21, 1)))
    np.testing.assert_array_equal(display.log_marginal_likelihood, log_m)
    assert display.contours_.zmax == 0
    # The contour of half the chi-square quantile is the ellipse.
    ellipse = display.ellipses_[0].get_xydata()
    assert -0.5 * 5.991 == pytest.approx(
        fitted.log_marginal_likelihood(*ellipse.T).mean() - fitted.log_marginal_likelihood(*CENTER), abs=1e-3
    )
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == [
        "visits of the chains (area)",
        "no visit",
        "95 % region: finite corpus",
        "95 % region: Monte Carlo",
        "maximum",
    ]
    assert display.ax_.get_xlabel().startswith("doc_topic_prior")
    assert display.ax_.get_ylabel().startswith("topic_word_prior")
    points, missed = display.ax_.collections[-2:]
    assert len(points.get_offsets()) == 19
    np.testing.assert_allclose(missed.get_offsets(), [[0.15, 0.4]])


@pytest.mark.parametrize("axis, kind", list(enumerate(["doc_topic_prior", "topic_word_prior"])))
def test_slices(fitted, axis, kind):
    fig, ax = plt.subplots()
    display = MarginalLikelihoodDisplay.from_estimator(fitted, kind=kind, ax=ax, region=((0.1, 0.9), (0.05, 0.8)))
    assert display.ax_ is ax and display.figure_ is fig and display.contours_ is None
    x, y = display.line_.get_data()
    assert x[[0, -1]] == pytest.approx([(0.1, 0.9), (0.05, 0.8)][axis])
    h = np.tile(CENTER, (len(x), 1))
    h[:, axis] = x
    value, std = fitted.log_marginal_likelihood(*h.T, return_std=True)
    np.testing.assert_allclose(y, value + 1234)
    band = display.band_.get_paths()[0].vertices
    known = np.isfinite(std)
    assert 0 < known.sum() < len(x)
    assert set(band[:, 0]) == set(x[known])
    assert band[:, 1].max() == pytest.approx((value + 1234 + 2 * std)[known].max())
    assert f"= {CENTER[1 - axis]:.3g}" in ax.get_title()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_models_without_a_curve():
    X = make_lda_corpus(10, 8, 2, doc_length=10, random_state=0).data
    with pytest.raises(TypeError, match=r"GibbsLDA has no marginal likelihood.*EmpiricalBayesLDA"):
        MarginalLikelihoodDisplay.from_estimator(GibbsLDA(2, max_iter=1).fit(X))
    with pytest.raises(TypeError, match=r"GibbsLDA has no topic_counts_.*TopicCountLDA"):
        TopicCountDisplay.from_estimator(GibbsLDA(2, max_iter=1).fit(X))


def test_plot_again_and_without_extras():
    alpha, eta = np.geomspace(0.1, 1, 5), np.geomspace(0.1, 1, 6)
    table = {"doc_topic_priors": alpha, "topic_word_priors": eta, "maximum": (0.1, 1)}
    display = MarginalLikelihoodDisplay(log_marginal_likelihood=np.zeros((5, 6)), **table)
    for kind in ("contour", "doc_topic_prior", "topic_word_prior"):
        assert display.plot(kind=kind) is display
        assert display.band_ is None and display.ellipses_ == []
    with pytest.raises(ValueError, match="kind must be one of"):
        display.plot(kind="surface")


def test_an_ellipse_at_an_edge_is_drawn(fitted):
    infinite = np.diag([np.inf, 0.02])
    fitted.confidence_region = lambda level, kind: Ellipse(infinite, level, kind)
    display = MarginalLikelihoodDisplay.from_estimator(fitted)
    assert all(np.isfinite(line.get_xydata()).all() for line in display.ellipses_)


def test_a_real_estimator():
    X = make_lda_corpus(40, 20, 2, doc_length=40, topic_word_prior=0.5, doc_topic_prior=0.3, random_state=0).data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        lda = EmpiricalBayesLDA(2, max_iter=150, n_chains=2, random_state=0).fit(X)
    display = MarginalLikelihoodDisplay.from_estimator(lda, n_points=10)
    assert np.max(display.log_marginal_likelihood) == pytest.approx(0, abs=0.5)
    assert len(display.ellipses_) == 2
    assert np.isfinite(leave_one_out_score(lda, X, n_draws=10, rows=[0, 1], random_state=0).score)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda e: MarginalLikelihoodDisplay.from_estimator(e, kind="x"), "kind must be one of"),
        (lambda e: MarginalLikelihoodDisplay.from_estimator(e, n_points=1), "n_points == 1, must be >= 2"),
        (lambda e: MarginalLikelihoodDisplay.from_estimator(e, region=((1, 0.5), (1, 2))), "region must be"),
        (lambda e: MarginalLikelihoodDisplay.from_estimator(e, region=(0.1, 1)), "region must be"),
    ],
)
def test_bad_input(fitted, call, message):
    with pytest.raises(ValueError, match=message):
        call(fitted)


def test_not_fitted():
    with pytest.raises(NotFittedError):
        MarginalLikelihoodDisplay.from_estimator(Fitted())


def test_what_only_some_calls_need_is_imported_late(tmp_path):
    code = (
        "import sys, sklda\n"
        "assert not {'matplotlib', 'formulaic'}.intersection(sys.modules)\n"
        "sys.modules['matplotlib'] = None\n"
        "from sklda.inspection import ConvergenceDisplay as Display\n"
        "d = Display(trace=[[1.0]], n_burn_in=0, n_tokens=1, best_chain=0)\n"
        "try:\n    d.plot()\nexcept ImportError as error:\n    print(error)"
    )
    exit_code, out, err = run_program(code, tmp_path)
    assert exit_code == 0, err
    assert 'plots need matplotlib: pip install "sklda[plot]"' in out


class FittedCounts(BaseEstimator):
    """The attributes of a fitted TopicCountLDA that are drawn."""

    def fit(self):
        self.topic_counts_ = np.array([3, 4, 5, 7, 50])
        self.topic_count_posterior_ = np.array([0, 0.02, 0.9, 0.08, 0])
        self.topic_count_interval_ = (4, 7)
        return self


def test_topic_counts():
    fitted = FittedCounts().fit()
    display = TopicCountDisplay.from_estimator(fitted)
    ax = display.ax_
    assert [bar.get_height() for bar in display.bars_] == fitted.topic_count_posterior_.tolist()
    assert [bar.get_x() + bar.get_width() / 2 for bar in display.bars_] == pytest.approx(fitted.topic_counts_)
    span = display.interval_
    assert (span.get_x(), span.get_x() + span.get_width()) == (3.5, 7.5)
    assert ax.get_title(loc="left") == "95 % interval: 4 to 7 topics"
    # Fifty topics are out of the question.
    assert ax.get_xlim()[1] < 10 and "other numbers up to 50" in ax.get_xlabel()


def test_topic_counts_on_given_axes_and_without_an_interval():
    figure, ax = plt.subplots()
    display = TopicCountDisplay(topic_counts=[4], posterior=[1.0])
    assert display.plot(ax) is display
    assert display.ax_ is ax and display.figure_ is figure and display.interval_ is None
    one = TopicCountDisplay(topic_counts=[5, 6], posterior=[0, 1], interval=(6, 6)).plot()
    assert one.ax_.get_title(loc="left") == "95 % interval: 6 topics"
    with pytest.raises(NotFittedError):
        TopicCountDisplay.from_estimator(FittedCounts())


def test_topic_counts_of_a_fit():
    X = make_lda_corpus(40, 20, 2, topic_word_prior=0.2, random_state=0).data
    lda = TopicCountLDA(max_components=9, max_iter=100, random_state=0).fit(X)
    display = TopicCountDisplay.from_estimator(lda)
    np.testing.assert_array_equal(display.posterior, lda.topic_count_posterior_)


def test_the_same_counts_under_other_names():
    """They are not the documents of the fit, although their tokens are."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([[2, 1, 0], [0, 1, 2]], columns=list("abc"))
    lda = GibbsLDA(2, max_iter=2, random_state=0).fit(frame)
    for ask in (topic_table, document_table, token_topics):
        ask(lda, frame)
        with pytest.raises(ValueError, match="The feature names should match those that were passed during fit"):
            ask(lda, frame.set_axis(list("cba"), axis=1))
