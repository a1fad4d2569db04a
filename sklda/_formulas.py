"""The columns of a linear predictor: plain covariates, a formula, or a transformer of scikit-learn."""

import re
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from sklda._design import Design, as_matrix, check_rows, n_rows, read_columns, with_value
from sklda._inference.arguments import real_numbers
from sklda._inference.warn import warn
from sklda._labels import as_list

INTERCEPT = "intercept"
# Values of a number at which the columns of a transformer are looked at.
_TRIED = 20
# What a formula may use besides the covariates and formulaic's own functions.
_CONTEXT = {"np": np}


def design_of(covariates, n_documents, formula=None, transformer=None):
    """The design of a linear model with an intercept: of plain covariates, a formula or a transformer."""
    if formula is not None and transformer is not None:
        raise ValueError("give a formula or a transformer, not both.")
    if formula is not None:
        return FormulaDesign(formula, covariates, n_documents)
    if transformer is not None:
        return TransformedDesign(transformer, covariates, n_documents)
    return WithIntercept(covariates, n_documents)


def design_without_intercept(covariates, n_documents, formula=None, transformer=None):
    """The design of a model that has an intercept of its own; None without covariates."""
    if covariates is None:
        if formula is not None or transformer is not None:
            kind = "transformer" if formula is None else "formula"
            raise ValueError(f"the {kind} needs covariates: give them with fit(X, covariates=...).")
        return None
    if formula is None and transformer is None:
        return Design(covariates, n_documents)
    return WithoutIntercept(design_of(covariates, n_documents, formula, transformer))


class WithoutIntercept:
    """The columns of another design but the intercept."""

    def __init__(self, design):
        self.design, self.kept = design, [j for j, term in enumerate(design.terms) if term != INTERCEPT]
        if not self.kept:
            raise ValueError("the covariates have no term but the intercept, which the model has already: give one.")
        self.terms = [design.terms[j] for j in self.kept]

    def widest(self):
        return self.design.widest()

    def matrix(self, covariates, n_documents):
        return self.design.matrix(covariates, n_documents)[:, self.kept]


class WithIntercept:
    """The columns of a `Design` after one of ones.

    Attributes
    ----------
    terms, bases : list of str
        Names of the columns, and what categories are compared with.
    variables : list of str
        The covariates that are used.
    """

    def __init__(self, covariates, n_documents):
        self.design = Design(covariates, n_documents)
        self.terms, self.bases = [INTERCEPT, *self.design.terms], ["", *self.design.bases]
        self.variables = [each.name for each in self.design.covariates]

    def matrix(self, covariates, n_documents):
        return np.column_stack([np.ones(n_documents), self.design.matrix(covariates, n_documents)])

    def has_steps(self, covariates, name, values):
        """Whether the columns of a number are defined at the values of the documents only."""
        return False


class TransformedDesign:
    """The columns of a transformer of scikit-learn, after one of ones."""

    def __init__(self, transformer, covariates, n_documents):
        if not hasattr(transformer, "fit") or not hasattr(transformer, "transform"):
            raise TypeError(f"transformer must have fit and transform, got {transformer!r}.")
        self.transformer = clone(transformer).fit(as_matrix(covariates))
        width = self.matrix(covariates, n_documents).shape[1] - 1
        try:
            names = [str(name) for name in self.transformer.get_feature_names_out()]
        except (AttributeError, ValueError):
            names = [f"x{j}" for j in range(width)]
        self.terms, self.bases = [INTERCEPT, *names], [""] * (width + 1)
        self.variables = [name for name, _ in read_columns(covariates, n_documents)]

    def widest(self):
        return f"the {type(self.transformer).__name__}", len(self.terms) - 1

    def matrix(self, covariates, n_documents):
        if isinstance(covariates, dict):
            # A series in which all documents have one value, by `with_value`.
            (covariates,) = covariates.values()
        found = self.transformer.transform(as_matrix(covariates))
        found = real_numbers(found.toarray() if sp.issparse(found) else found, "the columns of the transformer")
        if found.ndim != 2 or not np.isfinite(found).all():
            raise ValueError("the transformer must return a matrix of finite numbers.")
        check_rows(len(found), n_documents)
        return np.column_stack([np.ones(n_documents), found])

    def has_steps(self, covariates, name, values):
        """Whether the columns of a number are defined at the values of the documents only: they are zeros and ones."""
        at = (self.matrix(with_value(covariates, name, value), n_rows(covariates)) for value in values[:_TRIED])
        first = next(at)
        changing, steps = np.zeros(first.shape[1], bool), np.isin(first, (0, 1)).all(axis=0)
        for each in at:
            changing |= (each != first).any(axis=0)
            steps &= np.isin(each, (0, 1)).all(axis=0)
        return bool(changing.any() and steps[changing].all())


