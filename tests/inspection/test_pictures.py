"""Pictures can be read: nothing is cut or lies on other labels, on light and dark pages, in colours and without."""

from functools import cache
from itertools import chain, pairwise
from types import SimpleNamespace

import numpy as np
import pandas
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from matplotlib.contour import QuadContourSet
from matplotlib.text import Text

from sklda.inspection import (
    ConvergenceDisplay,
    DocumentTopicsDisplay,
    MarginalLikelihoodDisplay,
    TopicCountDisplay,
    TopicEffectsDisplay,
    TopicWordsDisplay,
    compare_topic_counts,
    describe,
)
from sklda.inspection._axes import MARKERS, series_styles, text_width, wrapped

plt = pytest.importorskip("matplotlib.pyplot")
LONG = [
    "International trade, tariffs and the regulation of agricultural subsidies in the common market",
    "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenträgervereinigungsvorsitzender",
    "Schools",
]
GROUPS = ["women who live in cities and their suburbs", "men", "no answer was given to this question at all"]


def model(n_topics, n_documents=24, tokens_of_prior=1):
    """Topics with long names, and documents. Proportions times `tokens_of_prior` are alpha."""
    rng = np.random.default_rng(0)
    phi = rng.dirichlet(np.full(40, 0.1), n_topics)
    theta = rng.dirichlet(np.linspace(2, 0.2, n_topics), n_documents) * 0.9 + 0.1 / n_topics
    X = np.array([rng.multinomial(30, row @ phi) for row in theta])
    words = [f"{'word' * (v % 5 + 1)}{v}" for v in range(40)]
    names = [f"{LONG[k % 3]} {k}" for k in range(n_topics)]
    return describe((phi, tokens_of_prior * theta), X, vocabulary=words, topic_names=names), X


def comparison(*numbers):
    names = [f"{'word' * (v % 5 + 1)}{v}" for v in range(40)]
    X = model(2)[1]
    fits = [describe(model(n)[0], X, vocabulary=names) for n in numbers]
    found = compare_topic_counts([describe(each, topic_names=None) for each in fits])
    rows = {"gain": [np.nan, 0.1, 0.05], "gain_std": [np.nan, 0.02, np.nan], "found_share": [1, 0.5, 0.01]}
    rows |= {"found_share_std": [0, 0.1, np.nan], "n_fits": [4, 4, 2]}
    found.counts, found.interval = found.counts.assign(**rows), (numbers[1], numbers[2] + 50)
    found.topics["found_in"] = np.arange(len(found.topics)) % 3 / 2
    return found.plot()


def counts():
    n = np.arange(2, 60)
    below = -0.5 * ((n - 40) / 3) ** 2
    p = np.exp(below) / np.exp(below).sum()
    return TopicCountDisplay(topic_counts=n, posterior=p, interval=(35, 45)).plot()


def marginal(kind):
    alpha, eta = np.geomspace(0.05, 0.5, 9), np.geomspace(0.1, 1, 8)
    log_m = -30 * (np.log(alpha / 0.2) ** 2)[:, None] - 20 * np.log(eta / 0.3) ** 2
    angle = np.linspace(0, 6.3, 20)
    boundary = np.stack([0.2 * np.exp(0.3 * np.cos(angle)), 0.3 * np.exp(0.3 * np.sin(angle))], axis=1)
    ellipse = SimpleNamespace(kind="statistical", level=0.95, boundary=lambda: boundary)
    occupancy = np.array([[0, 0.5], [0.3, 0.2]])
    return MarginalLikelihoodDisplay(
        doc_topic_priors=alpha,
        topic_word_priors=eta,
        log_marginal_likelihood=log_m,
        maximum=(0.2, 0.3),
        std=np.ones(log_m.shape),
        ellipses=[ellipse],
        grid=([0.1, 0.3], [0.2, 0.6]),
        occupancy=occupancy,
    ).plot(kind=kind)


def convergence(n_chains):
    rng = np.random.default_rng(0)
    trace = -70000 - 9000 * np.exp(-np.arange(60) / 5) + 100 * rng.standard_normal((n_chains, 60))
    return ConvergenceDisplay(trace=trace, n_burn_in=30, n_tokens=10000, best_chain=0).plot()


def groups(n_topics=8, **options):
    named, X = model(n_topics)
    return TopicEffectsDisplay.from_groups(named, X, np.array(GROUPS)[np.arange(24) % 3], **options)


def many_groups():
    named, X = model(8, 138)
    return TopicEffectsDisplay.from_groups(named, X, [f"source {d % 69}" for d in range(138)])


def dates():
    named, X = model(8, 40, tokens_of_prior=5)
    return TopicEffectsDisplay.from_dates(named, X, 1990 + np.arange(40) % 8)


def effects(covariate, **options):
    named, X = model(8, tokens_of_prior=5)
    frame = pandas.DataFrame({"treatment": ["no", "yes"] * 12, "age": np.arange(24.0), "region": GROUPS * 8})
    return TopicEffectsDisplay.from_estimator(named, X, frame, covariate=covariate, random_state=0, **options)


def document():
    return DocumentTopicsDisplay.from_estimator(model(8)[0], document=0, n_topics=2)


PICTURES = {
    "words": lambda: TopicWordsDisplay.from_estimator(model(20)[0]),
    "comparison": lambda: comparison(5, 6, 8),
    "comparison of 100": lambda: comparison(20, 40, 100),
    "counts": counts,
    "marginal": lambda: marginal("contour"),
    "slice": lambda: marginal("doc_topic_prior"),
    "chains": lambda: convergence(4),
    "many chains": lambda: convergence(12),
    "groups": groups,
    "ordered groups": lambda: groups(ordered=True),
    "many groups": many_groups,
    "dates": dates,
    "curves": lambda: effects("age", by="treatment", formula="age * treatment"),
    "levels": lambda: effects("region", by="treatment"),
    "difference": lambda: effects("treatment", difference=("yes", "no"), topics=range(8)),
    "document": document,
}


