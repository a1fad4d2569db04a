"""Traces of chains: what is drawn and what ArviZ gets is what the estimator has."""

import sys
import warnings

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from sklda import (
    HDPLDA,
    CollapsedVariationalLDA,
    CompoundLDA,
    CovariateLDA,
    EmpiricalBayesLDA,
    GibbsLDA,
    LabeledLDA,
    TopicCountLDA,
)
from sklda._core.diagnostics import effective_draws, r_hat
from sklda._models.covariates import coefficients
from sklda.datasets import make_lda_corpus
from sklda.inspection import ConvergenceDisplay, describe, to_arviz

plt = pytest.importorskip("matplotlib.pyplot")


class Fitted(BaseEstimator):
    """The attributes of a fitted estimator that are read: 3 chains, 60 sweeps, 40 tokens; one chain ends early."""

    def fit(self):
        self.n_iter_, self.n_burn_in_, self.best_chain_ = 60, 20, 1
        self.topic_assignments_ = np.zeros(40, np.int32)
        noise = np.random.default_rng(0).standard_normal((2, 3, 60))
        self.log_joint_trace_ = noise[0] - 400
        self.log_joint_trace_[:, :20] -= np.geomspace(1e4, 1, 20)
        self.log_joint_trace_[2, 50:] = np.nan
        self.traces_ = {"log_joint": self.log_joint_trace_, "squared_shares": noise[1]}
        return self


@pytest.fixture
def fitted():
    yield Fitted().fit()


def test_traces_are_drawn(fitted):
    display = ConvergenceDisplay.from_estimator(fitted)
    ax = display.ax_
    assert len(display.lines_) == 3
    for line, values in zip(display.lines_, fitted.log_joint_trace_, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 61))
        np.testing.assert_array_equal(line.get_ydata(), values / 40)
    draws = fitted.log_joint_trace_[:, 20:50]
    assert display.diagnosis_.r_hat == pytest.approx(r_hat(draws))
    assert display.diagnosis_.n_effective == pytest.approx(effective_draws(draws))
    assert ax.get_title() == f"R-hat {r_hat(draws):.2f}, {effective_draws(draws):.0f} effective of 90 draws"
    assert ax.get_ylabel() == "log joint (nats per token)"
    # The last sweep of burn-in is number 20.
    assert set(display.burn_in_.get_xdata()) == {20.5}
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["chain 0", "chain 1 (has the topics)", "chain 2"]
    # Most of burn-in is out of sight.
    assert [text.get_text() for text in ax.texts] == ["draws"]
    # The legend covers no trace.
    display.figure_.canvas.draw()
    assert ax.get_legend().get_window_extent().y1 < ax.get_window_extent().y0
    # All draws are in sight; the first sweeps are far below.
    low, high = ax.get_ylim()
    draws = fitted.log_joint_trace_[:, 20:] / 40
    assert low < np.nanmin(draws) < np.nanmax(draws) < high
    assert high - low < 2 * np.nanmax(draws) - 2 * np.nanmin(draws)
    # The axis of sweeps begins where the first trace comes into sight.
    inside = (fitted.log_joint_trace_ / 40 > low).any(axis=0)
    assert 0 < inside.argmax() + 1 - ax.get_xlim()[0] <= 1.2 and ax.get_xlim()[1] > 60
    assert ax.get_xlabel() == f"sweep\nsweeps 1 to {inside.argmax()} lie outside"


def test_other_quantities_have_their_own_unit(fitted):
    figure, ax = plt.subplots()
    display = ConvergenceDisplay.from_estimator(fitted, quantity="squared_shares", ax=ax)
    assert display.ax_ is ax and display.figure_ is figure
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), fitted.traces_["squared_shares"][0])
    assert ax.get_ylabel() == "squared shares"
    assert [text.get_text() for text in ax.texts] == ["burn-in", "draws"]


def test_plain_arrays_and_many_chains():
    trace = np.random.default_rng(0).standard_normal((12, 30))
    display = ConvergenceDisplay(trace=trace.tolist(), n_burn_in=10)
    assert display.plot() is display and len(display.lines_) == 12
    assert display.ax_.get_ylabel() == "log joint (nats)" and display.ax_.get_xlabel() == "sweep"
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["12 chains"]
    display = ConvergenceDisplay(trace=trace, n_burn_in=10, best_chain=3).plot()
    entries = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert sorted(entries) == ["11 other chains", "chain 3 (has the topics)"]
    colours = [line.get_color() for line in display.lines_]
    assert colours.count(colours[3]) == 1 and len(set(colours)) == 2