class FormulaDesign:
    """The columns of a formula, by the package formulaic."""

    def __init__(self, formula, covariates, n_documents):
        try:
            from formulaic import ModelMatrix, model_matrix
        except ImportError as error:
            raise ImportError("a formula needs formulaic: pip install formulaic.") from error
        if not isinstance(formula, str):
            raise TypeError(f"formula must be a str such as 'year + source', got {formula!r}.")
        _refuse_r(formula)
        self.formula, frame = formula, _as_frame(covariates)
        found = self._columns(lambda: model_matrix(formula, frame, context=_CONTEXT, na_action="raise"))
        if not isinstance(found, ModelMatrix):
            raise ValueError(f"formula = {formula!r} has several parts: give the terms only, such as 'year + source'.")
        if not len(found.columns):
            raise ValueError(f"formula = {formula!r} has no term: give at least one, such as 'year'.")
        self.spec = found.model_spec
        self.terms = [INTERCEPT if name == "Intercept" else _without_t(name) for name in found.columns]
        self.bases = [base for entry in self.spec.structure for base in self._bases(entry)]
        self.variables = sorted(map(str, self.spec.variables_by_source.get("data", ())))
        check_rows(len(found), n_documents)

    def _columns(self, make):
        """The result of formulaic, whose errors and warnings are errors that name the formula."""
        from formulaic.errors import DataMismatchWarning, FormulaicError

        with warnings.catch_warnings():
            # A category that the fit did not have would have the columns of the base.
            warnings.simplefilter("error", DataMismatchWarning)
            try:
                return make()
            except (FormulaicError, DataMismatchWarning, ValueError) as error:
                raise ValueError(f"formula = {self.formula!r} cannot be used: {error}") from error

    def _bases(self, entry):
        """The levels with which the categories of a term are compared, for each of its columns."""
        found = []
        for scoped in entry.scoped_terms:
            bases = [self._base(each.factor.expr) for each in scoped.factors if each.reduced]
            found.append(":".join(base for base in bases if base))
        # A term that is a product of several sets of columns has no single base.
        return [found[0] if len(set(found)) == 1 else ""] * len(entry.columns)

    def _base(self, expression):
        state = self.spec.encoder_state[expression][1].get("contrasts")
        base = None if state is None else state.contrasts.get_drop_field(state.levels, reduced_rank=False)
        return "" if base is None else str(base)

    def widest(self):
        entry = max(self.spec.structure, key=lambda entry: len(entry.columns))
        return repr(str(entry.term)), len(entry.columns)

    def matrix(self, covariates, n_documents):
        frame = _as_frame(covariates)
        found = self._columns(lambda: self.spec.get_model_matrix(frame, context=_CONTEXT))
        found = real_numbers(found, "the columns of the formula")
        check_rows(len(found), n_documents)
        if not np.isfinite(found).all():
            raise ValueError(f"formula = {self.formula!r} has values that are not finite.")
        return found

    def has_steps(self, covariates, name, values):
        """Whether the columns of a number are defined at the values of the documents only: the formula has C(name)."""
        kinds = {expression: kind.value for expression, (kind, _) in self.spec.encoder_state.items()}
        return any(
            kinds.get(str(factor)) == "categorical" and name in map(str, variables)
            for factor, variables in self.spec.factor_variables.items()
        )


def _without_t(name):
    """The name of a column with its level as `Covariate` writes it."""
    return str(name).replace("[T.", "[")


def _refuse_r(formula):
    """Refuse what formulas of R packages have and those of formulaic do not."""
    left, tilde, right = formula.partition("~")
    if tilde and re.fullmatch(r"\s*(c\(.*\)|\d+(\s*:\s*\w+)?)\s*", left):
        raise ValueError(
            f"formula = {formula!r} has topics on the left: write {right.strip()!r}. To choose topics, give topics= to "
            "topic_effects."
        )
    spline = re.search(r"(?<![\w.])s\(([^,()]*)", formula)
    if spline:
        raise ValueError(
            f"formula = {formula!r} has the splines s() of R packages: write 'bs({spline[1].strip()}, df=5)', with the "
            "number of columns that you want."
        )


def _as_frame(covariates):
    """A dict of columns as the data frame that formulaic takes."""
    if not isinstance(covariates, dict):
        return covariates
    # formulaic needs it.
    from pandas import DataFrame

    return DataFrame(covariates)


def warn_of_sources(covariates, variables, n_documents):
    """Warn if a covariate is the same for all documents that have the same value of another column.

    Such a column may be their source. Columns in which values have fewer than two documents on average, real numbers,
    and those that only name the values of the covariate are none.
    """
    columns = read_columns(covariates, n_documents)
    codes = {name: _codes(values) for name, values in columns}
    sources = {
        name: codes[name].max() + 1
        for name, values in columns
        if np.asarray(values).dtype.kind != "f" and 2 * codes[name].max() + 2 <= n_documents
    }
    for name in variables:
        n_values = codes[name].max() + 1 if name in codes else 1
        nested = [
            source
            for source, n in sources.items()
            if 1 < n_values < n and len(np.unique(codes[source] * n_values + codes[name])) == n
        ]
        if nested:
            source = min(nested, key=sources.__getitem__)
            warn(
                f"covariate {name!r} is the same for all documents with one value of {source!r}. If such documents are "
                "alike for other reasons too, the errors of its effects are too small, often several times: give "
                f"clusters=covariates[{source!r}]."
            )


def _codes(values):
    """The values of a column as numbers from zero."""
    numbers: dict = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in as_list(values, "a covariate")])
