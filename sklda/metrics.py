"""Held-out likelihood of any topic model, scorers for searches and cross-validation, and scores of topics.

Everything here works on arrays (phi, alpha), or on a fitted model through ``components_`` and ``doc_topic_prior_``.
"""

import numpy as np
from sklearn.utils import Bunch

from sklda._scorers import (
    make_coherence_scorer,
    make_diversity_scorer,
    make_held_out_scorer,
    neg_ais_perplexity_scorer,
)
from sklda._scoring import as_matrix, check_model, check_options, over_runs, prior, topics
from sklda.inference import random
from sklda.inference.coherence import topic_coherence, topic_diversity
from sklda.inference.corpus import Corpus
from sklda.inference.held_out import combine, log_likelihoods, per_token, predictive
from sklda.inference.model_comparison import align, log_ratios, training_curve

__all__ = [
    "compare_topic_models",
    "held_out_curve",
    "held_out_log_likelihood",
    "make_coherence_scorer",
    "make_diversity_scorer",
    "make_held_out_scorer",
    "neg_ais_perplexity_scorer",
    "predictive_perplexity",
    "topic_coherence",
    "topic_diversity",
]


def held_out_log_likelihood(
    X,
    topic_word,
    doc_topic_prior,
    *,
    method="guided_ais",
    n_temperatures=100,
    n_runs=1,
    n_particles=None,
    schedule="linear",
    return_std=False,
    random_state=None,
    n_jobs=None,
):
    """Estimate log p(w_d | phi, alpha) for every document, topics given.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_documents, n_features)
        Word counts.
    topic_word : array-like of shape (n_components, n_features)
        phi: topics as distributions over words. Rows must sum to one.
    doc_topic_prior : float or array-like of shape (n_components,) or (n_documents, n_components)
        alpha, per topic.
    method : str, default="guided_ais"
        - ``"guided_ais"``: annealed importance sampling along theta ~ Dir(alpha + c a), where a is the expected topic
          counts by ten CVB0 iterations plus alpha, and c falls from infinity through 10 ... 0.01 to 0. Unbiased.
        - ``"ais"``: annealing from the prior by powers of phi (Wallach et al. 2009; Foulds & Smyth 2014, section 2.2).
          Unbiased.
        - ``"left_to_right"``: one particle, all earlier tokens drawn again before each (Wallach et al. 2009). Unbiased;
          the average over several particles inside the product, which that paper proposes, would be biased upwards.
          Cost grows with the square of a document's length.
        - ``"particle_filter"``: `n_particles` particles, systematic resampling. Unbiased.
        - ``"chib"``: Murray & Salakhutdinov (2009), with a chain of `n_temperatures` states. Unbiased.
        - ``"document_completion"``: log p of a random half of each document's tokens given theta from the other half,
          by `n_temperatures` sweeps. This is another quantity, of ``length // 2`` tokens, and needs no annealing.
        - ``"exact"``: dynamic programming over topic counts, for few topics and short documents.
    n_temperatures : int, default=100
        Distributions on an annealing path, one sweep each; see `method` for what it means to others.
    n_runs : int, default=1
        Independent runs; estimates are averaged on the scale of p (completion: of log p).
    n_particles : int, default=None
        For ``"particle_filter"`` only; None: 20.
    schedule : {"linear", "quadratic"}, default="linear"
        Temperatures of ``"ais"``.
    return_std : bool, default=False
        Whether to return Monte Carlo standard errors as well; needs two runs.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        Each document's stream is keyed by it and by the document's words: rows depend neither on each other nor on
        `n_jobs`.
    n_jobs : int, default=None
        Blocks of 64 documents at a time, as in joblib.

    Returns
    -------
    log_likelihood : ndarray of shape (n_documents,)
        In nats, of the tokens as a sequence: without the multinomial coefficient. 0 for an empty document; -inf for one
        with a word that has probability zero in every topic.
    std : ndarray of shape (n_documents,)
        Standard error over runs of `log_likelihood`, in nats. Only with ``return_std=True``.

    Raises
    ------
    ValueError
        If X is not a matrix of counts, shapes disagree, topics do not sum to one, an option is out of range, or
        ``method="exact"`` would take too long.

    References
    ----------
    Wallach, Murray, Salakhutdinov & Mimno (2009). Evaluation methods for topic models. ICML.

    Foulds & Smyth (2014). Annealing paths for the evaluation of topic models. UAI.

    Examples
    --------
    >>> import numpy as np
    >>> from sklda.metrics import held_out_log_likelihood
    >>> phi = np.array([[0.5, 0.3, 0.1, 0.1], [0.1, 0.1, 0.2, 0.6]])
    >>> X = np.array([[1, 1, 0, 1], [0, 0, 0, 0]])
    >>> held_out_log_likelihood(X, phi, 0.5, method="exact").round(6)
    array([-4.150915,  0.      ])
    >>> estimate, std = held_out_log_likelihood(X, phi, 0.5, n_runs=50, return_std=True, random_state=0)
    >>> bool(abs(estimate[0] + 4.150915) < 4 * std[0])
    True
    """
    corpus = Corpus.from_counts(as_matrix(X))
    topic_word, doc_topic_prior = check_model(topic_word, doc_topic_prior, corpus)
    options = check_options(method, n_temperatures, n_runs, n_particles, schedule, return_std)
    seed = random.seed_sequence(random_state)
    runs = log_likelihoods(corpus, topic_word, doc_topic_prior, **options, seed=seed, n_jobs=n_jobs)
    value, std = over_runs(method, runs)
    return (value, std) if return_std else value


