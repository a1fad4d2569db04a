"""Sets of labels by estimates of theta and phi from counts and from expected counts, for `point_estimates.py`."""

import numpy as np
from bench_labels import Counter, set_measures

from sklda import LabeledLDA
from sklda._core.corpus import Corpus
from sklda._likelihood.held_out.fold_in import fold_in
from sklda._models.labels.classifier import top_labels


def estimates(corpora, options, runs):
    """Tables 6 to 8 of Papanikolaou et al. in kind: phi and theta by CGS and by CGS_p.

    runs has pairs: the number of chains, and the number of draws of each.
    """
    X, Y, Xt, Yt = corpora
    numbers, corpus = Counter(X, Y)(Xt), Corpus.from_counts(Xt)
    found = []
    for n_chains, n_draws in runs:
        for phi_by in ("cgs", "cgs_p"):
            plan = {
                "n_chains": n_chains,
                "max_iter": 50 + 5 * n_draws,
                "burn_in": 50,
                "n_draws": n_draws,
                "draw_every": 5,
            }
            plan["point_estimate"] = phi_by
            lda = LabeledLDA(topic_word_prior=options.eta, random_state=0, **plan).fit(X, Y)
            alpha = lda.doc_topic_prior_[None]
            for theta_by in ("cgs", "cgs_p", "unnormalized"):
                sweeps = {"n_sweeps": 50 + (1 if n_draws == 1 else 5 * n_draws), "n_burn_in": 50}
                counts = [
                    fold_in(corpus, lda.topic_word_, alpha, seed=c, estimate=theta_by, **sweeps)
                    for c in range(n_chains)
                ]
                scores = np.mean(counts, axis=0) + (0 if theta_by == "unnormalized" else alpha)
                f1 = set_measures(top_labels(scores, numbers), Yt)
                found.append({"runs": f"{n_chains} x {n_draws}", "phi": phi_by, "theta": theta_by, "f1": f1})
    return found
