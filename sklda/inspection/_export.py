"""The results of a model as files that a spreadsheet and other programs read."""

from __future__ import annotations

import json
import math
import os
import platform
import shutil
from collections.abc import Sequence
from dataclasses import asdict, is_dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from pandas import DataFrame

from sklda._description.view import View, view
from sklda._input.arguments import check_int, path_of
from sklda._input.names import listed
from sklda._input.types import Data, Model
from sklda.inspection._groups import GroupShares, group_shares
from sklda.inspection._ranking import Ranking
from sklda.inspection._tables import closest_documents, proportions_of
from sklda.inspection._texts import texts_of
from sklda.inspection._topic_table import columns_of, table_of, topic_names_of

_MODEL = "model.json"
# The files, and what `model.json` says of them.
_FILES = {
    "keys.csv": "the topics: number, name, Dirichlet parameter, most probable words",
    "proportions.csv": "the topic proportions of the documents, with standard deviations where the model has them",
    "report.csv": "the topics: words, shares with errors, stability, coherence, exclusivity, typical documents",
    "documents.csv": "the documents with the largest proportions of each topic, and passages of their texts",
    "groups.csv": "the mean topic proportions in groups of documents, such as books",
    "words.csv": "the probabilities of all words in the topics, and how often the words occur in the documents",
    _MODEL: "the model: parameters, names of topics, learnt priors, diagnostics, versions",
}
# Where files are written before they are moved to their places, and the ones before are in the meantime.
_BESIDE, _OLD = ".sklda-new", "old"
_FITTED = (
    *("doc_topic_prior_", "topic_word_prior_", "n_iter_", "n_burn_in_", "n_draws_", "n_components_", "best_chain_"),
    *("sampler_", "diagnostics_", "collections_", "doc_concentration_", "covariate_names_"),
)
# Documents of a topic in `documents.csv`, and words of their passages.
_N_DOCUMENTS, _PASSAGE_LENGTH = 5, 50
# Words of a topic in `report.csv`.
_N_WORDS = 10
# Values of a parameter that are written; of more, their number is.
_MOST_VALUES = 1000


