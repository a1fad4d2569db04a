"""Tasks for people: do they see in words and texts what the topics of a model say?"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import pandas as pd

from sklda._core import random
from sklda._core.largest import largest
from sklda._description.view import View, view
from sklda._input.arguments import check_choice, check_int, check_level, path_of
from sklda._input.names import listed, read_names
from sklda._input.types import Data, Model, Seed, Values
from sklda.inspection._coding_results import CodingResults, coding_results
from sklda.inspection._html_page import html_page
from sklda.inspection._texts import Texts, beginning, texts_of
from sklda.inspection._theta import theta_draws

# Words of a topic that are shown, as of Chang et al. (2009), and those of another topic among which an intruder is.
_N_WORDS, _POOL = 5, 10
# Words of a topic without a name, and topics and documents beside an intruder.
_NAME_WORDS, _N_SHOWN = 8, 3
_KINDS = "words", "topics", "documents", "coding"
# What the page says; its script has the English words.
_WORDING = "question", "name", "start", "back", "next", "none", "done", "save"
_NUMBERS = ["item", "choice", "seconds"]


@dataclass(repr=False)
class CodingTask:
    """Questions to people about the topics of a model, which they answer on a page of their own.

    `from_estimator` makes one, `to_html` writes the page, and `results` reads the answers. :ref:`coding` has the way
    from a fit to the sentence in a paper.

    Parameters
    ----------
    kind : {"words", "topics", "documents", "coding"}
        See `from_estimator`.
    labels : list of str
        The topics, or the categories of a coding.
    items : list of dict
        In the order of the page: ``text`` (str), ``options`` (list of str; not of a coding, whose options are the
        categories), ``right`` (the place of the right option), ``topic`` (a place in `labels`). Of a coding also
        ``weight`` (documents that this one stands for) and ``shares`` (draws of the shares of the categories).

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import load_docstrings
    >>> from sklda.inspection import CodingTask, describe
    >>> corpus = load_docstrings()
    >>> lda = GibbsLDA(5, doc_topic_prior=0.1, max_iter=20, random_state=0).fit(corpus.data)
    >>> named = describe(lda, vocabulary=corpus.feature_names)
    >>> task = CodingTask.from_estimator(named, kind="words", random_state=0)
    >>> len(task.items), len(task.items[0]["options"])
    (5, 6)

    The page goes to the coders, and the task, which has the key, stays here:

    >>> folder = Path(tempfile.mkdtemp())
    >>> task.to_html(folder / "words.html", wording={"start": "Begin"})
    >>> task.save(folder / "words.json")

    Their answers come back as files. Here is one that a program wrote:

    >>> rows = [f"{task.id},Ann,{i + 1},{item['right'] + 1},5" for i, item in enumerate(task.items)]
    >>> _ = (folder / "ann.csv").write_text("task,coder,item,choice,seconds\\n" + "\\n".join(rows))
    >>> results = CodingTask.load(folder / "words.json").results(folder / "ann.csv")
    >>> float(results.overall["right"]), round(float(results.overall["low"]), 2)
    (1.0, 0.57)
    """

    kind: Literal["words", "topics", "documents", "coding"]
    labels: list[str]
    items: list[dict[str, Any]]

    @classmethod
    def from_estimator(
        cls,
        estimator: Model,
        X: Data | None = None,
        *,
        kind: Literal["words", "topics", "documents", "coding"],
        texts: Sequence[str] | None = None,
        categories: Values | None = None,
        topics: Values | None = None,
        n_items: int = 1,
        passage_length: int = 100,
        random_state: Seed = None,
    ) -> Self:
        """Make the questions.

        Parameters
        ----------
        estimator : estimator, pipeline, or pair (topic_word, doc_topic)
            A fitted topic model with ``components_``, a pipeline or search that has one, or arrays of shapes
            (n_components, n_features) and (n_documents, n_components). `describe` adds names of words, topics and
            documents.
        X : array-like, sparse matrix, or whatever a pipeline takes, default=None
            Documents; those of the fit, or others. Not used for words.
        kind : {"words", "topics", "documents", "coding"}
            What a coder is asked:

            - ``"words"``: five words of a topic and an intruder, a word that has a low probability in this topic and
              is among the ten most probable ones of another (word intrusion, Chang et al. 2009);
            - ``"topics"``: a text and four topics, the three with the largest shares in it and an intruder from the
              half with the smallest shares (topic intrusion). Topics have their names, or their eight most probable
              words. A text that is of one topic has no second and third to be seen: ask for a coding then;
            - ``"documents"``: passages of three documents that are closest to a topic, and of one that is closest to
              another topic;
            - ``"coding"``: which topic a text is about, or which of your own categories.
        texts : sequence of n_documents str, default=None
            Texts. None: X, if a pipeline takes texts.
        categories : sequence of n_components str, default=None
            Of a coding: the category to which each topic belongs. Several topics may have the same. None: the names of
            the topics, or their eight most probable words.
        topics : sequence of int or str, default=None
            Topics that are asked for. None: all of them.
        n_items : int, default=1
            Questions for each topic, or category of a coding; fewer, if it has fewer documents. Several questions on
            the words of a topic show different words. Texts of topics and codings are drawn from the documents in which
            the topic, or a topic of the category, has the largest share.
        passage_length : int, default=100
            Number of words of a text. Longer ones are cut after these, except that a document is shown where most words
            have its topic, when topics are compared by their documents.
        random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
            Seed of the choice of intruders and documents, of the order of items and options, and of the draws of
            shares.

        Returns
        -------
        CodingTask

        Raises
        ------
        ValueError, TypeError
            If the model is not one that this function takes, an argument does not fit it, texts are needed and not
            known, or there are too few topics, words or documents for one question.

        References
        ----------
        Chang, Boyd-Graber, Gerrish, Wang & Blei (2009). Reading tea leaves: how humans interpret topic models. NIPS 22.
        """
        check_choice(kind, "kind", _KINDS)
        n_items, passage_length = check_int(n_items, "n_items", 1), check_int(passage_length, "passage_length", 1)
        if categories is not None and kind != "coding":
            raise ValueError(f"categories are for kind='coding'; kind={kind!r} shows topics by names, see describe.")
        if kind == "words":
            found = view(estimator, needs="topics")
        else:
            found = view(estimator, X, needs="proportions", texts=texts)
        given, chosen = texts_of(found), found.chosen(topics).tolist()
        if given is None and kind != "words":
            raise ValueError(f"kind={kind!r} shows texts: give them.")
        reader = Texts(found, np.arange(found.n_features), given)
        seed = random.seed_sequence(random_state)
        rng = np.random.default_rng(random.child(seed, 0))
        if kind == "coding":
            names, items = _codings(
                found, chosen, categories, n_items, rng, reader, passage_length, random.child(seed, 1)
            )
        else:
            make = {"words": _words, "topics": _topics, "documents": _documents}[kind]
            names, items = found.labels(chosen), list(make(found, chosen, n_items, rng, reader, passage_length))
        if not items:
            raise ValueError("the topics have too few documents with a text.")
        return cls(kind, names, [items[i] for i in rng.permutation(len(items))])

    def __repr__(self) -> str:
        return f"<{self.kind} task of {len(self.items)} questions>"

    @property
    def id(self) -> str:
        """The letters by which answers are known to belong to this task. They depend only on what is shown."""
        return hashlib.sha256(json.dumps(self._shown).encode()).hexdigest()[:10]

    @property
    def _shown(self) -> dict[str, Any]:
        """What the page has of the task: all but the key."""
        items = [{key: item[key] for key in ("text", "options") if key in item} for item in self.items]
        return {"kind": self.kind, "items": items, "labels": self.labels if self.kind == "coding" else None}

    def to_html(
        self,
        path: str | PathLike[str] | None = None,
        *,
        title: str = "",
        language: str = "en",
        wording: Mapping[str, str] | None = None,
    ) -> str | None:
        """The page for coders, as one self-contained file that fetches nothing and does not have the key.

        A coder gives a name, answers, and gets a file to send back. The answers are kept in the browser, so that the
        page may be closed in between. Digits choose an option, arrow keys move, Backspace goes back.

        Parameters
        ----------
        path : str or os.PathLike, default=None
            The file to write, UTF-8. None: the page is returned.
        title : str, default=""
        language : str, default="en"
            Of the page, such as "he" or "pt-BR"; it says whether the page is read from the right.
        wording : dict of {str: str}, default=None
            What takes the place of the English words: ``question``, ``name``, ``start``, ``back``, ``next``, ``none``
            (of a coding, "None of these"), ``done``, ``save``.

        Returns
        -------
        str or None
            The page; None if it is written to a file.

        Raises
        ------
        ValueError
            If `wording` has another key.
        """
        unknown = [key for key in wording or () if key not in _WORDING]
        if unknown:
            raise ValueError(f"wording has {listed(unknown)}; its keys are {listed(list(_WORDING))}.")
        data = self._shown | {"task": self.id, "wording": dict(wording or {})}
        page = html_page("coding", data, title=title, language=language)
        if path is None:
            return page
        path_of(path).write_text(page, encoding="utf-8", newline="\n")
        return None

    def save(self, path: str | PathLike[str]) -> None:
        """Write the task with its key, as JSON; `load` reads it."""
        path_of(path).write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a task that `save` has written."""
        return cls(**json.loads(path_of(path).read_text(encoding="utf-8")))

    def results(
        self, files: str | PathLike[str] | Sequence[str | PathLike[str]], *, level: float = 0.95
    ) -> CodingResults:
        """What the answers say: a table, and a plot.

        Parameters
        ----------
        files : path, or sequence of paths
            The file of each coder.
        level : float, default=0.95
            Probability of the intervals.

        Returns
        -------
        CodingResults

        Raises
        ------
        ValueError
            If a file has no answers, or those to another task, or to questions that there are not, or if two files are
            of the same coder.
        """
        tables = [self._read(path_of(f)) for f in ([files] if isinstance(files, (str, PathLike)) else files)]
        if not tables:
            raise ValueError("files is empty: give the file of each coder.")
        answers = pd.concat(tables, ignore_index=True)
        twice = answers[answers.duplicated(["coder", "item"])]
        if len(twice):
            coder, item = twice.iloc[0][["coder", "item"]]
            raise ValueError(f"{coder!r} answers item {item} twice: give each coder one file, and coders other names.")
        return coding_results(self.kind, self.labels, self.items, answers, check_level(level))

    def _read(self, path: Path) -> pd.DataFrame:
        """The answers of a file: coder, item (from 1), choice (from 1), seconds."""
        table = pd.read_csv(path, encoding="utf-8-sig", dtype=str, keep_default_na=False)
        missing = [column for column in ("task", *_NUMBERS, "coder") if column not in table]
        if missing or not len(table):
            raise ValueError(
                f"{path} is not the file of a coder: it has no {listed(missing) if missing else 'answers'}."
            )
        if others := set(table["task"]) - {self.id}:
            raise ValueError(f"{path} has answers to another task: {listed(sorted(others))} in place of {self.id!r}.")
        found = table[["coder"]].join(table[_NUMBERS].apply(pd.to_numeric, errors="coerce"))
        n_options = len(self.items[0].get("options", [*self.labels, "none"]))
        for column, most in (("item", len(self.items)), ("choice", n_options)):
            wrong = table[column][~found[column].isin(range(1, most + 1))]
            if len(wrong):
                raise ValueError(f"{path} has the {column} {wrong.iloc[0]!r}; they are from 1 to {most}.")
        return found.astype({"item": int, "choice": int})


