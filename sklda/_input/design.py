"""The columns of a linear model of documents: as they are, by formulaic, or by a transformer of scikit-learn.

Each design has

- ``terms``, the names of its columns, and ``bases``, what the levels of categories are compared with, or empty texts;
- ``variables``, the names of the covariates that it uses;
- ``matrix(covariates)``, the columns of documents, which need the covariates of the fit;
- ``groups`` and ``around``, without an intercept of its own: see `_levels_of_terms`;
- ``has_steps(frame, name, values)``, whether the columns of a number are defined at the values of the documents only.

formulaic is imported where it is used: it takes a quarter of the time of ``import sklda``.
"""

import ast
import re
import warnings
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from sklda._input.arguments import real_numbers
from sklda._input.covariates import (
    check_no_scale,
    covariate_frame,
    has_names,
    is_on_scale,
    levels_of,
    typed,
    with_value,
)
from sklda._input.memory import check_memory
from sklda._input.names import python_value
from sklda._input.warn import warn

INTERCEPT = "intercept"
# Operators of formulas that make products of terms.
_PRODUCTS = ("*", ":", "**", "^")
# Values of a number at which the columns of a transformer are looked at.
_TRIED = 20
# What a formula may use besides the covariates and formulaic's own functions.
_CONTEXT = {"np": np}
_HOW = (
    "A category is C(g), a spline bs(x, df=4), a name with spaces stands between backticks (`), functions of NumPy "
    "have the prefix np., a name that is a word of Python, such as class, needs another one inside of C(), and groups "
    "of documents that are not independent are given as clusters=."
)


def design_of(covariates, formula=None, transformer=None, *, intercept=True, most_terms=None):
    """The design of a formula, of a transformer, or without both of all covariates, each as it is.

    Without `intercept`, it has no column of ones: the model has an intercept of its own, around which all levels of a
    category vary. So each level has a column, and a level that the fit did not have is zero in all of them. A
    ValueError if there are more than `most_terms`.
    """
    if formula is not None and transformer is not None:
        raise ValueError("give a formula or a transformer, not both.")
    if transformer is not None:
        design = TransformedDesign(transformer, covariates, intercept, most_terms)
    elif formula is not None:
        design = FormulaDesign(formula, covariates, intercept, most_terms)
    else:
        design = PlainDesign(covariates, intercept, most_terms)
    if not design.terms and (formula is not None or transformer is not None):
        raise ValueError("the covariates have no term but the intercept, which the model has already: give one.")
    return design


def needed_covariates(formula, transformer, missing="raise"):
    """The names of the covariates that must not be missing; None: all.

    A transformer may take missing values, unless documents with them are to be left out.
    """
    if transformer is not None:
        return None if missing == "drop" else ()
    if not isinstance(formula, str):
        return None
    from formulaic import Formula

    try:
        return sorted(
            {name for term in Formula(formula) for factor in term.factors for name in _Factor.of(factor).names}
        )
    # That of a formula with an error, which the design reports.
    except Exception:
        return ()


def _check_size(n_terms, name, n_own, most_terms):
    """Refuse so many terms that a sweep takes minutes."""
    if most_terms is not None and n_terms > most_terms:
        raise ValueError(
            f"the covariates have {n_terms} terms, {n_own} of them from {name}; at most {most_terms} are possible. "
            "Join levels of categories, and leave out a covariate that has another value in nearly every document."
        )