def export_results(
    estimator: Model,
    X: Data | None = None,
    *,
    texts: Sequence[str] | None = None,
    groups: ArrayLike | None = None,
    missing: Literal["raise", "drop"] = "raise",
    folder: str | os.PathLike[str],
    n_words: int = 20,
) -> None:
    """Write the topics, the proportions of documents, the report and the settings of a model to a folder.

    Tables are CSV files in UTF-8 with a byte order mark, so that spreadsheets show all letters. R reads them with
    ``read.csv(..., fileEncoding="UTF-8-BOM", na.strings="")``, and pandas with ``read_csv(..., keep_default_na=False,
    na_values=[""])``: by default both take the words "NA" and "nan" for missing values.

    Parameters
    ----------
    estimator : estimator, pipeline, or pair (topic_word, doc_topic)
        A fitted topic model with ``components_``, a pipeline or search that has one, or arrays of shapes (n_components,
        n_features) and (n_documents, n_components). `describe` adds names of words, topics and documents.
    X : array-like, sparse matrix, or whatever a pipeline takes, default=None
        Documents: those of the fit, or others. None: those of `describe`.
    texts : sequence of n_documents str, default=None
        Texts. None: X, if a pipeline takes texts; otherwise there are no passages.
    groups : sequence of n_documents hashable labels, default=None
        Groups of the documents, such as the books of pieces. None: the collections of the fit, if the model has some.
    missing : {"raise", "drop"}, default="raise"
        What happens to documents without a group: an error that names them, or they are left out of the means of groups
        and a warning says so.
    folder : str or path-like
        The folder. It is made if it does not exist. Results of an earlier call are replaced, and other files are left
        as they are.
    n_words : int, default=20
        Number of words of a topic in ``keys.csv``.

    Returns
    -------
    None
        The files are:

        - ``keys.csv``: a row for each topic, as in MALLET's ``--output-topic-keys``: ``topic``, ``name`` (that of the
          topic, or a suggested one), ``prior`` (its Dirichlet parameter alpha, if the model has one), ``words``
        - ``proportions.csv``: a row for each document, as in ``--output-doc-topics``; see `document_table`
        - ``report.csv``: a row for each topic, see `topic_table`; lists are joined by commas
        - ``documents.csv``: the five documents with the largest proportions of each topic, a row for each: ``topic``,
          ``rank`` (from 1), ``document``, ``proportion`` and, with texts, ``passage``, see `top_documents`
        - ``groups.csv``, only with groups: a row for each group: ``group`` and the mean proportion of each topic, as
          in `topics_by_group` with ``random_state=0``, or the mixture of a collection
        - ``words.csv``: a row for each word: ``word``, ``count`` (its number of tokens in X), and its probability in
          each topic
        - ``model.json``: class and parameters of the model and of the steps before it, names of the topics, learnt
          priors, numbers of sweeps, and diagnostics. It also has the numbers of documents, words and tokens, the
          versions of Python and of packages, and what each file contains

    Raises
    ------
    ValueError
        If X is None and unknown, or has no words; if the folder is a file, or has a file with one of these names that
        no earlier call has written.
    TypeError
        If the model is not a topic model.

    See Also
    --------
    topic_table : The table of the topics.
    TopicExplorer : The topics as a page.

    Notes
    -----
    The files appear when all of them are written, ``model.json`` last. After an error or Ctrl-C the folder is as it was
    before. If a call is killed while it moves its files, the next one finishes this. Numbers have six significant
    digits in tables. Lone surrogates, such as half an emoji, which UTF-8 does not have, become question marks.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklda import GibbsLDA
    >>> from sklda.inspection import export_results
    >>> texts = ["cats chase mice", "mice fear cats", "rates and loans", "banks give loans"] * 5
    >>> model = make_pipeline(CountVectorizer(), GibbsLDA(2, max_iter=20, random_state=0)).fit(texts)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_results(model, texts, folder=Path(folder, "results"))
    ...     print(*sorted(path.name for path in Path(folder, "results").iterdir()))
    documents.csv keys.csv model.json proportions.csv report.csv words.csv
    """
    check_int(n_words, "n_words", 1)
    path = path_of(folder)
    _finish_move(path)
    _check_folder(path)
    found = view(estimator, X, needs="counts", texts=texts, missing=missing, groups=groups)
    report = _report(found)
    shares = group_shares(found)
    tables = {
        "keys.csv": _keys(found, n_words),
        "proportions.csv": proportions_of(found),
        "report.csv": report.assign(**{name: report[name].map(", ".join) for name in _lists_of(report)}),
        "documents.csv": _documents(found, texts_of(found)),
        **({} if shares is None else {"groups.csv": _groups(found, shares)}),
        "words.csv": _words(found),
    }
    facts = _facts(found) | {"files": {name: _FILES[name] for name in (*tables, _MODEL)}}
    is_new = not path.exists()
    path.mkdir(parents=True, exist_ok=True)
    beside = path / _BESIDE
    try:
        beside.mkdir()
        for name, table in tables.items():
            table.to_csv(
                beside / name,
                index=False,
                encoding="utf-8-sig",
                errors="replace",
                # A carriage return in a cell is quoted only if lines end with one.
                lineterminator="\r\n",
                float_format="%.6g",
                na_rep="",
            )
        text = json.dumps(facts, ensure_ascii=False, allow_nan=False, indent=2)
        (beside / _MODEL).write_text(text + "\n", encoding="utf-8", errors="replace", newline="\n")
        _move(beside, path)
    except BaseException:
        # Also Ctrl-C.
        if is_new:
            shutil.rmtree(path, ignore_errors=True)
        raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _check_folder(folder: Path) -> None:
    """A ValueError if the folder has files of these names that no earlier call has written."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ValueError(f"{folder} is a file: give the path of a folder.")
    there = [name for name in _FILES if (folder / name).exists()]
    if there and not _is_own(folder / _MODEL):
        raise ValueError(
            f"the folder {folder} has {listed(there)}, which no earlier call has written: give another folder, so that "
            "these are not replaced."
        )


def _is_own(path: Path) -> bool:
    """Whether a file is the description of a model by an earlier call."""
    try:
        return "sklda" in json.loads(path.read_text(encoding="utf-8"))["versions"]
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _finish_move(folder: Path) -> None:
    """If an earlier call was killed, move its files to their places, or delete them if they are not complete."""
    beside = folder / _BESIDE
    if (beside / _OLD).exists():
        for name in _FILES:
            if (beside / name).exists():
                os.replace(beside / name, folder / name)
    shutil.rmtree(beside, ignore_errors=True)


def _move(beside: Path, folder: Path) -> None:
    """Move the new files to their places, `model.json` last. After an error the old ones are back."""
    old = beside / _OLD
    old.mkdir()
    try:
        for name in reversed(_FILES):
            if (folder / name).exists():
                os.replace(folder / name, old / name)
        for name in filter(lambda name: (beside / name).exists(), _FILES):
            os.replace(beside / name, folder / name)
    except BaseException:
        for name in _FILES:
            # A file that is no longer beside is in its place.
            if not (beside / name).exists():
                (folder / name).unlink(missing_ok=True)
            if (old / name).exists():
                os.replace(old / name, folder / name)
        raise


def _keys(found: View, n_words: int) -> DataFrame:
    topics = range(found.n_topics)
    ranking = Ranking(found, "probability")
    columns: dict[str, Any] = {
        "topic": topics,
        "name": topic_names_of(found),
    }
    alpha = np.asarray(getattr(found.model, "doc_topic_prior_", np.nan), dtype=np.float64)
    if alpha.ndim < 2 and not np.isnan(alpha).any():
        columns["prior"] = np.broadcast_to(alpha, found.n_topics)
    n = min(n_words, found.n_features)
    columns["words"] = [", ".join(found.words[v] for v in ranking.top(k, n)) for k in topics]
    return DataFrame(columns)


def _report(found: View) -> DataFrame:
    """All that `topic_table` has of the topics, but for the probabilities, which are in `words.csv`."""
    makers = columns_of(found, Ranking(found), _N_WORDS)
    left_out = "probabilities", "word_shares"
    return table_of(found, makers, [name for name, make in makers.items() if make and name not in left_out])


def _words(found: View) -> DataFrame:
    columns: dict[str, Any] = {"word": found.words}
    if found.has_counts:
        columns["count"] = found.word_counts.astype(np.int64)
    return DataFrame(columns | dict(zip(found.titles(columns), found.topic_word, strict=True)))


def _groups(found: View, shares: GroupShares) -> DataFrame:
    columns = {"group": shares.labels}
    return DataFrame(columns | dict(zip(found.titles(columns), shares.mean.T, strict=True)))


def _documents(found: View, texts: Any) -> DataFrame:
    table = closest_documents(found, texts, _N_DOCUMENTS, _PASSAGE_LENGTH)
    rows = table.rename(columns={"documents": "document", "proportions": "proportion", "passages": "passage"})
    rows = rows.drop(columns="rows").explode([name for name in ("document", "proportion", "passage") if name in rows])
    rows.insert(rows.columns.get_loc("document"), "rank", rows.groupby("topic").cumcount() + 1)
    return rows.astype({"proportion": float})


def _lists_of(table: DataFrame) -> list[str]:
    """The columns whose cells are lists."""
    return [name for name in table.columns if isinstance(table[name].iloc[0], list)]


def _facts(found: View) -> dict[str, Any]:
    """What `model.json` has."""
    model = found.model
    steps = [
        {"name": name} | _estimator(step)
        for pipeline in found.pipelines
        for name, step in pipeline.steps[:-1]
        if step is not None and step != "passthrough"
    ]
    return {
        "model": None if model is None else _estimator(model),
        "steps_before": steps,
        "topic_names": topic_names_of(found),
        "topics_have_names": found.names is not None,
        "fitted": {name: _plain(getattr(model, name)) for name in _FITTED if getattr(model, name, None) is not None},
        "documents": {
            "number": found.n_documents,
            "tokens": int(found.lengths.sum()) if found.has_counts else float(found.lengths.sum()),
            "words": found.n_features,
            "are_those_of_the_fit": found.is_training,
        },
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("sklda", "numpy", "scipy", "scikit-learn", "pandas")},
        },
    }


def _estimator(estimator: Any) -> dict[str, Any]:
    parameters = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
    return {
        "class": f"{type(estimator).__module__.partition('.')[0]}.{type(estimator).__name__}",
        "parameters": {name: _plain(value) for name, value in parameters.items()},
    }


def _plain(value: Any) -> Any:
    """A value as JSON has it; what JSON has not as a text."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, np.ndarray):
        return _plain(value.tolist()) if value.size <= _MOST_VALUES else f"array of shape {value.shape}"
    if isinstance(value, (dict, list, tuple, set, frozenset)):
        if len(value) > _MOST_VALUES:
            return f"{type(value).__name__} of {len(value)} values"
        if isinstance(value, dict):
            return {str(key): _plain(each) for key, each in value.items()}
        return [_plain(each) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if hasattr(value, "get_params") and not isinstance(value, type):
        return _estimator(value)
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return repr(value)