# --- Items -------------------------------------------------------------------------------------------------------


def _item(rng: np.random.Generator, topic: int, text: str, shown: list[str], intruder: str) -> dict[str, Any]:
    """An item with the intruder at a random place."""
    order = rng.permutation(len(shown) + 1)
    options = [[*shown, intruder][i] for i in order]
    return {"text": text, "options": options, "right": int(np.argmax(order)), "topic": topic}


def _words(found, topics, n_items, rng, *_):
    """Items of `kind="words"`."""
    phi = found.topic_word
    is_top = np.zeros(phi.shape, bool)
    for k, row in enumerate(phi):
        is_top[k, largest(row, _POOL)] = True
    is_top &= phi > 0
    for i, k in enumerate(topics):
        own = largest(phi[k], _N_WORDS * n_items)
        others = np.setdiff1d(np.flatnonzero(np.delete(is_top, k, axis=0).any(axis=0)), own)
        # Those that are least probable here.
        rare = others[np.argsort(phi[k, others], kind="stable")][: max(len(others) // 2, n_items)]
        if len(own) < _N_WORDS * n_items or not phi[k, own].all() or len(rare) < n_items:
            raise ValueError(
                f"topic {k} or the others have too few words for {n_items} items of {_N_WORDS} words and an intruder."
            )
        for j, intruder in enumerate(rng.choice(rare, n_items, replace=False)):
            yield _item(rng, i, "", [found.words[v] for v in own[j::n_items]], found.words[intruder])


def _topics(found, topics, n_items, rng, reader, passage_length):
    """Items of `kind="topics"`."""
    if found.n_topics <= _N_SHOWN:
        raise ValueError(f"the model has {found.n_topics} topics; kind='topics' shows {_N_SHOWN} and an intruder.")
    names = _names(found)
    for i, k in enumerate(topics):
        for d in _drawn(found, np.arange(found.n_topics) == k, n_items, reader, rng)[0]:
            order = np.argsort(-found.doc_topic[d], kind="stable")
            intruder = rng.choice(order[max(_N_SHOWN, found.n_topics // 2) :])
            shown = [names[j] for j in order[:_N_SHOWN]]
            yield _item(rng, i, beginning(reader.texts[d], passage_length), shown, names[intruder])


def _documents(found, topics, n_items, rng, reader, passage_length):
    """Items of `kind="documents"`."""
    rows = [found.closest(k, (_N_SHOWN + 1) * n_items) for k in range(found.n_topics)]
    passages = reader.passages(rows, passage_length)
    main, pairs = found.main_topics, [list(zip(*both, strict=True)) for both in zip(rows, passages, strict=True)]
    pairs = [[(d, text) for d, text in pool if text and main[d] == k] for k, pool in enumerate(pairs)]
    for i, k in enumerate(topics):
        own, share = pairs[k][: _N_SHOWN * n_items], found.doc_topic[:, k]
        middle, rest = np.median(share[found.used]), [pair for j, pool in enumerate(pairs) if j != k for pair in pool]
        others = [text for d, text in rest if share[d] <= middle]
        n = min(n_items, len(own) // _N_SHOWN, len(others))
        for j, intruder in enumerate(rng.permutation(len(others))[:n]):
            yield _item(rng, i, "", [text for _, text in own[: _N_SHOWN * n]][j::n], others[intruder])


def _codings(found, topics, categories, n_items, rng, reader, passage_length, seed):
    """The categories, and the items of `kind="coding"`."""
    given = _names(found) if categories is None else categories
    given = read_names(given, "categories", found.n_topics, "topic")
    names = list(dict.fromkeys(given[k] for k in topics))
    belongs = np.array([[k in topics and given[k] == name for name in names] for k in range(found.n_topics)])
    items, rows = [], []
    for i in range(len(names)):
        drawn, weight = _drawn(found, belongs[:, i], n_items, reader, rng)
        rows += drawn
        for d in drawn:
            items.append({"text": beginning(reader.texts[d], passage_length), "right": i, "topic": i, "weight": weight})
    draws = theta_draws(found, np.array(rows, int), seed).theta if rows else ()
    shares = [np.round(np.nan_to_num(theta) @ belongs, 3) for theta in draws]
    for j, item in enumerate(items):
        item["shares"] = [each[j].tolist() for each in shares]
    return names, items


def _names(found: View) -> list[str]:
    """What a coder sees of each topic."""
    return found.names or [", ".join(found.top(k, _NAME_WORDS)) for k in range(found.n_topics)]


def _drawn(found: View, topics: np.ndarray, n: int, reader: Texts, rng: np.random.Generator) -> tuple[list[int], float]:
    """At most n documents with a text whose main topic is one of `topics`, and how many each of them stands for."""
    main = found.main_topics
    rows = [d for d in found.used.tolist() if topics[main[d]] and reader.texts[d].strip()]
    drawn = rng.choice(rows, min(n, len(rows)), replace=False).tolist() if rows else []
    return drawn, len(rows) / max(len(drawn), 1)