def predictive_perplexity(model, X_seen, X_hidden, *, collections=None, n_sweeps=100, random_state=None, n_jobs=None):
    """Perplexity of the hidden words of documents, given their other words.

    Topic proportions are drawn from the words seen, topics fixed, and averaged token by token in the Rao-Blackwellised
    form (George, Xia & Michailidis 2019, section 4.2.2 and equations 21 and 98).

    Parameters
    ----------
    model : estimator
        A fitted topic model, with ``components_`` and ``doc_topic_prior_``.
    X_seen, X_hidden : array-like or sparse matrix of shape (n_documents, n_features)
        Word counts of two parts of the same documents.
    collections : sequence of n_documents labels, default=None
        The collections of the documents, for `sklda.CompoundLDA`.
    n_sweeps : int, default=100
        Sweeps over the words seen, of which the last two thirds are averaged.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
    n_jobs : int, default=None
        Blocks of 64 documents at a time, as in joblib; results do not depend on it.

    Returns
    -------
    float
        ``exp`` of minus the mean log probability of a hidden word.

    Raises
    ------
    ValueError
        If X_seen and X_hidden differ in shape, or there is no hidden word.

    Examples
    --------
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.metrics import predictive_perplexity
    >>> X = make_lda_corpus(80, 40, 3, random_state=0).data
    >>> lda = GibbsLDA(3, max_iter=50, random_state=0).fit(X[:60])
    >>> seen = (X[60:] / 2).floor()
    >>> bool(1 < predictive_perplexity(lda, seen, X[60:] - seen, random_state=0) < 40)
    True
    """
    seen, hidden = Corpus.from_counts(as_matrix(X_seen)), Corpus.from_counts(as_matrix(X_hidden))
    if (seen.n_documents, seen.n_features) != (hidden.n_documents, hidden.n_features):
        raise ValueError(
            f"X_seen has shape {(seen.n_documents, seen.n_features)} and X_hidden "
            f"{(hidden.n_documents, hidden.n_features)}: they must be parts of the same documents."
        )
    if hidden.n_tokens == 0:
        raise ValueError("X_hidden has no word to predict.")
    topic_word, alpha = check_model(topics(model), prior(model, collections), seen)
    key = int(random.seed_sequence(random_state).generate_state(1, np.uint64)[0])
    log_p = predictive(seen, hidden, topic_word, alpha, n_sweeps=n_sweeps, seed=key, n_jobs=n_jobs)
    return float(np.exp(-log_p.sum() / hidden.n_tokens))


