"""The tree of the topics of several fits, the finer parts of topics, and the flow between models."""

import numpy as np
import pytest
from sklearn.utils import Bunch

from sklda import ConsensusTopics, GibbsLDA, merge_topics
from sklda._core.consensus_tree import leaves_below
from sklda.datasets import make_lda_corpus
from sklda.inspection import TopicHierarchyDisplay, topic_hierarchy, topic_report
from sklda.inspection._explorer_data import page_data
from sklda.inspection._fit_tree import _Rows
from sklda.inspection._view import view

pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def X():
    return make_lda_corpus(200, 100, 5, doc_length=80, doc_topic_prior=0.1, topic_word_prior=0.05, random_state=0).data


@pytest.fixture(scope="module")
def found(X):
    model = ConsensusTopics(GibbsLDA(5, max_iter=40), n_fits=4, random_state=0).fit(X)
    # Two fits divide topic 0, the others do not.
    tree, node = model.hierarchy_, model.hierarchy_.chosen[0]
    left, right = tree.linkage[node - len(tree.topics), :2].astype(int).tolist()
    model._levels_ = [{"topic": 0, "divided_by": 0.5, "node": int(node), "parts": [left, right]}]
    return model


def test_the_tree_has_all_topics_and_marks_the_chosen_nodes(found):
    tree = topic_hierarchy(found, of="fits")
    n = len(tree.topics)
    assert n == 20 and tree.linkage.shape == (19, 4) and len(tree.prevalence) == len(tree.similarity) == 39
    for c, node in enumerate(tree.chosen):
        own = tree.topics[leaves_below(tree.linkage, node)]
        assert sorted(map(tuple, own.tolist())) == sorted(map(tuple, found.members_[c].tolist()))
        assert (tree.labels[leaves_below(tree.linkage, node)] == c).all()
        assert tree.similarity[node] == pytest.approx(found.topic_stability_[c], abs=1e-6)
        assert tree.share[node] == pytest.approx(found.topic_share_[c], abs=1e-5)
        assert tree.prevalence[node] == found.topic_prevalence_[c]
    # The topic that is divided is shown by its parts.
    parts = found.levels_["parts"][0]
    assert set(tree.rows.tolist()) == {*tree.chosen.tolist(), *parts} - {tree.chosen[0]}
    assert [node for node, *_ in tree.joins][-1] == 38 and tree.chosen[0] in [node for node, *_ in tree.joins]
    assert len(tree.joins) == len(tree.rows) - 1


def test_the_display_of_the_tree(found):
    display = TopicHierarchyDisplay.from_estimator(found, of="fits")
    rows = topic_hierarchy(found, of="fits").rows
    assert [bar.get_width() for bar in display.bars_] == found.hierarchy_.prevalence[rows].tolist()
    labels = [label.get_text() for label in display.axes_[0].get_yticklabels()]
    assert sum(label.startswith("part of 0: ") for label in labels) == 2
    texts = [text.get_text() for text in display.axes_[1].texts]
    node = rows[-1]
    expected = f"/4, {found.hierarchy_.similarity[node]:.2f}, {100 * found.hierarchy_.share[node]:.0f}%"
    assert texts[-1].endswith(expected)


def test_a_tree_that_is_refused(X, found):
    with pytest.raises(ValueError, match="do not give X, n_clusters or linkage_method"):
        topic_hierarchy(found, of="fits", n_clusters=2)
    with pytest.raises(TypeError, match="GibbsLDA has no tree of several fits"):
        topic_hierarchy(found.estimators_[0], of="fits")
    merged = merge_topics(found, [[0, 1]])
    with pytest.raises(TypeError, match="not merged"):
        topic_hierarchy(merged, of="fits")
    assert "finer" not in topic_report(merged, X)


def test_reports_and_the_page_have_finer_topics(X, found):
    report = topic_report(found, X, n_words=3)
    line = report["finer"][0][0]
    assert line.startswith("2 of 4 fits divide it: ") and " against " in line
    assert report["finer"][1:].tolist() == [[]] * 4
    assert page_data(view(found, X, needs="proportions"))["topics"]["finer"][0] == [line]
    part = found.levels_["parts"][0][0]
    assert f"(in {round(4 * found.hierarchy_.prevalence[part])})" in line


def test_the_rows_of_a_tree_that_is_a_chain():
    """Each merge has one more leaf: deeper than any recursion could go."""
    n = 3000
    linkage = np.column_stack(
        [np.r_[0, np.arange(n, 2 * n - 2)], np.arange(1, n), np.arange(1, n), np.arange(2, n + 1)]
    )
    tree = Bunch(linkage=linkage.astype(float), topics=np.zeros((n, 2), int), chosen=np.arange(n))
    rows, joins = _Rows(tree, []).of(2 * n - 2)
    assert rows == list(range(n))
    assert joins[0] == (n, 0, 1) and joins[-1] == (2 * n - 2, 2 * n - 3, n - 1) and len(joins) == n - 1
