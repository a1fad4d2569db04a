"""The fits of ConsensusTopics: their seeds and documents, topics, proportions of members, and draws."""

from dataclasses import dataclass
from inspect import signature
from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, _num_samples

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.diagnostics import std_of_proportions
from sklda._core.distances import jensen_shannon_pairs
from sklda._core.parallel import jobs_for
from sklda._core.priors import Priors, dirichlet_variance
from sklda._core.same_topics import mixture
from sklda._description.models import topic_proportions, topics_with_words
from sklda._description.view import corpus_and_model
from sklda._input.arguments import distributions
from sklda._input.document_values import DocumentValues, check_same_index
from sklda._input.memory import check_memory
from sklda._input.warn import warn
from sklda._likelihood.held_out.token_topics import draw_topics
from sklda._models.consensus.agreement import ALIKE, IN_HALVES
from sklda._sampling.chain import KeptDraws, compact_topics
from sklda._sampling.draws import (
    TopicGroups,
    doc_topic_std,
    empty_draws,
    topic_word_variance,
    variance_around_mean,
)
from sklda._sampling.steps import Draw

# Jensen-Shannon distance of topics that are equal up to rounding.
_EQUAL = 1e-3
# Draws of the topics of all tokens given the topics of a fit, and sweeps before each.
_N_FOLD_IN, _FOLD_IN_SWEEPS = 4, 10


def tasks_of(estimator, X, rows, metadata, n_fits, resample, seed):
    """The arguments of fits: clones with their seeds, and the documents of each with their metadata.

    `rows` are the documents from which samples are drawn.
    """
    generators = [np.random.default_rng(random.child(seed, f)) for f in range(n_fits)]
    clones = [_clone(estimator, rng) for rng in generators]
    if resample is None:
        yield from ((each, X, metadata) for each in clones)
        return
    if resample == "bootstrap":
        samples = [rng.choice(rows, len(rows)) for rng in generators]
    else:
        n = max(1, round(resample * len(rows)))
        samples = [np.sort(rng.choice(rows, n, replace=False)) for rng in generators]
    yield from (_task(each, X, metadata, sample) for each, sample in zip(clones, samples, strict=True))


def tasks_of_halves(estimator, X, rows, metadata, n_splits, seed):
    """The same for fits to both halves of the documents, one after the other, in each of several random splits."""
    for s in range(n_splits):
        rng = np.random.default_rng(random.child(seed, s))
        order = rng.permutation(rows)
        for drawn in np.array_split(order, 2):
            yield _task(_clone(estimator, rng), X, metadata, np.sort(drawn))


def _clone(estimator, rng):
    """A clone with seeds of its own."""
    each = clone(estimator)
    names = sorted(name for name in each.get_params() if name.split("__")[-1] == "random_state")
    return each.set_params(**{name: int(rng.integers(2**31)) for name in names})


def _task(estimator, X, metadata, rows):
    """The arguments of a fit to some of the documents."""
    return estimator, _safe_indexing(X, rows), {name: _drawn(each, X, rows, name) for name, each in metadata.items()}


def read_metadata(X, metadata):
    """The metadata of the documents X, each of which is read once for all fits."""
    known = {name: metadata[name] for name in ("collections", "covariates") if name in metadata}
    check_same_index(X, **metadata)
    return metadata | DocumentValues.read(X, **known).given


def _drawn(value, X, rows, name):
    """The entries of metadata for the documents `rows`. Metadata without an entry for each document stay."""
    if isinstance(value, dict):
        # Of columns. scikit-learn would compare the number of columns with that of documents.
        return {key: _drawn(column, X, rows, f"{name}[{key!r}]") for key, column in value.items()}
    has_rows = not isinstance(value, (str, bytes)) and (hasattr(value, "__len__") or sp.issparse(value))
    if has_rows and _num_samples(value) == len(rows) != X.shape[0]:
        raise ValueError(f"{name} has {len(rows)} entries; X has {X.shape[0]} documents. Give one for each document.")
    return _check_method_params(X, {name: value}, rows)[name]


def fits_of(tasks, n_fits, n_jobs):
    """The fitted estimators of `tasks_of`, each as soon as it is ready."""
    return Parallel(n_jobs=jobs_for(n_fits, n_jobs), return_as="generator")(delayed(_fitted)(*task) for task in tasks)


