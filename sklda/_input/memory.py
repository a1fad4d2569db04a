"""Whether the memory suffices for what a caller asks for: checked before anything is made.

`check_memory` is the rule. Who makes large arrays reckons their bytes beside them; here are those of topics, of the
results of fits and of annealing, which several callers need.
"""

import os
from contextlib import suppress
from pathlib import Path

try:
    import resource
except ImportError:
    # Windows.
    resource = None  # type: ignore[assignment]

# Topics are 32-bit numbers, and a padded row of counts has up to 15 more places than topics.
_MOST_TOPICS = 2**31 - 17
# Bytes of every topic in a chain: alpha, the sum of eta and m_k, 8 each, and two vectors in both precisions.
_TOPIC_BYTES = 48
# The most topics whose names an assignment decides, which takes 128 MB.
MOST_DOUBTFUL = 4096


def check_memory(n_bytes, needs, instead):
    """Raise a MemoryError if `n_bytes` are more than the memory of the computer, or than the process may have.

    Arrays whose size the caller sets go through it before they are made.

    Parameters
    ----------
    n_bytes : int
    needs : str
        Subject and verb of the message, such as "5 topics need at least".
    instead : str
        What to do instead, in a sentence.
    """
    # A limit that does not exist is -1.
    limits = [(most, whose) for whose, most in _memory().items() if most > 0]
    most, whose = min(limits, default=(n_bytes, ""))
    if most < n_bytes:
        raise MemoryError(f"{needs} {n_bytes / 1e9:.1f} GB, and {whose} {most / 1e9:.1f} GB. {instead}")


def _memory():
    """Bytes of the computer, and those that the process may have, as far as they are known."""
    found = {}
    with suppress(AttributeError, OSError, ValueError):
        found["this computer has"] = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if resource is not None:
        found["this process may have"] = resource.getrlimit(resource.RLIMIT_AS)[0]
    with suppress(OSError, ValueError):
        found["this container may have"] = int(Path("/sys/fs/cgroup/memory.max").read_text())
    return found


def check_number_of_topics(n_components, name="n_components"):
    """Raise a ValueError if there are more topics than 32-bit numbers; `name` is the parameter that says so."""
    if n_components > _MOST_TOPICS:
        raise ValueError(f"{name}={n_components} is more than {_MOST_TOPICS}: topics are 32-bit numbers.")


def check_memory_of_topics(n_components, row_bytes=0, name="n_components", instead="Use fewer topics."):
    """Raise an error if the memory of the computer is certainly too small for so many topics.

    Parameters
    ----------
    n_components : int
    row_bytes : int, default=0
        Bytes that each topic needs beside those that it always needs.
    name : str, default="n_components"
        The parameter that sets their number.
    instead : str, default="Use fewer topics."
        What to do instead.

    Raises
    ------
    MemoryError
        The message has the bytes.
    ValueError
        See `check_number_of_topics`.
    """
    check_number_of_topics(n_components, name)
    n_bytes = int(n_components) * (_TOPIC_BYTES + int(row_bytes))
    check_memory(n_bytes, f"{n_components} topics need at least", instead)


def check_memory_of_results(corpus, n_components, n_chains=1, n_draws=1, n_rows=0):
    """Refuse a fit whose results certainly do not fit into the memory, before its first sweep.

    Parameters
    ----------
    corpus : Corpus
    n_components : int
    n_chains, n_draws : int, default=1
        Each chain has its own estimates. The topics of several chains, and of successive draws, are matched.
    n_rows : int, default=0
        Number of rows of topics in double precision that chains have in their sweeps, as those of alpha.

    Raises
    ------
    MemoryError
        The message names the bytes that are needed.
    """
    D, V, K = corpus.n_documents, corpus.n_features, n_components
    n_matched = K if n_chains > 1 else min(K, corpus.n_tokens, MOST_DOUBTFUL) if n_draws > 1 else 0
    # Estimates are in single precision.
    check_memory_of_topics(K, 4 * n_chains * (D + V) + 8 * (n_rows + n_matched**2 // K))


def check_memory_of_runs(corpus, n_components, method):
    """Refuse runs by a method if their guides or draws certainly do not fit into the memory.

    Raises
    ------
    MemoryError
        The message names the bytes that are needed.
    """
    D, V, K = corpus.n_documents, corpus.n_features, n_components
    if method == "guided_ais":
        # The guide, its proportions or the priors along its path, and changes of labels.
        check_memory_of_topics(K, 8 * (2 * (D + V) + K))
    elif method == "ais":
        # Runs begin with a draw of theta and phi.
        check_memory_of_topics(K, 8 * (2 * D + V))
