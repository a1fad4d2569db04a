"""Estimates of the priors for `empirical_bayes.py`: at the maximum of m(h), by Gibbs-EM and by variational EM."""

import warnings

import numpy as np
from peers import stopwatch
from report import say
from sklearn.exceptions import ConvergenceWarning

from sklda import EmpiricalBayesLDA, GibbsLDA
from sklda._core.corpus import Corpus
from sklda._core.gibbs_em import MStep
from sklda._core.priors import Priors
from sklda._models.empirical_bayes.chain_pool import learning
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.run_chains import Run
from sklda.datasets import make_lda_corpus
from sklda.papers.empirical_bayes._variational_em import ascend
from sklda.papers.held_out import leave_one_out_score

SECTION_3 = [(0.25, 0.25), (4.0, 0.25), (0.25, 4.0), (4.0, 4.0)]
SECTION_5 = {"doc_topic_prior": 0.2, "topic_word_prior": 0.8}
# The single chain of the paper: sweeps of each tuning run and of the last run, and its grid of 63 points.
PAPER_TUNING, PAPER_SWEEPS = 51_000, 101_000
PAPER_GRID = {
    "region": ((0.1, 0.3), (0.6, 0.9)),
    "tempering": {"ratio": "augmented", "index": "neighbours", "tuning": "restarts", "grid_shape": (9, 7)},
}
EM_BOUNDS = ((1e-3, 1e2), (1e-3, 1e2))


def pair(h, digits=3):
    return f"({h[0]:.{digits}g}, {h[1]:.{digits}g})"


def fit(X, n_components, seed, **parameters):
    """A fitted `EmpiricalBayesLDA`, CPU seconds, and the beginnings of its warnings."""
    return timed(EmpiricalBayesLDA(n_components, random_state=seed, **parameters).fit, X)


def timed(call, *arguments, **options):
    """The result of a call, CPU seconds, and the beginnings of its warnings."""
    with warnings.catch_warnings(record=True) as caught, stopwatch() as taken:
        warnings.simplefilter("always", ConvergenceWarning)
        result = call(*arguments, **options)
    return result, taken["cpu"], [str(each.message)[:100] for each in caught]


def found(model):
    return float(model.doc_topic_prior_), float(model.topic_word_prior_)


def errors(model, kind):
    """Standard errors of log alpha and log eta."""
    return model.confidence_region(0.95, kind).standard_errors


def initial_chain(corpus, n_components, seed):
    """A chain from a random initial state: priors log-uniform over a hundredfold range, topics uniform."""
    eta, alpha = np.exp(np.random.default_rng(seed).uniform(np.log(0.05), np.log(5), 2))
    priors = Priors.make(alpha, eta, n_components, corpus.n_features)
    return GibbsChain.initialise_randomly(corpus, priors, np.random.SeedSequence(seed))


