"""An interactive page of the topics of a model, in one file."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Sequence
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any, Self

from numpy.typing import ArrayLike

from sklda._core.names import check_same_order
from sklda._core.types import Data, Model, Values
from sklda._models.topic_names import checked
from sklda.inspection._explorer_data import clip, page_data
from sklda.inspection._parameters import described
from sklda.inspection._view import view
from sklda.metrics._models import Description

# Height of the page in a notebook, in pixels.
_HEIGHT = 800


class TopicExplorer:
    """An interactive page of topics, words and documents, in one HTML file that fetches nothing.

    Use `from_estimator` to make one.

    Parameters
    ----------
    data : dict
        The contents of the page.
    title : str, default="Topics"
        Title of the page.

    Notes
    -----
    The page has these panels:

    - topics by share, with their names, standard errors and stability where the fit has them;
    - the words of a topic by relevance, with a slider for lambda, and for `ConsensusTopics` the finer topics of fits;
    - the documents closest to a topic, with the topic of each token;
    - the similarity of topics as a map;
    - the topic in groups of documents;
    - a search for words, documents and names of topics.

    The page works without a network, with the keyboard, in light and dark colours. Names and texts are shown as text
    and never run. ``#topic=3`` at the end of its address opens it at topic 3, ``#theme=dark`` in dark colours.

    Large inputs are cut, and the page says so: it has at most 300 topics, 20,000 words, 20,000 documents, and the words
    of 2,000 documents.

    Examples
    --------
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.inspection import TopicExplorer
    >>> X = make_lda_corpus(30, 20, 3, random_state=0).data
    >>> explorer = TopicExplorer.from_estimator(GibbsLDA(3, max_iter=20, random_state=0).fit(X), X)
    >>> page = explorer.to_html()  # or explorer.to_html("topics.html")
    >>> page[:15]
    '<!doctype html>'
    """

    def __init__(self, data: dict[str, Any], title: str = "Topics") -> None:
        self.data, self.title = data, title

    @classmethod
    @described
    def from_estimator(
        cls,
        estimator: Model,
        X: Data | None = None,
        *,
        documents: Sequence[str] | None = None,
        groups: ArrayLike | None = None,
        title: str = "Topics",
    ) -> Self:
        """Make the page of a fitted model.

        Parameters
        ----------
        X : array-like, sparse matrix, or whatever a pipeline takes, default=None
            Documents; those of the fit, or others. None: only for models that keep topic proportions of the documents.
            Then the page has no words of documents and no corpus frequencies.
        documents : sequence of n_documents str, default=None
            Texts. None: X, if a pipeline takes texts; otherwise the page lists the words of documents.
        groups : sequence of n_documents hashable labels, default=None
            Groups such as years or sources. Documents whose label is missing (None, NaN, NaT or NA) are one group,
            None. Without groups: the collections of the fit, if the model has some.
        title : str, default="Topics"
            Title of the page.
        """
        X = Description.of(estimator, X).X
        check_same_order(X, documents, "documents")
        found = view(estimator, X, groups=groups, needs="proportions")
        if documents is not None and found.counts is None:
            raise ValueError("documents are shown with the topics of the words of X: give X, too.")
        if documents is None and found.pipelines and _all_texts(X):
            documents = X
        return cls(page_data(found, documents), str(title))

    def to_html(self, path: str | PathLike[str] | None = None, *, topic_names: Values | None = None) -> str:
        """The page, as one self-contained file.

        Parameters
        ----------
        path : str or os.PathLike, default=None
            The file to write, UTF-8. None: nothing is written.
        topic_names : sequence of str of length n_components, default=None
            Other names of the topics for this page. None: those of the explorer.

        Returns
        -------
        str
            The page.
        """
        data = self.data
        if topic_names is not None:
            names = checked(topic_names, data["n_topics"], "topic_names")
            topics = data["topics"] | {"name": [clip(names[k]) for k in data["topics"]["id"]]}
            data = data | {"topics": topics}
        style, script = _packaged("explorer.css"), _packaged("explorer.js")
        policy = (
            f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
            "base-uri 'none'; form-action 'none'"
        )
        parts = {
            "policy": policy,
            "title": html.escape(_encodable(self.title)),
            "style": style,
            "script": script,
            "data": _json(data),
        }
        page = "".join(
            parts[piece] if i % 2 else piece for i, piece in enumerate(_packaged("explorer.html").split("@"))
        )
        if path is not None:
            Path(path).write_text(page, encoding="utf-8", newline="\n")
        return page

    def _repr_html_(self):
        # A frame keeps the styles of page and notebook apart. `sandbox` allows scripts and nothing else.
        return (
            f'<iframe srcdoc="{html.escape(self.to_html())}" sandbox="allow-scripts" title="topics" '
            f'width="100%" height="{_HEIGHT}" style="border: 0"></iframe>'
        )


def _packaged(name):
    return files("sklda.inspection").joinpath(name).read_text(encoding="utf-8")


def _digest(source):
    """The hash that allows an inline script or style, as in Content Security Policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()


def _json(data):
    """JSON in which no character can end the script element or a line of it."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return _encodable(text)


def _encodable(text):
    """Lone surrogates, which UTF-8 does not have, become replacement characters."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _all_texts(X):
    # A frame iterates over the names of its columns.
    is_list = hasattr(X, "__len__") and not isinstance(X, (str, bytes)) and getattr(X, "ndim", 1) == 1
    return is_list and all(isinstance(text, str) for text in X)
