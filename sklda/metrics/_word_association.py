"""Association of words: the probability of a word given that another word of the same topic was seen."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

import numpy as np

from sklda._core.priors import check_prior
from sklda._description.models import refuse_covariates, topic_weights, unwrap, words_of
from sklda._input.arguments import distributions, is_whole
from sklda._input.names import find_words, read_column, read_vocabulary
from sklda._input.types import Model


def word_association(estimator: Model, cue: int | str | Sequence[int | str]) -> np.ndarray:
    """Probability of every word given a cue word of the same topic, p(w | cue).

    Parameters
    ----------
    estimator : estimator, pipeline, or array-like of shape (n_components, n_features)
        A fitted topic model with ``components_``, a pipeline or search that has one, or the weights of words in
        topics, not negative. A pair has these weights and alpha, a float or an array of shape (n_components,).
    cue : int, str, or sequence of these
        The cue words, as columns or as words: those of the model, see `sklda.inspection.describe`.

    Returns
    -------
    ndarray of shape (n_features,) or (n_cues, n_features)
        Rows sum to one. The cue itself has a probability, too. A cue that no topic has gives the mean of the topics by
        alpha.

    Raises
    ------
    ValueError
        If the topics are not a matrix of finite values that are not negative. If a cue is out of range, not in the
        vocabulary, or a word although the words of the columns are not known.
    TypeError
        If a cue is neither a word nor a number, the model has no topics, or it was fitted with covariates: give the
        pair ``(lda.topic_word_, alpha)`` with the alpha of a document.

    Notes
    -----
    The cue is the first word of a document, and the other word has the topic of the cue (Griffiths, Steyvers &
    Tenenbaum 2007; Papanikolaou et al. 2017, equation 57):

    .. math::

        p(w \\mid c) = \\sum_k \\phi_{kw} \\, p(k \\mid c), \\quad p(k \\mid c) \\propto \\alpha_k \\phi_{kc}.

    The paper has equal alpha. Let phi be unknown, with a Dirichlet distribution given counts. The mean of
    :math:`\\phi_{kw} \\phi_{kc}` for two different words is then the product of their means times s / (s + 1), where s
    is the sum of the counts and of eta in topic k. So means of phi may be used for topics of more than a few tokens.
    They come from counts (``point_estimate="cgs"``) or from expected counts (``"cgs_p"``).

    References
    ----------
    Griffiths, Steyvers & Tenenbaum (2007). Topics in semantic representation. Psychological Review 114.

    Papanikolaou, Foulds, Rubin & Tsoumakas (2017). Dense distributions from sparse samples: improved Gibbs sampling
    parameter estimators for LDA. JMLR 18.

    Examples
    --------
    >>> from sklda.inspection import describe
    >>> from sklda.metrics import word_association
    >>> topic_word = [[0.5, 0.4, 0.1, 0.0], [0.0, 0.1, 0.4, 0.5]]
    >>> word_association(topic_word, cue=1).round(2)
    array([0.4 , 0.34, 0.16, 0.1 ])
    >>> named = describe(topic_word, vocabulary=["apple", "pear", "bolt", "nut"])
    >>> word_association(named, cue="pear").round(2)
    array([0.4 , 0.34, 0.16, 0.1 ])
    """
    weights, alpha = topic_weights(None, estimator)[0], 1.0
    model = unwrap(estimator)[0]
    refuse_covariates(model)
    inner = model[1] if isinstance(model, tuple) else getattr(model, "doc_topic_prior_", None)
    phi = distributions(weights, "topic_word")
    if inner is not None:
        alpha = check_prior(inner, "doc_topic_prior", {"one per topic": (len(phi),)})
    names = words_of(estimator, phi.shape[1])
    single = isinstance(cue, (str, Integral))
    cues = read_column([cue] if single else cue, "cue", "a word, a column, or several of these")
    words = [each for each in cues if isinstance(each, str)]
    if words and names is None:
        raise ValueError(
            f"The cue {words[0]!r} is a word, but the words of the columns are not known: give "
            "describe(estimator, vocabulary=...) in place of the estimator."
        )
    place = {}
    if words:
        columns_of_words = read_vocabulary(names, "vocabulary", phi.shape[1])
        place = dict(zip(words, find_words(words, columns_of_words, "cue"), strict=True))
    columns = [place[each] if isinstance(each, str) else _column(each, phi.shape[1]) for each in cues]
    topics = np.broadcast_to(alpha, len(phi)) * phi[:, columns].T
    # A cue that no topic has does not determine the topic.
    topics[topics.sum(axis=1) == 0] = alpha
    found = topics / topics.sum(axis=1, keepdims=True) @ phi
    return found[0] if single else found


def _column(cue, n_features):
    """The column of a cue that is a number."""
    if not is_whole(cue):
        raise TypeError(f"cue must have words or numbers of columns, got {cue!r}.")
    if not 0 <= cue < n_features:
        raise ValueError(f"cue has column {cue}; the topics have {n_features} columns.")
    return int(cue)
