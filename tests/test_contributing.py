"""The model of CONTRIBUTING.md: its code runs, and its step is exact."""

from pathlib import Path

import numpy as np
import pytest
from enumeration import DOCS, Enumeration, make_chain
from scipy.special import logsumexp
from scipy.stats import norm

from sklda._sampling.steps import advance
from sklda.datasets import make_lda_corpus

ALARM = 1e-5


@pytest.fixture(scope="module")
def code():
    page = (Path(__file__).parent.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (text,) = (part.split("```")[0] for part in page.split("```python\n")[1:])
    found = {}
    exec(compile(text, "CONTRIBUTING.md", "exec"), found)
    return found


def p_value(Alpha, n_sweeps=6_000):
    """p-value of the posterior mean of log alpha and of its square, by enumeration on a grid of alpha."""
    grid = np.linspace(-6, 6, 61)
    each = [Enumeration(DOCS, 4, 2, np.exp(x), 0.4) for x in grid]
    log_p = np.array([logsumexp(one.log_joint) for one in each]) - grid**2 / 2
    p = np.exp(log_p - logsumexp(log_p))
    chain = make_chain(each[30].corpus, each[30].priors, each[30].states[0])
    chain.steps = [Alpha(np.random.SeedSequence(0))]
    chain.steps[0].begin(chain)
    for _ in range(n_sweeps):
        advance(chain, chain.steps)
    x = np.array(chain.steps[0].path)
    batches = np.stack([x, x**2], axis=1).reshape(60, -1, 2).mean(axis=1)
    z = (batches.mean(axis=0) - [p @ grid, p @ grid**2]) / (batches.std(axis=0, ddof=1) / np.sqrt(60))
    return 2 * norm.sf(np.abs(z)).min() * 2


@pytest.mark.mutation("test_a_step_without_its_prior_is_found")
def test_the_step_is_exact(code):
    assert p_value(code["Alpha"]) > ALARM


def test_a_step_without_its_prior_is_found(code):
    class Wrong(code["Alpha"]):
        def after(self, chain, stop):
            rng, old, before = np.random.default_rng([7, chain.n_sweeps]), self.x, chain.log_topics()
            self._set(chain, np.clip(old + rng.standard_normal(), -6, 6))
            if np.log(rng.random()) >= chain.log_topics() - before:
                self._set(chain, old)
            self.path.append(self.x)

    assert p_value(Wrong) < ALARM


def test_the_estimator_is_one_of_the_house(code):
    made = make_lda_corpus(80, 40, 3, doc_length=60, doc_topic_prior=0.2, topic_word_prior=0.1, random_state=0)
    lda = code["DrawnAlphaLDA"](3, max_iter=200, random_state=0).fit(made.data)
    assert lda.topic_word_.shape == (3, 40) and lda.transform(made.data).shape == (80, 3)
    assert lda.traces_["log_alpha"].shape == (1, 200) and "log_alpha" in lda.diagnostics_
    assert abs(np.log(lda.doc_topic_prior_ / 0.2)) < 1
    assert lda.score(made.data) > np.log(1 / 40)
    again = code["DrawnAlphaLDA"](3, max_iter=200, random_state=0).fit(made.data)
    np.testing.assert_array_equal(lda.topic_assignments_, again.topic_assignments_)