def _fitted(estimator, X, metadata):
    """The estimator after its fit, in a process of its own."""
    return estimator.fit(X, **metadata)


def topics_of_halves(tasks, n_jobs):
    """The topics and shares of both halves of the documents, a list with a list of two pairs for each split."""
    tasks = list(tasks)
    found = Parallel(n_jobs=jobs_for(len(tasks), n_jobs))(delayed(_topics_of_half)(*task) for task in tasks)
    return [found[i : i + 2] for i in range(0, len(found), 2)]


def _topics_of_half(estimator, X, metadata):
    """The topics of a fit to these documents, and their shares in the tokens."""
    fitted = _fitted(estimator, X, metadata)
    lengths = np.asarray(X.sum(axis=1), dtype=np.float64).ravel()
    theta = training_proportions(fitted, X, metadata, is_whole=True)
    return topics_of(fitted), lengths @ np.asarray(theta, dtype=np.float64) / lengths.sum()


def check_memory_of_fits(estimator, n_fits, n_tokens, n_documents, resample):
    """Refuse fits that are certainly too large for the memory.

    Each keeps the topics of all its tokens in its draws, and the proportions of all documents, in double precision if
    it has a sample of the documents.
    """
    params = estimator.get_params(deep=False)
    n_components, n_draws = params.get("n_components"), params.get("n_draws")
    # One byte at least for the topics of every draw; single precision, or double after `transform`.
    n_bytes = 0 if n_draws is None else n_tokens * n_draws
    size = 4 if resample is None else 8
    n_bytes += size * n_documents * n_components if isinstance(n_components, Integral) else 0
    n_bytes *= n_fits
    # Distances of all topics from all.
    n_bytes += 8 * (n_fits * n_components) ** 2 if isinstance(n_components, Integral) else 0
    needs = f"{n_fits} fits of {n_tokens:.0f} tokens in {n_documents} documents keep at least"
    check_memory(n_bytes, needs, "Use fewer fits or topics, or a smaller n_draws.")


def with_shared_memory(estimators):
    """The fits, a list. Those of the same documents have one corpus, and assignments are those of the last draw."""
    corpora, found = {}, []
    for each in estimators:
        results = vars(each).get("_results_")
        if results is not None:
            results.corpus = corpora.setdefault(results.corpus.fingerprint, results.corpus)
        if results is not None and results.states and "topic_assignments_" in vars(each):
            known = results.states[results.best].topics
            if np.array_equal(each.topic_assignments_, known):
                each.topic_assignments_ = known
        found.append(each)
    return found


def metadata_of_transform(estimator, metadata):
    """Those of the arguments of a fit that its `transform` takes too, for all documents."""
    taken = signature(estimator.transform).parameters
    found = {name: value for name, value in metadata.items() if name in taken and value is not None}
    if "collections" in found and hasattr(estimator, "collections_"):
        # A sample of the documents may lack a small collection, which this fit does not know.
        known = set(estimator.collections_.tolist())
        found["collections"] = [label if label in known else None for label in found["collections"]]
    return found


def training_proportions(estimator, X, metadata, is_whole):
    """theta of all documents by one of the fits. `is_whole` says whether it has all documents."""
    known = getattr(estimator, "doc_topic_", None) if is_whole else None
    if known is not None:
        return np.asarray(known)
    return topic_proportions(estimator, X, **metadata_of_transform(estimator, metadata))


def topics_of(estimator):
    """The topics of a fit as distributions; one without words of its own is a row of zeros."""
    name = type(estimator).__name__
    if not hasattr(estimator, "components_"):
        raise TypeError(
            f"{name} has no components_ after fit: give a topic model. A pipeline must end in ConsensusTopics, rather "
            "than be its estimator."
        )
    components = np.asarray(estimator.components_, dtype=np.float64)
    if components.ndim != 2 or not components.any():
        return distributions(components, f"components_ of the {name}")
    # Rows without words are not distributions.
    words = components.any(axis=1)
    topics = np.zeros_like(components)
    topics[words] = distributions(components[words], f"components_ of the {name}")
    topics[~topics_with_words(estimator, components)] = 0
    return topics


