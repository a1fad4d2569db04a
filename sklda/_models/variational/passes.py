"""Passes over a corpus in memory: by CVB0, or by SCVB0 in chunks of documents in random order."""

import numpy as np

from sklda._core import random
from sklda._core.progress import SILENT
from sklda._models.variational.fixed_topics import infer, perplexity

# Passes between two rounds of merges and splits, the share of the passes before the first one, by which eta is learnt,
# and the passes that must follow a round.
_MOVE_EVERY, _FIRST_MOVES, _PASSES_LEFT = 5, 0.4, 10


class OnlinePasses:
    """Passes of a `Stream` over a corpus in chunks, with the interface of `Batch`. The seed is that of the orders."""

    def __init__(self, corpus, stream, chunk_documents, seed):
        self.corpus, self.stream, self.chunk_documents, self.seed = corpus, stream, chunk_documents, seed
        self.n_sweeps, self.trace = 0, []

    @property
    def priors(self):
        return self.stream.priors

    @property
    def counts(self):
        """m_kv, (n_components, n_features)."""
        return self.stream.counts

    def initialise(self, team):
        """The stream has its first topics already."""

    def sweep(self, team):
        """One pass over the documents."""
        order = np.random.default_rng(random.child(self.seed, self.n_sweeps)).permutation(self.corpus.n_documents)
        for first in range(0, len(order), self.chunk_documents):
            self.stream.step(self.corpus.take(order[first : first + self.chunk_documents]), team)
        self.n_sweeps += 1

    def merge_and_split(self, stop):
        """Nothing: the documents of a stream have no topics of their own. Returns that there were no moves."""
        return False

    def doc_topic(self, n_jobs=None):
        """Expected counts n_dk given the present topics, (n_documents, n_components)."""
        settings = {"n_updates": self.stream.n_updates, "tolerance": self.stream.tolerance}
        return infer(self.corpus, topics(self), self.priors.doc[0], **settings, n_jobs=n_jobs)

    def position(self, chunk_documents):
        """The place in the stream, from which `partial_fit` continues."""
        return self.stream.position()


def topics(model):
    """phi of a `Batch` or of `OnlinePasses`, (n_components, n_features)."""
    topic_word = model.counts + model.priors.topic_word()
    return topic_word / topic_word.sum(axis=1, keepdims=True)


def proportions(model, n_jobs=None):
    """theta of the documents, (n_documents, n_components)."""
    theta = model.doc_topic(n_jobs) + model.priors.doc
    return theta / theta.sum(axis=1, keepdims=True)


def make_passes(model, n_passes, team, *, progress=SILENT, evaluate_every=0, tolerance=0.0):
    """Make passes of a `Batch` or of `OnlinePasses` over the corpus; their `trace` has the perplexities.

    Every pass is a stage of `progress`. If `evaluate_every` is positive, the perplexity is evaluated after so many
    passes each, and the passes end if it changes by less than `tolerance`.
    """
    trace = model.trace
    model.initialise(team)
    # While a round makes moves, another one follows.
    moves = True
    for n in range(1, n_passes + 1):
        model.sweep(team)
        if moves and n % _MOVE_EVERY == 0 and _FIRST_MOVES * n_passes <= n <= n_passes - _PASSES_LEFT:
            moves = model.merge_and_split(team.stop)
        text, converged = f"pass {n} of {n_passes}", False
        if evaluate_every > 0 and n % evaluate_every == 0:
            trace.append(perplexity(model.corpus, proportions(model), topics(model)))
            text += f": perplexity {trace[-1]:.6g}"
            converged = len(trace) > 1 and abs(trace[-1] - trace[-2]) < tolerance
        if progress.stage(text) or converged:
            break
