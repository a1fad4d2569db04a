"""An interactive page of the topics of a model, in one file."""

from __future__ import annotations

import html
from collections.abc import Sequence
from os import PathLike
from typing import Any, Literal, Self

from numpy.typing import ArrayLike

from sklda._description.view import view
from sklda._input.arguments import path_of
from sklda._input.names import check_order_of_topics, read_topic_names
from sklda._input.types import Data, Model, Values
from sklda.inspection._explorer_data import clip, page_data
from sklda.inspection._html_page import html_page
from sklda.inspection._texts import texts_of

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

    - a map of the topics, as circles whose area is the share, and all similarities of pairs of topics;
    - topics by share, with their names, standard errors and stability where the fit has them;
    - the words of a topic by relevance, with a slider for lambda, and the topics of a word;
    - the documents closest to a topic, with the topic of each token;
    - the topic over time, if documents have dates;
    - the topic in groups of documents;
    - a search for words, documents and names of topics. Documents are also found by the first 120 characters of their
      texts.

    The page works without a network, with the keyboard, on phones, in light and dark colours. Names and texts are shown
    as text and never run. ``#topic=3`` at the end of its address opens it at topic 3, ``#theme=dark`` in dark colours.

    **The map** is the classical scaling (Torgerson 1952) of the Jensen-Shannon distances of topics. A plane has only a
    part of their variation, such as 18 % for 25 topics; the page states it, and has lines from a topic to the three
    that are most similar. Circles that would be on each other are moved apart.

    **Texts.** Line breaks that only fit a text to the width of a page are shown as spaces: those in front of a word for
    which the line had no room. Verses, lists and paragraphs of one line keep their breaks.

    **Time.** Periods are the shortest of days, weeks, months, quarters and years, or 2, 5, 10, 20, 50 and 100 years, of
    which there are at most 40, most with documents, and 10 of these on average. Shares of periods and groups are the
    mean proportions of their documents, with 95 % intervals: those of `topics_over_time` with ``random_state=0``. They
    regard the documents as a sample. Without groups, the collections of a `CompoundLDA` have its mixtures.

    **Size.** Large inputs are cut, and the page says so. It has at most 300 topics, 20,000 words, 20,000 documents, and
    40 million characters of texts; or, without texts, 6 million pairs of a word and its topic. If texts have more, the
    longest are cut, all to one length. Texts are compressed in the file and unpacked when a document is chosen, which
    needs a browser of 2023 or later. 4,249 texts of 10 million characters made a page of 5 MB. At all limits, a page
    had 42 MB, opened in 3 seconds, and took 50 MB of the browser's memory.

    References
    ----------
    Torgerson (1952). Multidimensional scaling: I. Theory and method. Psychometrika 17.

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
        self.data: dict[str, Any] = data
        self.title: str = title

    @classmethod
    def from_estimator(
        cls,
        estimator: Model,
        X: Data | None = None,
        *,
        texts: Sequence[str] | None = None,
        groups: ArrayLike | None = None,
        dates: Values | None = None,
        missing: Literal["raise", "drop"] = "raise",
        title: str = "Topics",
    ) -> Self:
        """Make the page of a fitted model.

        Parameters
        ----------
        estimator : estimator, pipeline, or pair (topic_word, doc_topic)
            A fitted topic model with ``components_``, a pipeline or search that has one, or arrays of shapes
            (n_components, n_features) and (n_documents, n_components). `describe` adds names of words, topics and
            documents.
        X : array-like, sparse matrix, or whatever a pipeline takes, default=None
            Documents; those of the fit, or others. None: only for models that keep topic proportions of the documents.
            Then the page has no words of documents and no corpus frequencies.
        texts : sequence of n_documents str, default=None
            Texts. None: X, if a pipeline takes texts; otherwise the page lists the words of documents.
        groups : sequence of n_documents hashable labels, default=None
            Groups such as years or sources. A Series has their name, too, such as "source". Without groups: the
            collections of the fit, if the model has some.
        dates : sequence of n_documents dates, default=None
            Years (whole numbers), dates, datetimes, or ISO texts such as ``"1998"``, ``"1998-05"`` or ``"1998-05-17"``.
            See the notes of the class.
        missing : {"raise", "drop"}, default="raise"
            What happens to documents without a group or a date: an error that names them, or they are left out of the
            shares of groups or periods and a warning says so.
        title : str, default="Topics"
            Title of the page.

        Returns
        -------
        TopicExplorer

        Raises
        ------
        ValueError, TypeError
            If the model is not one that this function takes, or an argument does not fit it.
        """
        found = view(estimator, X, needs="proportions", missing=missing, groups=groups, dates=dates, texts=texts)
        return cls(page_data(found, texts_of(found), kind_of_group=getattr(groups, "name", None)), str(title))

    def to_html(self, path: str | PathLike[str] | None = None, *, topic_names: Values | None = None) -> str | None:
        """The page, as one self-contained file.

        Parameters
        ----------
        path : str or os.PathLike, default=None
            The file to write, UTF-8. None: the page is returned.
        topic_names : sequence of str of length n_components, default=None
            Other names of the topics for this page. None: those of the explorer.

        Returns
        -------
        str or None
            The page; None if it is written to a file, as from ``to_html`` of a data frame.
        """
        page = self._page(topic_names)
        if path is None:
            return page
        path_of(path).write_text(page, encoding="utf-8", newline="\n")
        return None

    def _page(self, topic_names: Values | None = None) -> str:
        data = self.data
        if topic_names is not None:
            names = read_topic_names(topic_names, data["n_topics"], "topic_names")
            if data["topics"]["name"] is not None:
                known = dict(zip(data["topics"]["id"], data["topics"]["name"], strict=True))
                check_order_of_topics([clip(name) for name in names], [known.get(k) for k in range(data["n_topics"])])
            topics = data["topics"] | {"name": [clip(names[k]) for k in data["topics"]["id"]]}
            data = data | {"topics": topics}
        return html_page("explorer", data, title=self.title)

    def _repr_html_(self):
        # A frame keeps the styles of page and notebook apart. `sandbox` allows scripts and nothing else.
        return (
            f'<iframe srcdoc="{html.escape(self._page())}" sandbox="allow-scripts" title="topics" '
            f'width="100%" height="{_HEIGHT}" style="border: 0"></iframe>'
        )