def compare_topic_models(X, a, b, *, path="auto", n_temperatures=100, n_runs=2, random_state=None, n_jobs=None):
    """Document by document, how much more likely one topic model makes the words than another.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_documents, n_features)
        Word counts.
    a, b : estimator, or pair (topic_word, doc_topic_prior)
        Fitted topic models, or phi (n_components, n_features) and alpha (float, (n_components,) or one row a
        document).
    path : {"auto", "convex", "geometric", "difference"}, default="auto"
        - ``"convex"`` and ``"geometric"``: ratio-AIS, which anneals from one model to the other in both directions,
          along mixtures or geometric means of aligned topics (Foulds & Smyth 2014, equations 6 and 5; alpha moves on
          the straight line in both). For models of the same number of topics, all of which have every word that the
          documents have.
        - ``"difference"``: two guided estimates, one subtracted from the other; for any two models.
        - ``"auto"``: the better of convex and difference at equal cost, by a pilot on up to 64 documents.
    n_temperatures : int, default=100
        Sweeps of each annealing run.
    n_runs : int, default=2
        Independent runs, in each direction or of each model; at least 2.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
    n_jobs : int, default=None
        Blocks of 64 documents at a time, as in joblib; results do not depend on it.

    Returns
    -------
    sklearn.utils.Bunch
        - ``log_ratio`` (n_documents,): log p(w_d | a) - log p(w_d | b), in nats; on the annealed paths the mean of the
          two directions, whose biases have opposite signs.
        - ``std`` (n_documents,): its Monte Carlo standard error; on the annealed paths at least half of the
          disagreement of the directions.
        - ``path``: the path taken.
        - ``forward``, ``reverse`` (n_documents,): the same ratio by annealing from b to a, and from a to b (paths
          only).
        - ``disagreement``, ``disagreement_std``: mean over documents of forward minus reverse, in nats, and its error.
        - ``converged``: whether the disagreement is within 3 of its errors, so that no bias shows; None for
          ``"difference"``.
        - ``alignment`` (n_components,): the topic of b that was matched to each topic of a (paths only).

    Raises
    ------
    ValueError
        If shapes disagree, or the path does not allow the models.

    References
    ----------
    Foulds & Smyth (2014). Annealing paths for the evaluation of topic models. UAI.

    Examples
    --------
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.metrics import compare_topic_models
    >>> X = make_lda_corpus(80, 40, 3, random_state=0).data
    >>> good = GibbsLDA(3, max_iter=100, random_state=0).fit(X[:60])
    >>> bad = GibbsLDA(3, max_iter=1, random_state=0).fit(X[:60])
    >>> bool(compare_topic_models(X[60:], good, bad, random_state=0).log_ratio.mean() > 0)
    True
    """
    if path not in ("auto", "convex", "geometric", "difference"):
        raise ValueError(f"path must be 'auto', 'convex', 'geometric' or 'difference', got {path!r}.")
    check_options("guided_ais", n_temperatures, n_runs, None, "linear", return_std=True)
    corpus = Corpus.from_counts(as_matrix(X))
    a, b = (check_model(*(m if isinstance(m, tuple) else (topics(m), prior(m))), corpus) for m in (a, b))
    seed = random.seed_sequence(random_state)
    why_not = _no_path(corpus, a, b)
    if path in ("convex", "geometric") and why_not:
        raise ValueError(f"path={path!r} is not possible: {why_not}. Use path='difference'.")
    alignment = None
    if path != "difference" and not why_not:
        alignment = align(a[0], b[0])
        b = b[0][alignment], b[1][:, alignment]
    common = {"n_temperatures": n_temperatures, "n_jobs": n_jobs}
    if path == "auto":
        path = "difference" if why_not else _better_path(corpus, a, b, seed, common)
    if path == "difference":
        estimates = [
            combine(log_likelihoods(corpus, *model, seed=random.child(seed, i), n_runs=n_runs, **common))
            for i, model in enumerate((a, b))
        ]
        return Bunch(
            log_ratio=_subtract(estimates[0][0], estimates[1][0]),
            std=np.hypot(estimates[0][1], estimates[1][1]),
            path=path,
            converged=None,
        )
    forward, forward_std = combine(
        log_ratios(corpus, b, a, path=path, n_runs=n_runs, seed=random.child(seed, 0), **common)
    )
    reverse, reverse_std = combine(
        log_ratios(corpus, a, b, path=path, n_runs=n_runs, seed=random.child(seed, 1), **common)
    )
    gap = forward + reverse
    gap_std = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.hypot(forward_std, reverse_std)[0]
    return Bunch(
        log_ratio=(forward - reverse) / 2,
        std=np.maximum(np.hypot(forward_std, reverse_std), np.abs(gap)) / 2,
        path=path,
        forward=forward,
        reverse=-reverse,
        disagreement=float(gap.mean()),
        disagreement_std=float(gap_std),
        converged=bool(abs(gap.mean()) <= 3 * gap_std + 1e-9),
        alignment=alignment,
    )


def _no_path(corpus, a, b):
    """Why the two models cannot be annealed into one another, or an empty string."""
    if len(a[0]) != len(b[0]):
        return f"the models have {len(a[0])} and {len(b[0])} topics"
    present = np.unique(corpus.words)
    if not ((a[0][:, present] > 0).all() and (b[0][:, present] > 0).all()):
        return "a word of X has probability zero in a topic"
    return ""


