"""What inspection reads of a model: topics, words, shares, documents with their proportions and priors, and names.

`view` makes a `View` of a model in any form, with all checks. Every table and every plot of topics begins with it.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Number
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.utils.validation import check_is_fitted

from sklda._core.corpus import Corpus
from sklda._core.largest import largest
from sklda._core.least_squares import spans
from sklda._description import models
from sklda._input.arguments import check_int, distributions, is_whole, real_numbers
from sklda._input.counts import read_rows
from sklda._input.covariates import covariate_frame, has_names
from sklda._input.dask_arrays import is_dask
from sklda._input.document_values import DocumentValues, check_documents
from sklda._input.names import check_order_of_words, distinct, names_of_rows, read_column, read_document_names
from sklda._input.names import topic_names as model_topic_names
from sklda._input.warn import warn

# Of a topic in place of its stability.
NO_TOPIC = "no words of its own"
# In place of a name.
_WORDS = 3
_NUMBERS = "words are column numbers"


@dataclass
class View:
    """A topic model as arrays, with the documents X if there are any."""

    model: Any  # the fitted model inside pipelines and searches; None for arrays
    topic_word: np.ndarray  # phi (n_components, n_features); rows sum to one
    X: Any = None  # the documents as they were given, to the function or to the description
    known_words: list | None = None  # names of the features
    is_hashed: bool = False  # whether they have none because they are hashes
    counts: Any = None  # the documents, csr_array (n_documents, n_features) with sorted indices
    # theta of the documents, (n_documents, n_components). Rows sum to one; those of `ConsensusTopics` may sum to less.
    # Those of documents that take no part are NaN.
    doc_topic: np.ndarray | None = None
    is_training: bool = False  # whether the documents are those of the fit
    collections: Any = None  # labels of the documents, for a model with collections
    # alpha of documents that are not those of the fit, by their covariates or as an array; None: not known.
    own_alpha: np.ndarray | None = None
    covariates: Any = None  # by which it is known
    values: DocumentValues = field(default_factory=lambda: DocumentValues({}))  # groups, dates and texts
    said: set[str] = field(default_factory=set)  # warnings of the documents, those of the description
    pipelines: list = field(default_factory=list)
    names: list | None = None  # of the topics
    document_names: list = field(default_factory=list)  # given, or the index of X, or row numbers

    @property
    def groups(self):
        """Labels of the documents, for any model; None without any."""
        return self.values["groups"]

    # The topics.

    @property
    def n_topics(self):
        return len(self.topic_word)

    @cached_property
    def share(self):
        """Share of every topic in the tokens, (n_components,)."""
        fitted = self.of_fit("topic_share_")
        if fitted is not None:
            return np.asarray(fitted, dtype=np.float64)
        if self.doc_topic is None:
            return models.shares_of(self.model, self.model.components_)
        if not len(self.used):
            return np.full(self.n_topics, 1 / self.n_topics)
        return np.average(self.doc_topic[self.used], axis=0, weights=self.weights[self.used])

    @property
    def share_std(self):
        """Standard deviations of the shares, (n_components,); None where they are not known."""
        found = self.of_fit("topic_share_std_")
        # That of fewer than four draws is NaN.
        return None if found is None or np.isnan(found).any() else found

    @property
    def deviations(self):
        """What an error bar of a share has: the differences between chains are known only with several of them."""
        return "two standard deviations" + (" within one chain" if self.n_chains == 1 else "")

    @property
    def n_chains(self):
        """Number of chains of the fit; 0 if there are none."""
        # Merged topics have the model with the chains.
        return len(getattr(getattr(self.model, "model", self.model), "log_joint_trace_", ()))

    @property
    def stability(self):
        """How alike every topic is in all chains or fits, (n_components,); None for one fit of one chain.

        NaN for topics without words of their own, also in `prevalence`.
        """
        return getattr(self.model, "topic_stability_", None)

    @property
    def prevalence(self):
        """The part of the chains or fits that have each topic, (n_components,); None for one fit of one chain."""
        return getattr(self.model, "topic_prevalence_", None)

    @property
    def found_in(self):
        """In how many chains or fits every topic is found, a list of str; None for one fit of one chain.

        Empty where the prevalence is NaN.
        """
        if self.prevalence is None:
            return None
        fits = getattr(self.model, "estimators_", None)
        n, kind = (self.n_chains, "chains") if fits is None else (len(fits), "fits")
        return ["" if np.isnan(part) else f"{round(n * part)} of {n} {kind}" for part in self.prevalence]

    @property
    def seed_shares(self):
        """Parts of the tokens of topics that are their seeds, and of those of seeds that are in their topic.

        Both have shape (n_components,). None without seeds.
        """
        seeds = getattr(getattr(self.model, "_prior_of_topics_", None), "seeds", None)
        return None if seeds is None else seeds.shares(self.topic_word, self.share)

    def chosen(self, topics, most=None):
        """The topics that were asked for by number or name; without any, all, or the `most` largest, largest first."""
        if topics is None and most is None:
            return np.arange(self.n_topics)
        if topics is None:
            return np.argsort(-self.share, kind="stable")[:most]
        topics = [topics] if isinstance(topics, (str, Number)) else read_column(topics, "topics", "numbers of topics")
        places = {} if self.names is None else {name: k for k, name in enumerate(self.names)}
        found = [places.get(each, -1) if isinstance(each, str) else each for each in topics]
        n = self.n_topics
        if not found or not all(is_whole(each) and 0 <= each < n for each in found):
            names = "" if self.names is None else ", or their names"
            raise ValueError(f"topics must be numbers from 0 to {n - 1}{names}; got {topics}.")
        return np.array(found)

    def labels(self, topics=None, n_words=3):
        """Topics as tables have them: the number with the name, or else with the most probable words."""
        n_words = check_int(n_words, "n_words", 1)
        topics = range(self.n_topics) if topics is None else topics
        texts = (" ".join(self.top(k, n_words)) if self.names is None else self.names[k] for k in topics)
        return [f"{k}: {text}" for k, text in zip(topics, texts, strict=True)]

    def top(self, k, n):
        """The n most probable words of a topic."""
        return [self.words[v] for v in largest(self.topic_word[k], n)]

    def rows(self, topics):
        """The first columns of a table with a row for each of `topics`: their numbers, and names if they have some."""
        columns = {"topic": topics}
        return columns if self.names is None else columns | {"name": [self.names[k] for k in topics]}

    def titles(self, taken=()):
        """Names of the columns of a table that has one for each topic, none of which is `taken`."""
        return [f"topic_{k}" for k in range(self.n_topics)] if self.names is None else distinct(self.names, taken)

    # The words.

    @property
    def n_features(self):
        return self.topic_word.shape[1]

    @property
    def has_names(self):
        return self.known_words is not None

    @cached_property
    def words(self):
        """Names of the features; column numbers if they are not known, and then there is a warning."""
        if self.known_words is not None:
            return self.known_words
        if self.is_hashed:
            warn(f"The columns of HashingVectorizer have no words, so {_NUMBERS}. Use CountVectorizer.")
        elif self.model is not None:
            warn(
                f"The {type(self.model).__name__} was fitted to a matrix without names of columns, so {_NUMBERS}. Give "
                "them once: describe(model, vocabulary=vectorizer.get_feature_names_out()). A pipeline with the "
                "vectorizer has them, as has a fit to a data frame."
            )
        return [str(v) for v in range(self.n_features)]

    @cached_property
    def word_counts(self):
        """Number of tokens of the words in the documents that take part; None without documents."""
        if self.counts is None:
            return None
        return np.asarray(self.counts[self.used].sum(axis=0), dtype=np.float64).ravel()

    @cached_property
    def word_share(self):
        """p(w): the share of every word in the tokens. Where X has none of a word, its probability in the model.

        Never zero, so that its logarithm is finite.
        """
        marginal = np.maximum(self.share @ self.topic_word, np.finfo(np.float64).tiny)
        if self.counts is None or self.word_counts.sum() == 0:
            return marginal
        return np.where(self.word_counts > 0, self.word_counts / self.word_counts.sum(), marginal)

    # The documents.

    @property
    def n_documents(self):
        return len(self.doc_topic) if self.counts is None else self.counts.shape[0]

    @cached_property
    def has_counts(self):
        """Whether all entries of the documents are whole numbers."""
        return self.counts is not None and bool((self.counts.data == np.floor(self.counts.data)).all())

    @cached_property
    def corpus(self):
        """The documents as tokens; a ValueError if their entries are not counts."""
        return Corpus.from_counts(self.counts)

    @cached_property
    def lengths(self):
        """Number of tokens of the documents (sum of weights, if the entries are not counts)."""
        return np.asarray(self.counts.sum(axis=1), dtype=np.float64).ravel()

    @cached_property
    def used_tokens(self):
        """Number of tokens of the documents that count, (n_documents,); None for arrays without X.

        Zero for documents that take no part, because they have no words, or because the fit left them out.
        """
        fitted = self.of_fit("_used_tokens_")
        return fitted if fitted is not None or self.counts is None else self.lengths

    @property
    def weights(self):
        """`used_tokens`, or ones where they are not known."""
        return np.ones(self.n_documents) if self.used_tokens is None else self.used_tokens

    @cached_property
    def takes_part(self):
        """Which documents take part in results, (n_documents,) bool."""
        return self.weights > 0

    @cached_property
    def used(self):
        """The rows of the documents that take part."""
        return np.flatnonzero(self.takes_part)

    def counted(self, *names):
        """The rows of the documents that take part and have these values, or all; see `DocumentValues`."""
        return self.values.used(self.used, self.n_documents, names or None)

    @property
    def left_out(self):
        """A sentence that says how many documents take no part, and why; empty if all do."""
        n = self.n_documents - len(self.used)
        labels = " or no labels" if hasattr(self.model, "doc_label_") else ""
        return f"{n:,} of {self.n_documents:,} documents have no words{labels}, and take no part." if n else ""

    def say_what_is_left_out(self):
        """Warn if documents take no part in a result to which each would contribute: once for each description."""
        if self.left_out and self.left_out not in self.said:
            warn(self.left_out)
            self.said.add(self.left_out)

    def closest(self, topic, n):
        """The rows of the n documents with the largest proportions of a topic."""
        return self.used[largest(self.doc_topic[self.used, topic], n)]

    @property
    def main_topics(self):
        """The topic with the largest proportion in every document, (n_documents,); -1 for those that take no part."""
        return self.of_all(self.used, self.doc_topic[self.used].argmax(axis=1))

    def of_all(self, rows, numbers):
        """Numbers of some documents as those of all, (n_documents,); -1 for the others."""
        found = np.full(self.n_documents, -1)
        found[rows] = numbers
        return found

    @cached_property
    def doc_topic_std(self):
        """Posterior standard deviations of theta, as `doc_topic`; None where they are not known."""
        found = self.of_fit("doc_topic_std_")
        return None if found is None else self.masked(found)

    def masked(self, values):
        """Values of the documents, with NaN in the rows of those that take no part."""
        return values if self.takes_part.all() else np.where(self.takes_part[:, None], values, np.nan)

    @cached_property
    def alpha(self):
        """alpha of the documents, (1 or n_documents, n_components); 0 for topics that a document does not have.

        None: the model has no prior of the proportions.
        """
        if self.own_alpha is not None or self.model is None:
            return self.own_alpha
        if self.is_training and hasattr(self.model, "_prior_of_training"):
            return self.model._prior_of_training()
        if self.collections is not None:
            return self.model.document_prior(self.collections)
        if not hasattr(self.model, "doc_topic_prior_"):
            return None
        return models.check_arrays(self.topic_word, self.model.doc_topic_prior_, self.corpus)[1]

    def prior_knows(self, used, matrix):
        """Which columns of a linear model of the documents `used` the prior of theta has, (n_columns,)."""
        if self.is_training:
            groups = self.model._known_groups() if hasattr(self.model, "_known_groups") else None
            return np.zeros(matrix.shape[1], bool) if groups is None else spans(groups[used], matrix)
        # That of merged topics is a sum, which has no covariates in its logarithm.
        alpha = self.unmerged()[0].alpha
        if alpha is None or len(alpha) == 1:
            return np.zeros(matrix.shape[1], bool)
        alpha = alpha[used]
        first, index = np.unique(alpha, axis=0, return_index=True, return_inverse=True)[1:]
        # Documents with one alpha are a group, unless most have their own.
        in_groups = (2 * len(first) <= len(alpha)) & (matrix == matrix[first][index.ravel()]).all(axis=0)
        return in_groups | spans(np.log(alpha), matrix)

    @property
    def chains(self):
        """The results of the chains of the fit; None if there are none, as of merged topics."""
        return getattr(self.model, "_chains", None)

    @property
    def has_draws(self):
        """Whether the fit has posterior draws of the topics, and of the proportions of its documents."""
        return bool(getattr(self.model, "_has_posterior", False))

    @property
    def fold_in(self):
        """Sweeps over new documents and their seed, as in `transform`; None for a model that draws no topics there."""
        given = [getattr(self.model, name, None) for name in ("fold_in_iter", "_fold_in_seed_")]
        return None if None in given else given

    @property
    def has_full_conditionals(self):
        """Whether topics of tokens can be drawn, as for all models of this package but `ConsensusTopics`."""
        return hasattr(self.model, "_doc_prior")

    @property
    def known_weights(self):
        """The weights of known topics; None without any."""
        return getattr(self.model, "known_weight_", None)

    def unmerged(self):
        """The view of the topics that were merged to these, and the place of each of them in these."""
        place = getattr(self.model, "_place", None)
        return (self, np.arange(self.n_topics)) if place is None else (self.under(self.model.model), place)

    def fits(self):
        """Of common topics: the view of each fit, and which of its topics are in each of these, (n_own, n_topics)."""
        found = []
        for f, fit in enumerate(getattr(self.model, "estimators_", ())):
            members = np.zeros((len(fit.components_), self.n_topics), bool)
            for c, pairs in enumerate(self.model.members_):
                members[pairs[pairs[:, 0] == f, 1], c] = True
            found.append((self.under(fit), members))
        return found

    def under(self, model):
        """The view of the same documents under another model of the same words, without its theta."""
        found = replace(self, model=model, topic_word=_topic_word(model), doc_topic=None, names=None)
        found.is_training = _is_training(found)
        if self.covariates is not None and models.has_covariates(model):
            found.own_alpha = model._prior_where_known(self.covariates, self.n_documents)
        return found

    def document(self, d):
        """`d` as a row number, after checks."""
        return check_int(d, "document", 0, self.n_documents - 1)

    def of_documents(self, rows):
        """The view of some rows of X, as documents that are not those of the fit."""
        labels = None if self.collections is None else [self.collections[d] for d in rows]
        own = {"X": None, "counts": self.counts[rows], "doc_topic": self.doc_topic[rows], "collections": labels}
        own["own_alpha"] = None if self.own_alpha is None else self.own_alpha[rows]
        names = [self.document_names[d] for d in rows]
        return replace(self, **own, document_names=names, values=DocumentValues({}), is_training=False)

    # The fit.

    @property
    def fingerprint_of_fit(self):
        """The hash of the tokens of the documents of the fit; None if the model has none, as after `partial_fit`."""
        return getattr(self.model, "_fingerprint_", None)

    @property
    def is_of_fit(self):
        """Whether no other documents are given than those of the fit."""
        return self.counts is None or self.is_training

    def of_fit(self, name):
        """An attribute that describes the documents of the fit; None if it is absent or X has other documents."""
        found = getattr(self.model, name, None) if self.is_of_fit else None
        return found.compute() if is_dask(found) else found


def view(model, X=None, *, needs=None, missing="raise", needed=None, **values):
    """Read a model in any form that the functions of this package take: a `View`.

    Parameters
    ----------
    model : estimator, pipeline, pair of arrays, or Description
    X : documents, default=None
        None: those of the description.
    needs : {"topics", "proportions", "counts", "prior", "likelihood"}, default=None
        What the caller needs: topics, whatever the documents of a description; or besides topics theta, of X or of the
        documents that the model keeps; or X itself; or X and its prior, which is the second of a pair of arrays then;
        or this without theta and names. None: topics, and what there is.
    missing : {"raise", "drop"}, default="raise"
        What happens to documents without a value, see `DocumentValues`.
    needed : sequence of str, default=None
        The covariates of which none may be missing. None: all.
    **values
        Groups, dates and texts of the documents.
    """
    models.check_order(X, model)
    described = models.Description.of(model, X)
    if needs == "topics":
        described = replace(described, X=None, document_names=None, collections=None, covariates=None)
    model, X = described.estimator, described.X
    collections, document_names = described.collections, described.document_names
    values = DocumentValues.read(X, missing=missing, needed=needed, collections=collections, **values)
    # What is missing of these is not missing in a result.
    collections = values.given.pop("collections", None)
    if needs in ("counts", "prior", "likelihood") and X is None:
        raise ValueError("X is None: give the documents.")
    if isinstance(model, tuple):
        found = _of_arrays(model, X, collections, described.covariates, needs)
    else:
        found = _of_model(model, X, collections, described.covariates, values["covariates"], missing, needs)
    if needs == "likelihood":
        return found
    found.X, found.values, found.said = X, values, described.said
    found.known_words = models.words_of(described, found.n_features)
    if not any(len(each) > 1 for each in found.pipelines):
        check_order_of_words(X, found.known_words)
    found.names = _topic_names(found, described.topic_names)
    if needs == "prior":
        for own in [found for found, _ in found.fits()] or [found]:
            if not own.is_training and own.own_alpha is None:
                models.refuse_covariates(own.model)
    _warn_of_mean_prior(found)
    if needs in ("proportions", "counts") and found.doc_topic is None:
        found.doc_topic = found.of_fit("doc_topic_")
        if found.doc_topic is None:
            raise ValueError(f"X is None, and {type(found.model).__name__} keeps no documents: give X.")
    if found.doc_topic is not None:
        check_documents(n_documents=found.n_documents, **values.given)
        found.document_names = (
            names_of_rows(X, found.n_documents)
            if document_names is None
            else read_document_names(document_names, "document_names", found.n_documents, X)
        )
        found.doc_topic = found.masked(found.doc_topic)
    return found


def corpus_and_model(X, model, collections=None, covariates=None):
    """The corpus, topics and prior that a likelihood of documents needs.

    phi is (n_components, n_features), alpha (1 or n_documents, n_components). A ValueError or TypeError if X does not
    hold counts, or the model, a pair of arrays or an estimator in pipelines, is not a topic model of these features.
    """
    models.check_order(X, model)
    described = models.Description.of(model, X)
    values = DocumentValues.read(described.X, collections=collections, covariates=covariates)
    found = view(replace(described, **values.given), X, needs="likelihood")
    return found.corpus, found.topic_word, found.own_alpha


def corpora_of_both(X, a, b):
    """The corpus of two models, and topics and prior of each, as in `corpus_and_model`."""
    (corpus, *a), (same_corpus, *b) = (corpus_and_model(X, model) for model in (a, b))
    if corpus.fingerprint != same_corpus.fingerprint:
        raise ValueError("a and b make different counts from X: likelihoods of different words cannot be compared.")
    return corpus, a, b


def _topic_names(found, given):
    """The names of the topics. A topic that was left without one when others got theirs has its words instead."""
    names = model_topic_names(found.model, found.n_topics, given)
    if names is None or found.known_words is None:
        return names
    kind = type(found.model).__name__.lower()
    return distinct(" ".join(found.top(k, _WORDS)) if each == f"{kind}{k}" else each for k, each in enumerate(names))


def _of_model(model, X, collections, covariates, others, missing, needs):
    """`covariates` are those of the model; `others` may contain them."""
    pipelines = models.unwrap(model)[1]
    model, documents = models.inner_model(model, X, missing=missing)
    # The priors of a consensus are those of its fits.
    fitted = _fitted(model)
    fits = [fitted, *getattr(model, "estimators_", ())]
    of_collections = next((each for each in fits if hasattr(each, "collections_")), None)
    of_covariates = next((each for each in fits if models.has_covariates(each)), None)
    if collections is not None and of_collections is None:
        raise TypeError(f"{type(model).__name__} has no collections: do not give any.")
    if covariates is not None and of_covariates is None:
        raise TypeError(f"{type(model).__name__} has no covariates: do not give any.")
    if collections is not None and X is None:
        raise ValueError("collections are those of the documents of X: give X, too.")
    # In likelihoods as the model itself scores documents, to the last bit.
    own = getattr(model, "topic_word_", None) if needs == "likelihood" else None
    topic_word = _topic_word(model) if own is None else own
    hashed = any(isinstance(step, HashingVectorizer) for each in pipelines for _, step in each.steps)
    found = View(model, topic_word, is_hashed=hashed, collections=collections, pipelines=pipelines)
    if X is None:
        return found
    if needs == "likelihood":
        values = collections if covariates is None else covariates
        return _with_prior(found, documents, _prior_of(model, values))
    found.counts = _read_documents(documents, topic_word.shape[1], f"the {type(model).__name__}")
    found.is_training = _is_training(found)
    if found.is_training and collections is not None:
        # The documents of the fit in other collections are other documents.
        found.is_training = list(collections) == of_collections._collections_of_fit
    if found.is_training and getattr(model, "doc_topic_", None) is not None:
        found.doc_topic = model.doc_topic_
        return found
    if covariates is None and of_covariates is not None and has_names(others):
        variables = of_covariates._prior_of_documents_.design.variables
        known = set(variables) <= set(covariate_frame(others))
        covariates = others if known else None
    found.covariates = covariates
    if covariates is not None and found.has_counts and of_covariates is fitted:
        alpha = fitted._prior_where_known(covariates, found.counts.shape[0])
        found.own_alpha, found.doc_topic = alpha, fitted._proportions(found.corpus, alpha, True)
        if fitted is not model:
            found.own_alpha, found.doc_topic = model._sums(alpha), model._sums(found.doc_topic)
        return found
    known = {"collections": collections, "covariates": covariates}
    metadata = {name: values for name, values in known.items() if values is not None}
    found.doc_topic = models.topic_proportions(model, documents, **metadata)
    return found


def _warn_of_mean_prior(found):
    """Warn if documents that are not those of the fit may have collections or covariates that are not given."""
    if found.counts is None or found.is_training or found.own_alpha is not None:
        return
    model, fits = found.model, [found.model, *getattr(found.model, "estimators_", ())]
    new = "X is not the X of the fit, so the documents"
    if found.covariates is None and any(map(models.has_covariates, fits)):
        warn(
            f"{new} have the mean covariates of the {type(model).__name__}. With describe(model, X, covariates=...) in "
            "place of the model, they have their own."
        )
    if found.collections is None and any(len(getattr(each, "collections_", ())) > 1 for each in fits):
        warn(
            f"{new} are in no collection of the {type(model).__name__}. With describe(model, X, collections=...) in "
            "place of the model, they have that of their own."
        )


def _topic_word(model):
    return distributions(model.components_, f"components_ of the {type(model).__name__}")


def _is_training(found):
    """Whether the documents are those of the fit."""
    stored = found.fingerprint_of_fit
    return stored is not None and found.has_counts and found.corpus.fingerprint == stored


def _fitted(model):
    """The estimator that was fitted, of which merged topics are sums."""
    return getattr(model, "model", model)


def _prior_of(model, values):
    """alpha of documents of a fitted model with these collections or covariates, or of all."""
    if values is not None and hasattr(model, "document_prior"):
        return model.document_prior(values)
    models.refuse_covariates(model)
    if not hasattr(model, "doc_topic_prior_"):
        raise TypeError(f"{type(model).__name__} has no doc_topic_prior_, which a likelihood of documents needs.")
    return model.doc_topic_prior_


def _with_prior(found, documents, alpha):
    """The view with the corpus and alpha of its documents, for a likelihood."""
    found.corpus = Corpus.from_counts(documents)
    found.topic_word, found.own_alpha = models.check_arrays(found.topic_word, alpha, found.corpus)
    return found


def _of_arrays(pair, X, collections, covariates, needs):
    is_prior = needs in ("prior", "likelihood")
    if len(pair) != 2:
        second = "doc_topic_prior" if is_prior else "doc_topic"
        raise ValueError(f"model is a tuple of {len(pair)}; a model given as arrays is a pair (topic_word, {second}).")
    for name, values in (("collections", collections), ("covariates", covariates)):
        if values is not None:
            advice = "give a doc_topic_prior with a row for each document" if is_prior else "do not give any"
            raise TypeError(f"arrays have no {name}: {advice}.")
    if is_prior:
        found = _with_prior(View(None, pair[0]), X, pair[1])
        alpha = found.own_alpha
        if (alpha != alpha[0]).any() and np.allclose(alpha.sum(axis=1), 1, rtol=1e-5):
            raise ValueError(
                "all rows of doc_topic_prior sum to 1, as topic proportions do: a likelihood takes a pair (topic_word, "
                "doc_topic_prior) with alpha, the Dirichlet parameters of the proportions."
            )
        if needs == "prior":
            mean = alpha / alpha.sum(axis=1, keepdims=True)
            found.counts = found.corpus.to_counts()
            found.doc_topic = np.broadcast_to(mean, (found.corpus.n_documents, found.n_topics))
        return found
    topic_word = distributions(pair[0], "topic_word")
    doc_topic = real_numbers(pair[1], "doc_topic")
    if doc_topic.ndim != 2 or doc_topic.shape[1] != len(topic_word):
        raise ValueError(
            f"doc_topic has shape {doc_topic.shape}; with {len(topic_word)} topics it must be "
            f"(n_documents, {len(topic_word)})."
        )
    if len(doc_topic) == 0:
        raise ValueError("doc_topic has no document: it needs at least one row.")
    doc_topic = distributions(doc_topic, "doc_topic")
    found = View(None, topic_word, doc_topic=doc_topic)
    if X is not None:
        found.counts = _read_documents(X, topic_word.shape[1], "topic_word")
        if found.counts.shape[0] != len(doc_topic):
            raise ValueError(f"X has {found.counts.shape[0]} documents; doc_topic has {len(doc_topic)}.")
    return found


def _read_documents(X, n_features, owner):
    """Documents as csr_array with sorted indices; ValueError if they have negative values or other features."""
    X = read_rows(X, ensure_non_negative=True, input_name="X")
    if X.shape[1] != n_features:
        raise ValueError(f"X has {X.shape[1]} features; {owner} has {n_features}.")
    return X


def fitted(estimator, attributes, what, advice):
    """The fitted model inside pipelines and searches, for plots that read no topics; an error if it lacks one of these.

    See `lacks`.
    """
    model = models.unwrap(estimator)[0]
    check_is_fitted(model)
    if not all(hasattr(model, name) for name in attributes):
        raise lacks(model, what, advice)
    return model


def lacks(model, what, advice):
    """The error for a model of the wrong kind."""
    name = "the pair of arrays" if model is None else type(model).__name__
    return TypeError(f"{name} has no {what}: {advice}.")