class TransformedDesign:
    """The columns of a transformer of scikit-learn."""

    def __init__(self, transformer, covariates, intercept, most_terms):
        if not hasattr(transformer, "fit") or not hasattr(transformer, "transform"):
            raise TypeError(f"transformer must have fit and transform, got {transformer!r}.")
        frame = covariate_frame(covariates)
        self.variables, self.intercept = list(frame), intercept
        # As scikit-learn: names of columns are texts, and other columns have none.
        names = getattr(covariates, "columns", covariates)
        self.takes_frames = has_names(covariates) and all(isinstance(name, str) for name in names)
        self.transformer = clone(transformer).fit(self._given(frame))
        width = self._columns(frame).shape[1]
        _check_size(width, f"the {type(transformer).__name__}", width, most_terms)
        try:
            names = [str(name) for name in self.transformer.get_feature_names_out()]
        except (AttributeError, ValueError):
            names = [f"x{j}" for j in range(width)]
        self.terms = _with_intercept(names) if intercept else names
        self.bases = [""] * len(self.terms)
        self.groups, self.around = np.zeros(len(self.terms), int), np.full(len(self.terms), -1)

    def _given(self, frame):
        return frame if self.takes_frames else frame.to_numpy()

    def _columns(self, frame):
        found = self.transformer.transform(self._given(frame))
        found = real_numbers(found.toarray() if sp.issparse(found) else found, "the columns of the transformer")
        if found.ndim != 2 or len(found) != len(frame) or not np.isfinite(found).all():
            raise ValueError("the transformer must return a matrix of finite numbers with a row for each document.")
        return found

    def matrix(self, covariates):
        found = self._columns(covariate_frame(covariates, self.variables))
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


class PlainDesign:
    """All covariates as they are: a number is a column, and a category has a column for each of its levels."""

    def __init__(self, covariates, intercept, most_terms=None):
        frame = covariate_frame(covariates)
        for name in frame:
            check_no_scale(name, frame[name])
        self.variables, self.intercept = list(frame), intercept
        self.levels = _levels_of(frame, self.variables, intercept)
        # With an intercept, the first level is what the others are compared with.
        shown = {name: (None,) if own is None else own[int(intercept) :] for name, own in self.levels.items()}
        widest = max(shown, key=lambda name: len(shown[name]))
        _check_size(sum(map(len, shown.values())), repr(widest), len(shown[widest]), most_terms)
        _check_memory(len(frame), self.levels, intercept)
        self.terms, self.bases, groups = [], [], []
        for name, levels in shown.items():
            is_number = self.levels[name] is None
            self.terms += [name] if is_number else [f"{name}[{level}]" for level in levels]
            self.bases += (
                [""] * len(levels) if is_number or not intercept else [str(self.levels[name][0])] * len(levels)
            )
            groups += [0 if is_number else max(groups, default=0) + 1] * len(levels)
        if len(set(self.terms)) < len(self.terms):
            raise ValueError("the covariates have two columns with one name: rename a covariate.")
        if intercept:
            self.terms, self.bases = _with_intercept(self.terms), ["", *self.bases]
        self.groups = np.array(groups, int)
        self.around = np.where(self.groups > 0, 0, -1)

    def matrix(self, covariates):
        frame = covariate_frame(covariates, self.variables)
        frame = typed(frame, self.levels, new_levels=not self.intercept)
        found = [np.ones((len(frame), int(self.intercept)))]
        for name, levels in self.levels.items():
            if levels is None:
                check_no_scale(name, frame[name])
                found.append(np.asarray(frame[name], dtype=np.float64)[:, None])
            else:
                codes = frame[name].cat.codes.to_numpy()
                found.append((codes[:, None] == np.arange(int(self.intercept), len(levels))).astype(np.float64))
        return np.hstack(found)

    def has_steps(self, frame, name, values):
        return False