def hash_of_counts(counts):
    """The hash of the documents, by which inspection knows those of the fit; None if they are not counts."""
    values = counts.data if sp.issparse(counts) else counts
    return Corpus.from_counts(counts).fingerprint if (values == np.floor(values)).all() else None


def sums_of_members(theta, members, fit):
    """Summed proportions of the members in one fit, (n_documents, n_topics)."""
    found = np.zeros((len(theta), len(members)))
    for c, pairs in enumerate(members):
        found[:, c] = theta[:, pairs[pairs[:, 0] == fit, 1]].sum(axis=1)
    return found


@dataclass(frozen=True, eq=False)
class TopicDraws:
    """Draws of the topics of all tokens, by one fit.

    Attributes
    ----------
    corpus : Corpus
    draws : KeptDraws
    """

    corpus: Corpus
    draws: KeptDraws

    def shares(self):
        """Shares of the topics in the tokens, (n_draws, n_components)."""
        counts = [np.bincount(topics, minlength=self.draws.priors.n_components) for topics in self.draws.topics]
        return np.array(counts) / self.corpus.n_tokens

    def variance(self, members, fit):
        """Posterior variances of the summed proportions of the members in this fit, (n_documents, n_topics)."""
        groups = _groups(members, fit, self.draws.priors.n_components)
        return np.square(doc_topic_std(self.corpus, self.draws, groups), dtype=np.float64)[:, :-1]


def _groups(members, fit, n_components):
    """The topics of a fit that stand for each consensus topic. The last group has those that stand for none."""
    of_topic = np.full(n_components, len(members))
    for c, pairs in enumerate(members):
        of_topic[pairs[pairs[:, 0] == fit, 1]] = c
    return TopicGroups(of_topic, len(members) + 1)


def topic_word_std(found, estimators):
    """Posterior standard deviations of the words of consensus topics, within and between the fits that have the topic.

    Within fits that keep no draws they are those of the Dirichlet distribution with the counts and priors of a topic.
    A model without priors, such as NMF, has none.
    """
    within = []
    for f, each in enumerate(estimators):
        results, groups = vars(each).get("_results_"), _groups(found.members, f, len(each.components_))
        draws = None if results is None else results.kept_draws()
        if draws is not None:
            within.append(topic_word_variance(results.corpus, draws, groups)[:-1])
        elif hasattr(each, "topic_word_prior_"):
            within.append(dirichlet_variance(groups.sums(np.asarray(each.components_, dtype=np.float64))[:-1]))
    if not within or not found.members:
        return found.topic_word_std
    return std_of_proportions(np.nanmean(within, axis=0) + found.topic_word_std**2)


def topic_draws(estimator, X, metadata, is_whole, seed):
    """`TopicDraws` of all documents by one of the fits; None for a model that has no prior of the proportions.

    They are those of the fit if it has all documents and keeps draws. Otherwise they are drawn given its topics.
    """
    results = vars(estimator).get("_results_")
    kept = None if results is None else results.kept_draws()
    if is_whole and kept is not None:
        return TopicDraws(results.corpus, kept)
    if not hasattr(estimator, "doc_topic_prior_"):
        return None
    known = metadata_of_transform(estimator, metadata)
    known = {name: known[name] for name in ("collections", "covariates") if name in known}
    corpus, topic_word, alpha = corpus_and_model(X, estimator, **known)
    draws, copies = [], corpus.copies()
    for i in range(_N_FOLD_IN):
        key = random.key(random.child(seed, i))
        topics = draw_topics(corpus, topic_word, alpha, n_sweeps=_FOLD_IN_SWEEPS, seed=key, copies=copies)
        # -1 stands for words that underflow in all topics.
        draws.append(Draw(i, compact_topics(np.maximum(topics, 0), len(topic_word)), {}))
    alpha = alpha[0] if len(alpha) == 1 else alpha
    priors = Priors.make(alpha, None, len(topic_word), corpus.n_features, corpus.n_documents)
    return TopicDraws(corpus, KeptDraws(priors, draws))


def mean_and_variance(quantity, n_fits):
    """Mean and variance of ``quantity(f)`` over fits, without a list of the arrays of all fits."""
    mean = sum(map(quantity, range(n_fits))) / n_fits
    return mean, sum((quantity(f) - mean) ** 2 for f in range(n_fits)) / (n_fits - 1)


