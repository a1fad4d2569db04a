"""Merges in the burn-in of the HDP: changes of the posterior, which topics are merged, and a topic that stays."""

import numpy as np
import pytest
from compound_cases import chain_with_mixtures
from scipy.special import betaln, gammaln

from sklda import HDPLDA
from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.priors import Priors
from sklda._models.compound.concentrations import Concentration, Concentrations
from sklda._models.compound.hdp import HDPMixtures
from sklda._models.compound.model import CompoundModel
from sklda._sampling.topics_in_use import _Pass, merged_numbers
from sklda.datasets import make_lda_corpus

ETA = 0.3


def make_chain(X, topics, labels, K=6):
    """A chain at given topics, with mixtures near their shares."""
    corpus, given = Corpus.from_counts(X), Concentrations(*(Concentration(value) for value in (1.5, 3.0, 2.0)))
    model = CompoundModel(labels, int(labels.max()) + 1)
    chain = chain_with_mixtures(
        corpus, Priors.make(1.0, ETA, K, corpus.n_features), random.seed_sequence(0), model, concentrations=given
    )
    chain.topics[:] = topics
    chain.recount()
    (step,) = chain.steps
    step.draw_mixtures(chain, np.random.default_rng(0))
    step.begin(chain)
    return chain


def tables_of(chain):
    tables = chain.steps[0].draw_tables(chain)
    return tables, tables.sum(axis=0) if len(tables) == 1 else np.minimum(tables, 2).sum(axis=0)


def log_rising(a, n):
    return (gammaln(a + n) - gammaln(a)).sum()


def log_division(chain, i, j):
    """The sum over tokens in i or j of the log probability of their topic among these two, token by token."""
    corpus, step, result = chain.corpus, chain.steps[0], 0.0
    eta = np.full(corpus.n_features, ETA)
    for t in np.flatnonzero(np.isin(chain.topics, [i, j])):
        others = np.arange(corpus.n_tokens) != t
        w, d = corpus.words[t], corpus.token_documents[t]
        p = []
        for k in (i, j):
            own = others & (chain.topics == k)
            m = np.bincount(corpus.words[own], minlength=corpus.n_features) + eta
            n = np.count_nonzero(corpus.token_documents[own] == d)
            p.append(m[w] / m.sum() * (n + step.gamma * step.pi[step.collections[d], k]))
        result += np.log(p[0 if chain.topics[t] == i else 1] / sum(p))
    return result


def gain(chain, tables, base_tables, i, j):
    """The change of the log posterior if i and j are merged, from its definition."""
    m, n = (counts[:, [i, j]].T for counts in (chain.word_topic_counts, chain.doc_topic_counts()))
    (step,) = chain.steps
    pi, base, labels = step.pi[:, [i, j]], np.exp(step.log_base[[i, j]]), step.collections
    result = log_rising(ETA, m.sum(axis=0)) - log_rising(ETA, m)
    total = ETA * m.shape[1]
    result += log_rising(total, m.sum(axis=1)) - log_rising(total, np.array([m.sum()]))
    alpha = step.gamma * pi[labels].T
    result += log_rising(alpha.sum(axis=0), n.sum(axis=0)) - log_rising(alpha, n)

    def log_posterior_and_prior(p, s, f):
        return betaln(*p) - betaln(*(p + s)) + s @ np.log(f / f.sum())

    if len(pi) > 1:
        result += sum(log_posterior_and_prior(step.b * base, s[[i, j]], f) for s, f in zip(tables, pi, strict=True))
    a, used = step.alpha, np.count_nonzero(chain.topic_totals)
    result += log_posterior_and_prior(np.full(2, a), base_tables[[i, j]], base) - betaln(a, a)
    result -= np.log(a * (len(step.log_base) - used + 1))
    return result + log_division(chain, i, j) if result > 0 else result


@pytest.mark.parametrize("labels", [np.zeros(12, np.int64), np.arange(12) % 3], ids=["one", "three"])
def test_gains_are_those_of_the_definition(labels):
    rng = np.random.default_rng(1)
    X = rng.poisson(1.0, (12, 7))
    X[3] = 0
    chain = make_chain(X, rng.integers(4, size=X.sum()), labels)
    tables, base_tables = tables_of(chain)
    found = _Pass(chain, chain.steps[0], lambda: None)
    gains = found.gains(tables, base_tables)
    # Each of four topics has three others: all pairs.
    assert list(zip(found.first, found.second, strict=True)) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    expected = [gain(chain, tables, base_tables, i, j) for i, j in zip(found.first, found.second, strict=True)]
    np.testing.assert_allclose(gains, expected, rtol=1e-8)
    assert (gains != 0).all()


def test_parts_of_a_topic_are_merged_and_topics_are_not():
    X = np.zeros((30, 12), int)
    X[:, :6] = np.random.default_rng(0).poisson(4, (30, 6))
    X[15:] = np.roll(X[15:], 6, axis=1)
    corpus = Corpus.from_counts(X)
    # The second topic is in two parts.
    topics = np.where(corpus.words < 6, 0, 1 + np.random.default_rng(1).integers(2, size=corpus.n_tokens))
    chain = make_chain(X, topics, np.zeros(30, np.int64))
    tables, base_tables = tables_of(chain)
    before = chain.topics.copy(), corpus.offsets.copy(), chain.rows.dense()
    assert merged_numbers(chain, chain.steps[0], tables, base_tables).tolist() == [0, 1, 1, 3, 4, 5]
    after = chain.topics, chain.corpus.offsets, chain.rows.dense()
    for x, y in zip(before, after, strict=True):
        np.testing.assert_array_equal(x, y)


def one_topic():
    X = make_lda_corpus(100, 60, 1, doc_length=30, topic_word_prior=0.3, random_state=0).data
    lda = HDPLDA(max_components=100, max_iter=200, n_chains=1, random_state=0)
    return lda.fit(X).large_topic_count_interval_


def test_the_interval_of_one_topic_contains_one():
    assert one_topic()[0] == 1


@pytest.mark.filterwarnings("ignore:topic_word_prior was learnt and is at its smallest value")
@pytest.mark.filterwarnings("ignore:The fit has too few sweeps")
def test_without_merges_one_topic_is_several(monkeypatch):
    monkeypatch.setattr(HDPMixtures, "merge", lambda self, chain, tables, base_tables, stop: None)
    assert one_topic()[0] > 3