@pytest.mark.parametrize(("n_sweeps", "n_burn_in"), [(1, 0), (1, 1), (5, 2), (3, 30)])
def test_too_few_draws(n_sweeps, n_burn_in):
    display = ConvergenceDisplay(trace=np.zeros((2, n_sweeps)), n_burn_in=n_burn_in).plot()
    n_draws = 2 * max(n_sweeps - n_burn_in, 0)
    assert display.ax_.get_title() == f"{n_draws} draws: too few for R-hat"
    assert np.isnan(display.diagnosis_.r_hat)


CORPUS = make_lda_corpus(40, 20, 2, doc_length=30, random_state=0).data
ESTIMATORS = [
    GibbsLDA(2, max_iter=21, n_chains=2, random_state=0),
    EmpiricalBayesLDA(2, max_iter=20, n_chains=2, random_state=0),
    TopicCountLDA(min_components=2, max_components=3, max_iter=40, random_state=0),
    CompoundLDA(2, max_iter=20, burn_in=15, n_chains=2, random_state=0),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
def test_every_estimator_has_traces(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(CORPUS)
    display = ConvergenceDisplay.from_estimator(estimator)
    np.testing.assert_array_equal(
        [line.get_ydata() for line in display.lines_], estimator.log_joint_trace_ / CORPUS.sum()
    )
    n_burn_in = 15 if isinstance(estimator, CompoundLDA) else estimator.n_iter_ // 2
    n_burn_in = getattr(estimator, "n_burn_in_", n_burn_in)
    assert set(display.burn_in_.get_xdata()) == {n_burn_in + 0.5}
    if isinstance(estimator, CompoundLDA):
        assert estimator.n_burn_in_ == 15


@pytest.mark.parametrize("call", [ConvergenceDisplay.from_estimator, to_arviz])
def test_bad_input(fitted, call):
    with pytest.raises(NotFittedError):
        call(Fitted())
    with pytest.raises(TypeError, match="CollapsedVariationalLDA has no chains here"):
        call(CollapsedVariationalLDA(2, max_iter=2).fit(CORPUS))
    with pytest.raises(ValueError, match=r"quantity .*log_joint, squared_shares.*'theta'"):
        ConvergenceDisplay.from_estimator(fitted, quantity="theta")


def test_arviz_gets_the_traces(fitted):
    pytest.importorskip("arviz_base")
    tree = to_arviz(fitted)
    assert list(tree.children) == ["sample_stats"]
    stats = tree["sample_stats"]
    assert set(stats.data_vars) == {"log_joint", "squared_shares"}
    for name, trace in fitted.traces_.items():
        assert stats[name].dims == ("chain", "draw")
        np.testing.assert_array_equal(stats[name], trace[:, 20:50])
    np.testing.assert_array_equal(stats["draw"], np.arange(21, 51))
    lda = ESTIMATORS[0].fit(CORPUS)
    found = to_arviz(lda)["sample_stats"]["log_joint"]
    n_burn_in = getattr(lda, "n_burn_in_", lda.n_iter_ // 2)
    np.testing.assert_array_equal(found, lda.log_joint_trace_[:, n_burn_in:])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::FutureWarning:arviz")
@pytest.mark.parametrize("package", ["arviz_stats", "arviz"])
def test_arviz_summarises_the_draws(package):
    arviz = pytest.importorskip(package)
    lda = GibbsLDA(3, **FEW).fit(CORPUS)
    posterior = to_arviz(lda)["posterior"].to_dataset()
    table = arviz.summary(posterior if package == "arviz" else to_arviz(lda))
    mean = posterior["topic_share"].mean(("chain", "draw"))
    np.testing.assert_allclose(table["mean"].astype(float), mean, atol=0.01)


FEW = {"max_iter": 60, "draw_every": 5, "n_chains": 2, "random_state": 0}
SIDES = ["north", "south"] * (CORPUS.shape[0] // 2)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_arviz_gets_the_draws_with_names(monkeypatch):
    pytest.importorskip("arviz_base")
    lda = GibbsLDA(3, **FEW).fit(CORPUS).set_topic_names(["a", "b", "c"])
    posterior = to_arviz(lda)["posterior"]
    assert dict(posterior.sizes) == {"chain": 2, "draw": 60 - lda.n_burn_in_, "topic": 3}
    assert posterior["topic"].values.tolist() == ["a", "b", "c"]
    assert posterior["draw"].values.tolist() == list(range(lda.n_burn_in_ + 1, 61))
    shares = posterior["topic_share"]
    last = np.bincount(lda.topic_assignments_, minlength=3) / len(lda.topic_assignments_)
    np.testing.assert_allclose(shares[lda.best_chain_, -1], last)
    # A chain has NaN for a topic that it does not have, and the other topics at their places.
    for chain, found in zip(shares, lda.chains_, strict=True):
        has = ~np.isnan(chain[0].values)
        own = found.topic_word[found.matched]
        distances = [jensenshannon(p, q, base=2) for p, q in zip(lda.topic_word_, own, strict=True)]
        np.testing.assert_array_equal(has, np.array(distances) <= 0.5)
    named = to_arviz(describe(lda, topic_names=["x", "y", "z"]))
    assert named["posterior"]["topic"].values.tolist() == ["x", "y", "z"]

    lda = CompoundLDA(2, **FEW).fit(CORPUS, collections=SIDES)
    mixtures = to_arviz(lda)["posterior"]["collection_topic"]
    assert mixtures.dims == ("chain", "draw", "collection", "topic")
    assert mixtures["collection"].values.tolist() == ["north", "south"]
    own = lda.chains_[lda.best_chain_].collection_topic_draws
    np.testing.assert_array_equal(mixtures[lda.best_chain_], own[-mixtures.sizes["draw"] :])

    lda = CovariateLDA(2, **FEW).fit(CORPUS, covariates={"side": SIDES, "age": np.arange(len(SIDES)) % 7})
    posterior = to_arviz(lda)["posterior"]
    assert posterior["coef"].dims == ("chain", "draw", "topic", "term")
    assert posterior["term"].values.tolist() == lda.covariate_names_.tolist()
    # There is a draw of the coefficients for each of these sweeps.
    rows = posterior["draw"].values - lda.n_burn_in_ - 1
    by_chain = lda.coef_draws_.reshape(2, -1, 2, 3)
    assert by_chain.shape[1] == 60 - lda.n_burn_in_
    np.testing.assert_array_equal(posterior["coef"], by_chain[:, rows])
    np.testing.assert_array_equal(posterior["intercept"], lda.intercept_draws_.reshape(2, -1, 2)[:, rows])

    # In larger corpora one for several sweeps. It stays until the next one.
    monkeypatch.setattr(coefficients, "_ENTRIES", len(SIDES))
    options = FEW | {"max_iter": 61, "burn_in": 30, "n_draws": 31, "draw_every": 1}
    lda = CovariateLDA(2, **options).fit(CORPUS, covariates=np.arange(len(SIDES)))
    posterior = to_arviz(lda)["posterior"]
    by_chain = lda.coef_draws_.reshape(2, -1, 2, 1)
    assert posterior["draw"].values.tolist() == list(range(31, 62))
    np.testing.assert_array_equal(posterior["coef"], by_chain)
    changes = (np.diff(by_chain, axis=1) != 0).all(axis=(0, 2, 3))
    np.testing.assert_array_equal(changes, np.arange(32, 62) % 3 == 0)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        lda = HDPLDA(max_components=4, **FEW).fit(CORPUS, collections=SIDES)
    posterior = to_arviz(lda)["posterior"]
    sweeps = posterior["draw"].values
    np.testing.assert_array_equal(posterior["doc_concentration"], lda.traces_["doc_concentration"][:, sweeps - 1])

    lda = LabeledLDA(**FEW | {"draw_every": 10}).fit(CORPUS, SIDES)
    assert list(to_arviz(lda).children) == ["sample_stats"]


def test_without_arviz(fitted, monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz_base", None)
    with pytest.raises(ImportError, match=r'to_arviz needs ArviZ: pip install "sklda\[diagnostics\]"'):
        to_arviz(fitted)