def share_std(share_draws, members):
    """Standard deviations of the shares of topics, within and between fits, from draws of each fit."""
    if not members:
        return np.zeros(0)
    return std_of_proportions(
        variance_around_mean([sums_of_members(each, members, f) for f, each in enumerate(share_draws)])
    )


def draws_from_fits(estimators, members, shares, n_draws, seed):
    """Draws of theta and phi from the posteriors of all fits in turn, in random order.

    Parameters
    ----------
    estimators : list of n_fits estimators
    members : list of n_topics ndarray of shape (n_members, 2)
    shares : list of ndarray of shape (n_components of the fit,)
    n_draws : int
    seed : numpy.random.SeedSequence

    Returns
    -------
    theta : ndarray of shape (n_draws, n_documents, n_topics), float32
    phi : ndarray of shape (n_draws, n_topics, n_features), float32
        NaN for a topic that the fit of a draw does not have.
    fits : ndarray of shape (n_draws,)
    """
    if not hasattr(estimators[0], "_sample_posterior"):
        raise TypeError(f"{type(estimators[0]).__name__} has no posterior to draw from.")
    rng, n_fits = np.random.default_rng(seed), len(estimators)
    rounds = [rng.permutation(n_fits) for _ in range(-(-n_draws // n_fits))]
    fits = np.concatenate(rounds)[:n_draws]
    theta = phi = None
    for f in np.unique(fits):
        own = np.flatnonzero(fits == f)
        proportions, topics = estimators[f]._sample_posterior(len(own), random.child(seed, int(f)))
        if theta is None:
            shapes = (proportions.shape[1], len(members)), (len(members), topics.shape[2])
            theta, phi = empty_draws(n_draws, *shapes)
            phi[:] = np.nan
        for i, each in zip(own, proportions, strict=True):
            theta[i] = sums_of_members(each, members, f)
        for c, pairs in enumerate(members):
            parts = pairs[pairs[:, 0] == f, 1]
            if len(parts):
                phi[own, c] = [mixture(draw[parts], shares[f][parts]) for draw in topics]
    return theta, phi, fits


def warn_of_poor_fits(topics, found, min_prevalence):
    """Warn if fits are equal, or have nothing in common."""
    first, *others = topics
    # Fits of one topic have the same one, and topics of different fits have different numbers. Rows can be zeros.
    if (
        len(first) > 1
        and first.any()
        and all(first.shape == each.shape and (jensen_shannon_pairs(first, each) < _EQUAL).all() for each in others)
    ):
        warn(
            f"All {len(topics)} fits have the same topics, because they have the same start or do not depend on a "
            "seed. So they do not say whether topics are found again: give resample='bootstrap', or an estimator "
            "with a random start.",
            ConvergenceWarning,
        )
    elif found.n_not_in_halves:
        similarity, agreement = found.best_in_halves
        warn(
            f"n_components_ is 0. {100 * min_prevalence:.0f} % of the {len(topics)} fits have {found.n_not_in_halves} "
            "topics in common, but fits to both halves of the documents do not have them. The best of these topics has "
            f"a mean similarity of {similarity:.2f} to its counterparts in the halves, and two halves have "
            f"{agreement:.2f} of it in common beyond the frequencies of words; {ALIKE} and {IN_HALVES} are needed. "
            "Such topics may come from single documents, for example from words that are repeated there, or halves are "
            "too small. Topics that fewer fits have are not looked for in halves. Use fewer topics or more documents; "
            "n_splits=0 shows the topics of the fits.",
            ConvergenceWarning,
        )
    elif found.n_by_chance:
        warn(
            f"No topic is found beyond chance: n_components_ is 0. {100 * min_prevalence:.0f} % of the "
            f"{len(topics)} fits have {found.n_by_chance} topics in common, but these are not more alike than topics "
            "of a corpus without topics, by the frequencies of its words alone. Use fewer topics or more documents.",
            ConvergenceWarning,
        )
    elif not len(found.topic_word):
        warn(
            f"No topic is found in {100 * min_prevalence:.0f} % of the {len(topics)} fits: n_components_ is 0. Use "
            "fewer topics, more documents or a smaller min_prevalence.",
            ConvergenceWarning,
        )
