"""Held-out likelihood of any topic model, scorers for searches and cross-validation, and scores of topics.

Everything here works on arrays (phi, alpha), or on a fitted model through ``components_`` and ``doc_topic_prior_``.
"""

from numbers import Integral

import numpy as np
from sklearn.utils import Bunch, check_scalar

from sklda._evidence import log_evidence
from sklda._scorers import (
    make_coherence_scorer,
    make_diversity_scorer,
    make_held_out_scorer,
    neg_ais_perplexity_scorer,
)
from sklda._scoring import as_matrix, check_model, check_options, over_runs, prior, topics
from sklda.inference import random
from sklda.inference.chain import ChainState, GibbsChain
from sklda.inference.coherence import topic_coherence, topic_diversity
from sklda.inference.corpus import Corpus
from sklda.inference.held_out import combine, log_likelihoods, per_token, predictive
from sklda.inference.model_comparison import align, log_ratios, training_curve
from sklda.inference.point_estimates import check_assignments
from sklda.inference.predictive import leave_one_out
from sklda.inference.priors import Priors

__all__ = [
    "compare_topic_models",
    "held_out_curve",
    "held_out_log_likelihood",
    "leave_one_out_score",
    "log_evidence",
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
          counts by ten CVB0 iterations plus alpha, and c falls from infinity through 10 ... 0.01 to 0; where alpha is
          below 0.1, it ends at a tenth of alpha, or 1e-5, rather than at 0.01. Unbiased.
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
    key = random.key(random.seed_sequence(random_state))
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


def leave_one_out_score(
    X, model, *, documents=None, n_draws=100, n_temperatures=30, n_components=None, random_state=None, n_jobs=None
):
    """How well each training document is predicted by all others: one score for priors and numbers of topics.

    For document d, L_d = p(w_d | words of all other documents), with topics, proportions and assignments integrated
    out; the score is the mean of log L_d over documents, the logarithm of the S(h) of George & Doss (Section 5.2) and
    of the S(T) of Chen & Doss (posterior predictive checking). It depends on the priors and on the number of topics,
    not on point estimates, so models with different ones compare: greater is better, in nats per document.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_documents, n_features)
        Word counts, those that the model was fitted to.
    model : estimator, or triple (topic_assignments, topic_word_prior, doc_topic_prior)
        A fitted `GibbsLDA`, or a state to start from with eta and alpha. The chains begin there, so that it should be
        one that has converged: what is scored is the posterior around its mode.
    documents : array-like of int, default=None
        The documents to leave out, by row; None: all. Each takes about ``1.5 n_draws`` sweeps over the corpus, once for
        every 200 of its tokens; for large corpora take some at random, and the same for all models.
    n_draws : int, default=100
        Draws of the chains, given all documents and given all but one. At least 10.
    n_temperatures : int, default=30
        Sweeps over a document in each annealing run.
    n_components : int, default=None
        Number of topics, with a triple only; None: one more than the largest topic given.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
    n_jobs : int, default=None
        Documents at a time, as in joblib; results do not depend on it.

    Returns
    -------
    sklearn.utils.Bunch
        - ``score``: mean over documents of ``log_likelihood``, nats.
        - ``std``: its Monte Carlo standard error, within the mode of the posterior that the chains are in.
        - ``log_likelihood`` (n_left_out,): log L_d, nats, without the multinomial coefficient; 0 for an empty document.
        - ``log_likelihood_std`` (n_left_out,): standard errors.
        - ``lower``, ``upper``: mean log-likelihoods by chains without the document alone, and by the chain with all
          documents alone: on average too low and too high. A wide gap means that `n_draws` is too small.

    Raises
    ------
    ValueError
        If X is not a matrix of counts or not that of the assignments, or an argument is out of range.

    Notes
    -----
    Given the topics of the other documents, the document's likelihood is annealed with theta and phi integrated out,
    with unbiased results: from chains that never saw it, forwards; from the chain of all documents, backwards. Both
    together give log L_d by Bennett's acceptance ratio. Documents of more than 200 tokens are left out piece by piece.
    The estimate is consistent; its bias is of the order of its squared error. The error is a jackknife over five
    batches of draws, and too small where a chain needs more than a fifth of its draws to forget.

    References
    ----------
    George & Doss (2018). Principled selection of hyperparameters in the latent Dirichlet allocation model. JMLR 18.
    Equation 5.1.

    Chen & Doss. Inference for the number of topics in the latent Dirichlet allocation model via Bayesian mixture
    modelling. Equation 5.2.

    Bennett (1976). Efficient estimation of free energy differences from Monte Carlo data. J. Computational Physics 22.

    Examples
    --------
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.metrics import leave_one_out_score
    >>> X = make_lda_corpus(30, 20, 3, doc_length=30, random_state=0).data
    >>> good, bad = (GibbsLDA(3, doc_topic_prior=alpha, topic_word_prior=0.1, random_state=0) for alpha in (0.1, 10))
    >>> good, bad = (leave_one_out_score(X, lda.fit(X), n_draws=20, random_state=0) for lda in (good, bad))
    >>> bool(good.score > bad.score)
    True
    """
    for name, value, least in (("n_draws", n_draws, 10), ("n_temperatures", n_temperatures, 1)):
        check_scalar(value, name, Integral, min_val=least)
    corpus = Corpus.from_counts(as_matrix(X))
    if isinstance(model, tuple):
        topic_assignments, topic_word_prior, doc_topic_prior = model
    else:
        if not hasattr(model, "topic_assignments_"):
            raise TypeError(
                f"{type(model).__name__} has no topic_assignments_: fit a GibbsLDA, or give a triple "
                "(topic_assignments, topic_word_prior, doc_topic_prior)."
            )
        if n_components is not None:
            raise ValueError("n_components is for a triple of arrays; an estimator knows its own.")
        topic_assignments, n_components = model.topic_assignments_, len(model.components_)
        topic_word_prior, doc_topic_prior = model.topic_word_prior_, model.doc_topic_prior_
    assignments, n_components = check_assignments(topic_assignments, corpus, n_components)
    priors = Priors.make(doc_topic_prior, topic_word_prior, n_components, corpus.n_features, corpus.n_documents)
    documents = _rows(documents, corpus)
    seed = random.seed_sequence(random_state)
    found = leave_one_out(
        GibbsChain(corpus, priors, ChainState(assignments, random.stream(random.child(seed, 0)))),
        documents,
        n_draws=n_draws,
        n_temperatures=n_temperatures,
        seed=random.child(seed, 1),
        n_jobs=n_jobs,
    )
    value, (lower, upper) = found.log_likelihood(), found.one_sided()
    replicates = found.jackknife()
    factor = np.sqrt(len(replicates) - 1)
    return Bunch(
        score=float(value.mean()),
        std=float(factor * replicates.mean(axis=1).std()),
        log_likelihood=value,
        log_likelihood_std=factor * replicates.std(axis=0),
        lower=float(lower.mean()),
        upper=float(upper.mean()),
    )


def _rows(documents, corpus):
    """Row numbers of documents, checked."""
    if documents is None:
        return np.arange(corpus.n_documents)
    rows = np.asarray(documents)
    if rows.ndim != 1 or not len(rows) or rows.dtype.kind not in "iu":
        raise ValueError(f"documents must be row numbers, got {documents!r}.")
    bad = (rows < 0) | (rows >= corpus.n_documents)
    if bad.any():
        raise ValueError(f"documents holds {rows[bad][0]}; X has rows 0 to {corpus.n_documents - 1}.")
    return rows
