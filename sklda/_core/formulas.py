"""The columns of a linear predictor: plain covariates, a formula, or a transformer of scikit-learn."""

import ast
import re
import warnings
from contextlib import suppress

import numpy as np
import scipy.sparse as sp
from pandas import DataFrame
from sklearn.base import clone

from sklda._core.arguments import real_numbers
from sklda._core.design import (
    Design,
    as_matrix,
    check_no_scale,
    check_present,
    check_rows,
    column_names,
    has_names,
    is_on_scale,
    n_rows,
    read_columns,
    with_value,
)
from sklda._core.names import grouped, python_value, read_labels
from sklda._core.warn import warn

INTERCEPT = "intercept"
# Values of a number at which the columns of a transformer are looked at.
_TRIED = 20
# What a formula may use besides the covariates and formulaic's own functions.
_CONTEXT = {"np": np}
# What R has and formulaic does not: a pattern, and what to write.
_OF_R = (
    (
        r"(?<![\w.])\(([^()|{}]*)\|\|?\s*([^()|{}]+)\)",
        "a random effect such as (1 | group) is not possible: leave it out, and give topic_effects the groups as "
        "clusters=, for errors of documents that are not independent",
    ),
    (r"\b(?:as\.factor|factor|as\.character|ordered)\(\s*([^(),]*)", "write 'C({1})' for a category"),
    (r"\b(?:as\.(?:numeric|integer|double))\(\s*([^(),]*)", "give {1} as numbers in the covariates"),
    (r"(?<![\w.])(?:ns|rcs)\(\s*([^(),]*)", "write 'bs({1}, df=4)' for splines"),
    (r"(?<![\w.])(sqrt|abs|sin|cos|log1p|round)\(", "functions of NumPy have a prefix: write 'np.{1}('"),
)


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
        self.design, self.kept = design, [j for j in range(len(design.terms)) if j != design.intercept]
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
    intercept : int or None
        The column of ones.
    """

    intercept = 0

    def __init__(self, covariates, n_documents):
        self.design = Design(covariates, n_documents)
        self.terms, self.bases = _with_intercept(self.design.terms), ["", *self.design.bases]
        self.variables = [each.name for each in self.design.covariates]

    def matrix(self, covariates, n_documents):
        return np.column_stack([np.ones(n_documents), self.design.matrix(covariates, n_documents)])

    def has_steps(self, covariates, name, values):
        """Whether the columns of a number are defined at the values of the documents only."""
        return False


class TransformedDesign:
    """The columns of a transformer of scikit-learn, after one of ones."""

    intercept = 0

    def __init__(self, transformer, covariates, n_documents):
        if not hasattr(transformer, "fit") or not hasattr(transformer, "transform"):
            raise TypeError(f"transformer must have fit and transform, got {transformer!r}.")
        self.transformer = clone(transformer).fit(as_matrix(covariates))
        width = self.matrix(covariates, n_documents).shape[1] - 1
        try:
            names = [str(name) for name in self.transformer.get_feature_names_out()]
        except (AttributeError, ValueError):
            names = [f"x{j}" for j in range(width)]
        self.terms, self.bases = _with_intercept(names), [""] * (width + 1)
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
            from formulaic import model_matrix
        except ImportError as error:
            raise ImportError('a formula needs formulaic: pip install "sklda[covariates]"') from error
        if not isinstance(formula, str):
            raise TypeError(f"formula must be a str such as 'year + source', got {formula!r}.")
        if not has_names(covariates):
            raise TypeError(
                f"formula = {formula!r} has names of covariates: give a data frame or a dict of columns, got a "
                f"{type(covariates).__name__}."
            )
        _refuse_r(formula)
        names = list(map(str, column_names(covariates)))
        self.formula = formula
        parsed = self._parsed(names)
        used = {name for term in parsed for factor in term.factors for name in _names_in(factor.expr)}
        self.variables = [name for name in names if name in used]
        frame = _as_frame(covariates)
        found = self._columns(frame, lambda **how: model_matrix(parsed, frame, context=_CONTEXT, **how))
        if not len(found.columns):
            raise ValueError(f"formula = {formula!r} has no term: give at least one, such as 'year'.")
        self.spec = found.model_spec
        made = [(str(name), entry.term.degree == 0) for entry in self.spec.structure for name in entry.columns]
        # formulaic calls the column of ones Intercept, which can be the name of a covariate.
        self.intercept = next((j for j, (_, is_constant) in enumerate(made) if is_constant), None)
        terms = [_without_t(name) for name, is_constant in made if not is_constant]
        self.terms = terms if self.intercept is None else _with_intercept(terms)
        if len(set(self.terms)) < len(made) or len(found.columns) < len(made):
            raise ValueError(f"formula = {formula!r} has two columns with one name: rename a covariate.")
        self.bases = [base for entry in self.spec.structure for base in self._bases(entry)]
        self._check_kinds(found)
        check_rows(len(found), n_documents)

    def _parsed(self, names):
        """The formula as formulaic reads it, after a check of its Python code."""
        from formulaic import Formula, SimpleFormula

        try:
            parsed = Formula(self.formula)
        # Python code raises a SyntaxError.
        except Exception as error:
            raise self._error(error, names) from error
        if not isinstance(parsed, SimpleFormula):
            raise ValueError(
                f"formula = {self.formula!r} has several parts: give the terms only, such as 'year + source'."
            )
        for factor in (factor for term in parsed for factor in term.factors):
            if factor.eval_method.value != "python":
                continue
            if any(isinstance(getattr(node, "op", None), ast.BitXor) for node in _nodes(factor.expr)):
                raise ValueError(
                    f"formula = {self.formula!r} has {factor.expr!r}, in which ^ is no power but the exclusive or of "
                    "Python: write **, as in I(year**2)."
                )
        return parsed

    def _columns(self, frame, make):
        """The columns by formulaic, whose errors and warnings are errors that name the formula and the document."""
        from formulaic.errors import DataMismatchWarning

        found = None
        with warnings.catch_warnings():
            # A category that the fit did not have would have the columns of the base.
            warnings.simplefilter("error", DataMismatchWarning)
            try:
                return make(na_action="raise")
            # formulaic runs the code of the formula, which can raise anything.
            except Exception as error:
                for name in (each for each in column_names(frame) if str(each) in self.variables):
                    check_no_scale(str(name), getattr(frame[name], "dtype", None), frame[name])
                    check_present(str(name), map(python_value, frame[name]))
                with suppress(Exception):
                    found = np.asarray(make(na_action="ignore"), dtype=np.float64)
                if found is not None:
                    self._check_finite(found)
                raise self._error(error, column_names(frame)) from error

    def _error(self, error, names):
        """The error for one of formulaic, which writes for terminals."""
        hint = _hint(self.formula, names)
        said = " ".join(re.sub(r"\x1b\[[\d;]*m|[⧛⧚]", "", str(error)).split())
        return ValueError(f"formula = {self.formula!r} cannot be used: {hint or said}")

    def _check_finite(self, columns):
        bad = np.argwhere(~np.isfinite(columns))
        if len(bad):
            row, column = bad[0]
            raise ValueError(
                f"formula = {self.formula!r} gives {columns[row, column]} for document {row}: each document needs "
                "finite values."
            )

    def _check_kinds(self, found):
        """Refuse columns of dates and durations, and categories of dates."""
        kinds = [dtype for dtype in found.dtypes if getattr(dtype, "kind", "f") not in "biuf"]
        for _, state in self.spec.encoder_state.values():
            kinds += [type(each).__name__ for each in state.get("categories", ()) if is_on_scale(python_value(each))]
        if kinds:
            raise TypeError(
                f"formula = {self.formula!r} has values of type {kinds[0]}: give a real number, such as the year, or a "
                "text for categories."
            )

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
        found = self._columns(frame, lambda **how: self.spec.update(**how).get_model_matrix(frame, context=_CONTEXT))
        found = real_numbers(found, "the columns of the formula")
        check_rows(len(found), n_documents)
        self._check_finite(found)
        return found

    def has_steps(self, covariates, name, values):
        """Whether the columns of a number are defined at the values of the documents only: the formula has C(name)."""
        kinds = {expression: kind.value for expression, (kind, _) in self.spec.encoder_state.items()}
        return any(
            kinds.get(str(factor)) == "categorical" and name in map(str, variables)
            for factor, variables in self.spec.factor_variables.items()
        )


def _nodes(code):
    """The nodes of the Python code of a factor, in which names with spaces are between backticks."""
    return ast.walk(ast.parse(re.sub("`[^`]*`", "name", code)))


def _names_in(code):
    """The names in a factor, which is a name itself or Python code."""
    try:
        names = {node.id for node in _nodes(code) if isinstance(node, ast.Name)}
    except SyntaxError:
        names = set()
    return names | {code, *re.findall("`([^`]*)`", code)}


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


def _hint(formula, names):
    """Advice for a term that formulaic does not know; an empty text if there is none."""
    for pattern, advice in _OF_R:
        found = re.search(pattern, formula)
        if found:
            return f"{advice.replace('{1}', found[1].strip())}."
    for name in map(str, names):
        if not name.isidentifier() and name in formula and f"`{name}`" not in formula:
            return f"write the name {name!r} between backticks: `{name}`."
    return ""


def _with_intercept(terms):
    """The terms after that of the column of ones, whose name none of them may have."""
    if INTERCEPT in terms:
        raise ValueError(
            f"a covariate or a term has the name {INTERCEPT!r}, which is that of the column of ones: rename it."
        )
    return [INTERCEPT, *terms]


def _as_frame(covariates):
    """A dict of columns as the data frame that formulaic takes. Columns with an index stay in their order."""
    if not isinstance(covariates, dict):
        return covariates
    return DataFrame({name: getattr(values, "array", values) for name, values in covariates.items()})


def warn_of_sources(covariates, variables, n_documents):
    """Warn if a covariate is the same for all documents that have the same value of another column.

    Such a column may be their source. Columns in which values have fewer than two documents on average, real numbers,
    and those that only name the values of the covariate are none.
    """
    codes, kinds = {}, {}
    for name, values in read_columns(covariates, n_documents, variables) + _possible_sources(covariates, n_documents):
        codes[name] = grouped(read_labels(values, f"covariate {name!r}", may_be_missing=True))[1]
        kinds[name] = np.asarray(values).dtype.kind
    sources = {
        name: own.max() + 1 for name, own in codes.items() if kinds[name] != "f" and 2 * own.max() + 2 <= n_documents
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


def _possible_sources(covariates, n_documents):
    """The columns that have a label for each document, whether they are used or not."""
    found = []
    for name in column_names(covariates) if has_names(covariates) else ():
        try:
            ((_, values),) = read_columns(covariates, n_documents, [str(name)])
            read_labels(values, "a covariate")
        except (TypeError, ValueError):
            # Such as lists of words.
            continue
        found.append((str(name), values))
    return found
