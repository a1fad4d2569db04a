"""Priors by Gibbs-EM and by variational EM from several initial states, and their plot beside the maximum of m(h)."""

import numpy as np

from sklda._inference.gibbs_em import MStep
from sklda._inference.hyperparameters.chain_pool import learning
from sklda._inference.hyperparameters.variational_em import variational_em
from sklda._inference.priors import Priors
from sklda._inference.sampling.collapsed import GibbsChain
from sklda._inference.sampling.run_chains import run_chains

EM_BOUNDS = ((1e-3, 1e2), (1e-3, 1e2))
EMS = ("gibbs_em", "gibbs_em, paper", "variational_em")


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
    return [np.exp(c.steps[0].log_h).tolist() for c in run_chains(chains, n_iter * n_sweeps)]


def variational_estimates(chains):
    """Estimates by variational EM from all initial states, and the lower bounds of log m(h) that they reach."""
    fits = [variational_em(chain, EM_BOUNDS) for chain in chains]
    return [np.exp(fit.log_h()).tolist() for fit in fits], [fit.bound[-1] for fit in fits]


def plot_em(figures, path):
    """Figure 8: estimates from all initial states, and the same near the maximum of m(h)."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullFormatter, StrMethodFormatter

    fig, axes = plt.subplots(4, 3, figsize=(11, 13), layout="constrained")
    markers = {"gibbs_em": ("x", "#1f5a91"), "gibbs_em, paper": ("1", "#5b9bd5"), "variational_em": ("+", "#c1440e")}
    for i, (corpus, own) in enumerate(figures.items()):
        for row in (0, 1):
            ax = axes[2 * (i // 3) + row, i % 3]
            for name, (marker, color) in markers.items():
                ax.plot(*np.array(own[name]).T, marker, color=color, ms=8, mew=1.6, label=name)
            for kind, style in (("statistical", "-"), ("monte_carlo", ":")):
                ax.plot(*np.array(own["boundary"][kind]).T, style, color="#444444", lw=1.2, label=f"95% {kind}")
            ax.plot(*own["h"], "o", color="#444444", ms=5, label="maximum of m(h)")
            ax.plot(0.2, 0.8, "*", color="#2e8b57", ms=10, label="true priors")
            ax.set(xscale="log", yscale="log", title=corpus if row == 0 else "near the maximum")
            if row:
                around = np.array(own["boundary"]["statistical"])
                ax.set(xlim=around[:, 0][[around[:, 0].argmin(), around[:, 0].argmax()]] * [0.8, 1.25])
                ax.set(ylim=around[:, 1][[around[:, 1].argmin(), around[:, 1].argmax()]] * [0.8, 1.25])
            ax.set(xlabel=r"$\alpha$", ylabel=r"$\eta$")
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_major_formatter(StrMethodFormatter("{x:g}"))
                axis.set_minor_formatter(StrMethodFormatter("{x:g}") if row else NullFormatter())
            ax.tick_params(which="both", labelsize=7)
    axes[0, 0].legend(fontsize="x-small")
    fig.savefig(path, dpi=90)
    plt.close(fig)
