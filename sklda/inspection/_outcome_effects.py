"""Effects of the shares of topics on an outcome: regression calibration, with errors that contain what words hide."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from pandas import DataFrame
from scipy.special import chdtrc, expit

from sklda._core import random
from sklda._core.least_squares import (
    NEAREST,
    Columns,
    checked_columns,
    combination_of,
    is_constant,
    sum_to_one,
)
from sklda._core.linear_models import SMALLEST_P_VALUE, Basis, LinearModels, mean_of_known
from sklda._core.priors import SMALLEST
from sklda._core.rounding import rounding
from sklda._description.view import view
from sklda._input.arguments import check_choice, check_level
from sklda._input.design import INTERCEPT, design_of, needed_covariates
from sklda._input.types import Data, Model, Seed, Values
from sklda._input.warn import warn
from sklda.inspection._effects import ADVICE, clusters_and_weights, used_documents, warn_of_undetermined
from sklda.inspection._outcome_words import words_beyond_shares
from sklda.inspection._prior_check import jackknife_error, unshrunk
from sklda.inspection._theta import prior_knows, share_moments

# Steps of a logistic regression with unknown shares, the change of the log odds at which they end, and the largest.
_MOST_STEPS, _PRECISION, _LONGEST = 200, 1e-5, 5.0
# The smallest probability of an outcome: no mean over draws is exact enough to be smaller.
_SMALLEST = 1e-12
# Shares that are nearer to the span of other columns, relative to their spread, differ by rounding to single precision.
_NEAREST_SHARE = 1e-6
# The normal deviate beyond which the outcome depends on words of a topic. The largest of 4,800 in simulated corpora
# with known shares was 3.6.
_MIXED = 4.0
# Standard errors of what a wrong prior does to effects, and of how much more shares vary than by it, beyond which it is
# not chance; and the smallest such excess that counts, as a part of the variance.
_SURE, _FAR = 4.0, 0.1
# The p-value by which the shares of topics differ.
_UNEQUAL = 1e-4
_ADVICE = "Leave out covariates that are labels of the documents as the topics are, and merge topics with merge_topics."


def outcome_effects(
    estimator: Model,
    X: Data | None = None,
    y: ArrayLike | None = None,
    covariates: Any = None,
    *,
    family: Literal["linear", "logistic"] = "linear",
    topics: Values | None = None,
    base: Values | str | int | None = None,
    formula: str | None = None,
    transformer: Any = None,
    clusters: Any = None,
    weights: ArrayLike | None = None,
    missing: Literal["raise", "drop"] = "raise",
    level: float = 0.95,
    n_words: int = 3,
    random_state: Seed = None,
) -> DataFrame:
    """How an outcome depends on the shares of topics in documents, with errors that contain what the words do not say.

    The outcome of a document is ``b . theta + g . x`` plus noise, where theta are the shares of its topics, and x its
    covariates. Nobody knows theta. The regressors are its posterior means, because the outcome has the mean
    ``b . E(theta | w) + g . x`` given the words w: this is regression calibration.

    Parameters
    ----------
    estimator : estimator, pipeline, or pair (topic_word, doc_topic_prior)
        A fitted topic model with ``components_`` and ``doc_topic_prior_``, a pipeline or search that has one, or
        arrays.
    X : array-like, sparse matrix, or whatever a pipeline takes
        Documents. If they are those of the fit, theta has the posterior of its chains. With others, the chains go on:
        theta has the posterior given the words of both, and an alpha that the fit has learnt is learnt from the new
        ones if they have 1,000 words. If there are no chains, theta is drawn given topics and `doc_topic_prior_`.
    y : array-like of shape (n_documents,)
        The outcome: numbers; with ``family="logistic"`` 0 and 1, or bool.
    covariates : array-like, sparse matrix or data frame with n_documents rows, default=None
        Further explanatory variables, as for `topic_effects`.
    family : {"linear", "logistic"}, default="linear"
        ``"linear"``: least squares. ``"logistic"``: a logistic regression, whose effects are differences of log odds.
        It knows the spread of theta given the words.
    topics : sequence of int or str, default=None
        Topics of the table, by number or name. None: all. The model has the shares of all topics, whatever the table
        shows.
    base : int, str, or sequence of int or str, default=None
        The topic, or topics, with which each is compared. None: all others. Several topics have their mean shares.
    formula, transformer
        See `topic_effects`.
    clusters : sequence of n_documents labels, default=None
        The source, author or place of every document, if documents of one are not independent.
    weights : array-like of shape (n_documents,), default=None
        Weights of the documents, such as those of a survey. A document of weight 0 takes no part.
    missing : {"raise", "drop"}, default="raise"
        What happens to documents that count and lack a value of an argument: an error that names them, or they are left
        out and a warning says so.
    level : float, default=0.95
        Probability of the intervals.
    n_words : int, default=3
        How many of a topic's most probable words are in its label, if it has no name.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        Of the draws.

    Returns
    -------
    pandas.DataFrame
        A row for every topic, and one for every term of the covariates, with the columns

        - ``topic`` and ``name``: the number of the topic, with its name or its words; for several topics the tuple of
          their numbers, and their name. None and the term for covariates;
        - ``base``: what it is compared with;
        - ``estimate``: the change of the outcome if a document has this topic alone instead of the base. Divide by
          ten for a change of ten percentage points. For covariates: if the term grows by one;
        - ``standard_error``, and ``low`` and ``high``, the ends of the interval;
        - ``t``, the estimate by its error, and ``p_value``, for no effect of this term, but at least 1e-6: nobody knows
          the tails of these distributions better;
        - ``df``: degrees of freedom, the smallest if there are several chains or fits;
        - ``found_in``: the number of chains or fits that have the topic, whose estimates count;
        - ``topic_error``: the part of the standard error that is due to errors of topics and alpha. A fit with fewer
          than four draws makes 150 further sweeps for it; NaN if topics change their names from draw to draw;
        - ``from_draws``: the estimate with draws of theta in place of its means. Draws do not know the outcome, so it
          is too small. The distance shows how much short documents hide. Draws by which a logistic regression has no
          maximum do not count.

    Raises
    ------
    ValueError
        If there are not more documents than terms, a term is a combination of others or zero, a value is missing, or an
        argument is out of range.
        If `y` is constant or is explained without any rest, or terms tell the two outcomes of a logistic regression
        apart without error: there is no effect, or none that is finite.
    TypeError
        If the model is not a topic model, or an outcome is not a number.

    Warns
    -----
    UserWarning
        If an effect depends on one document or cluster alone.
        If documents have no words, or the fit left them out: they do not count.
        If alpha is not the prior of the documents, and effects are probably wrong by more than their standard errors.
        If shares vary more than their prior says, or one alpha was learnt for topics whose shares differ.
        If the outcome depends on the words of a topic beyond its share: the topic has subjects with different effects.
        If the effect of a covariate probably has a part of the effects of topics, because the prior of the shares does
        not know the covariate. The part that is expected is larger than the standard error.

    See Also
    --------
    topic_effects : How shares of topics depend on covariates.
    sklda.CovariateLDA : The model to use if covariates and topics go together.

    Notes
    -----
    **What must be right.** The prior of theta must be that of the documents, given the covariates. A prior that is too
    wide or too narrow gives means that are shrunk too little or too much, and effects that are too small or too large.
    The variance of the means and the mean variance given the words tell of it, and there is a warning.
    With covariates that go together with topics, the regressors must be E(theta | w, x): fit a `CovariateLDA` with
    these covariates. Means that do not know them leave a part of the effects of topics to the covariates, and make
    effects of topics smaller; less so in long documents. Effects of topics that the fit mixes are effects of the
    mixture.

    **Errors.** They are CR2 errors with Satterthwaite's degrees of freedom, as those of `topic_effects`. The distance
    of theta from its mean is in the residuals. What documents have in common is added: the errors of topics, by the
    draws of the chain, and that of a learnt alpha, by the information about it in the documents. Several chains, or
    the fits of a `ConsensusTopics`, each have their estimate, and the result is the mixture of their t-distributions.

    **Logistic regression.** The probability of a document is the mean of the logistic function over the distribution of
    theta given its words, which draws of theta represent. The result is the maximum of the likelihood of these
    probabilities with Firth's penalty, without which effects on rare outcomes are too large. Errors are those without
    the penalty.

    References
    ----------
    Battaglia, Christensen, Hansen & Sacher (2024). Inference for regression with variables generated by AI or machine
    learning. arXiv 2402.15585.

    Carroll, Ruppert, Stefanski & Crainiceanu (2006). Measurement error in nonlinear models, chapter 4. Chapman & Hall.

    Heinze & Schemper (2002). A solution to the problem of separation in logistic regression. Statistics in Medicine 21.

    Examples
    --------
    >>> import numpy as np
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.inspection import outcome_effects
    >>> corpus = make_lda_corpus(200, 30, 2, doc_length=20, doc_topic_prior=0.5, random_state=0)
    >>> y = 3 * corpus.doc_topic[:, 0] + np.random.default_rng(0).normal(size=200)
    >>> lda = GibbsLDA(2, max_iter=200, random_state=0).fit(corpus.data)
    >>> table = outcome_effects(lda, corpus.data, y, random_state=0)
    >>> bool(table["low"].max() < 3 < table["high"].max())
    True
    """
    check_choice(family, "family", ("linear", "logistic"))
    level = check_level(level)
    if y is None:
        raise ValueError("y is None: give the outcome of each document.")
    needed = needed_covariates(formula, transformer, missing)
    given = {"y": y, "covariates": covariates, "clusters": clusters, "weights": weights}
    found = view(estimator, X, needs="prior", missing=missing, needed=needed, **given)
    used = used_documents(found)
    found.say_what_is_left_out()
    seed = random.seed_sequence(random_state)
    moments = share_moments(found, used, random.child(seed, 0))
    outcome = _checked_outcome(found.values["y"][used], used, family)
    clusters, weights = clusters_and_weights(found, used)
    terms, bases, matrix = [INTERCEPT], [""], np.ones((len(used), 1))
    if covariates is not None:
        covariates = found.values.covariates_of(used)
        design = design_of(covariates, formula, transformer)
        terms, bases = design.terms, design.bases
        matrix = checked_columns(design.matrix(covariates), terms, ADVICE)
    elif formula is not None or transformer is not None:
        raise ValueError("formula and transformer belong to covariates: give these, too.")
    rows = _TopicRows.of(found, topics, base, n_words)
    if is_constant(outcome):
        raise ValueError(f"y is {outcome[0]:g} for all documents that take part: there is nothing to explain.")
    # Squares of very large or small outcomes would leave the range of floats, and a large constant hides the rest.
    origin, unit = 0.0, 1.0
    if family == "linear":
        origin = float(outcome.mean()) if (np.ptp(matrix, axis=0) == 0).any() else 0.0
        unit = max(float(np.abs(outcome - origin).max()), np.finfo(float).tiny)
    outcome, origin = (outcome - origin) / unit, origin / unit
    _warn_of_equal_alpha(moments[0], weights)
    is_known = bool(prior_knows(found, used, matrix).all())
    fits = [
        _regression(each, matrix, terms, rows, outcome, origin, family, clusters, weights, is_known) for each in moments
    ]
    counts = found.corpus.take(used).to_counts()
    beyond = [
        _beyond_shares(fit, each, counts, found.topic_word, clusters, weights, random.child(seed, 1, i))
        for i, (fit, each) in enumerate(zip(fits, moments, strict=True))
    ]
    _warn_of_mixed_topics(mean_of_known(np.array(beyond)), rows.names)
    return _table(fits, rows, moments, terms, bases, level, unit, clusters is not None)


@dataclass(frozen=True)
class _TopicRows:
    """The rows of the table that are topics, and what these are compared with: None for all others."""

    shown: np.ndarray
    base: np.ndarray | None
    names: list[str]  # of all topics

    @classmethod
    def of(cls, found, topics, base, n_words):
        names = found.labels(None, n_words)
        if base is None:
            return cls(found.chosen(topics), None, names)
        own = np.unique(found.chosen(base))
        if topics is None:
            topics = np.setdiff1d(np.arange(found.n_topics), own)
            if not len(topics):
                raise ValueError(f"base = {base!r} is all topics: there are none to compare with it.")
        shown = found.chosen(topics)
        if np.isin(shown, own).any():
            raise ValueError(f"base = {base!r} is among the topics that are compared with it.")
        return cls(shown, own, names)

    @property
    def base_label(self):
        return "all others" if self.base is None else ", ".join(self.names[k] for k in self.base)

    def contrasts(self, known, shares):
        """Differences of mixes of the known topics, (n_rows, n_groups): the topic of a row less the mix of its base.

        The mix has topics in proportion to their mean `shares`, of which those of the rest come last. NaN: this fit
        does not have all topics that are needed.
        """
        place = np.cumsum(known) - 1
        found = np.full((len(self.shown), len(shares)), np.nan)
        for row, k in zip(found, self.shown, strict=True):
            base = np.zeros(0, int) if self.base is None else self.base
            if not known[np.r_[k, base]].all():
                continue
            others = np.delete(np.arange(len(shares)), place[k]) if self.base is None else place[base]
            if not len(others):
                raise ValueError("there is one topic: there are no others to compare it with.")
            row[:] = 0
            row[place[k]] = 1
            row[others] -= shares[others] / shares[others].sum()
        return found


@dataclass(frozen=True, eq=False)
class _Fitted:
    """The regression under one chain or fit: topics first, then the terms of the covariates."""

    models: LinearModels
    topic_error: np.ndarray
    from_draws: np.ndarray
    taken: np.ndarray  # expected parts of the effects of topics in those of the terms, (n_terms,)
    # What effects of topics have too much by a prior that is not that of the documents, and its error, (n_topic_rows,).
    shrunk: np.ndarray
    shrunk_error: np.ndarray
    spread: float  # by how much the shares vary more than their prior says in some direction, in standard errors
    columns: np.ndarray
    residuals: np.ndarray  # derivatives of the likelihood by the linear predictor, orthogonal to the columns


def _regression(moments, matrix, terms, rows, outcome, origin, family, clusters, weights, is_known):
    """The effects on `origin` plus the outcome. `is_known`: the prior of the shares has the columns of the matrix."""
    groups, n_terms = moments.groups(), len(terms)
    shares = moments.mean @ groups
    shares /= shares.sum(axis=1, keepdims=True)
    typical = np.average(shares, axis=0, weights=weights)
    contrasts = rows.contrasts(moments.known(), typical)
    kept = np.arange(len(typical))
    ones = sum_to_one(matrix)
    if ones is not None:
        # The shares sum up to one, so one column is left out.
        kept = np.delete(kept, typical.argmax())
    columns = np.column_stack([matrix, shares[:, kept]])
    names = [f"share of {rows.names[k]}" for k in np.flatnonzero(moments.known())]
    names = [*terms, *np.array([*names, "rest"])[kept].tolist()]
    nearest = np.r_[np.full(n_terms, NEAREST), np.full(len(kept), _NEAREST_SHARE)]
    checked_columns(columns, names, _ADVICE, nearest)
    combinations = np.zeros((len(contrasts) + n_terms, columns.shape[1]))
    unknown = np.isnan(contrasts).any(axis=1)
    combinations[: len(contrasts), n_terms:] = contrasts[:, kept]
    # Any that is determined: the result is not used.
    combinations[: len(contrasts)][unknown] = np.eye(columns.shape[1])[0]
    combinations[len(contrasts) :, :n_terms] = np.eye(n_terms)
    if ones is not None:
        # An intercept, or the levels that take its place, are outcomes of a document with typical shares.
        combinations[len(contrasts) :, n_terms:] = np.outer(ones, typical[kept])

    def shares_of_topics(coefficients):
        """Coefficients of the own topics; that of the column that was left out is zero."""
        b = np.zeros(len(typical))
        b[kept] = coefficients[n_terms:]
        return groups @ b

    if family == "linear":
        coefficients = Columns.of(columns, weights).least_squares(outcome)
        if np.abs(outcome - columns @ coefficients).max() <= rounding(outcome):
            raise ValueError(
                f"y is a sum of terms without any rest, {combination_of(columns, coefficients, names)}: nothing tells "
                "how exact their effects are. Leave out covariates that y was computed from."
            )
        scaled, response, factor = columns, outcome, np.ones(len(columns))
    else:
        found = _logistic(columns, outcome, weights, (moments.deviations() @ groups)[:, :, kept])
        if found is None:
            raise _no_maximum(columns, outcome, names)
        coefficients, scaled, factor = found.coefficients, found.scaled, found.factor
        response = scaled @ coefficients + found.residuals
    models = LinearModels.fit(scaled, [response[:, None]], combinations, clusters, weights)
    forms = Basis.of(scaled, combinations, weights).forms() * factor
    common, common_freedom = moments.common_variance(forms, shares_of_topics(coefficients))

    b, taken = shares_of_topics(coefficients), np.zeros(n_terms)
    if not is_known:
        # If means move with a covariate, theta moves more, by the part of its variance that the means do not have.
        centre = moments.mean @ b
        of_means, given_words = centre.var(), moments.variance_given_words(b).mean()
        lost = given_words / of_means if of_means > 0.01 * given_words else 100.0
        with_ones = np.column_stack([np.ones(len(matrix)), matrix])
        taken = lost * Columns.of(with_ones, weights).least_squares(centre)[1:]

    spread, (shrunk, shrunk_error) = 0.0, np.zeros((2, len(unknown)))
    if moments.alpha is not None and 0 < len(kept) == len(typical) - 1:
        draws, own = (moments.theta @ groups)[:, :, kept], coefficients[n_terms:]
        right, sizes = unshrunk(own, shares[:, kept], draws, moments.alpha.sum(), matrix, weights)
        of_rows = combinations[: len(unknown), n_terms:]
        shrunk, shrunk_error = of_rows @ (own - right[0]), jackknife_error(right[1:] @ of_rows.T)
        # The largest: the prior of a rare topic has a variance that few draws do not reach.
        far = sizes[:, -1] - 1
        spread = far[0] / max(jackknife_error(far[1:]), SMALLEST) if far[0] > _FAR else 0.0

    found = []
    for theta in moments.theta:
        drawn = np.column_stack([matrix, (theta @ groups)[:, kept]])
        solver = Columns.of(drawn, weights)
        own = solver.weighted.T @ outcome if family == "linear" else solver.logistic(outcome, weights)
        # The shares of a draw can tell outcomes apart that the means do not.
        found.append(np.full(len(combinations), np.nan) if own is None else combinations @ solver.coefficients(own))
    from_draws = mean_of_known(np.array(found))

    variances = models.scales[0, :, 0] ** 2
    total = variances + common
    # Satterthwaite's, of the sum of two variances.
    squares = variances**2 / models.freedom + common**2 / common_freedom
    freedom = np.where(squares > 0, total**2 / np.where(squares > 0, squares, 1), models.freedom)
    scales, centres = np.sqrt(total), models.centres[0, :, 0].copy()
    if origin:
        of_origin = combinations @ Columns.of(columns, weights).least_squares(np.full(len(columns), origin))
        centres, from_draws = centres + of_origin, from_draws + of_origin
    for values in (scales, centres, from_draws, common):
        values[: len(unknown)][unknown] = np.nan
    models = LinearModels(centres[None, :, None], scales[None, :, None], freedom[None], models.determined)
    residuals = factor * (response - scaled @ coefficients)
    shrunk[unknown] = np.nan
    return _Fitted(models, np.sqrt(common), from_draws, taken, shrunk, shrunk_error, spread, columns, residuals)


def _beyond_shares(fit, moments, counts, topic_word, clusters, weights, seed):
    """How far the outcome depends on the words of each topic beyond its share, see `words_beyond_shares`."""
    known = moments.known()
    shares = (moments.mean @ moments.groups())[:, : known.sum()]
    residuals = fit.residuals if weights is None else weights * fit.residuals
    found = np.full(len(known), np.nan)
    found[known] = words_beyond_shares(
        counts, topic_word[known], shares, residuals, fit.columns, clusters, np.random.default_rng(seed)
    )
    return found


def _warn_of_prior(estimates, errors, shrunk, shrunk_errors, spread):
    """Warn if effects are too large or too small by a wrong prior of the shares, or these do not vary as it says."""
    known = ~np.isnan(estimates + shrunk)
    if (np.abs(shrunk) > np.fmax(errors, _SURE * shrunk_errors))[known].any():
        right = (estimates - shrunk)[known]
        ratio = (estimates[known] @ right) / (right @ right)
        warn(
            "The prior of the shares of topics, alpha, is not that of these documents, so their posterior means are "
            f"shrunk too {'much' if ratio > 1 else 'little'}: the estimates are about {ratio:.2f} of the effects of "
            "topics, or further from them. Let a fit learn alpha from these documents (learn_priors), or give theirs."
        )
    elif spread > _SURE:
        warn(
            "The shares of topics vary more than their prior, a Dirichlet distribution, says: topics go together in "
            "documents, for example. Intervals of effects then contain the truth less often than they say, above all "
            "in short documents. A CovariateLDA with covariates that explain the shares may help."
        )


def _warn_of_equal_alpha(moments, weights):
    """Warn if one alpha was learnt for all topics, and their shares differ by more than it allows."""
    prior, alpha = moments.prior, moments.alpha
    if prior is None or not prior.is_symmetric or alpha is None or len(alpha) == 1:
        return
    mean = np.average(moments.mean, axis=0, weights=weights)
    n, total = len(moments.mean) if weights is None else weights.sum() ** 2 / (weights**2).sum(), alpha.sum()
    # Means of n documents from the prior: their squares have a chi-square distribution.
    squares = n * (total + 1) * ((mean - 1 / len(alpha)) ** 2).sum() * len(alpha)
    if chdtrc(len(alpha) - 1, squares) < _UNEQUAL:
        warn(
            f"The fit learnt one alpha for all topics, but their mean shares go from {mean.min():.2g} to "
            f"{mean.max():.2g}. Effects of topics may be far from the truth: let it learn one for each topic, with "
            "learn_priors=True."
        )


def _warn_of_mixed_topics(beyond, names):
    """Warn of topics whose words have different effects."""
    mixed = [f"{name} (z = {z:.1f})" for name, z in zip(names, beyond, strict=True) if z > _MIXED]
    if mixed:
        warn(
            f"The outcome depends on the words of topics beyond their shares: {', '.join(mixed)}. Subjects with "
            "different effects are in one topic, and its estimate is a mixture of them. More topics may tell them "
            "apart; see topic_check."
        )


@dataclass(frozen=True, eq=False)
class _LogisticFit:
    """A logistic regression at its maximum, as the least squares of Fisher's scoring: residuals have variance one."""

    coefficients: np.ndarray
    scaled: np.ndarray  # derivatives of the probabilities by the coefficients, divided by their standard deviations
    factor: np.ndarray  # the same by the log odds, (n_documents,)
    residuals: np.ndarray


