"""Mean proportions by group: weights, documents that do not count, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from sklda import GibbsLDA
from sklda.datasets import make_lda_corpus
from sklda.inspection import TopicEffectsDisplay, describe, topic_effects, topics_by_group

X = make_lda_corpus(60, 40, 3, doc_length=np.tile([20, 90], 30), doc_topic_prior=0.3, random_state=0).data
GROUPS = np.array(["a", "b", "b"] * 20)
LDA = GibbsLDA(3, max_iter=30, random_state=0).fit(X)


def columns(table, *names):
    return [table[name].to_numpy() for name in names]


def test_the_table():
    table = topics_by_group(describe(LDA, X, topic_names=["x", "y", "z"]), groups=GROUPS, topics=["z"], random_state=0)
    assert table["name"].tolist() == ["2: z", "2: z"] and table["group"].tolist() == ["a", "b"]
    assert table["documents"].tolist() == [20, 40] and table["found_in"].tolist() == [1, 1]
    means = [LDA.doc_topic_[GROUPS == name, 2].mean() for name in "ab"]
    np.testing.assert_allclose(table["estimate"], means, atol=0.02)


def test_weights_are_those_of_the_mean():
    lengths = np.asarray(X.sum(axis=1)).ravel()
    table = topics_by_group(LDA, X, GROUPS, weights=lengths, random_state=0)
    plain = topics_by_group(LDA, X, GROUPS, random_state=0)
    for (k, name), own in table.groupby(["topic", "group"]):
        expected = np.average(LDA.doc_topic_[GROUPS == name, k], weights=lengths[GROUPS == name])
        np.testing.assert_allclose(own["estimate"], expected, atol=0.02)
    assert np.abs(table["estimate"] - plain["estimate"]).max() > 0.01
    # In any unit.
    again = topics_by_group(LDA, X, GROUPS, weights=lengths / 7, random_state=0)
    for found, expected in zip(
        columns(again, "estimate", "low", "high"), columns(table, "estimate", "low", "high"), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_document_of_weight_zero_takes_no_part():
    weights = np.ones(60)
    weights[:6] = 0
    table = topics_by_group(LDA, X, GROUPS, weights=weights, random_state=0)
    assert table["documents"].tolist() == [18, 36] * 3
    groups = GROUPS.astype(object)
    groups[:6] = None
    with pytest.warns(UserWarning, match="groups is missing in documents"):
        dropped = topics_by_group(LDA, X, groups, missing="drop", random_state=0)
    pd.testing.assert_frame_equal(table, dropped)


def test_clusters_widen_intervals():
    # Every document four times: as many independent ones as before.
    copies = np.repeat(np.arange(60), 4)
    model = GibbsLDA(3, max_iter=30, random_state=0).fit(X[copies])
    alone, together = (
        topics_by_group(model, X[copies], GROUPS[copies], clusters=each, random_state=0) for each in (None, copies)
    )
    assert (together["standard_error"] > 1.5 * alone["standard_error"]).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "groups is None: give the group of every document"),
        ({"groups": GROUPS[:5]}, "groups has 5 values; there are 60 documents"),
        ({"groups": GROUPS, "weights": -np.ones(60)}, "weights"),
        ({"groups": [None, *GROUPS[1:]]}, "groups is missing in document"),
        ({"groups": GROUPS, "level": 2}, "level"),
    ],
)
def test_what_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        topics_by_group(LDA, X, **arguments)


def test_tables_have_names_as_they_are_and_pictures_show_them():
    """Dollar signs, and long names that differ at their ends."""
    long = "a" * 70
    described = describe(LDA, X, topic_names=["US$", long, "c"])
    assert topics_by_group(described, X, GROUPS)["name"].unique().tolist() == ["0: US$", f"1: {long}", "2: c"]
    table = topic_effects(described, X, {"g": GROUPS})
    assert table["name"].unique().tolist() == ["0: US$", f"1: {long}", "2: c"]
    shown = TopicEffectsDisplay.from_groups(described, X, GROUPS, topics=[0, 1])
    shown.figure_.canvas.draw()
    assert r"US\$" in shown.topics[0] and len(shown.topics[1]) == 60
