"""The columns of a linear model of documents: of plain covariates, a formula, or a transformer of scikit-learn.

Each design has

- ``terms``, the names of its columns, and ``bases``, what the levels of categories are compared with, or empty texts;
- ``variables``, the names of the covariates that it uses;
- ``matrix(covariates)``, the columns of documents, which need the covariates of the fit;
- ``widest()``, the covariate with most columns, and their number, for messages;
- ``has_steps(frame, name, values)``, whether the columns of a number are defined at the values of the documents only.
"""

import ast
import re
import warnings
from contextlib import suppress
from importlib import import_module

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from sklda._core.arguments import check_memory, real_numbers
from sklda._core.covariates import (
    check_no_scale,
    check_present,
    check_rows,
    covariate_frame,
    covariate_of,
    has_names,
    is_on_scale,
    with_value,
)
from sklda._core.names import python_value

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


def design_of(covariates, n_documents, formula=None, transformer=None, *, intercept=True):
    """The design of plain covariates, a formula or a transformer.

    Without `intercept`, it has no column of ones: the model has an intercept of its own.
    """
    if formula is not None and transformer is not None:
        raise ValueError("give a formula or a transformer, not both.")
    if formula is None and transformer is None:
        return Design(covariates, n_documents, intercept)
    if formula is not None:
        design = FormulaDesign(formula, covariates, n_documents, intercept)
    else:
        design = TransformedDesign(transformer, covariates, n_documents, intercept)
    if not design.terms:
        raise ValueError("the covariates have no term but the intercept, which the model has already: give one.")
    return design


def needed_covariates(formula, transformer):
    """The names of the covariates that must not be missing; None: all. A transformer may take missing values."""
    if transformer is not None:
        return ()
    if not isinstance(formula, str):
        return None
    try:
        from formulaic import Formula

        return sorted({name for term in Formula(formula) for factor in term.factors for name in _names_in(factor.expr)})
    # That of a formula with an error, which the design reports.
    except Exception:
        return ()


class Design:
    """The columns of plain covariates: categories have one for each level but the first, numbers have one."""

    def __init__(self, covariates, n_documents, intercept=False):
        frame = covariate_frame(covariates, n_documents)
        self.covariates = [covariate_of(name, frame[name]) for name in frame]
        self.intercept = intercept
        terms = [term for each in self.covariates for term in each.terms]
        self.terms = _with_intercept(terms) if intercept else terms

    @property
    def variables(self):
        return [each.name for each in self.covariates]

    @property
    def bases(self):
        bases = ["" if each.levels is None else str(each.levels[0]) for each in self.covariates for _ in each.terms]
        return ["", *bases] if self.intercept else bases

    def widest(self):
        found = max(self.covariates, key=lambda each: len(each.terms))
        return repr(found.name), len(found.terms)

    def matrix(self, covariates, n_documents=None):
        frame = covariate_frame(covariates, n_documents, self.variables)
        check_memory(
            16 * len(frame) * len(self.terms),
            f"{len(self.terms)} terms of the covariates of {len(frame)} documents need at least",
            "Give fewer covariates, or categories with fewer levels.",
        )
        ones = [np.ones((len(frame), 1))] if self.intercept else []
        return np.hstack([*ones, *(each.columns(frame[each.name]) for each in self.covariates)], dtype=np.float64)

    def has_steps(self, frame, name, values):
        return False


