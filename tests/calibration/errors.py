"""Stated Monte Carlo standard errors, to be compared with the spread of the estimates over seeds.

A new error is one function of a seed and one entry of `ERRORS`. The function returns an estimate and its stated
standard error for the same corpus and model every time, arrays of the same shape.
"""

import warnings
from functools import cache, partial
from types import SimpleNamespace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sklda import EmpiricalBayesLDA, GibbsLDA, metrics
from sklda.datasets import make_lda_corpus
from sklda.papers.empirical_bayes import full_bayes, serial_tempering
from sklda.papers.held_out import (
    ais,
    chib,
    held_out_curve,
    leave_one_out_score,
    left_to_right,
    particle_filter,
    ratio_ais,
)
from sklda.papers.topic_count import log_evidence, pmmh


@cache
def given():
    """Corpora and topics, the same for all seeds."""
    priors = {"doc_topic_prior": 0.3, "topic_word_prior": 0.3}
    large = make_lda_corpus(40, 20, 3, doc_length=40, **priors, random_state=0)
    small = make_lda_corpus(15, 12, 2, doc_length=12, **priors, random_state=1)
    rng = np.random.default_rng(0)
    other = 0.7 * large.topic_word + 0.3 * rng.dirichlet(np.full(20, 0.3), 3)
    topics = make_lda_corpus(15, 12, 2, doc_length=12, **priors, random_state=1).topic_assignments
    return SimpleNamespace(
        priors=priors,
        large=large.data,
        X=large.data[:15],
        model=(large.topic_word, 0.3),
        other=(other, 0.3),
        along=[(topics, 0.3) for topics in (0.5 * other + 0.5 / 20, other, large.topic_word)],
        small=small.data,
        state=(topics, 0.3, 0.3),
    )


def held_out(seed, **options):
    return metrics.held_out_log_likelihood(
        given().model, given().X, n_runs=10, return_std=True, random_state=seed, **options
    )


def scorer(seed, metric):
    score = metrics.make_held_out_scorer(
        metric=metric, n_runs=10, n_temperatures=20, return_std=True, random_state=seed
    )
    lda = GibbsLDA(3, **given().priors, max_iter=1, random_state=0).fit(given().X)
    lda.components_ = given().model[0]
    found = score(lda, given().X)
    (name,) = (each for each in found if not each.endswith("_std"))
    return found[name], found[f"{name}_std"]


def of_paper(seed, estimate, **options):
    """An estimator of one model that papers use."""
    return estimate(given().model, given().X, n_runs=10, random_state=seed, **options)


def comparison(seed, compare, **options):
    found = compare(given().model, given().other, given().X, n_temperatures=30, n_runs=10, random_state=seed, **options)
    return found.log_ratio, found.std


def curve(seed):
    found = held_out_curve(given().along, given().X, n_runs=10, random_state=seed)
    return found.score, found.std


def leave_one_out(seed):
    found = leave_one_out_score(given().state, given().small, n_draws=100, random_state=seed)
    return found.score, found.std


def evidence(seed, **options):
    return log_evidence(given().small, 2, **given().priors, random_state=seed, **options)


def pmmh_posterior(seed):
    options = {"evidence": "guided_ais", "n_proposals": 100, "n_temperatures": 60, "n_runs": 1}
    found = pmmh(given().small, 1, 4, **given().priors, **options, random_state=seed)
    return found.posterior, found.posterior_std


@cache
def _prior_fit(seed, function=None):
    common = {"n_chains": 4, "max_iter": 400, "random_state": seed}
    if function is None:
        return EmpiricalBayesLDA(2, error_ratio=0, **common).fit(given().small)
    return function(given().small, 2, n_tuning=50, region=((0.03, 3), (0.03, 3)), **common)


def priors(seed):
    """log h by `EmpiricalBayesLDA`. On the small corpus, some fits have a maximum without bounds."""
    lda = EmpiricalBayesLDA(3, n_chains=4, max_iter=400, error_ratio=0, random_state=seed).fit(given().large)
    return _maximum(lda)


def priors_in_a_region(seed, function):
    """log h by a function that is given a region."""
    return _maximum(_prior_fit(seed, function))


def _maximum(lda):
    region = lda.confidence_region(kind="monte_carlo")
    return np.log(region.center), region.standard_errors


def log_m(seed, function=None):
    """log m at three h against one h that is the same for all seeds."""
    curve = _prior_fit(seed, function).log_marginal_likelihood.__self__._found().curve
    return curve.log_ratio([0.1, 0.3, 1.0], [0.6, 0.2, 0.3], (0.3, 0.3))


ERRORS = {
    "held_out_log_likelihood, guided_ais": partial(held_out, n_temperatures=20),
    "ais": partial(of_paper, estimate=ais, n_temperatures=200),
    "left_to_right": partial(of_paper, estimate=left_to_right),
    "particle_filter": partial(of_paper, estimate=particle_filter),
    "chib": partial(of_paper, estimate=chib),
    "held_out_log_likelihood, document_completion": partial(held_out, method="document_completion"),
    "make_held_out_scorer, neg_perplexity": partial(scorer, metric="perplexity"),
    "make_held_out_scorer, log_likelihood": partial(scorer, metric="log_likelihood"),
    "ratio_ais, convex": partial(comparison, compare=ratio_ais, path="convex"),
    "ratio_ais, geometric": partial(comparison, compare=ratio_ais, path="geometric"),
    "compare_topic_models": partial(comparison, compare=metrics.compare_topic_models),
    "held_out_curve": curve,
    "leave_one_out_score": leave_one_out,
    "log_evidence, guided_ais": partial(evidence, n_temperatures=60),
    "log_evidence, ais": partial(evidence, method="ais", n_temperatures=300),
    "pmmh, posterior": pmmh_posterior,
    "EmpiricalBayesLDA, log h": priors,
    "serial_tempering, log h": partial(priors_in_a_region, function=serial_tempering),
    "full_bayes, log h": partial(priors_in_a_region, function=full_bayes),
    "EmpiricalBayesLDA, log m(h)": log_m,
    "serial_tempering, log m(h)": partial(log_m, function=serial_tempering),
    "full_bayes, log m(h)": partial(log_m, function=full_bayes),
}


def estimates(name, seeds):
    """Estimates and stated errors of all seeds, (2, n_seeds, n_values)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = [np.array([np.ravel(each) for each in ERRORS[name](seed)]) for seed in seeds]
    return np.array(found).transpose(1, 0, 2)


def ratio(found):
    """Root mean square of the stated errors by the spread of the estimates, and an interval of 95 % by bootstrap.

    A value of several numbers, such as one for each document, has the ratio of the sums of their variances.
    """
    value, std = found

    def of(rows):
        return np.sqrt((std[rows] ** 2).mean(axis=0).sum() / value[rows].var(axis=0, ddof=1).sum())

    rng, n = np.random.default_rng(0), len(value)
    replicates = [of(rng.integers(n, size=n)) for _ in range(400)]
    return of(np.arange(n)), *np.quantile(replicates, [0.025, 0.975])