def _logistic(columns, outcome, weights, deviations):
    """The `_LogisticFit` whose probabilities are means over draws of the last columns; None if there is no maximum.

    After the maximum, the coefficients become Firth's: each document counts h / 2 times more with either outcome, where
    h is its leverage. The errors stay those at the maximum, because those of smaller coefficients are too small.

    `deviations` are those of the draws from these columns, (n_draws, n_documents, n_last).
    """
    solver = Columns.of(columns, weights)
    found = solver.logistic(outcome, weights)
    if found is None:
        return None
    first = columns.shape[1] - deviations.shape[2]
    # Of the basis, only the last columns have deviations, because the triangle is one.
    deviations = deviations @ np.linalg.inv(solver.triangle[first:, first:] * solver.size[first:])

    at_maximum = None
    for _ in range(_MOST_STEPS):
        odds = solver.basis @ found + deviations @ found[first:]
        mean = np.clip(expit(odds).mean(axis=0), _SMALLEST, 1 - _SMALLEST)
        slopes = expit(odds) * expit(-odds)
        spread = np.sqrt(mean * (1 - mean))
        factor = slopes.mean(axis=0) / spread
        scaled = factor[:, None] * solver.basis
        scaled[:, first:] += np.einsum("sd,sdj->dj", slopes, deviations) / (len(slopes) * spread[:, None])
        own = Columns.of(scaled, weights)
        residuals = (outcome - mean) / spread
        penalty = 0 if at_maximum is None else (own.basis**2).sum(axis=1) * (0.5 - mean) / spread
        step = own.least_squares(residuals + penalty)
        size = np.abs(solver.basis @ step).max()
        if size < _PRECISION and at_maximum is not None:
            return replace(at_maximum, coefficients=solver.coefficients(found))
        if size < _PRECISION:
            at_maximum = _LogisticFit(found, scaled @ solver.triangle * solver.size, factor, residuals)
        found = found + step * (_LONGEST / max(size, _LONGEST))
    return None


