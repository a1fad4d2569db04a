"""alpha as its distinct rows and the row of each document: the same draws as with a row for every document."""

import dataclasses
import tracemalloc

import numpy as np
import pytest
from compound_cases import chain_with_mixtures
from estimates import estimate_counts

from sklda import CompoundLDA, CovariateLDA
from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.priors import Priors
from sklda._likelihood.evidence.annealing import Guide
from sklda._sampling.blocked import GroupedChain, ThreadedChain
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.draws import draw_doc_topic
from sklda._sampling.partially_collapsed import PartiallyCollapsedChain
from sklda._sampling.partitioned import PartitionedChain
from sklda._sampling.prior_path import PriorPath
from sklda._sampling.steps import advance
from sklda._sampling.word_major import WordMajorChain
from sklda.datasets import make_compound_lda_corpus
from sklda.papers.topic_count._estimators import log_transition

K = 4
KINDS = [GibbsChain, GroupedChain, PartiallyCollapsedChain, PartitionedChain, WordMajorChain]


@pytest.fixture
def corpus(counts):
    return Corpus.from_counts(counts)


@pytest.fixture(params=["shared eta", "eta by topic"])
def pair(request, corpus):
    """The same priors with a row of alpha for every document, and with three rows."""
    rng = np.random.default_rng(0)
    rows, row_of = rng.gamma(1, size=(3, K)) + 0.01, rng.integers(3, size=corpus.n_documents, dtype=np.int32)
    eta = 0.1 if request.param == "shared eta" else rng.gamma(1, size=(K, corpus.n_features)) + 0.01
    full = Priors.make(rows[row_of], eta, K, corpus.n_features, corpus.n_documents)
    return full, dataclasses.replace(full, doc=rows, row_of=row_of)


@pytest.mark.parametrize("kind", KINDS)
def test_the_draws_are_those_of_a_row_for_every_document(corpus, pair, kind, monkeypatch):
    monkeypatch.setattr(ThreadedChain, "block_tokens", 200)
    chains = [kind.initialise_randomly(corpus, priors, np.random.SeedSequence(0)) for priors in pair]
    for _ in range(3):
        for chain in chains:
            chain.sweep()
    first, second = chains
    np.testing.assert_array_equal(first.topics, second.topics)
    assert first.log_joint() == second.log_joint()
    before = first.topics.copy()
    for chain in chains:
        chain.sweep()
    if kind is GibbsChain:
        assert log_transition(first, before) == log_transition(second, before)
        for estimates in zip(*(estimate_counts(corpus, each.priors, each.topics) for each in chains), strict=True):
            np.testing.assert_array_equal(*estimates)
        np.testing.assert_array_equal(*(draw_doc_topic(each, np.random.default_rng(0)) for each in chains))


def test_wrong_rows_are_found(corpus, pair):
    full, rows = pair
    wrong = dataclasses.replace(rows, row_of=(rows.row_of + 1) % 3)
    chains = [GibbsChain.initialise_randomly(corpus, each, np.random.SeedSequence(0)) for each in (full, wrong)]
    assert chains[0].log_joint() != chains[1].log_joint()
    for chain in chains:
        chain.sweep()
    assert (chains[0].topics != chains[1].topics).any()


@pytest.mark.parametrize("which", ["multiples", "guide", "other rows"])
def test_a_path_makes_the_same_draws_and_weights(corpus, pair, which):
    results = []
    for priors in pair:
        chain = GibbsChain.initialise_randomly(corpus, priors, np.random.SeedSequence(0))
        if which == "multiples":
            path = PriorPath.multiples(priors, np.geomspace(10, 1, 5))
        else:
            guide = Guide.from_chain(chain, 2)
            path = guide.path(guide.strengths(4))
        if which == "other rows":
            row_of = np.arange(corpus.n_documents, dtype=np.int32) % 2
            path = dataclasses.replace(path, doc_slope=path.doc_slope[:2], slope_row_of=row_of)
        chain = GibbsChain(corpus, path.priors_at(path.positions[0]), chain.state())
        results.append((chain.anneal(path), chain.topics, chain.priors.doc_of()))
    for found, expected in zip(*results, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_rows_that_do_not_exist_are_refused():
    priors = Priors.make(0.1, 0.1, K, 5)
    for doc, row_of in ((priors.doc, [0, 1]), (priors.doc, [-1, 0]), (np.ones((2, K)), [])):
        with pytest.raises(ValueError, match=r"^row_of goes to .* alpha has \d rows\.$"):
            dataclasses.replace(priors, doc=doc, row_of=np.array(row_of, np.int32))


@pytest.mark.parametrize("kind", [CompoundLDA, CovariateLDA])
def test_no_fit_has_a_row_of_alpha_for_every_document(kind, monkeypatch):
    data = make_compound_lda_corpus([60, 60], 30, 3, doc_length=20, random_state=0)
    shapes, sweep = set(), GibbsChain.sweep

    def seen(self, *arguments):
        sweep(self, *arguments)
        shapes.add(self.priors.doc.shape)

    monkeypatch.setattr(GibbsChain, "sweep", seen)
    given = {"collections": data.collections} if kind is CompoundLDA else {"covariates": {"group": data.collections}}
    lda = kind(K, max_iter=20, random_state=0).fit(data.data, **given)
    assert shapes <= {(1, K), (2, K)}
    assert (2, K) in shapes
    assert lda._results_.draws[0].mean_priors().doc.shape == (2, K)


@pytest.mark.parametrize("kind", ["compound", "covariates"])
def test_a_sweep_does_not_need_memory_for_alpha_of_every_document(kind):
    """With 40,000 documents and 100 topics, alpha of every document takes 32 MB."""
    D, n_topics = 40_000, 100
    corpus = Corpus(np.arange(D, dtype=np.int32) % 50, np.arange(D + 1), 50)
    priors, groups = Priors.make(1.0, 0.1, n_topics, 50), np.arange(D) % 3
    if kind == "compound":
        from sklda._models.compound.model import CompoundModel

        chain = chain_with_mixtures(corpus, priors, random.seed_sequence(0), CompoundModel(groups, 3), 1.0, 5.0)
    else:
        from sklda._models.covariates.coefficients import Coefficients, CovariateModel
        from sklda._models.covariates.prior import distinct_rows

        rows, index = distinct_rows(np.eye(3)[groups][:, 1:])
        model = CovariateModel(rows, index, np.zeros(n_topics), None, np.zeros(2, int))
        chain = GibbsChain.initialise_randomly(corpus, priors, random.seed_sequence(0))
        chain.steps = [Coefficients(model, random.seed_sequence(0))]
        chain.steps[0].begin(chain)
    advance(chain, chain.steps)
    tracemalloc.start()
    try:
        advance(chain, chain.steps)
        chain.log_joint()
        assert chain.priors.doc.shape == (3, n_topics)
        assert tracemalloc.get_traced_memory()[1] < 2e7
    finally:
        tracemalloc.stop()
