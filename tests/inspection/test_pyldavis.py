"""The input of pyLDAvis: distributions that sum to one, the model's order and numbers, and points that are real."""

import numpy as np
import pytest
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sklda import GibbsLDA
from sklda._core.distances import jensen_shannon
from sklda.datasets import make_lda_corpus
from sklda.inspection import describe, to_pyldavis
from sklda.inspection._scaling import classical_scaling

TEXTS = ["apple banana apple", "banana cherry apple", "car engine wheel", "engine wheel wheel", ""]
MODELS = [
    GibbsLDA(2, max_iter=20, random_state=0),
    GibbsLDA(3, max_iter=20, random_state=0),
    LatentDirichletAllocation(4, random_state=0),
    NMF(2, random_state=0, max_iter=400),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_arguments(model):
    pipeline = make_pipeline(CountVectorizer(), model).fit(TEXTS)
    found = to_pyldavis(pipeline, TEXTS)
    counts = pipeline[0].transform(TEXTS).toarray()
    names = pipeline[0].get_feature_names_out()
    phi = model.components_ / model.components_.sum(axis=1, keepdims=True, dtype=np.float64)
    kept = phi.sum(axis=0) > 0
    np.testing.assert_allclose(found["topic_term_dists"], phi[:, kept])
    assert found["vocab"].tolist() == names[kept].tolist()
    np.testing.assert_allclose(found["doc_topic_dists"].sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_array_equal(found["doc_lengths"], counts.sum(axis=1))
    np.testing.assert_array_equal(found["term_frequency"], counts.sum(axis=0)[kept])
    assert found["sort_topics"] is False and found["start_index"] == 0


def test_points_have_the_distances_of_topics_in_a_plane():
    rng = np.random.default_rng(0)
    phi = rng.dirichlet(np.ones(20), 3)
    points = classical_scaling(jensen_shannon(phi)).points
    # The Jensen-Shannon distance is Euclidean, so three topics fit into a plane.
    between = np.linalg.norm(points[:, None] - points, axis=2)
    np.testing.assert_allclose(between, jensen_shannon(phi), atol=1e-7)
    for n in (2, 50):
        points = classical_scaling(jensen_shannon(rng.dirichlet(np.full(30, 0.1), n))).points
        assert points.shape == (n, 2) and points.dtype == np.float64


@pytest.mark.parametrize(
    "model, X, message",
    [
        (GibbsLDA(2, max_iter=1), None, "pyLDAvis needs documents with words: give X"),
        (GibbsLDA(1, max_iter=1), make_lda_corpus(10, 5, 2, random_state=0).data, "needs at least two"),
    ],
)
def test_bad_input(model, X, message):
    model.fit(make_lda_corpus(10, 5, 2, random_state=0).data)
    with pytest.raises(ValueError, match=message):
        to_pyldavis(model, X)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("n_components", [2, 3, 12])
def test_pyldavis_takes_them(n_components):
    pyLDAvis = pytest.importorskip("pyLDAvis")
    corpus = make_lda_corpus(60, 40, 4, doc_length=[0, 1] + [30] * 58, random_state=0)
    lda = GibbsLDA(n_components, doc_topic_prior=0.1, max_iter=20, random_state=0).fit(corpus.data)
    names = [f"word {v}" for v in range(40)]
    prepared = pyLDAvis.prepare(**to_pyldavis(describe(lda, vocabulary=names), corpus.data), n_jobs=1)
    assert prepared.topic_coordinates["topics"].tolist() == list(range(n_components)) == prepared.topic_order
    n = np.ravel(corpus.data.sum(axis=1))
    share = n @ lda.doc_topic_ / n.sum()
    np.testing.assert_allclose(prepared.topic_coordinates["Freq"], 100 * share)
    assert not np.iscomplexobj(prepared.topic_coordinates[["x", "y"]].to_numpy())
    for k in range(n_components):
        info = prepared.topic_info[prepared.topic_info["Category"] == f"Topic{k}"]
        best = info.sort_values("logprob", ascending=False)["Term"].iloc[0]
        assert lda.topic_word_[k, names.index(best)] == pytest.approx(lda.topic_word_[k].max(), rel=1e-3)
    assert "complex" not in prepared.to_json()