def _no_maximum(columns, outcome, names):
    """The error for a logistic regression whose likelihood has no maximum, or that has none with theta unknown."""
    separation = Columns.of(columns).separation(outcome)
    if separation is None:
        return ValueError(
            "the outcomes are more certain than the words of the documents allow, so no effects explain them: the "
            "topics or their prior do not fit these documents. Use longer documents, or family='linear'."
        )
    coefficients, apart = separation
    ones = int(outcome[apart].sum())
    return ValueError(
        f"the logistic regression has no maximum: {combination_of(columns, coefficients, names)} without error tell "
        f"the two outcomes apart in {apart.sum()} documents ({ones} have 1, {apart.sum() - ones} have 0), so their "
        "effects have no end. Leave these terms out, merge levels, or use fewer topics; or use family='linear'."
    )


def _checked_outcome(outcome, used, family):
    """The outcomes of the documents `used`, after a check of their values."""
    allowed = np.isin(outcome, (0, 1)) if family == "logistic" else np.isfinite(outcome)
    if not allowed.all():
        d = int(np.argmin(allowed))
        what = "outcomes of a logistic regression are 0 and 1" if family == "logistic" else "outcomes must be finite"
        raise ValueError(f"y[{used[d]}] = {outcome[d]:g}: {what}.")
    return outcome