def drawn_texts(figure):
    """The texts of a figure that are drawn, other than labels of ticks, and for each axis its name and these labels."""
    figure.canvas.draw()
    axes = [axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)]
    every = [tick for axis in axes for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())]
    of_ticks = {id(text) for tick in every for text in (tick.label1, tick.label2)}
    # Ticks beyond the ends of an axis are not drawn.
    labels = [
        (axis.axis_name, [t for tick in axis._update_ticks() for t in (tick.label1, tick.label2) if is_seen(t)])
        for axis in axes
        if axis.axes.axison
    ]
    return [text for text in figure.findobj(Text) if id(text) not in of_ticks and is_seen(text)], labels


def is_seen(text):
    return text.get_visible() and bool(text.get_text().strip())


def contrast(colour, behind):
    """That of WCAG, from 1 to 21, of a colour on a background."""
    colour, behind = np.array(to_rgba(colour)), np.array(to_rgba(behind))
    colour = colour[3] * colour[:3] + (1 - colour[3]) * behind[:3]
    light, dark = sorted((luminance(each) for each in (colour, behind[:3])), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(rgb):
    rgb = np.where(rgb <= 0.03928, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return rgb @ [0.2126, 0.7152, 0.0722]


# One picture of each kind; the places of texts are the same on both pages.
DARK = ("words", "comparison of 100", "counts", "marginal", "many chains", "many groups", "curves", "document")


# What pictures leave out.
NOTES = {
    "words": "the 12 largest of 20 topics",
    "groups": "the 6 largest of 8 topics",
    "dates": "the 6 largest of 8 topics",
    "curves": "the 6 largest of 8 topics",
    "document": "the 2 topics with the most words here, of",
    "counts": "other numbers up to 59: below 0.1 %",
    "chains": "lie outside",
}


@cache
def drawn(name):
    """A picture and its texts."""
    with plt.style.context("dark_background" if name in DARK else "default"):
        display = PICTURES[name]()
        return display, *drawn_texts(display.figure_)


@pytest.mark.parametrize("name", PICTURES)
def test_texts_are_inside_and_apart_and_seen(name):
    display, texts, ticks = drawn(name)
    figure = display.figure_
    assert any(NOTES.get(name, "") in text.get_text() for text in texts)
    for text in (*texts, *chain.from_iterable(labels for _, labels in ticks)):
        found = text.get_window_extent()
        is_inside = min(found.x0, found.y0) >= -1 and found.x1 <= figure.bbox.x1 + 1 and found.y1 <= figure.bbox.y1 + 1
        assert is_inside, f"{text.get_text()!r} is cut"
        assert contrast(text.get_color(), figure.get_facecolor()) > 3, f"{text.get_text()!r} cannot be read"
    for along, labels in ticks:
        ends = sorted(tuple(getattr(text.get_window_extent(), f"interval{along}")) for text in labels)
        assert all(a[1] <= b[0] + 1 for a, b in pairwise(ends)), f"{[t.get_text() for t in labels]} overlap"
    for ax in figure.axes:
        is_image = ax.images or any(isinstance(each, QuadContourSet) for each in ax.collections)
        marks = [] if is_image else [line.get_color() for line in ax.lines]
        marks += (
            [] if is_image else [each.get_color()[0] for each in ax.collections if isinstance(each, LineCollection)]
        )
        assert all(contrast(colour, ax.get_facecolor()) > 1.5 for colour in marks)
    assert max(figure.get_size_inches()) <= 15


def test_groups_differ_in_greyscale():
    display = drawn("levels")[0]
    markers = {line.get_marker() for line in display.axes_[0].lines}
    assert len(markers) == 2 and markers <= set(MARKERS)
    keys = [handle.get_marker() for handle in display.legend_.legend_handles[:2]]
    assert set(keys) == markers
    display = drawn("curves")[0]
    curves = [line for line in display.axes_[0].lines if len(line.get_xdata()) > 1]
    assert {line.get_marker() for line in curves} == markers
    # No two of many have the same colour and marker.
    assert len(set(series_styles(plt.subplots()[1], 40))) == 40


def test_words_have_the_letters_of_their_topics():
    display = DocumentTopicsDisplay([("one", 0), (" two", 1), (" three", -1)], ["0: a", "1: b"]).plot()
    assert [text.get_text() for text in display.ax_.texts].count("a") == 2
    assert sorted(text.get_text() for text in display.ax_.texts) == sorted(
        ["one", "a", "two", "b", "three", "  ", "a", "0: a", "  ", "b", "1: b"]
    )


def test_a_picture_of_all_topics_says_nothing_of_it():
    for display in (TopicWordsDisplay.from_estimator(model(5)[0]), groups(5)):
        texts, _ = drawn_texts(display.figure_)
        assert not any("largest" in text.get_text() for text in texts)


def test_long_texts_are_broken():
    text = wrapped(LONG[0], 150, 10, 2)
    first, second = text.split("\n")
    assert LONG[0].startswith(first + " ") and second.endswith("…") and max(map(text_width_10, (first, second))) <= 150
    # Also where there is no space, without a loss, and with signs that are escaped.
    assert wrapped("国际贸易关税与共同市场", 60, 10, 3).replace("\n", "") == "国际贸易关税与共同市场"
    assert wrapped(r"cost \$ and \$ price", 60, 10, 3).replace("\n", " ") == r"cost \$ and \$ price"


def text_width_10(text):
    return text_width(text, 10)
