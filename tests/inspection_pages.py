"""Helpers for tests of pages: the expected shares of topics, and a page in which all names are hostile."""

import base64
import json
import zlib

import numpy as np
from scipy import sparse

from sklda import GibbsLDA
from sklda.inspection import TopicExplorer, describe

HOSTILE = [
    "<script>document.title='ran'</script>",
    "</script><script>document.title='ran'</script>",
    "<img src=x onerror=\"document.title='ran'\">",
    "'\"&amp;</title>",
    "\u202eright to left\u202c",
    "שלום",
    "🦊👩‍🔬",
    "",
    "a" * 10_000,
    "]]><!--",
    "\u2028\u2029\0\x1b[31m",
    "\\u003cscript>",
    "\ud800",
]


def documents_of(data):
    """The words of the documents on a page, unpacked: a list."""
    found = []
    for first, block in data["documents"]["blocks"]:
        assert first == len(found)
        found += json.loads(zlib.decompress(base64.b64decode(block)))
    return found


def words_of(part):
    """Triples of a document with a text: what is before a word, the word, and its topic; the end has no word."""
    text, topics = part["text"], part["topics"]
    assert len(text) == 2 * len(topics) + 1
    return [*zip(text[::2], text[1::2], topics, strict=False), (text[-1], "", -1)]


def shares(model, X):
    """Shares of topics in the tokens of the documents of a fit."""
    lengths = np.ravel(X.sum(axis=1))
    return getattr(model, "topic_share_", lengths @ model.doc_topic_ / lengths.sum())


def hostile_explorer():
    """Words, documents, texts, groups and title are hostile; the fit has errors and stabilities."""
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.poisson(1.5, (20, len(HOSTILE))))
    lda = GibbsLDA(3, max_iter=5, random_state=0).fit(X)
    lda.topic_share_std_, lda.topic_stability_ = np.full(3, 0.01), np.array([0.25, 0.5, 1])
    lda.topic_prevalence_, lda.log_joint_trace_ = np.array([0.5, 1, 1]), np.zeros((4, 5))
    lda.doc_topic_std_ = np.full(lda.doc_topic_.shape, 0.02)
    names = [HOSTILE[d % len(HOSTILE)] for d in range(20)]
    return TopicExplorer.from_estimator(
        describe(lda, X, vocabulary=HOSTILE, document_names=names), texts=names, groups=names, title=HOSTILE[1]
    )


def hostile_page():
    return hostile_explorer().to_html()
