"""Mean proportions by period: dates of every kind, the intervals, and the panels with an axis of dates."""

from datetime import date, datetime

import matplotlib
import matplotlib.pyplot
import numpy as np
import pandas
import pytest
from matplotlib.collections import LineCollection
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, num2date
from numpy.testing import assert_allclose
from scipy.special import stdtrit

from sklda import CompoundLDA, ConsensusTopics, GibbsLDA
from sklda.inspection import TopicEffectsDisplay, describe, topic_effects, topics_over_time
from sklda.inspection._periods import is_near

matplotlib.use("agg")

D = 80
YEARS = np.repeat([1990, 1991, 1993, 1994], 20)
rng = np.random.default_rng(0)
# The first topic grows from .2 to .8; its words are the first six.
MEANS = np.array([0.2, 0.4, 0.6, 0.8])
THETA = rng.beta(10 * np.repeat(MEANS, 20), 10 * (1 - np.repeat(MEANS, 20)))
FIRST = rng.binomial(60, THETA)
COUNTS = np.array(
    [np.r_[rng.multinomial(n, np.full(6, 1 / 6)), rng.multinomial(60 - n, np.full(6, 1 / 6))] for n in FIRST]
)
LDA = GibbsLDA(2, max_iter=200, n_chains=2, random_state=0, doc_topic_prior=0.5, topic_word_prior=0.1).fit(COUNTS)
TOPIC = int(LDA.topic_word_[:, 0].argmax())


def table(dates, **options):
    return topics_over_time(LDA, COUNTS, dates, topics=[TOPIC], random_state=0, **options)


def starts(dates, **options):
    return [str(start.date()) for start in table(dates, n_draws=1, **options)["start"]]


def test_means_of_the_years_are_found():
    found = table(YEARS)
    assert [str(start.date()) for start in found["start"]] == [f"{year}-01-01" for year in (1990, 1991, 1993, 1994)]
    assert [str(end.date()) for end in found["end"]] == [f"{year}-12-31" for year in (1990, 1991, 1993, 1994)]
    assert found["documents"].tolist() == [20, 20, 20, 20] and found.index.tolist() == [0, 1, 2, 3]
    assert ((found["low"] < MEANS) & (MEANS < found["high"])).all() and (found["high"] - found["low"] < 0.2).all()
    # Those of the 20 documents of a year, and of 20 more if these are less spread than all.
    assert set(found["df"].round(6)) == {19, 39}
    assert_allclose(found["attenuation"], 60 / 61, atol=0.02)
    assert (found["found_in"] == 2).all() and (found["topic"] == TOPIC).all()


def test_estimates_and_errors_are_those_of_effects():
    """Those of the first year are the intercept of the model with the other years as categories."""
    effects = topic_effects(LDA, COUNTS, YEARS.astype(str), topics=[TOPIC], random_state=0)
    intercept = effects[effects["term"] == "intercept"].iloc[0]
    own = table(YEARS).iloc[0]
    assert_allclose(
        own[["estimate", "standard_error", "df"]].tolist(), intercept[["estimate", "standard_error", "df"]].tolist()
    )


def test_intervals_are_within_0_and_1_and_longer_on_the_side_with_more_room():
    counts = np.zeros((12, 12), int)
    counts[:, 6:] = 10
    counts[0, :6] = 30
    found = topics_over_time(LDA, counts, [2000] * 12, topics=[TOPIC], random_state=0).iloc[0]
    assert 0 < found["low"] < found["estimate"] < found["high"] < 1
    assert found["high"] - found["estimate"] > 2 * (found["estimate"] - found["low"])


def symmetric(share, error, freedom, level):
    """Intervals around the estimate, as those of a difference."""
    reach = stdtrit(freedom, (1 + level) / 2) * error
    return share - reach, share + reach


