"""Dirichlet-multinomial regression (Mimno & McCallum 2008): the model, draws of its coefficients, and their step."""

import dataclasses
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sklda._core import random
from sklda._core.parallel import Aligned
from sklda._core.priors import LARGEST, SMALLEST
from sklda._kernels import _log_joint, _tokens
from sklda._models.covariates.terms import Curvature, Terms
from sklda._sampling.steps import Step
from sklda._sampling.tables import draw_document_tables

# --- The model of Dirichlet-multinomial regression (Mimno & McCallum 2008), and the settings of a fit -----------------


# Prior standard deviation of an intercept, in units of log alpha: a factor of 50 for two of them.
INTERCEPT_SCALE = 2.0
# Sweeps between two draws of lambda: one for each of these entries of alpha that differ, but at most seven. With half a
# million entries and ten covariates, a draw takes as long as three sweeps over a million tokens.
_ENTRIES, _MOST_SWEEPS = 50_000, 7
# Levels of a category whose sums of alpha change together. More of them take longer than a sweep of a small corpus.
_SHIFTED_LEVELS = 16
# log alpha is cut off here, so that alpha stays in the range of the kernels.
LOWEST, HIGHEST = np.log(SMALLEST), np.log(LARGEST)


@dataclass(frozen=True, eq=False)
class CovariateModel(Aligned):
    """Settings that do not change along a chain.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_terms)
        The distinct x_d. The first column is all ones.
    index : ndarray of shape (n_documents,), int64
        The row of every document.
    centre : ndarray of shape (n_components,)
        Prior means of the intercepts.
    sigma : float or None
        That of all groups. None: each group has one, with a half-Cauchy prior of scale 1, and it is drawn.
    groups : ndarray of shape (n_terms - 1,)
        The group of each coefficient but the intercept: 0 for those of numbers, and one for the levels of each
        category.
    """

    rows: np.ndarray
    index: np.ndarray
    centre: np.ndarray
    sigma: float | None
    groups: np.ndarray

    @cached_property
    def row_of(self):
        """`index` as `Priors` takes it."""
        return self.index.astype(np.int32)

    @cached_property
    def terms(self):
        """`rows` with their products."""
        return Terms(self.rows)

    @cached_property
    def members(self):
        """The columns of each group; that of numbers is the first, and may have none."""
        return [1 + np.flatnonzero(self.groups == g) for g in range(1 + self.groups.max(initial=0))]

    @property
    def sweeps_between(self):
        """Sweeps between two draws of lambda."""
        return min(1 + len(self.rows) * len(self.centre) // _ENTRIES, _MOST_SWEEPS)

    @property
    def draws_between(self):
        """Draws of lambda between two changes of a sum of alpha, whose time is that of all documents."""
        sweeps = min(1 + len(self.index) * len(self.centre) // _ENTRIES, _MOST_SWEEPS)
        return max(sweeps // self.sweeps_between, 1)

    def first_coefficients(self):
        """lambda with the given intercepts and no effects, (n_components, n_terms)."""
        coefficients = np.zeros((len(self.centre), self.rows.shape[1]))
        coefficients[:, 0] = self.centre
        return coefficients

    def alpha(self, coefficients):
        """alpha of the distinct rows, (n_rows, n_components)."""
        return alpha_at(self.terms.predictors(coefficients))

    def prior_precision(self, sigma):
        """Precisions of the coefficients of a topic, (n_terms,), by the sigma of each group."""
        of_groups = np.array([float(each) ** -2.0 for each in sigma])
        return np.concatenate([[INTERCEPT_SCALE**-2.0], of_groups[self.groups]])


def alpha_at(predictors):
    """alpha by its linear predictors, within the range of the kernels."""
    found = np.clip(predictors, LOWEST, HIGHEST)
    # In place: a fit has several arrays of this size, and no more are reserved.
    return np.exp(found, out=found)


# --- Draws of the coefficients lambda given z, by auxiliary counts with which each topic is a Poisson regression ------


# The largest step of Newton's method, and the one after which it ends, in units of log alpha. Far from the mode, longer
# steps would leave the range in which the quadratic approximation holds. After a step of 1e-6 the error is about 1e-12.
_LONGEST, _SHORTEST = 3.0, 1e-6
_MOST_STEPS = 200
# Width of the first interval of a slice step, in units of log alpha for one standard deviation of a covariate, and the
# largest number of widths that the interval grows to. They affect the time of a step, not the distribution.
_WIDTH, _MOST_WIDTHS = 0.5, 8


def draw_exposures(rng, totals, lengths):
    """q = -log u with u ~ Beta(A, n), for documents with totals A and lengths n > 0."""
    return np.logaddexp(0, random.log_gamma(rng, lengths.astype(np.float64)) - random.log_gamma(rng, totals))


def draw_sigma(rng, coefficients, auxiliary):
    """sigma and an auxiliary variable given the coefficients of a group, under a half-Cauchy prior of scale 1.

    The prior is a mixture of inverse Gamma distributions of sigma^2 (Makalic & Schmidt 2016).
    """
    shape = (1 + coefficients.size) / 2
    variance = (1 / auxiliary + (coefficients**2).sum() / 2) / rng.standard_gamma(shape)
    return float(np.sqrt(variance)), draw_auxiliary(rng, variance)


def draw_auxiliary(rng, variance):
    """The auxiliary variable given sigma^2."""
    return float((1 + 1 / variance) / rng.standard_exponential())


class CollapsedLikelihood:
    """log p(z | lambda) with theta integrated out, and the prior of lambda.

    Parameters
    ----------
    entries : (ndarray, ndarray, ndarray)
        The documents, topics and values of the n_dk that are not zero, int32.
    lengths : ndarray of shape (n_documents,)
    model : CovariateModel
    sigma : ndarray of shape (n_groups,)
    """

    def __init__(self, entries, lengths, model, sigma):
        documents, self.topics, self.counts = entries
        self.model, self.precision = model, model.prior_precision(sigma)
        self.rows_of_counts = model.index[documents]
        # Documents of one row and length have one total.
        width = int(lengths.max(initial=0)) + 1
        pairs, self.n_documents = np.unique(model.index * width + lengths, return_counts=True)
        self.rows_of_totals, self.lengths = np.divmod(pairs, width)

    def of_rows(self, rows):
        """A function of alpha of these distinct rows, a mask: log p(z | alpha) of their documents."""
        own, totals = rows[self.rows_of_counts], rows[self.rows_of_totals]
        among = rows.cumsum() - 1
        # Where the alpha of each n_dk is.
        places = among[self.rows_of_counts[own]] * len(self.model.centre) + self.topics[own]
        counts, rows_of_totals = self.counts[own], among[self.rows_of_totals[totals]]
        lengths, n_documents = self.lengths[totals], self.n_documents[totals]

        def log_p(alpha):
            all_totals = _log_joint.totals(alpha.sum(axis=1)[rows_of_totals], lengths, n_documents)
            return _log_joint.cells(places, counts, alpha.ravel()) - all_totals

        return log_p

    def shift(self, rng, coefficients, terms):
        """Add one number for each of some terms to its coefficients in all topics, by slice steps.

        This changes sums of alpha, but no mean proportion. The auxiliary counts change sums slowly if they are large.
        """
        coefficients, predictors = coefficients.copy(), self.model.terms.predictors(coefficients)
        means, is_level = self.model.first_coefficients(), np.append(0, self.model.groups) > 0
        for term in terms:
            # A level needs its own documents only.
            rows = self.model.rows[:, term] != 0 if is_level[term] else np.ones(len(predictors), bool)
            step = self._step(rng, predictors[rows], rows, term, coefficients[:, term] - means[:, term])
            coefficients[:, term] += step
            predictors += step * self.model.rows[:, term, None]
        return coefficients

    def _step(self, rng, predictors, rows, term, deviations):
        """The number for one term, given the deviations of its coefficients from their prior means."""
        log_p, column = self.of_rows(rows), self.model.rows[rows, term, None]

        def density(step):
            alpha = alpha_at(predictors + step * column)
            return log_p(alpha) - self.precision[term] * ((deviations + step) ** 2).sum() / 2

        return slice_step(rng, density)

    def stretch(self, rng, coefficients, columns, sigma):
        """Multiply sigma of a category and its levels, which are these columns, by one number; both are returned.

        Draws of sigma given the levels and of these given sigma change both slowly if documents say little about them.
        The step is by log p(z | lambda) and the half-Cauchy prior of sigma.
        """
        levels = np.zeros_like(coefficients)
        levels[:, columns] = coefficients[:, columns]
        rest, own = (self.model.terms.predictors(each) for each in (coefficients - levels, levels))
        log_p = self.of_rows(np.ones(len(rest), bool))

        def density(step):
            stretched = sigma * np.exp(step)
            alpha = alpha_at(rest + np.exp(step) * own)
            return log_p(alpha) + np.log(stretched) - np.log1p(stretched**2)

        factor = np.exp(slice_step(rng, density))
        return coefficients + (factor - 1) * levels, sigma * factor


def slice_step(rng, density):
    """A step from 0 that keeps a distribution with this log density (Neal 2003)."""
    level = density(0) - rng.standard_exponential()
    low = -rng.random() * _WIDTH
    high = low + _WIDTH
    to_left = int(rng.integers(_MOST_WIDTHS))
    to_right = _MOST_WIDTHS - 1 - to_left
    while to_left and density(low) > level:
        low, to_left = low - _WIDTH, to_left - 1
    while to_right and density(high) > level:
        high, to_right = high + _WIDTH, to_right - 1
    while True:
        step = rng.uniform(low, high)
        if density(step) >= level:
            return step
        low, high = (step, high) if step < 0 else (low, step)


class PoissonRegressions:
    """The posteriors of lambda_k given the auxiliary counts.

    Parameters
    ----------
    terms : Terms
    tables : ndarray of shape (n_rows, n_components)
        Sums of t over the documents of a row.
    exposures : ndarray of shape (n_rows,)
        Sums of q.
    centre : ndarray of shape (n_components,)
        Prior means of the intercepts; the other prior means are zero.
    precision : ndarray of shape (n_terms,)
        Prior precisions.
    """

    def __init__(self, terms, tables, exposures, centre, precision):
        self.terms, self.tables, self.exposures, self.precision = terms, tables, exposures, precision
        self.centre = np.zeros((len(centre), len(precision)))
        self.centre[:, 0] = centre

    def log_density(self, coefficients, predictors, topics):
        """Log densities of coefficients of some topics and of their predictors, up to a constant; (n_topics,)."""
        log_alpha = np.clip(predictors, LOWEST, HIGHEST)
        likelihood = (self.tables[:, topics] * log_alpha).sum(axis=0) - self.exposures @ np.exp(log_alpha)
        return likelihood - ((coefficients - self.centre[topics]) ** 2 @ self.precision) / 2

    def modes(self, start):
        """The modes by Newton's method. They do not depend on `start`, apart from rounding."""
        modes, moving = start.copy(), np.arange(len(start))
        predictors, sums = self.terms.predictors(start), self.terms.plain_sums(self.tables)
        for _ in range(_MOST_STEPS):
            curvature = self.curvature(predictors[:, moving])
            gradient = self.terms.of_plain_sums(sums[moving] - curvature.plain_sums)
            gradient -= (modes[moving] - self.centre[moving]) * self.precision
            steps = curvature.solve(gradient)
            changes = self.terms.predictors(steps)
            longest = np.abs(changes).max(axis=0)
            shorter = np.minimum(1, _LONGEST / np.maximum(longest, _LONGEST))
            modes[moving] += steps * shorter[:, None]
            predictors[:, moving] += changes * shorter
            moving = moving[longest > _SHORTEST]
            if not len(moving):
                break
        return modes

    def curvature(self, predictors):
        """The negative second derivatives of the log densities where topics have these predictors."""
        means = self.exposures[:, None] * alpha_at(predictors)
        return Curvature(self.terms, means, self.precision)

    def draw(self, rng, present):
        """New coefficients of all topics, by a step of elliptical slice sampling that keeps their posterior.

        The ellipse is that of the normal approximation at the mode; a point on it is accepted by the ratio of the
        posterior to the approximation (Nishihara, Murray & Adams 2014).
        """
        modes = self.modes(present)
        at_modes = self.terms.predictors(modes)
        curvature = self.curvature(at_modes)
        other = curvature.draw(rng)
        own, drawn = present - modes, present.copy()
        # Those of a point on the ellipse follow from these.
        of_own, of_other = self.terms.predictors(own), self.terms.predictors(other)

        def log_ratio(deviations, predictors, topics):
            found = self.log_density(modes[topics] + deviations, at_modes[:, topics] + predictors, topics)
            return found + curvature.norms(deviations, predictors, topics) / 2

        topics = np.arange(len(present))
        level = log_ratio(own, of_own, topics) - rng.standard_exponential(len(topics))
        angle = rng.uniform(0, 2 * np.pi, len(topics))
        low, high = angle - 2 * np.pi, angle.copy()
        while len(topics):
            cosine, sine = np.cos(angle[topics]), np.sin(angle[topics])
            deviations = own[topics] * cosine[:, None] + other[topics] * sine[:, None]
            predictors = of_own[:, topics] * cosine + of_other[:, topics] * sine
            accepted = log_ratio(deviations, predictors, topics) >= level[topics]
            drawn[topics[accepted]] = (modes[topics] + deviations)[accepted]
            topics = topics[~accepted]
            back = angle[topics] < 0
            low[topics[back]], high[topics[~back]] = angle[topics[back]], angle[topics[~back]]
            angle[topics] = rng.uniform(low[topics], high[topics])
        return drawn


# --- The step of Dirichlet-multinomial regression: the coefficients lambda, and sigma ---------------------------------


# Entries n_dk of a block of documents whose topics are counted together: 8 MB.
_BLOCK_ENTRIES = 2**20


class Coefficients(Step):
    """Draws the coefficients, so that a chain has the target p(z, lambda, sigma | w, x, eta).

    Parameters
    ----------
    model : CovariateModel
    seed : numpy.random.SeedSequence
        Its child s seeds what is drawn after sweep s.

    Attributes
    ----------
    coefficients : ndarray of shape (n_components, n_terms)
        lambda. At first, covariates have no effects.
    sigma, auxiliary : ndarray of shape (n_groups,)
    """

    def __init__(self, model, seed):
        self.model, self.seed = model, seed
        self.coefficients = model.first_coefficients()
        self.auxiliary = np.ones(len(model.members))
        self.sigma = np.full(len(model.members), 1.0 if model.sigma is None else model.sigma)

    def begin(self, chain):
        self._set_alpha(chain)

    def after(self, chain, stop):
        """After the annealed sweeps, draw lambda in some sweeps."""
        for move in chain.moves:
            self.coefficients = _after_move(move, self.coefficients)
        if chain.moves:
            self._set_alpha(chain)
        if chain.n_sweeps > chain.n_annealed and chain.n_sweeps % self.model.sweeps_between == 0:
            self.draw_coefficients(chain, np.random.default_rng(random.child(self.seed, chain.n_sweeps)))

    def draw(self):
        return {"coefficients": self.coefficients}

    def parameters(self):
        return {"coefficients": self.coefficients, "sigma": self.sigma}

    def alpha_of(self, added):
        return self.model.alpha(added["coefficients"]), self.model.row_of

    def draw_coefficients(self, chain, rng):
        """Draw the auxiliary counts and lambda, in some draws the sum of alpha, and sigma, each given the others."""
        model = self.model
        tables, exposures = self.draw_counts(chain, rng)
        regressions = PoissonRegressions(
            model.terms, tables, exposures, model.centre, model.prior_precision(self.sigma)
        )
        self.coefficients = regressions.draw(rng, self.coefficients)
        # What came from another process cannot be written to, and draws keep the last ones.
        self.sigma, self.auxiliary = self.sigma.copy(), self.auxiliary.copy()
        if chain.n_sweeps % (model.sweeps_between * model.draws_between) == 0:
            collapsed = CollapsedLikelihood(_entries(chain), chain.corpus.lengths, model, self.sigma)
            # Half of the steps change the sum for all documents alike, and others that of a number.
            numbers, *levels = model.members
            first = rng.integers(1 + len(numbers)) if rng.random() < 0.5 else 0
            terms = [np.append(0, numbers)[[first]], *(rng.permutation(each)[:_SHIFTED_LEVELS] for each in levels)]
            self.coefficients = collapsed.shift(rng, self.coefficients, np.concatenate(terms))
            for g, columns in enumerate(model.members[1:], 1):
                if model.sigma is None:
                    self.coefficients, self.sigma[g] = collapsed.stretch(rng, self.coefficients, columns, self.sigma[g])
                    self.auxiliary[g] = draw_auxiliary(rng, self.sigma[g] ** 2)
        for g, columns in enumerate(model.members):
            if model.sigma is None and len(columns):
                own = np.ascontiguousarray(self.coefficients[:, columns])
                self.sigma[g], self.auxiliary[g] = draw_sigma(rng, own, self.auxiliary[g])
        self._set_alpha(chain)

    def draw_counts(self, chain, rng):
        """Auxiliary counts of the present draw: tables (n_rows, n_components), and exposures (n_rows,)."""
        index, lengths, alpha = self.model.index, chain.corpus.lengths, self.model.alpha(self.coefficients)
        tables = draw_document_tables(chain.corpus, chain.topics, index, alpha, chain.stream)
        filled = lengths > 0
        exposures = draw_exposures(rng, alpha.sum(axis=1)[index[filled]], lengths[filled])
        return tables, np.bincount(index[filled], exposures, minlength=len(alpha))

    def _set_alpha(self, chain):
        alpha = self.model.alpha(self.coefficients)
        # Before the first draw, all documents have the same.
        same = len(alpha) == 1 or not self.coefficients[:, 1:].any()
        rows = (alpha[:1].copy(), self.model.row_of[:0]) if same else (alpha, self.model.row_of)
        chain.priors = dataclasses.replace(chain.priors, doc=rows[0], row_of=rows[1])


def _after_move(move, coefficients):
    """The coefficients of topics after a move: both parts of a topic have its effects."""
    found = move.of_rows(coefficients)
    found[:, 0] = move.of_logs(coefficients[:, 0])
    return found


def _entries(chain):
    """The documents, topics and values of the n_dk that are not zero, without all of them at once."""
    K, offsets, parts = chain.priors.n_components, chain.corpus.offsets, []
    for first, last in chain.corpus.blocks(n_documents=max(_BLOCK_ENTRIES // K, 1)):
        counts = np.zeros((last - first, K))
        _tokens.count_documents(offsets[first : last + 1], chain.topics, counts)
        cells = np.flatnonzero(counts)
        documents, topics = np.divmod(cells.astype(np.int32), np.int32(K))
        parts.append((documents + np.int32(first), topics, counts.ravel()[cells].astype(np.int32)))
    return [np.concatenate(each) for each in zip(*parts, strict=True)]
