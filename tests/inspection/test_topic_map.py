"""The map of topics: places by the distances of topics, areas by their shares, and labels that can be read."""

from itertools import combinations

import numpy as np
import pytest

from sklda._core.distances import jensen_shannon
from sklda.inspection import TopicMapDisplay, describe
from sklda.inspection._scaling import classical_scaling, least_stress

plt = pytest.importorskip("matplotlib.pyplot")


def topics(n, n_groups=3, seed=0):
    """Topics that are alike within groups, and documents that have more of the first ones."""
    rng = np.random.default_rng(seed)
    centres = rng.dirichlet(np.full(60, 0.1), n_groups)
    phi = np.array([rng.dirichlet(100 * centres[k % n_groups] + 1e-3) for k in range(n)])
    return phi, rng.dirichlet(np.arange(n, 0, -1.0), 50)


def between(places):
    return np.linalg.norm(places[:, None] - places, axis=2)


def boxes(display):
    display.figure_.draw_without_rendering()
    return np.array([label.get_window_extent().extents for label in display.labels_])


def test_topics_with_similar_words_are_near():
    phi, theta = topics(12)
    display = TopicMapDisplay.from_estimator((phi, theta))
    apart, group = between(display.places), np.arange(12) % 3
    others = ~np.eye(12, dtype=bool)
    within = (group[:, None] == group) & others
    assert apart[within].max() < apart[~within & others].min()
    pairs = np.triu_indices(12, 1)
    distances = jensen_shannon(phi)[pairs]
    assert display.agreement == pytest.approx(np.corrcoef(apart[pairs], distances)[0, 1]) and display.agreement > 0.9
    assert f"{display.agreement:.2f}" in display.ax_.get_xlabel()


def test_places_have_less_stress_than_those_of_classical_scaling():
    phi, theta = topics(30, n_groups=30)
    distances = jensen_shannon(phi)
    found = between(TopicMapDisplay.from_estimator((phi, theta)).places)
    classical = between(classical_scaling(distances).points)
    assert ((found - distances) ** 2).sum() < 0.5 * ((classical - distances) ** 2).sum()


def test_a_plane_is_kept():
    """Distances of points in a plane are reproduced."""
    points = np.random.default_rng(0).standard_normal((8, 2))
    np.testing.assert_allclose(between(least_stress(between(points))), between(points), atol=1e-4)


def test_areas_are_shares_and_both_directions_have_one_scale():
    arrays = topics(8)
    display = TopicMapDisplay.from_estimator(arrays)
    areas, share = display.circles_.get_sizes(), arrays[1].mean(axis=0)
    np.testing.assert_allclose(areas / areas.sum(), share)
    ax = display.ax_
    unit = ax.transData.transform([[0, 0], [1, 1]])
    np.testing.assert_allclose(*np.abs(unit[1] - unit[0]))
    box = ax.get_window_extent()
    centres = ax.transData.transform(display.places)
    radii = np.sqrt(areas / np.pi) * ax.figure.dpi / 72
    assert (centres - radii[:, None] > [box.x0, box.y0]).all() and (centres + radii[:, None] < [box.x1, box.y1]).all()


@pytest.mark.parametrize(("n", "n_groups"), [(12, 3), (40, 4), (60, 60)])
def test_labels_do_not_meet_and_stay_inside(n, n_groups):
    phi, theta = topics(n, n_groups)
    names = [f"a name of topic number {k}" for k in range(n)]
    display = TopicMapDisplay.from_estimator(describe((phi, theta), topic_names=names))
    found, ax = boxes(display), display.ax_.get_window_extent()
    for a, b in combinations(found, 2):
        assert not ((a[:2] < b[2:]).all() and (b[:2] < a[2:]).all())
    assert (found[:, :2] >= [ax.x0, ax.y0]).all() and (found[:, 2:] <= [ax.x1, ax.y1]).all()
    texts = [label.get_text() for label in display.labels_]
    named = [k for k, text in enumerate(texts) if "name" in text]
    # The small ones of many topics have numbers only.
    largest = np.argsort(-np.asarray(display.share))[:40]
    assert named == sorted(largest) and all(texts[k].partition(":")[0] == str(k) for k in range(n))


def test_labels_of_equal_topics_do_not_meet_either():
    display = TopicMapDisplay.from_estimator((np.full((5, 4), 0.25), np.full((1, 5), 0.2)))
    assert display.agreement is None
    for a, b in combinations(boxes(display), 2):
        assert not ((a[:2] < b[2:]).all() and (b[:2] < a[2:]).all())


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_topics(n):
    display = TopicMapDisplay.from_estimator(topics(n))
    assert len(display.labels_) == n and np.isfinite(display.places).all()
    display.figure_.canvas.draw()


def test_chosen_topics_and_given_axes():
    arrays = topics(6)
    figure, axes = plt.subplots(1, 2)
    display = TopicMapDisplay.from_estimator(arrays, topics=[4, 1], ax=axes[1])
    assert display.figure_ is figure and display.ax_ is axes[1]
    assert [name.partition(":")[0] for name in display.names] == ["4", "1"]
    np.testing.assert_allclose(between(display.places)[0, 1], jensen_shannon(arrays[0][[4, 1]])[0, 1])
    np.testing.assert_allclose(display.share, arrays[1].mean(axis=0)[[4, 1]])
