"""``init="search"``: chains that begin in the mode that a search found."""

import numpy as np
import pytest

from sklda import GibbsLDA
from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.parallel import NEVER_STOP
from sklda._core.priors import Priors
from sklda._mode_search.searched_start import searched_chains
from sklda._sampling.annealed_start import annealed_chain
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.run_chains import NO_RUN
from sklda.datasets import make_lda_corpus

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def X():
    return make_lda_corpus(40, 30, 3, doc_length=20, random_state=0).data


def test_chains_and_seeds_have_draws_of_their_own(X):
    options = {"init": "search", "sampler": "partitioned", "n_chains": 2, "max_iter": 3}
    one, other = (GibbsLDA(3, random_state=seed, **options).fit(X) for seed in (0, 1))
    first, second = one.chains_
    assert (first.topic_assignments != second.topic_assignments).any()
    assert (one.topic_assignments_ != other.topic_assignments_).any()


def test_the_search_is_at_the_first_priors(X):
    corpus, seed = Corpus.from_counts(X), random.seed_sequence(0)
    priors = Priors.make(0.2, 0.1, 3, corpus.n_features)
    (chain,), (again,) = (searched_chains(corpus, priors, [seed], None, GibbsChain, NO_RUN) for _ in range(2))
    assert chain.priors is priors and chain.n_sweeps == 0
    assert (chain.topics == again.topics).all() and (chain.stream == again.stream).all()
    assert (annealed_chain(corpus, priors, seed, NEVER_STOP).topics != chain.topics).any()


@pytest.mark.parametrize("K", [1, 2, 12])
def test_any_number_of_topics(K):
    lda = GibbsLDA(K, init="search", max_iter=2, random_state=0).fit([[2, 1, 0], [0, 0, 0], [0, 1, 3]])
    assert np.isfinite(lda.components_).all()


def test_topics_must_share_their_priors(X):
    for priors in ({"doc_topic_prior": [0.1, 0.2, 0.3]}, {"topic_word_prior": np.ones((3, 30))}):
        with pytest.raises(ValueError, match=r"init='search' .*share"):
            GibbsLDA(3, init="search", max_iter=2, **priors).fit(X)