class FormulaDesign:
    """The columns of a formula, by the package formulaic, whose model spec keeps what the fit had."""

    def __init__(self, formula, covariates, intercept, most_terms=None):
        if not isinstance(formula, str):
            raise TypeError(f"formula must be a str such as 'year + source', got {formula!r}.")
        if not has_names(covariates):
            raise TypeError(
                f"formula = {formula!r} has names of covariates: give a data frame or a dict of columns, got a "
                f"{type(covariates).__name__}."
            )
        self.formula, self.intercept, self.takes_new_levels = formula, intercept, False
        frame = covariate_frame(covariates)
        parsed = self._parsed()
        used = [_Factor.of(factor) for term in parsed for factor in term.factors]
        self.variables = [name for name in frame if any(name in factor.names for factor in used)]
        self.numbers = [name for name in frame if any(name in factor.numbers for factor in used)]
        self.levels = _levels_of(frame, self.variables, intercept)
        _check_memory(len(frame), self.levels, intercept)
        frame = typed(frame, self.levels)
        self.ranges = {name: (frame[name].min(), frame[name].max()) for name in self._real(frame)}
        found = self._columns(parsed, frame)
        if not len(found.columns):
            raise ValueError(f"formula = {formula!r} has no term: give at least one, such as 'year'.")
        self.spec = found.model_spec
        self._check_rows_alone(np.asarray(found, dtype=np.float64), frame)
        made = [(str(name), entry.term.degree == 0) for entry in self.spec.structure for name in entry.columns]
        if len(found.columns) < len(made) or len({name for name, _ in made}) < len(made):
            raise ValueError("the covariates have two columns with one name: rename a covariate.")
        # formulaic calls the column of ones Intercept.
        is_ones = np.array([is_constant for _, is_constant in made])
        self.kept = np.flatnonzero(~is_ones | intercept)
        self.terms = [_without_t(name) for name, is_constant in made if not is_constant]
        if is_ones.any() and intercept:
            self.terms = _with_intercept(self.terms)
        bases = [base for entry in self.spec.structure for base in _bases(self.spec, entry)]
        self.bases = [bases[j] for j in self.kept]
        if not intercept:
            self._check_contrasts()
            columns = np.asarray(found, dtype=np.float64)[:, self.kept]
            self.groups, self.around, self.takes_new_levels = _levels_of_terms(self.spec, columns)
        widest = max(self.spec.structure, key=lambda entry: len(entry.columns))
        _check_size(len(self.terms), repr(str(widest.term)), len(widest.columns), most_terms)

    def _real(self, frame):
        return [name for name in self.numbers if getattr(frame[name].dtype, "kind", "") in "iuf"]

    def _check_contrasts(self):
        """Refuse contrasts that columns of all levels do not have, because formulaic leaves them out."""
        from formulaic.transforms.contrasts import DiffContrasts, HelmertContrasts, PolyContrasts

        for factor, (_, state) in self.spec.encoder_state.items():
            contrasts = getattr(state.get("contrasts"), "contrasts", None)
            if isinstance(contrasts, (DiffContrasts, HelmertContrasts, PolyContrasts)):
                raise ValueError(
                    f"formula = {self.formula!r} has the contrasts {factor!r}, but the model has an effect of each "
                    "level: write C(name) without contrasts, or poly(name, 2) for a trend."
                )

    def _check_rows_alone(self, found, frame):
        """Refuse functions of a whole column: other documents would have other values of them."""
        middle = (len(frame) + 2) // 2
        # A single row has its own mean, rank and largest value.
        for rows in (slice(0, 1), slice(1, middle), slice(middle, None)):
            part = frame.iloc[rows]
            if not len(part):
                continue
            try:
                alone = np.asarray(self._columns(self.spec, part), dtype=np.float64)
            except ValueError:
                # Such as a shift, which gives the first row no value.
                alone = np.full((len(part), found.shape[1]), np.inf)
            size = np.abs(found).max(axis=0, initial=0)
            differs = np.abs(alone - found[rows]).max(axis=0) > 1e-9 * size
            if differs.any():
                ends = np.cumsum([len(entry.columns) for entry in self.spec.structure])
                entry = self.spec.structure[int(np.searchsorted(ends, np.argmax(differs), side="right"))]
                raise ValueError(
                    f"formula = {self.formula!r} has {str(entry.term)!r}, which is computed from all documents "
                    "together, so that other documents would have other values of it. center(x), scale(x), poly(x, 2) "
                    "and bs(x, df=4) keep what they need of the fit; for anything else, compute the column first."
                )

    def _parsed(self):
        """The formula as formulaic reads it, after checks of what it would read in another way than it is meant."""
        from formulaic import Formula, SimpleFormula
        from formulaic.parser import DefaultFormulaParser

        try:
            parsed = Formula(self.formula)
            tree = DefaultFormulaParser().get_ast(self.formula)
        # Python code raises a SyntaxError.
        except Exception as error:
            if "`.` operator" in str(error):
                raise ValueError(
                    f"formula = {self.formula!r} has a dot for all covariates: write their names, as in "
                    "'year + source', or give no formula, which takes each covariate as it is."
                ) from error
            raise self._error(error) from error
        if not isinstance(parsed, SimpleFormula):
            raise ValueError(
                f"formula = {self.formula!r} has several parts, such as a left side: give only the terms on which "
                "topics depend, such as 'year + source'."
            )
        own = _product_with_itself(tree)
        if own is not None:
            raise ValueError(
                f"formula = {self.formula!r} multiplies {own} by itself, which is {own} in a formula: write "
                f"I({own}**2) or poly({own}, 2) for a square."
            )
        for factor in (_Factor.of(each) for term in parsed for each in term.factors):
            if any(isinstance(getattr(node, "op", None), ast.BitXor) for node in factor.nodes):
                raise ValueError(
                    f"formula = {self.formula!r} has {factor.code!r}, in which ^ is not a power but exclusive or in "
                    "Python: write **, as in I(year**2)."
                )
        return parsed

    def _columns(self, source, frame):
        """The columns by a formula or spec of formulaic, whose errors become ours."""
        from formulaic.errors import DataMismatchWarning

        # Powers and differences of whole numbers may not fit into their types, without an error.
        frame = frame.astype(dict.fromkeys(self._real(frame), np.float64))
        options = {"context": _CONTEXT, "na_action": "ignore", "ensure_full_rank": self.intercept}
        with warnings.catch_warnings():
            # A number that is a category, and that the fit did not have, would have the columns of the base.
            warnings.simplefilter("ignore" if self.takes_new_levels else "error", DataMismatchWarning)
            if self.takes_new_levels:
                # A new number of C(name) is none of the levels, as intended.
                warnings.filterwarnings("ignore", "Constructing a Categorical")
            try:
                found = source.get_model_matrix(frame.reset_index(drop=True), **options)
            # formulaic runs the code of the formula, which can raise anything.
            except Exception as error:
                for name in self.variables:
                    check_no_scale(name, frame[name])
                self._check_ranges(frame, error)
                raise self._error(error) from error
        self._check_kinds(found, frame)
        values = np.asarray(found, dtype=np.float64)
        bad = np.argwhere(~np.isfinite(values))
        if len(bad):
            row, column = bad[0]
            raise ValueError(
                f"formula = {self.formula!r} gives {values[row, column]} for document "
                f"{python_value(frame.index[row])!r}: each document needs finite values."
            )
        return found

    def _check_ranges(self, frame, error):
        """The error for a spline at a value that is beyond those of the fit."""
        if "extrapolation" not in str(error):
            return
        for name, (low, high) in self.ranges.items():
            beyond = np.flatnonzero((frame[name] < low) | (frame[name] > high))
            if len(beyond):
                raise ValueError(
                    f"covariate {name!r} of document {python_value(frame.index[beyond[0]])!r} is "
                    f"{frame[name].iloc[beyond[0]]:g}, and the documents of the fit have {low:g} to {high:g}. A spline "
                    f"ends there: write bs({name}, ..., extrapolation='clip') for a curve that stays as it is at its "
                    "ends, or extrapolation='extend' for one that goes on."
                ) from error

    def _error(self, error):
        """The error for one of formulaic, which writes for terminals."""
        said = " ".join(re.sub(r"\x1b\[[\d;]*m|[⧛⧚]", "", str(error)).split())
        return ValueError(f"formula = {self.formula!r} cannot be used: {said.rstrip('.')}. {_HOW}")

    def _check_kinds(self, found, frame):
        """Refuse columns of dates and durations, and categories of dates."""
        kinds = [dtype for dtype in found.dtypes if getattr(dtype, "kind", "f") not in "biuf"]
        for _, state in found.model_spec.encoder_state.values():
            kinds += [type(each).__name__ for each in state.get("categories", ()) if is_on_scale(python_value(each))]
        if kinds:
            for name in self.variables:
                check_no_scale(name, frame[name])
            raise TypeError(
                f"formula = {self.formula!r} has values of type {kinds[0]}: give a real number, such as the year, or a "
                "text for categories."
            )

    def matrix(self, covariates):
        frame = covariate_frame(covariates, self.variables)
        frame = typed(frame, self.levels, new_levels=self.takes_new_levels)
        found = np.asarray(self._columns(self.spec, frame), dtype=np.float64)
        return np.ascontiguousarray(found[:, self.kept])

    def has_steps(self, frame, name, values):
        """So it is if the formula has C(name)."""
        kinds = {expression: kind.value for expression, (kind, _) in self.spec.encoder_state.items()}
        return any(
            kinds.get(str(factor)) == "categorical" and name in map(str, variables)
            for factor, variables in self.spec.factor_variables.items()
        )


