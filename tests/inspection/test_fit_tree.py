"""The tree of the topics of several fits, the finer parts of topics, and the flow between models."""

import numpy as np
import pytest
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.utils import Bunch

from sklda import CollapsedVariationalLDA, ConsensusTopics, GibbsLDA, merge_topics
from sklda._core.consensus_tree import leaves_below
from sklda.datasets import make_lda_corpus
from sklda.inspection import TopicFlowDisplay, TopicHierarchyDisplay, topic_flows, topic_hierarchy, topic_report
from sklda.inspection._explorer_data import page_data
from sklda.inspection._fit_tree import _Rows
from sklda.inspection._topic_flows import _orders
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


@pytest.fixture(scope="module")
def models(X):
    return [GibbsLDA(K, max_iter=30, random_state=0).fit(X) for K in (2, 4)]


def test_flows_are_counts_of_tokens(X, models):
    rows = topic_flows(models)
    flow = np.zeros((2, 4))
    for a, b in zip(models[0].topic_assignments_, models[1].topic_assignments_, strict=True):
        flow[a, b] += 1 / X.sum()
    for row in rows.to_dict("records"):
        k, j = row["topic"], row["next_topic"]
        assert row["share"] == pytest.approx(flow[k, j])
        assert row["of_topic"] == pytest.approx(flow[k, j] / flow[k].sum())
        assert row["of_next"] == pytest.approx(flow[k, j] / flow[:, j].sum())
    assert len(rows) == np.count_nonzero(flow)


def test_flows_from_proportions(X, models):
    rows = topic_flows(models, X=X)
    lengths = np.ravel(X.sum(axis=1))
    flow = np.einsum("d,dk,dj->kj", lengths, *(model.doc_topic_ for model in models)) / lengths.sum()
    found = np.zeros((2, 4))
    for row in rows.to_dict("records"):
        found[row["topic"], row["next_topic"]] = row["share"]
    np.testing.assert_allclose(found, flow, rtol=1e-5)


def test_flows_that_are_refused(X, models):
    with pytest.raises(ValueError, match="at least two fitted models"):
        topic_flows(models[:1])
    other = GibbsLDA(2, max_iter=5, random_state=0).fit(X[:50])
    with pytest.raises(ValueError, match=r"The models have \[50, 200\] documents"):
        topic_flows([models[0], other])
    arrays = np.full((2, 3), 1 / 3), np.full((3, 2), 0.5)
    with pytest.raises(ValueError, match="The documents have no words"):
        topic_flows([arrays, arrays], X=np.zeros((3, 3), dtype=int))


def test_the_display_of_flows(models):
    display = TopicFlowDisplay.from_models(models)
    heights = [[bar.get_height() for bar in bars] for bars in display.ax_.containers]
    shares = np.bincount(models[1].topic_assignments_, minlength=4) / len(models[1].topic_assignments_)
    np.testing.assert_allclose(heights[1], shares)
    # Topics that come from one topic are side by side.
    order = _orders([np.array([[0.3, 0.0, 0.2], [0.0, 0.5, 0.0]])])[1]
    assert order.tolist() in ([1, 0, 2], [0, 2, 1])


def test_flows_between_fits_of_different_documents_are_refused(X, models):
    message = "The models were fitted to different documents"
    other = X[np.arange(X.shape[0])[::-1]]
    with pytest.raises(ValueError, match=message):
        topic_flows([models[0], GibbsLDA(2, max_iter=5, random_state=0).fit(other)])
    variational = [CollapsedVariationalLDA(2, max_iter=3, random_state=0).fit(each) for each in (X, other)]
    with pytest.raises(ValueError, match=message):
        topic_flows(variational)
    with pytest.raises(ValueError, match=message):
        topic_flows([models[0], variational[1]])
    assert len(topic_flows([models[0], variational[0]]))
    arrays = models[0].topic_word_, models[0].doc_topic_
    with pytest.raises(ValueError, match="does not say how many tokens the documents have: give X"):
        topic_flows([models[1], arrays])
    assert len(topic_flows([models[1], arrays], X=X))


def test_flows_without_x_weigh_documents_by_their_tokens(X):
    longer = X.copy()
    longer[0] = 100 * longer[0]
    models = [CollapsedVariationalLDA(K, max_iter=5, random_state=0).fit(longer) for K in (2, 3)]
    share = np.zeros(2)
    for row in topic_flows(models).to_dict("records"):
        share[row["topic"]] += row["share"]
    np.testing.assert_allclose(share, models[0].topic_share_, atol=1e-3)


def test_flows_of_models_that_keep_no_documents_are_those_of_x(X):
    lda = LatentDirichletAllocation(max_iter=2)
    assert TopicFlowDisplay.from_estimator(lda, X, n_components=[2, 3], random_state=0).flows[0].shape == (2, 3)


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