def gibbs_em(chains, options, paper=False):
    """Gibbs-EM from all initial states: short E-steps and the draws of the last half, or few long ones (paper)."""
    n_iter, n_sweeps = (50, options.em_sweeps) if paper else (options.em_sweeps * 5, 10)
    em = {"every": 1, "n_draws": n_sweeps, "n_last": n_sweeps if paper else n_iter * n_sweeps // 2}
    chains = [learning(c, n_iter * n_sweeps, MStep(EM_BOUNDS), **em) for c in chains]
    return [np.exp(c.steps[0].log_h).tolist() for c in Run().sweep(chains, n_iter * n_sweeps)]


def variational_estimates(chains):
    """Estimates by variational EM from all initial states, and the lower bounds of log m(h) that they reach."""
    fits = [ascend(chain, EM_BOUNDS) for chain in chains]
    return [np.exp(fit.log_h()).tolist() for fit in fits], [fit.bound[-1] for fit in fits]


def recovery(options, truths=SECTION_3):
    """Estimates on repeated corpora with V = 40, D = 400, n_d = 80, K = 8."""
    figures = {}
    for alpha, eta in truths:
        own = figures[f"{alpha}, {eta}"] = []
        for repeat in range(options.repeats):
            X = make_lda_corpus(
                400,
                40,
                8,
                doc_length=80,
                doc_topic_prior=alpha,
                topic_word_prior=eta,
                random_state=options.seed + repeat,
            ).data
            model, seconds, warned = fit(X, 8, options.seed + repeat)
            region = model.confidence_region(0.95, "statistical")
            row = {
                "h": found(model),
                "monte_carlo": errors(model, "monte_carlo").tolist(),
                "statistical": errors(model, "statistical").tolist(),
                "inside": bool(region.contains(alpha, eta)),
                "seconds": seconds,
                "warnings": warned,
            }
            own.append(row)
            say(f"  {alpha}, {eta}: {pair(row['h'])}{'' if row['inside'] else ' outside'} {warned or ''}")
    return figures


def em(options):
    """V = 20, n_d = 80, (alpha, eta) = (.2, .8), K = 4 and 8, D = 20, 40 and 100."""
    figures = {}
    for K in (4, 8):
        for D in (20, 40, 100):
            X = make_lda_corpus(D, 20, K, doc_length=80, **SECTION_5, random_state=options.seed).data
            corpus, seconds = Corpus.from_counts(X), {}
            model, seconds["m(h)"], warned = fit(X, K, options.seed)
            chains = [initial_chain(corpus, K, options.seed + 1 + i) for i in range(options.initialisations)]
            with stopwatch() as taken:
                short = gibbs_em(chains, options)
            seconds["gibbs_em"] = taken["cpu"] / len(chains)
            with stopwatch() as taken:
                paper = gibbs_em(chains, options, paper=True)
            seconds["gibbs_em, paper"] = taken["cpu"] / len(chains)
            with stopwatch() as taken:
                variational, _ = variational_estimates(chains)
            seconds["variational_em"] = taken["cpu"] / len(chains)
            regions = {kind: model.confidence_region(0.95, kind) for kind in ("monte_carlo", "statistical")}
            figures[f"K = {K}, D = {D}"] = {
                "h": found(model),
                "warnings": warned,
                "gibbs_em": short,
                "gibbs_em, paper": paper,
                "variational_em": variational,
                "seconds": seconds,
                "covariance": {kind: region.covariance.tolist() for kind, region in regions.items()},
                "boundary": {kind: region.boundary().tolist() for kind, region in regions.items()},
            }
            say(f"  K = {K}, D = {D}: {pair(found(model))} {warned or ''}")
    return figures


def ad_hoc(K):
    """(alpha, eta) of Gensim, of Asuncion et al. (2009), and of Griffiths & Steyvers (2004)."""
    return {"1/K, 1/K": (1 / K, 1 / K), ".1, .1": (0.1, 0.1), "50/K, .1": (50 / K, 0.1)}


def scores(X, K, options):
    """The leave-one-out scores of estimated priors and of ad-hoc priors."""
    model, seconds, warned = fit(X, K, options.seed)
    corpus = Corpus.from_counts(X)
    chains = [initial_chain(corpus, K, options.seed + 1 + i) for i in range(options.initialisations)]
    variational, bounds = variational_estimates(chains)
    candidates = {
        "gibbs_em": np.exp(np.median(np.log(gibbs_em(chains, options)), axis=0)),
        "variational_em": variational[np.argmax(bounds)],
    } | ad_hoc(K)
    own = {
        "h": found(model),
        "monte_carlo": errors(model, "monte_carlo").tolist(),
        "statistical": errors(model, "statistical").tolist(),
        "seconds": seconds,
        "warnings": warned,
        "scores": {},
    }
    lengths = np.asarray(X.sum(axis=1)).ravel()
    step = max(1, X.shape[0] * int(lengths.sum()) // options.score_tokens)
    common = {"documents": np.arange(0, X.shape[0], step), "n_draws": options.draws, "random_state": options.seed}
    for name, h in {"maximum of m": own["h"], **candidates}.items():
        # Fits end in different modes, which is part of the error. So there are two fits, each the best of four chains.
        parameters = {"doc_topic_prior": float(h[0]), "topic_word_prior": float(h[1]), "n_chains": 4}
        parameters["max_iter"] = options.fit_sweeps
        found_scores = []
        with stopwatch() as taken:
            for fit_seed in range(options.seed, options.seed + options.fits):
                lda = GibbsLDA(K, **parameters, random_state=fit_seed).fit(X)
                found_scores.append(leave_one_out_score(lda, X, **common))
        values = np.array([score.score for score in found_scores])
        within = np.sqrt(np.sum([score.std**2 for score in found_scores])) / len(values)
        between = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
        own["scores"][name] = {
            "h": [float(x) for x in h],
            "score": float(values.mean()),
            "std": float(max(within, between)),
            "sides": [float(np.mean([getattr(score, side) for score in found_scores])) for side in ("lower", "upper")],
            "seconds": taken["cpu"],
        }
    return own
