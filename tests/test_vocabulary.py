"""One vocabulary: estimators have the same defaults, and docstrings name what fits have."""

import inspect
import re
from pathlib import Path

import pytest
from papers_modules import papers

import sklda
from sklda import CompoundLDA, CovariateLDA, GibbsLDA, LabeledLDA

CLASSES = [getattr(sklda, name) for name in sklda.__all__ if isinstance(getattr(sklda, name), type)]
# Attributes that some fits do not have.
SOMETIMES = {
    *("prior_trace_", "acceptance_rate_", "feature_names_in_", "topic_names_", "seed_words_"),
    *("label_topics_", "label_count_regressor_", "topic_concentration_", "collection_concentration_"),
    *(f"{size}topic_count_{what}_" for size in ("", "large_") for what in ("draws", "mean", "interval")),
    *("concentration_draws_", "known_topic_word_", "known_topic_word_std_", "known_weight_", "known_weight_log_std_"),
}
# Parameters whose defaults differ between estimators. The pages of HDPLDA and LabeledLDA say why.
DIFFERENT = {*("max_components", "topic_word_prior", "max_iter", "n_chains", "n_draws", "draw_every", "fold_in_iter")}


def test_the_page_of_the_api_has_each_public_name_once():
    text = (Path(__file__).parents[1] / "doc" / "api.rst").read_text(encoding="utf-8")
    listed = re.findall(r"^(?:   |\.\. data:: )([\w.]+)$", text, re.MULTILINE)
    modules = "callbacks", "datasets", "inspection", "metrics"
    public = {f"{name}.{own}" for name in modules for own in getattr(sklda, name).__all__}
    public |= {f"{module.__name__.removeprefix('sklda.')}.{own}" for module in papers() for own in module.__all__}
    assert sorted(listed) == sorted(public | set(sklda.__all__) - set(modules))


def test_defaults_are_the_same():
    defaults = {}
    for cls in CLASSES:
        for name, value in inspect.signature(cls).parameters.items():
            defaults.setdefault(name, set()).add(repr(value.default))
    # The choices of a method differ too.
    assert {name for name, found in defaults.items() if len(found) > 1} - {"method"} == DIFFERENT


@pytest.mark.filterwarnings("ignore:CovariateLDA has no covariates:UserWarning")
@pytest.mark.parametrize("cls", [GibbsLDA, CompoundLDA, CovariateLDA, LabeledLDA])
def test_docstrings_name_the_attributes_of_a_fit(cls):
    X = [[3, 1, 0, 2], [0, 2, 2, 1], [1, 0, 4, 0], [2, 2, 0, 1]]
    lda = cls(n_chains=2, max_iter=8).fit(X, [[1, 0], [0, 1], [1, 1], [1, 0]] if cls is LabeledLDA else None)
    section = re.search(r"Attributes\n-+\n(.*?)\n\n\w+\n-+\n", inspect.getdoc(cls), re.DOTALL).group(1)
    heads = re.findall(r"^(\w[\w, ]*?)(?: :.*)?$", section, re.MULTILINE)
    named = {name for head in heads for name in head.split(", ")}
    assert {name for name in vars(lda) if name.endswith("_") and not name.startswith("_")} <= named
    assert {name for name in named if not hasattr(lda, name)} <= SOMETIMES
