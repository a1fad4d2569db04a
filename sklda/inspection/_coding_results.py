"""What the answers of coders say of topics, with intervals that know coders and items."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from pandas import DataFrame
from scipy.stats import binom, norm, t

from sklda._input.names import plain_texts
from sklda.inspection._axes import PanelsDisplay, colours_of
from sklda.inspection._panels import SHARES, draw_points, name_rows, new_rows, style_rows

# Resamples of coders and documents for the intervals of a coding, and their seed.
_N_RESAMPLES, _SEED = 1000, 0


@dataclass(eq=False, repr=False)
class CodingResults(PanelsDisplay):
    """What coders answered to a `CodingTask`, whose `results` makes this. `plot` draws the table.

    Parameters
    ----------
    table : DataFrame
        A row for each topic, or category of a coding, see Notes.
    overall : dict
        The same of all topics together.
    answers : DataFrame
        A row for each answer: ``coder``, ``item`` (from 1), ``topic``, ``choice`` (from 1), ``right`` and ``seconds``.

    Attributes
    ----------
    axes_, figure_ : array of matplotlib Axes, matplotlib Figure

    Notes
    -----
    **Intruders.** ``table`` has ``topic``, ``items``, ``answers``, ``right`` (share of right answers), ``low`` and
    ``high`` (its interval), ``above_chance`` and ``seconds`` (their median). A topic is above chance if so many right
    answers have at most the probability ``(1 - level) / 2`` when each coder guesses: three coders who all find the
    intruder of six words are enough, and one is not. ``overall`` has ``coders``, ``items``, ``answers``, ``right``,
    ``low``, ``high``, ``chance`` and ``alpha``.

    Coders differ, and so do items. The variance of a share is that of a two-way table with random rows and columns,
    var(coders) + var(items) - var(both), each from sums of deviations (Cameron, Gelbach & Miller 2011), and at least
    that of independent answers. Its ratio to the latter is the design effect, by which the answers are divided. The
    interval is Wilson's (1927) with the quantile of a t distribution whose degrees of freedom are Satterthwaite's (Korn
    & Graubard 1998). Topics have one design effect in common, because few answers do not say how items of one topic
    differ. With one coder, or one item, each answer counts, and nothing is said of other coders, or items. If all
    answers are right, or all wrong, as many count as there are items, or coders if these are more.

    **Coding.** ``table`` has ``category``, ``documents`` (items of this main topic), ``precision`` (the part of the
    topic's share that is in documents with this code) and ``recall`` (its mean share in these documents), and their
    intervals. ``overall`` has ``coders``, ``items``, ``answers``, ``agreement`` of the main topic with the codes,
    Cohen's ``kappa`` of these, its interval, and ``alpha``. Documents count by how many they stand for. Intervals are
    quantiles of 1,000 resamples of documents within categories and of coders (Owen 2007), each with a posterior draw of
    the shares: ask for several documents of each category.

    **alpha** is Krippendorff's for nominal values: the agreement of coders, 1 if they always agree and 0 if they agree
    as if they chose at random. NaN if no item has two answers, or all are the same.

    References
    ----------
    Cameron, Gelbach & Miller (2011). Robust inference with multiway clustering. JBES 29, 238-249.

    Korn & Graubard (1998). Confidence intervals for proportions with small expected number of positive counts estimated
    from survey data. Survey Methodology 24, 193-201.

    Krippendorff (2011). Computing Krippendorff's alpha-reliability. University of Pennsylvania.

    Owen (2007). The pigeonhole bootstrap. Annals of Applied Statistics 1, 386-411.

    Wilson (1927). Probable inference, the law of succession, and statistical inference. JASA 22, 209-212.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklda.inspection import CodingResults
    >>> table = pd.DataFrame({"topic": ["0: war army", "1: art music"], "right": [0.9, 0.3]})
    >>> table = table.assign(low=table["right"] - 0.1, high=table["right"] + 0.1)
    >>> results = CodingResults(table, {"chance": 1 / 6}, pd.DataFrame())
    >>> len(results.plot().axes_)
    1
    """

    table: DataFrame
    overall: dict[str, Any]
    answers: DataFrame

    @property
    def _measures(self) -> list[str]:
        return ["right"] if "right" in self.table else ["precision", "recall"]

    def _panels(self):
        return len(self._measures), f"one Axes for each of {', '.join(self._measures)}"

    def _new_axes(self):
        return new_rows(len(self._measures), plain_texts(self.table.iloc[:, 0]))

    def _draw(self, axes):
        # The topics that people see first.
        rows = self.table.sort_values(self._measures[0], ascending=False, kind="stable")
        for ax, measure in zip(axes, self._measures, strict=True):
            found = colours_of(ax)
            ends = ["low", "high"] if measure == "right" else [f"{measure}_low", f"{measure}_high"]
            values = rows[[measure, *ends]].to_numpy(float).T
            style = {"colour": found.line, "bounds": SHARES, "key": {}, "horizontal": True}
            draw_points(ax, np.arange(len(rows)), *values, **style)
            style_rows(ax, len(rows), SHARES)
            ax.set(xlim=(-0.02, 1.02), xlabel=measure)
            if measure == "right":
                chance = self.overall["chance"]
                ax.set_xlabel(f"right answers (dashed: by chance, {chance:.0%})")
                ax.axvline(chance, color=found.accent, lw=1.2, ls="--")
        name_rows(axes, plain_texts(rows.iloc[:, 0]))


def coding_results(
    kind: str, labels: list[str], items: list[dict[str, Any]], answers: DataFrame, level: float
) -> CodingResults:
    """The results of a task with these answers."""
    keys = DataFrame(items, index=range(1, len(items) + 1))
    own = keys.loc[answers["item"]]
    answers = answers.assign(
        topic=np.array(labels, object)[own["topic"]], right=answers["choice"].to_numpy() - 1 == own["right"].to_numpy()
    )
    choice = answers.pivot(index="coder", columns="item", values="choice").reindex(columns=keys.index)
    values = choice.fillna(0).to_numpy(int) - 1
    overall = {"coders": len(values), "items": answers["item"].nunique(), "answers": len(answers)}
    make = _coded if kind == "coding" else _found
    table, measures = make(labels, keys, values, answers, level)
    return CodingResults(table, overall | measures | {"alpha": krippendorff_alpha(values)}, answers)


# --- Intruders ---------------------------------------------------------------------------------------------------


def _found(labels, keys, values, answers, level):
    """The table of intruders, and what is of all topics."""
    right = np.where(values < 0, np.nan, values == keys["right"].to_numpy())
    own = [right[:, keys["topic"] == i] for i in range(len(labels))]
    n, sums = np.array([[np.isfinite(each).sum(), np.nansum(each)] for each in own]).T.astype(int)
    chance, columns = 1 / len(keys["options"].iloc[0]), ["right", "low", "high"]
    table = DataFrame({"topic": labels, "items": [each.shape[1] for each in own], "answers": n})
    table[columns] = crossed_intervals(own, level)
    table["above_chance"] = (n > 0) & (binom.sf(sums - 1, n, chance) <= (1 - level) / 2)
    table["seconds"] = [answers["seconds"][answers["topic"] == label].median() for label in labels]
    (overall,) = crossed_intervals([right], level)
    return table, dict(zip(columns, overall, strict=True)) | {"chance": chance}


def crossed_intervals(tables: list[np.ndarray], level: float) -> list[tuple[float, float, float]]:
    """The share of ones in each table and its interval, with one design effect for all of them.

    A table (n_coders, n_items) has NaN where an answer is absent.
    """
    tables = [each[np.isfinite(each).any(axis=1)][:, np.isfinite(each).any(axis=0)] for each in tables]
    sizes, freedom, base = [], [], 0.0
    for right in tables:
        if min(right.shape) > 1:
            known, (n_coders, n_items), n = np.isfinite(right), right.shape, np.isfinite(right).sum()
            share = np.nanmean(right)
            deviation = np.where(known, right - share, 0)
            of_coders, of_items = deviation.sum(axis=1, keepdims=True), deviation.sum(axis=0, keepdims=True)
            left = (
                deviation - of_coders / known.sum(axis=1, keepdims=True) - of_items / known.sum(axis=0, keepdims=True)
            )
            own = np.array([n_coders - 1, n_items - 1, max(n - n_coders - n_items + 1, 1)])
            sums = np.array(
                [n_coders * (of_coders**2).sum(), n_items * (of_items**2).sum(), n * (left[known] ** 2).sum()]
            )
            sizes.append(sums / own / n)
            freedom.append(own)
            base += share * (1 - share)
    quantile, effect = norm.isf((1 - level) / 2), 0.0
    if base:
        coders, items, both = pooled = np.sum(sizes, axis=0)
        variance = max(coders + items - both, coders, items, base)
        spread = (pooled**2 / np.sum(freedom, axis=0)).sum()
        quantile = t.isf((1 - level) / 2, max(variance**2 / spread, 1))
        effect = variance / base
    found = []
    for right in tables:
        if not right.size:
            found.append((np.nan, 0.0, 1.0))
            continue
        share = float(np.nanmean(right))
        square = quantile**2 * (effect / np.isfinite(right).sum() if effect else 1 / max(right.shape))
        middle, half = share + square / 2, np.sqrt(square * (share * (1 - share) + square / 4))
        # Rounding must not leave the unit interval.
        low, high = np.clip([middle - half, middle + half], 0, 1 + square) / (1 + square)
        found.append((share, float(low), float(high)))
    return found


def krippendorff_alpha(values: np.ndarray) -> float:
    """Krippendorff's alpha of nominal values from 0 on, (n_coders, n_items); -1 where one is absent."""
    counts = np.stack([(values == each).sum(axis=0) for each in range(values.max() + 1)], axis=1).astype(float)
    counts = counts[counts.sum(axis=1) > 1]
    n = counts.sum()
    # Pairs of values of one item that agree, and pairs of any two values.
    agree = (counts * (counts - 1) / (counts.sum(axis=1, keepdims=True) - 1)).sum()
    sums = counts.sum(axis=0)
    expected = 1 - (sums * (sums - 1)).sum() / (n * (n - 1)) if n else 0
    return float(1 - (1 - agree / n) / expected) if expected else np.nan


# --- Coding ------------------------------------------------------------------------------------------------------


def _coded(labels, keys, values, answers, level):
    """The table of a coding, and what is of all categories."""
    weight, main, n = keys["weight"].to_numpy(), keys["topic"].to_numpy(), len(labels)
    draws = np.array(keys["shares"].tolist()).transpose(1, 0, 2)
    codes = (values.T[:, :, None] == np.arange(n + 1)).swapaxes(1, 2).astype(float)
    n_coders, rng, resamples = len(values), np.random.default_rng(_SEED), []
    for _ in range(_N_RESAMPLES):
        times = np.zeros(len(keys))
        for i in np.unique(main):
            own = np.flatnonzero(main == i)
            times[own] = np.bincount(rng.integers(len(own), size=len(own)), minlength=len(own))
        coders = np.bincount(rng.integers(n_coders, size=n_coders), minlength=n_coders)
        coded = codes @ coders * (weight * times)[:, None]
        resamples.append(_agreement(coded, main, draws[rng.integers(len(draws))]))
    with warnings.catch_warnings(action="ignore"):
        # Labels without a code have no interval.
        ends = np.nanquantile(resamples, [(1 - level) / 2, (1 + level) / 2], axis=0)
    found = np.vstack([_agreement(codes.sum(axis=2) * weight[:, None], main, draws.mean(axis=0)), ends])
    columns = {"category": labels, "documents": np.bincount(main, minlength=n)}
    for name, own in (("precision", found[:, 2 : 2 + n]), ("recall", found[:, 2 + n :])):
        columns |= dict(zip([name, f"{name}_low", f"{name}_high"], own, strict=True))
    kappa = dict(zip(["kappa", "kappa_low", "kappa_high"], found[:, 1].tolist(), strict=True))
    return DataFrame(columns), {"agreement": float(found[0, 0])} | kappa


def _agreement(coded: np.ndarray, main: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Agreement, kappa, precision and recall of categories; `coded` (n_items, n_labels + 1) has weights of codes."""
    n = shares.shape[1]
    joint = np.zeros((n + 1, n + 1))
    np.add.at(joint, main, coded)
    joint /= joint.sum()
    agreement, expected = np.trace(joint), joint.sum(axis=0) @ joint.sum(axis=1)
    both, of_topic = (shares * coded[:, :n]).sum(axis=0), coded.sum(axis=1) @ shares
    with np.errstate(invalid="ignore", divide="ignore"):
        kappa = (agreement - expected) / (1 - expected)
        return np.concatenate([[agreement, kappa], both / of_topic, both / coded[:, :n].sum(axis=0)])
