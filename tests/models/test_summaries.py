"""What fits say of themselves in sentences."""

import re

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from sklda import HDPLDA, EmpiricalBayesLDA, TopicCountLDA
from sklda.datasets import make_lda_corpus

X = make_lda_corpus(80, 40, 3, doc_length=30, topic_word_prior=0.1, random_state=0).data


@pytest.mark.parametrize("cls", [EmpiricalBayesLDA, HDPLDA, TopicCountLDA])
def test_before_fit(cls):
    with pytest.raises(NotFittedError):
        cls().summary()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_priors_with_intervals():
    lda = EmpiricalBayesLDA(3, max_iter=400, random_state=0).fit(X)
    numbers = [float(x) for x in re.findall(r"[\d.]+(?=[ )])", lda.summary().split(" maximise")[0])]
    alpha, low, high, eta, *ends = numbers
    assert low < alpha < high and ends[0] < eta < ends[1]
    np.testing.assert_allclose([alpha, eta], [lda.doc_topic_prior_, lda.topic_word_prior_], rtol=0.01)
    np.testing.assert_allclose([[low, high], ends], lda.confidence_region(0.95, "total").intervals, rtol=0.01)
    # It is of the fit, whatever the parameters are now.
    text = lda.summary()
    assert "with 3 topics" in text and lda.set_params(n_components=7).summary() == text


@pytest.mark.parametrize(
    ("interval", "few", "posterior", "z", "expected"),
    [
        ((3, 3), (0, 0), [0, 1.0], 0, ["3 topics (95 %). This is", "not that of the subjects"]),
        ((1, 1), (0, 0), [1.0, 0], 0, ["1 topic (95 %)"]),
        ((25, 32), (0, 4), [0.2, 0.15], 0, ["25 to 32 topics (95 %). The data do not decide", "Of them, 0 to 4 have"]),
        (
            (3, 4),
            (1, 1),
            [0.8, 0.2],
            9.4,
            ["3 are the most likely, with a probability of 0.80", "Of them, 1 have fewer", "by 9 standard deviations"],
        ),
    ],
)
def test_numbers_of_topics(interval, few, posterior, z, expected):
    lda = TopicCountLDA()
    lda.few_tokens_interval_ = few
    lda.topic_count_interval_, lda.topic_count_posterior_ = interval, np.array(posterior)
    lda.n_components_, lda.model_check_z_ = interval[0], z
    assert all(each in lda.summary() for each in expected)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_topics_in_use():
    hdp = HDPLDA(max_components=30, max_iter=60, n_chains=2, random_state=0).fit(X)
    hdp.topic_count_interval_, hdp.large_topic_count_interval_ = (3, 5), (2, 4)
    assert hdp.summary().startswith("3 to 5 topics are in use (95 %), and the largest 2 to 4 of them have")
    hdp.topic_count_interval_, hdp.large_topic_count_interval_ = (5, 5), (3, 3)
    assert hdp.summary().startswith("5 topics are in use (95 %), and the largest 3 of them have")