@dataclass(frozen=True)
class _Factor:
    """A factor of a formula: the name of a covariate, or Python code.

    formulaic's own list of variables lacks those of bs() and poly().
    """

    code: str
    nodes: list[ast.AST]
    names: set[str]  # of covariates and functions
    numbers: set[str]  # names that are used in another way than C(name), whose categories show the numbers as they are

    @classmethod
    def of(cls, factor):
        from formulaic.utils.code import sanitize_variable_names

        if factor.eval_method.value != "python":
            return cls(factor.expr, [], {factor.expr}, {factor.expr})
        aliases = {}
        code = sanitize_variable_names(factor.expr, {}, aliases)
        tree = ast.parse(code, mode="eval").body
        nodes = list(ast.walk(tree))
        own = tree.args[0] if isinstance(tree, ast.Call) and tree.args else None
        is_category = isinstance(own, ast.Name) and isinstance(tree.func, ast.Name) and tree.func.id == "C"
        names = {aliases.get(node.id, node.id) for node in nodes if isinstance(node, ast.Name)}
        return cls(factor.expr, nodes, names, names - {aliases.get(own.id, own.id)} if is_category else names)


def _product_with_itself(node):
    """The first term of a formula that is multiplied by itself, which formulas take for the term alone; or None."""
    if not hasattr(node, "operator"):
        return None
    sides = [{str(term) for term in each.to_terms()} for each in node.args] if node.operator.symbol in _PRODUCTS else []
    if sides and len(sides[0]) == 1 and (node.operator.symbol in ("**", "^") or sides[0] == sides[-1]):
        return next(iter(sides[0]))
    return next((found for each in node.args if (found := _product_with_itself(each)) is not None), None)