def _better_path(corpus, a, b, seed, common):
    """The path whose two estimates, at equal cost, lie nearer together on some of the documents."""
    chosen = np.unique(np.linspace(0, corpus.n_documents - 1, 64).astype(int))
    pilot = Corpus.from_counts(corpus.to_counts()[chosen])
    a, b = ((m[0], m[1][chosen] if len(m[1]) > 1 else m[1]) for m in (a, b))
    seeds = [random.child(seed, 2, i) for i in range(4)]
    there = log_ratios(pilot, b, a, path="convex", n_runs=1, seed=seeds[0], **common)[0]
    back = log_ratios(pilot, a, b, path="convex", n_runs=1, seed=seeds[1], **common)[0]
    runs = [log_likelihoods(pilot, *m, seed=s, n_runs=2, **common) for m, s in zip((a, b), seeds[2:], strict=True)]
    difference = np.diff(runs[0] - runs[1], axis=0)[0]
    return "convex" if np.mean((there + back) ** 2) <= np.mean(difference**2) else "difference"


def _subtract(a, b):
    """a - b, NaN where both models make a document impossible."""
    both = np.isneginf(a) & np.isneginf(b)
    return np.where(both, np.nan, np.subtract(a, b, where=~both, out=np.zeros_like(a)))


def held_out_curve(X, snapshots, doc_topic_prior=None, *, n_temperatures=20, n_runs=2, random_state=None, n_jobs=None):
    """Held-out log-likelihood per token along the sweeps of a fit.

    The first snapshot gets a guided estimate; from there the documents are annealed from each snapshot to the next
    (iteration-AIS), so that all earlier work is used again and the curve's errors move together.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_documents, n_features)
        Word counts of documents that the fit has not seen.
    snapshots : GibbsLDA fitted with `snapshot_every`, or array-like of shape (n_snapshots, n_components, n_features)
        Topics, each row a distribution over words.
    doc_topic_prior : float or array-like of shape (n_components,), default=None
        alpha; None: that of the estimator.
    n_temperatures : int, default=20
        Sweeps from one snapshot to the next, and five times as many for the first.
    n_runs : int, default=2
        Independent runs, at least 2.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
    n_jobs : int, default=None
        Blocks of 64 documents at a time, as in joblib; results do not depend on it.

    Returns
    -------
    sklearn.utils.Bunch
        ``score`` (n_snapshots,): mean per token, in nats; ``std`` (n_snapshots,): its Monte Carlo standard error;
        ``log_likelihood`` (n_snapshots, n_documents); ``sweeps`` (n_snapshots,): sweeps of an estimator's snapshots, or
        0, 1, 2, ...

    Raises
    ------
    ValueError
        If there is no snapshot, shapes disagree, or X has no token.

    References
    ----------
    Foulds & Smyth (2014). Annealing paths for the evaluation of topic models. UAI. Section 3.2.

    Examples
    --------
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.metrics import held_out_curve
    >>> X = make_lda_corpus(80, 40, 3, random_state=0).data
    >>> lda = GibbsLDA(3, max_iter=30, snapshot_every=10, random_state=0).fit(X[:60])
    >>> curve = held_out_curve(X[60:], lda, random_state=0)
    >>> curve.sweeps.tolist(), curve.score.shape
    ([10, 20, 30], (3,))
    """
    sweeps = None
    if hasattr(snapshots, "components_"):
        if not hasattr(snapshots, "snapshots_"):
            raise ValueError("the estimator kept no snapshots: fit it with snapshot_every=10, or the like.")
        sweeps = snapshots.snapshot_sweeps_
        doc_topic_prior = snapshots.doc_topic_prior_ if doc_topic_prior is None else doc_topic_prior
        snapshots = snapshots.snapshots_
    elif doc_topic_prior is None:
        raise ValueError("doc_topic_prior is needed with snapshots given as arrays.")
    if len(snapshots) == 0:
        raise ValueError("there is no snapshot: snapshot_every may be larger than the number of sweeps.")
    check_options("guided_ais", n_temperatures, n_runs, None, "linear", return_std=True)
    corpus = Corpus.from_counts(as_matrix(X))
    models = [check_model(topic_word, doc_topic_prior, corpus) for topic_word in snapshots]
    runs = training_curve(
        corpus,
        [topic_word for topic_word, _ in models],
        models[0][1],
        n_temperatures=n_temperatures,
        n_runs=n_runs,
        seed=random.seed_sequence(random_state),
        n_jobs=n_jobs,
    )
    value, std = combine(runs)
    return Bunch(
        score=np.array([per_token(row, corpus.lengths) for row in value]),
        std=np.sqrt((std**2).sum(axis=1)) / corpus.n_tokens,
        log_likelihood=value,
        sweeps=np.arange(len(value)) if sweeps is None else sweeps,
    )
