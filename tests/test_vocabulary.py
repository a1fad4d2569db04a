"""One vocabulary: the tables of parameters and attributes in the documentation are those of the classes.

``python tests/test_vocabulary.py`` writes the tables into the page.
"""

import inspect
import re
from pathlib import Path

import pytest
from papers_modules import papers

import sklda
from sklda import CompoundLDA, CovariateLDA, GibbsLDA, LabeledLDA

PAGE = Path(__file__).parents[1] / "doc" / "start" / "vocabulary.rst"
CLASSES = {name: getattr(sklda, name) for name in sklda.__all__ if isinstance(getattr(sklda, name), type)}
# Short names for the columns.
COLUMNS = {name: name.removesuffix("LDA") for name in CLASSES} | {"CollapsedVariationalLDA": "Variational"}
# Attributes that some fits do not have.
SOMETIMES = {
    *("prior_trace_", "acceptance_rate_", "feature_names_in_", "topic_names_"),
    *("label_topics_", "label_count_regressor_", "topic_concentration_", "collection_concentration_"),
    *(f"{size}topic_count_{what}_" for size in ("", "large_") for what in ("draws", "mean", "interval")),
    *("concentration_draws_", "known_topic_word_", "known_weight_", "known_weight_log_std_"),
}


def parameters(cls):
    return {name: value.default for name, value in inspect.signature(cls).parameters.items()}


def attributes(cls):
    """The names in the section Attributes of the docstring."""
    section = re.search(r"Attributes\n-+\n(.*?)\n\n\w+\n-+\n", inspect.getdoc(cls), re.DOTALL).group(1)
    heads = re.findall(r"^(\w[\w, ]*?)(?: :.*)?$", section, re.MULTILINE)
    return {name for head in heads for name in head.split(", ")}


def shared(names):
    """Names that at least two classes have, in alphabetical order."""
    return sorted({name for own in names for name in own if sum(name in other for other in names) > 1})


def rows():
    """Rows of both tables: a name, and what each class has."""
    of_parameters, of_attributes = ([kind(cls) for cls in CLASSES.values()] for kind in (parameters, attributes))
    for name in shared(of_parameters):
        yield name, [f"``{own[name]!r}``" if name in own else "" for own in of_parameters]
    yield None, None
    for name in shared(of_attributes):
        yield name, ["yes" if name in own else "" for own in of_attributes]


def tables():
    """The two tables as reStructuredText."""
    text, header = "", ", ".join(COLUMNS.values())
    for name, cells in [(None, None), *rows()]:
        if name is None:
            title = "Attributes" if text else "Parameters and their defaults"
            text += f"\n{title}:\n\n.. csv-table::\n   :header: Name, {header}\n\n"
            continue
        text += f"   ``{name}``, " + ", ".join(cells).rstrip() + "\n"
    return text.lstrip("\n")


def split():
    """The page before, in and after the tables."""
    before, rest = PAGE.read_text(encoding="utf-8").split(".. vocabulary: begin\n\n")
    inside, after = rest.split(".. vocabulary: end\n")
    return before, inside.removesuffix("\n"), after


def test_the_tables_of_the_page_are_those_of_the_classes():
    assert split()[1] == tables(), "python tests/test_vocabulary.py writes the tables"


def test_the_page_of_the_api_has_each_public_name_once():
    text = (PAGE.parents[1] / "api.rst").read_text(encoding="utf-8")
    listed = re.findall(r"^(?:   |\.\. data:: )([\w.]+)$", text, re.MULTILINE)
    modules = "callbacks", "datasets", "inspection", "metrics"
    public = {f"{name}.{own}" for name in modules for own in getattr(sklda, name).__all__}
    public |= {f"{module.__name__.removeprefix('sklda.')}.{own}" for module in papers() for own in module.__all__}
    assert sorted(listed) == sorted(public | set(sklda.__all__) - set(modules))


# Defaults that differ between estimators, with the page that says why.
DIFFERENT = {
    "n_components": "hdp",
    "topic_word_prior": "labeled_lda",
    "max_iter": "labeled_lda",
    "n_chains": "labeled_lda",
    "n_draws": "labeled_lda",
    "draw_every": "labeled_lda",
    "fold_in_iter": "labeled_lda",
}


def test_defaults_are_the_same():
    own = [parameters(cls) for cls in CLASSES.values()]
    differ = {name for name in shared(own) if len({repr(each[name]) for each in own if name in each}) > 1}
    # The choices of a method differ too.
    assert differ - {"method"} == set(DIFFERENT)
    for name, page in DIFFERENT.items():
        text = (PAGE.parents[1] / "guide" / f"{page}.rst").read_text(encoding="utf-8")
        assert f"``{name}``" in text


@pytest.mark.filterwarnings("ignore:CovariateLDA has no covariates:UserWarning")
@pytest.mark.parametrize("cls", [GibbsLDA, CompoundLDA, CovariateLDA, LabeledLDA])
def test_docstrings_name_the_attributes_of_a_fit(cls):
    X = [[3, 1, 0, 2], [0, 2, 2, 1], [1, 0, 4, 0], [2, 2, 0, 1]]
    lda = cls(n_chains=2, max_iter=8).fit(X, [[1, 0], [0, 1], [1, 1], [1, 0]] if cls is LabeledLDA else None)
    public = {name for name in vars(lda) if name.endswith("_") and not name.startswith("_")}
    assert public <= attributes(cls)
    needed = {name for name in attributes(cls) if not hasattr(lda, name)}
    assert needed <= SOMETIMES


if __name__ == "__main__":
    before, _, after = split()
    PAGE.write_text(f"{before}.. vocabulary: begin\n\n{tables()}\n.. vocabulary: end\n{after}", encoding="utf-8")