def _levels_of(frame, variables, intercept):
    """The levels of each covariate, None for numbers; with a warning of a category that has one."""
    found = {name: levels_of(name, frame[name]) for name in variables}
    for name, levels in found.items():
        if intercept and levels is not None and len(levels) == 1:
            warn(
                f"covariate {name!r} is {levels[0]!r} for all documents that take part, so it has no effect that "
                "can be told from the intercept, and is left out."
            )
    return found


def _check_memory(n_documents, levels, intercept):
    """Refuse categories with so many levels that their columns do not fit into memory."""
    n_terms = sum(1 if own is None else len(own) - int(intercept) for own in levels.values())
    check_memory(
        16 * n_documents * n_terms,
        f"{n_terms} terms of the covariates of {n_documents} documents need at least",
        "Give fewer covariates, or categories with fewer levels.",
    )


class VaryingDesign:
    """A design without intercept, less the columns that are the same in all documents.

    Nothing is known of their effects. A warning names them, but for levels, or combinations of these, that no document
    has.
    """

    def __init__(self, design, columns):
        varies = (columns != columns[:1]).any(axis=0)
        # Products with a constant are levels once more.
        self.kept = varies & np.append(True, varies)[np.maximum(design.around, 0)]
        for j in np.flatnonzero(~self.kept):
            if columns[:, j].any() or not design.groups[j]:
                warn(
                    f"the term {design.terms[j]!r} is the same in all documents, or a product with such a term: "
                    "nothing is known of its effect, and it is left out, also in new documents."
                )
        self.design, self.variables = design, design.variables
        self.terms = [term for term, kept in zip(design.terms, self.kept, strict=True) if kept]
        self.groups = np.unique(np.append(0, design.groups[self.kept]), return_inverse=True)[1][1:]
        around = design.around[self.kept]
        self.around = np.where(around > 0, self.kept.cumsum()[np.maximum(around, 1) - 1], around)

    def matrix(self, covariates):
        return np.ascontiguousarray(self.design.matrix(covariates)[:, self.kept])