@pytest.mark.mutation("sklda._core.linear_models.share_interval", symmetric)
@pytest.mark.mutation("sklda._core.linear_models._DOCUMENTS_OF_ALL", 0)
def test_intervals_contain_the_true_mean_of_a_topic_of_which_few_documents_have_much():
    """Of 600 intervals of 95 %, fewer than 575 contain it with a probability of 1e-4 if they do with 0.98."""
    rng, n_periods, n = np.random.default_rng(1), 600, 10
    # Words are topics, so there are no errors of topics.
    first = rng.binomial(40, rng.beta(0.3, 1.7, n_periods * n))
    X, years = np.column_stack([first, 40 - first]), np.repeat(np.arange(1000, 1000 + n_periods), n)
    found = topics_over_time((np.eye(2), [0.3, 1.7]), X, years, period="year", topics=[0], n_draws=5, random_state=0)
    assert ((found["low"] <= 0.15) & (0.15 <= found["high"])).sum() >= 575


@pytest.mark.parametrize(
    "dates",
    [
        YEARS,
        YEARS.astype(float),
        YEARS.astype(str),
        YEARS.tolist(),
        [f"{year}-05" for year in YEARS],
        [f"{year}-05-31T12:30:00" for year in YEARS],
        [date(year, 3, 1) for year in YEARS],
        [datetime(year, 12, 31, 23, 59) for year in YEARS],
        np.array([f"{year}-07-01" for year in YEARS], dtype="datetime64[ns]"),
        np.array(YEARS - 1970, dtype="datetime64[Y]"),
        pandas.to_datetime([f"{year}-07-01" for year in YEARS]),
        pandas.Series(pandas.to_datetime([f"{year}-07-01" for year in YEARS], utc=True)),
        pandas.PeriodIndex(YEARS.astype(str), freq="Y"),
        (str(year) for year in YEARS),
    ],
    ids=lambda values: type(values).__name__,
)
def test_dates_of_all_kinds(dates):
    assert starts(dates, period="year") == [f"{year}-01-01" for year in (1990, 1991, 1993, 1994)]


@pytest.mark.parametrize(
    ("dates", "expected"),
    [
        # Of some documents only the year is known, and of others the day.
        (["2019", "2019-05-07", "2020-01-01", "2020"], "2019-01-01 2020-01-01"),
        (np.array(["2019", "2020"], dtype="datetime64[Y]"), "2019-01-01 2020-01-01"),
        (pandas.PeriodIndex(["2019Q3", "2019Q4", "2020Q1"], freq="Q"), "2019-07-01 2019-10-01 2020-01-01"),
        (["2019-05", "2019-06-17"], "2019-05-01 2019-06-01"),
    ],
    ids=["mixed", "years", "quarters", "months"],
)
def test_periods_are_not_shorter_than_what_is_known_of_all_dates(dates, expected):
    places = np.resize(np.arange(len(dates)), D)
    assert " ".join(starts([dates[d] for d in places] if isinstance(dates, list) else dates[places])) == expected