class TransformedDesign:
    """The columns of a transformer of scikit-learn."""

    def __init__(self, transformer, covariates, n_documents, intercept):
        if not hasattr(transformer, "fit") or not hasattr(transformer, "transform"):
            raise TypeError(f"transformer must have fit and transform, got {transformer!r}.")
        frame = covariate_frame(covariates, n_documents)
        self.variables, self.intercept = list(frame), intercept
        # As scikit-learn: names of columns are texts, and other columns have none.
        names = getattr(covariates, "columns", covariates)
        self.takes_frames = has_names(covariates) and all(isinstance(name, str) for name in names)
        self.transformer = clone(transformer).fit(self._given(frame))
        width = self._columns(frame).shape[1]
        try:
            names = [str(name) for name in self.transformer.get_feature_names_out()]
        except (AttributeError, ValueError):
            names = [f"x{j}" for j in range(width)]
        self.terms = _with_intercept(names) if intercept else names
        self.bases = [""] * len(self.terms)

    def _given(self, frame):
        return frame if self.takes_frames else frame.to_numpy()

    def _columns(self, frame):
        found = self.transformer.transform(self._given(frame))
        found = real_numbers(found.toarray() if sp.issparse(found) else found, "the columns of the transformer")
        if found.ndim != 2 or not np.isfinite(found).all():
            raise ValueError("the transformer must return a matrix of finite numbers.")
        check_rows(len(found), len(frame))
        return found

    def widest(self):
        return f"the {type(self.transformer).__name__}", len(self.terms) - self.intercept

    def matrix(self, covariates, n_documents=None):
        found = self._columns(covariate_frame(covariates, n_documents, self.variables))
        return np.column_stack([np.ones(len(found)), found]) if self.intercept else found

    def has_steps(self, frame, name, values):
        """So it is if the columns that change with the number hold zeros and ones only."""
        at = (self.matrix(with_value(frame, name, value)) for value in values[:_TRIED])
        first = next(at)
        changing, steps = np.zeros(first.shape[1], bool), np.isin(first, (0, 1)).all(axis=0)
        for each in at:
            changing |= (each != first).any(axis=0)
            steps &= np.isin(each, (0, 1)).all(axis=0)
        return bool(changing.any() and steps[changing].all())


class FormulaDesign:
    """The columns of a formula, by the package formulaic."""

    def __init__(self, formula, covariates, n_documents, intercept):
        try:
            import_module("formulaic")
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
        frame = covariate_frame(covariates, n_documents)
        self.formula = formula
        parsed = self._parsed(list(frame))
        # formulaic's own list lacks those of bs() and poly().
        used = {name for term in parsed for factor in term.factors for name in _names_in(factor.expr)}
        self.variables = [name for name in frame if name in used]
        found = self._columns(parsed, frame)
        if not len(found.columns):
            raise ValueError(f"formula = {formula!r} has no term: give at least one, such as 'year'.")
        self.spec = found.model_spec
        made = [(str(name), entry.term.degree == 0) for entry in self.spec.structure for name in entry.columns]
        # formulaic calls the column of ones Intercept, which can be the name of a covariate.
        self.terms = [_without_t(name) for name, is_constant in made if not is_constant]
        if len(self.terms) < len(made):
            self.terms = _with_intercept(self.terms)
        if len(set(self.terms)) < len(made) or len(found.columns) < len(made):
            raise ValueError(f"formula = {formula!r} has two columns with one name: rename a covariate.")
        self.bases = [base for entry in self.spec.structure for base in self._bases(entry)]
        self._check_kinds(found)
        # The column of ones is the first, if there is one.
        self.first = int(made[0][1] and not intercept)
        self.terms, self.bases = self.terms[self.first :], self.bases[self.first :]

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
                f"formula = {self.formula!r} has several parts, such as a left side: give only the terms on which "
                "topics depend, such as 'year + source'."
            )
        for factor in (factor for term in parsed for factor in term.factors):
            if factor.eval_method.value != "python":
                continue
            if any(isinstance(getattr(node, "op", None), ast.BitXor) for node in _nodes(factor.expr)):
                raise ValueError(
                    f"formula = {self.formula!r} has {factor.expr!r}, in which ^ is not a power but exclusive or in "
                    "Python: write **, as in I(year**2)."
                )
        return parsed

    def _columns(self, source, frame):
        """The columns by a formula or spec of formulaic, whose errors become ours: of the formula and the document."""
        from formulaic.errors import DataMismatchWarning

        found = None
        with warnings.catch_warnings():
            # A category that the fit did not have would have the columns of the base.
            warnings.simplefilter("error", DataMismatchWarning)
            try:
                return source.get_model_matrix(frame, context=_CONTEXT, na_action="raise")
            # formulaic runs the code of the formula, which can raise anything.
            except Exception as error:
                for name in self.variables:
                    if name in frame:
                        check_no_scale(name, frame[name])
                        check_present(name, map(python_value, frame[name]))
                with suppress(Exception):
                    found = np.asarray(source.get_model_matrix(frame, context=_CONTEXT, na_action="ignore"), np.float64)
                if found is not None:
                    self._check_finite(found)
                raise self._error(error, list(frame)) from error

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

    def matrix(self, covariates, n_documents=None):
        frame = covariate_frame(covariates, n_documents)
        found = real_numbers(self._columns(self.spec, frame), "the columns of the formula")
        check_rows(len(found), len(frame))
        self._check_finite(found)
        return found[:, self.first :]

    def has_steps(self, frame, name, values):
        """So it is if the formula has C(name)."""
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
    for name in names:
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
