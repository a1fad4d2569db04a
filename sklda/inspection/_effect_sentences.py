"""Effects of covariates on topic proportions in words: draft sentences for a paper."""

from __future__ import annotations

import re
from importlib.metadata import version

import numpy as np
from pandas import DataFrame

# A term that is a level of a category, and no product of several.
_LEVEL = re.compile(r"^(?:C\()?(?P<name>[^\[\]():]+)\)?\[(?:T\.)?(?P<level>(?:(?!\]:).)*)\]$")
_KEYS = ["topic", "term"]


def effect_sentences(
    effects: DataFrame,
    *,
    permutations: DataFrame | None = None,
    over_fits: DataFrame | None = None,
) -> list[str]:
    """Draft sentences for a paper from a table of effects: one for each effect, and one that says what was done.

    Parameters
    ----------
    effects : pandas.DataFrame
        That of `topic_effects`, or some of its rows.
    permutations : pandas.DataFrame, default=None
        That of `permutation_test`, whose p-values are added.
    over_fits : pandas.DataFrame, default=None
        That of `effects_over_fits`, of which is said how many fits have the topic, and between which ends its effects
        lie.

    Returns
    -------
    list of str
        A sentence or several for each row of a term other than the intercept, in the order of `effects`, and last those
        on the method.

    Raises
    ------
    ValueError
        If `effects` is not a table of `topic_effects`, or lacks what it says of itself in ``attrs``, which a file does
        not keep.

    See Also
    --------
    topic_effects, permutation_test, effects_over_fits : The tables.

    Notes
    -----
    The sentences are a draft: they say nothing about causes, and nothing about other topics that were looked at and
    left out.

    Examples
    --------
    >>> import numpy as np
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.inspection import effect_sentences, topic_effects
    >>> X = make_lda_corpus(60, 30, 2, random_state=0).data
    >>> lda = GibbsLDA(2, max_iter=50, random_state=0).fit(X).set_topic_names(["war", "peace"])
    >>> effects = topic_effects(lda, X, {"side": ["north", "south"] * 30}, topics=["war"], random_state=0)
    >>> first, method = effect_sentences(effects)
    >>> first.startswith("The mean proportion of topic 0 (war) is") and " for side south than for north" in first
    True
    """
    if not {"topic", "name", "term", "base", "estimate", "low", "high", "found_in"} <= set(effects) or (
        "level" not in effects.attrs
    ):
        raise ValueError(
            "effects must be a table of topic_effects, as it was returned: one that was read from a file, or made of "
            "several, has lost its attrs, which say what was done."
        )
    if not len(effects):
        raise ValueError("effects has no row, so there is nothing to say: give the rows of at least one term.")
    rows, terms = effects[effects["term"] != "intercept"], effects["term"].unique().tolist()
    sentences = []
    for row in rows.itertuples():
        parts = _effect(row, terms, effects.attrs), _permuted(row, permutations), _again(row, over_fits)
        sentences.append(" ".join(part for part in parts if part))
    return [*sentences, _method(effects, over_fits)]


def _effect(row, terms, facts):
    """The effect of one row of a table with these terms."""
    level = _LEVEL.match(row.term)
    if row.base and level:
        size = "larger" if row.estimate > 0 else "smaller"
        what = (
            f"is {_points(abs(row.estimate))} percentage points {size} for {level['name']} {level['level']} than for "
        )
        what += row.base
    elif row.base:
        what = f"changes by {_signed(row.estimate)} percentage points with {row.term}, compared with {row.base}"
    else:
        what = f"changes by {_signed(row.estimate)} percentage points when {row.term} grows by one"
    if any(f":{row.term}:" in f":{term}:" for term in terms if term != row.term):
        what += ", where its products with other terms are zero"
    said = f"The mean proportion of topic {_topic(row.name)} {what}"
    if np.isnan(row.low):
        return f"{said}; its error is not known."
    interval = f"{100 * facts['level']:g} % interval {_signed(row.low)} to {_signed(row.high)}"
    either = ", so it may have either sign" if row.low < 0 < row.high else ""
    return f"{said} ({interval}, p {_p_value(row.p_value)}){either}."


def _permuted(row, permutations):
    """The permutation test of this effect."""
    own = _same(row, permutations)
    if own is None or not len(own):
        return ""
    own = own.iloc[0]
    done = f"{own['permutations']:,} exchanges between {own['units']:,} {own['exchanged']}"
    return f"A permutation test ({done}) has p {_p_value(own['p_value'])}."


def _again(row, over_fits):
    """The effect in other fits."""
    own = _same(row, over_fits)
    if own is None or not (own["fit"] > 0).any():
        return ""
    own = own[own["fit"] > 0]
    found = own.loc[own["found"], "estimate"]
    *most, last = sorted(own["n_components"].unique())
    numbers = f"{', '.join(map(str, most))} or {last}" if most else str(last)
    said = f"Of {len(own)} further fits with {numbers} topics, {len(found)} found this topic"
    if not len(found):
        return f"{said}."
    same = int((np.sign(found) == np.sign(row.estimate)).sum())
    ends = " to ".join(dict.fromkeys([_signed(found.min()), _signed(found.max())]))
    return f"{said}; there the effect is {ends}, in {same} of the same sign."


def _method(effects, over_fits):
    """What was done."""
    facts = effects.attrs
    n_clusters = facts["n_clusters"]
    errors = "HC2 errors" if n_clusters is None else f"CR2 errors for {n_clusters:,} clusters"
    weighted = "weighted " if facts["has_weights"] else ""
    said = (
        f"Topics are those of a {facts['model']} with {facts['n_topics']} topics (sklda {version('sklda')}); effects "
        f"are {weighted}least squares of posterior draws of the topic proportions of {facts['n_documents']:,} "
        f"documents, by the method of composition, with {errors}."
    )
    low, high = effects["attenuation"].min(), effects["attenuation"].max()
    if low < 1:
        parts = " to ".join(dict.fromkeys([f"{100 * low:.0f}", f"{100 * high:.0f}"]))
        said += f" The prior of the proportions shrinks effects: by simulation, {parts} % of them are left."
    if facts["n_chains"] > 1:
        fewest = int(effects["found_in"].min())
        by = f"all {fewest}" if fewest == facts["n_chains"] else f"at least {fewest} of {facts['n_chains']}"
        said += f" Each of these topics was found by {by} chains or fits."
    return said


def _same(row, table):
    """The rows of another table on the same topic and term; None without a table."""
    if table is None:
        return None
    same = [each == (row.topic, row.term) for each in zip(table["topic"], table["term"], strict=True)]
    return table.loc[np.array(same, dtype=bool)]


def _topic(name):
    """The name of a topic: its number, with its words or name in brackets."""
    number, colon, words = name.partition(": ")
    return f"{number} ({words})" if colon and number.isdigit() else name


def _points(value):
    """A proportion in percent, with two digits."""
    return np.format_float_positional(100 * value, precision=2, fractional=False, trim="-")


def _signed(value):
    sign = "\N{MINUS SIGN}" if value < 0 else "+"
    return f"{sign}{_points(abs(value))}"


def _p_value(value):
    return "< 0.001" if value < 0.001 else f"= {value:.2f}" if value >= 0.1 else f"= {value:.2g}"