def test_dates_that_do_not_tell_periods_apart():
    with pytest.raises(ValueError, match=r"'month' .*the year"):
        starts(["2019", "2019-05-07"] * (D // 2), period="month")
    with pytest.warns(UserWarning, match=rf"dates is missing in documents 0, 2, .* \({D // 2} of {D}\)"):
        found = starts(["2019", "2019-05-07"] * (D // 2), period="month", missing="drop")
    assert found == ["2019-05-01"]
    days = pandas.DatetimeIndex(np.resize(["2004-01-05", "2004-01-12"], D))
    periods = [days.to_period(freq) for freq in ("Y-SEP", "2M", "10Y", "W-WED", "2D")]
    for dates in (*periods, days.to_numpy().astype("M8[10Y]"), days.to_numpy().astype("M8[W]")):
        with pytest.raises(ValueError, match="give days, or the periods as groups"):
            starts(dates)
    weeks = days.to_period("W-SUN")
    assert starts(weeks) == starts(weeks, period="week") == ["2004-01-05", "2004-01-12"]
    for period in ("day", "month", "year"):
        with pytest.raises(ValueError, match="which is the week"):
            starts(weeks, period=period)
    with pytest.raises(ValueError, match="weeks and others months"):
        starts([*weeks[:-1], "2004"])
    with pytest.raises(ValueError, match="before the year 1"):
        starts(np.array(["-0044-03-15"] * D, "M8[D]"))


@pytest.mark.parametrize("first", [1, 238, 9990])
def test_pictures_of_early_and_late_years(first):
    for period in (1, None):
        shown = TopicEffectsDisplay.from_dates(LDA, COUNTS, np.resize(first + np.arange(3) * 4, D), period=period)
        shown.figure_.canvas.draw()
        matplotlib.pyplot.close(shown.figure_)


def test_a_wrong_century_does_not_choose_the_periods():
    found = table([*np.repeat([2000, 2001], D // 2)[:-1], 1200])
    assert found["documents"].tolist()[-2:] == [40, 39] and found["documents"].iloc[0] == 1


@pytest.mark.parametrize(
    ("period", "dates", "expected"),
    [
        ("day", ["2024-02-28", "2024-03-01"], ["2024-02-28", "2024-03-01"]),
        # A Sunday and a Monday.
        ("week", ["2024-03-03", "2024-03-04"], ["2024-02-26", "2024-03-04"]),
        ("week", ["1969-12-28", "1969-12-29"], ["1969-12-22", "1969-12-29"]),
        ("month", ["1969-12-31", "1970-02-01"], ["1969-12-01", "1970-02-01"]),
        ("quarter", ["2023-12-31", "2024-04-01"], ["2023-10-01", "2024-04-01"]),
        ("year", [1969, 1970], ["1969-01-01", "1970-01-01"]),
        ("decade", [1959, 1960], ["1950-01-01", "1960-01-01"]),
        (25, [1799, 1800], ["1775-01-01", "1800-01-01"]),
        (100, [1066, 1199], ["1000-01-01", "1100-01-01"]),
    ],
)
def test_periods(period, dates, expected):
    assert starts(np.resize(dates, D), period=period) == expected


@pytest.mark.parametrize(
    ("dates", "expected"),
    [
        # Forty periods at most, and ten documents in each that has some.
        (np.arange("2024-01-01", "2024-01-05", dtype="datetime64[D]"), "2024-01-01 2024-01-02"),
        (np.arange("2024-01-01", "2024-03-11", dtype="datetime64[D]"), "2024-01-01 2024-02-01"),
        (np.arange("2020-01-01", "2023-01-01", dtype="datetime64[M]"), "2020-01-01 2021-01-01"),
        (np.arange(1990, 1994), "1990-01-01 1991-01-01"),
        # Months would be empty, but for one in each year or quarter.
        (np.array(["2018-01-01", "2019-01-01", "2020-01-01"], "M8[s]"), "2018-01-01 2019-01-01"),
        (np.array(["2018-01-01", "2018-04-01", "2018-07-01"], "M8[D]"), "2018-01-01 2018-04-01"),
        (np.arange(1900, 1980), "1900-01-01 1910-01-01"),
        (np.array([1000, 1950]), "1000-01-01 1950-01-01"),
        # One year is one period, however few documents there are.
        (np.array([1984]), "1984-01-01"),
    ],
)
def test_the_period_that_is_chosen(dates, expected):
    assert " ".join(starts(np.resize(dates, D))[:2]) == expected


def test_documents_without_a_date_or_words_take_no_part():
    dates, counts = YEARS.astype(object), COUNTS.copy()
    dates[:5], counts[75:] = None, 0
    clusters = [None] * 5 + (np.arange(5, D) // 2).tolist()
    with (
        pytest.warns(UserWarning, match="dates is missing in documents"),
        pytest.warns(UserWarning, match="5 of 80 documents have no words"),
    ):
        found = topics_over_time(LDA, counts, dates, topics=[TOPIC], clusters=clusters, missing="drop", random_state=0)
    assert found["documents"].tolist() == [15, 20, 20, 15]


def test_documents_of_one_source_are_so_many_clusters():
    books = np.arange(D) // 5
    alone, together = table(YEARS), table(YEARS, clusters=books)
    assert_allclose(together["estimate"], alone["estimate"])
    assert_allclose(together["df"].dropna(), 3)
    # A period of one book has an unknown error.
    one = table(YEARS, clusters=np.where(YEARS == 1990, "one", books.astype(str)))
    assert one["low"].isna().tolist() == [True, False, False, False] and one["estimate"].notna()[0]


def test_the_prior_of_compound_lda_knows_the_periods():
    lda = CompoundLDA(2, max_iter=30, random_state=0).fit(COUNTS, collections=YEARS)
    assert (topics_over_time(lda, COUNTS, YEARS, n_draws=3)["attenuation"] == 1).all()
    assert (topics_over_time(lda, COUNTS, np.arange(D) % 4 + 2000, n_draws=3)["attenuation"] < 1).all()


def test_fits_of_a_consensus_count_where_they_have_the_topic():
    fits = ConsensusTopics(GibbsLDA(2, max_iter=30), n_fits=4, random_state=0).fit(COUNTS)
    found = topics_over_time(fits, COUNTS, YEARS, random_state=0)
    assert (found["found_in"] >= 3).all() and found["estimate"].notna().sum() == 4 * found["topic"].nunique()


# --- The display -----------------------------------------------------------------------------------------------------


def display(dates=YEARS, **options):
    return TopicEffectsDisplay.from_dates(LDA, COUNTS, dates, random_state=0, **options)


def rug(ax):
    (found,) = (each for each in ax.collections if each.get_transform() != ax.transData)
    return np.array(found.get_segments())


def entries(shown):
    return [] if shown.legend_ is None else [text.get_text() for text in shown.legend_.get_texts()]


def test_the_display_has_the_numbers_of_the_table_on_an_axis_of_dates():
    shown, found = display(topics=[TOPIC]), table(YEARS)
    (ax,) = shown.axes_
    assert isinstance(ax.xaxis.get_major_locator(), AutoDateLocator)
    assert isinstance(ax.xaxis.get_major_formatter(), ConciseDateFormatter)
    line, points = ax.lines
    # With a gap at the year without documents.
    assert_allclose(line.get_ydata()[[0, 1, 3, 4]], found["estimate"])
    assert np.isnan(line.get_ydata()).tolist() == [False, False, True, False, False]
    middles = [num2date(x).date() for x in points.get_xdata(orig=False)]
    assert [each.year for each in middles] == [1990, 1991, 1993, 1994] and all(6 <= each.month <= 7 for each in middles)
    (bars,) = (
        each for each in ax.collections if isinstance(each, LineCollection) and each.get_transform() == ax.transData
    )
    ends = np.array(bars.get_segments())[:, :, 1]
    assert_allclose(ends, found[["low", "high"]].dropna())
    assert ax.get_ylim()[0] == 0 and ax.get_ylim()[1] <= 1
    assert [num2date(x).year for x in ax.get_xlim()] == [1990, 1994]
    assert shown.topics == [ax.get_title(loc="left")]


def test_points_of_unknown_error_are_open():
    dates = YEARS.copy()
    dates[0] = 1985
    shown = display(dates, topics=[TOPIC], period="year")
    (ax,) = shown.axes_
    (point,) = (line for line in ax.lines if line.get_markerfacecolor() == ax.get_facecolor())
    assert [num2date(x).year for x in point.get_xdata(orig=False)] == [1985]
    assert entries(shown) == ["error unknown", "documents", "95 % intervals"]


def test_a_period_with_very_few_documents_does_not_set_the_range_of_the_axis():
    starts = np.array(["1990", "1991", "1992"], dtype="datetime64[Y]").astype("datetime64[D]")
    values = {"name": "", "values": starts + np.timedelta64(182, "D"), "topics": ["0: a topic"], "joined": True}
    values |= {
        name: np.array(each)[:, None] for name, each in (("low", [0.1, 0.1, 0.0]), ("estimate", [0.2, 0.2, 0.2]))
    }
    values["high"] = np.array([0.3, 0.35, 0.99])[:, None]
    few, many = (TopicEffectsDisplay(**values, documents=[np.repeat(starts, [60, 60, n])]).plot() for n in (2, 30))
    assert few.axes_[0].get_ylim() == (0, pytest.approx(1.05 * 0.35)) and many.axes_[0].get_ylim()[1] > 0.99
    assert "the interval goes on" in entries(few) and "the interval goes on" not in entries(many)
    (mark,) = (line for line in few.axes_[0].lines if line.get_marker() == "^")
    assert_allclose(mark.get_ydata(), [1.05 * 0.35])
    assert TopicEffectsDisplay(**values).plot().axes_[0].get_ylim()[1] > 0.99


def test_the_rug_has_the_dates_of_the_documents():
    days = np.datetime64("2024-01-01") + np.repeat([0, 10, 50], [50, 20, 10]).astype("timedelta64[D]")
    shown = display(days, topics=[TOPIC], period="month")
    lines = rug(shown.axes_[0])
    assert [num2date(x).date().isoformat() for x in lines[:, 0, 0]] == ["2024-01-01", "2024-01-11", "2024-02-20"]
    lengths = np.ptp(lines[:, :, 1], axis=1)
    assert (np.diff(lengths) < 0).all() and (lines[:, :, 1] < 0).all()


def test_panels_are_the_largest_topics_and_axes_can_be_given():
    import matplotlib.pyplot as plt

    named = describe(LDA, COUNTS, topic_names=["a", "b"])
    shown = TopicEffectsDisplay.from_dates(named, dates=YEARS, n_draws=2)
    order = np.argsort(-LDA.topic_share_)
    assert shown.topics == [f"{k}: {'ab'[k]}" for k in order] and len(shown.axes_) == 2
    figure, axes = plt.subplots(1, 2)
    assert shown.plot(axes) is shown and shown.figure_ is figure
    with pytest.raises(ValueError, match=r"Axes .* 2 topics; got 1"):
        shown.plot(axes[0])
    assert TopicEffectsDisplay.from_dates(named, dates=YEARS, topics=["b"], n_draws=2).topics == ["1: b"]


def test_changes_that_are_attenuated_have_a_note():
    shown = TopicEffectsDisplay.from_dates((np.eye(2), 3.0), np.full((9, 2), 4), [2000, 2001, 2002] * 3)
    assert any(text.startswith("short documents: ") for text in entries(shown))
    assert not any(text.startswith("short documents: ") for text in entries(display()))


@pytest.mark.parametrize(
    ("dates", "options", "error", "message"),
    [
        (None, {}, ValueError, "dates is None: give the year or the day of every document"),
        (YEARS[:5], {}, ValueError, "dates has 5 values; there are 80 documents"),
        ([None] * D, {"missing": "drop"}, ValueError, "dates is missing in documents .* No document is left"),
        (np.full(D, 1.5), {}, ValueError, r"dates\[0\] = 1.5 is not a date: give years as whole numbers"),
        (np.full(D, 20240131), {}, ValueError, "is not a date: give years as whole numbers"),
        (np.full(D, np.inf), {}, ValueError, "is not a date"),
        (np.full(D, 0), {}, ValueError, "is not a date"),
        (["May 1984"] * D, {}, ValueError, r"dates\[0\] = 'May 1984' is not a date: .* pandas.to_datetime"),
        (["today"] * D, {}, ValueError, "is not a date"),
        (["1984-02-30"] * D, {}, ValueError, "'1984-02-30' is not a day of the calendar"),
        (["1984-13"] * D, {}, ValueError, "not a day of the calendar"),
        (np.full(D, True), {}, TypeError, r"dates\[0\] is a bool and not a date"),
        ([()] * D, {}, TypeError, "is a tuple and not a date"),
        ("1984", {}, TypeError, "one value for each document"),
        (YEARS, {"period": "century"}, ValueError, "period must be one of"),
        (YEARS, {"period": 0}, ValueError, "period must be at least 1"),
        (YEARS, {"period": 1.5}, TypeError, "period must be an int"),
        (YEARS, {"n_draws": 0}, ValueError, "n_draws"),
        (YEARS, {"level": 1.0}, ValueError, "level must lie between 0 and 1"),
        (YEARS, {"topics": [2]}, ValueError, "topics must be numbers from 0 to 1"),
        (YEARS, {"clusters": YEARS[:3]}, ValueError, "clusters has 3 values; there are 80 documents"),
    ],
)
def test_bad_arguments(dates, options, error, message):
    with pytest.raises(error, match=message):
        topics_over_time(LDA, COUNTS, dates, **options)


def test_dates_in_the_order_of_another_index():
    frame = pandas.DataFrame(COUNTS, index=[f"d{i}" for i in range(D)])
    with pytest.raises(ValueError, match=r"dates .* X in another order"):
        topics_over_time(LDA, frame, pandas.Series(YEARS, frame.index)[::-1])


@pytest.mark.parametrize("wrong", [1066, 2999])
def test_a_wrong_century_does_not_squeeze_the_others(wrong):
    years = 1990 + np.arange(D) % 7
    right = display(years)
    years[0] = wrong
    shown = display(years)
    (first, last), own = shown.axes_[0].get_xlim(), right.axes_[0].get_xlim()
    assert_allclose([first, last], own, atol=1)
    # No point lies outside the axis, and the key says which document is not shown.
    assert all(first <= x <= last for line in shown.axes_[0].lines for x in line.get_xdata(orig=False))
    assert f"not shown: 1 document far from the others, {wrong}" in entries(shown)
    assert not any("not shown" in entry for entry in entries(right))
    # The table has the periods with documents, and those of the others are the same.
    found = table(years)
    assert found["documents"].sum() == D and len(found) == 8 and found.index.tolist() == list(range(8))
    kept = found[found["start"].dt.year.between(1990, 1996)]
    assert kept["documents"].tolist() == [11, 12, 12, 11, 11, 11, 11]


@pytest.mark.parametrize(
    ("values", "far"),
    [
        (np.r_[np.arange(100), 10**4], [100]),
        (np.r_[-(10.0**4), np.arange(200), 1e6], [0, 201]),
        # Three of a hundred are no mistake, and neither is one that is a little apart, or one of few values.
        (np.r_[np.arange(97), [10**4] * 3], []),
        (np.r_[np.arange(100), 250], []),
        (np.r_[np.zeros(50), np.ones(50), 9], []),
        (np.arange(3), []),
        (np.empty(0), []),
    ],
)
def test_values_that_are_far_from_the_others(values, far):
    assert np.flatnonzero(~is_near(values)).tolist() == far


def test_a_curve_ends_before_a_value_that_is_far():
    age = np.append(np.linspace(20, 80, D - 1), 9999)
    shown = TopicEffectsDisplay.from_estimator(LDA, COUNTS, {"age": age}, random_state=0)
    low, high = shown.axes_[0].get_xlim()
    assert 10 < low < 20 and 80 < high < 90 and (shown.values[0], shown.values[-1]) == (20, 80)
    assert "not shown: 1 document far from the others, 9999" in entries(shown)