def _levels_of_terms(spec, columns):
    """For each column the group of levels to which it belongs, and the column around which these vary.

    A group is a term with a category, such as the products of its levels with a number. In every document the columns
    of the levels sum up to that number, or to one if there is none, and the effects of the levels are differences from
    its effect. Other columns have the group 0.

    Returns
    -------
    groups, around : ndarray of shape (n_columns,)
        `around` counts a column of ones as 0, and the columns from 1. It is -1 in the group 0.
    takes_new_levels : bool
        Whether all categories have groups: a level that the fit did not have is then none of the levels.
    """
    takes_new_levels = True
    groups, around = np.zeros(columns.shape[1], int), np.full(columns.shape[1], -1)
    with_ones = np.column_stack([np.ones(len(columns)), columns])
    # The last column is the last of `columns`, which may lack the intercept of the formula.
    sizes = np.array([len(entry.columns) for entry in spec.structure])
    ends = columns.shape[1] - sizes[::-1].cumsum()[::-1] + sizes
    factors = [[factor.expr for factor in entry.term.factors] for entry in spec.structure]
    # The columns of each term, counted as `around`.
    places = {
        frozenset(own): np.arange(end - size, end) + 1 for own, size, end in zip(factors, sizes, ends, strict=True)
    }
    places[frozenset()] = np.zeros(1, int)
    for own in factors:
        place = places[frozenset(own)]
        n_levels = [len(_categories(spec, factor)) for factor in own]
        numbers = [factor for factor, n in zip(own, n_levels, strict=True) if not n]
        if len(numbers) == len(own):
            continue
        centres = places.get(frozenset(numbers), ())
        # The order of the columns is known for one set of columns of numbers.
        if not len(centres) or (len(numbers) > 1 and len(centres) > 1):
            takes_new_levels = False
            continue
        # In a product, the columns of the first factor change first.
        before = int(np.prod(n_levels[: own.index(numbers[0])])) if numbers else 1
        of_columns = centres[np.arange(len(place)) // before % len(centres)]
        sums = np.column_stack([with_ones[:, place[of_columns == centre]].sum(axis=1) for centre in centres])
        # Contrasts of the user's own are numbers.
        if np.array_equal(sums, with_ones[:, centres]):
            groups[place - 1], around[place - 1] = groups.max(initial=0) + 1, of_columns
        else:
            takes_new_levels = False
    return groups, around, takes_new_levels


def _categories(spec, factor):
    """The levels of a factor of a formula; none if it is a number."""
    return spec.encoder_state[factor][1].get("categories", ()) if factor in spec.encoder_state else ()


def _bases(spec, entry):
    """The levels with which the categories of a term are compared, for each of its columns."""
    found = []
    for scoped in entry.scoped_terms:
        bases = [_base(spec, each.factor.expr) for each in scoped.factors if each.reduced]
        found.append(":".join(base for base in bases if base))
    # A term that is a product of several sets of columns has no single base.
    return [found[0] if len(set(found)) == 1 else ""] * len(entry.columns)


def _base(spec, expression):
    """The level with which a category is compared; none for contrasts that do not compare with one level."""
    from formulaic.transforms.contrasts import TreatmentContrasts

    state = spec.encoder_state[expression][1].get("contrasts")
    if state is None or not isinstance(state.contrasts, TreatmentContrasts):
        return ""
    base = state.contrasts.get_drop_field(state.levels, reduced_rank=False)
    return "" if base is None else str(base)


def _without_t(name):
    """The name of a column with its level as users do."""
    return str(name).replace("[T.", "[")


def _with_intercept(terms):
    """The terms after that of the column of ones, whose name none of them may have."""
    if INTERCEPT in terms:
        raise ValueError(
            f"a covariate or a term has the name {INTERCEPT!r}, which is that of the column of ones: rename it."
        )
    return [INTERCEPT, *terms]