def _table(fits, rows, moments, terms, bases, level, unit, has_clusters):
    models = LinearModels.together([each.models for each in fits])
    warn_of_undetermined(models.determined, "cluster" if has_clusters else "document")
    estimate, error, low, high, p_value, freedom = (each[:, 0] for each in models.summary(level))
    t = estimate / error
    estimate, error, low, high = (unit * each for each in (estimate, error, low, high))
    topic_error, from_draws = (
        unit * mean_of_known(np.array([getattr(each, name) for each in fits])) for name in ("topic_error", "from_draws")
    )
    has_topics = np.array([each.known() for each in moments])
    taken = unit * np.mean([each.taken for each in fits], axis=0)
    warned = False
    for term, part, own in zip(terms, taken, error[-len(terms) :], strict=True):
        if term != INTERCEPT and abs(part) > own:
            warned = True
            warn(
                f"{term!r} goes together with the topics, and the prior of their shares does not know it: its effect "
                f"has about {part:.2g} of the effects of topics, with a standard error of {own:.2g}. Fit a "
                "CovariateLDA with these covariates."
            )
    if not warned:
        of_topics = slice(len(rows.shown))
        shrunk, shrunk_error = (
            unit * mean_of_known(np.array([getattr(each, name) for each in fits]))
            for name in ("shrunk", "shrunk_error")
        )
        spread = np.median([each.spread for each in fits])
        _warn_of_prior(estimate[of_topics], error[of_topics], shrunk, shrunk_error, spread)
    return DataFrame(
        {
            "topic": [*rows.shown.tolist(), *[None] * len(terms)],
            "name": [*(rows.names[k] for k in rows.shown), *terms],
            "base": [*[rows.base_label] * len(rows.shown), *bases],
            "estimate": estimate,
            "standard_error": error,
            "low": low,
            "high": high,
            "t": t,
            "p_value": np.maximum(p_value, SMALLEST_P_VALUE),
            "df": freedom,
            "found_in": [*has_topics[:, rows.shown].sum(axis=0), *[len(fits)] * len(terms)],
            "topic_error": topic_error,
            "from_draws": from_draws,
        }
    )
