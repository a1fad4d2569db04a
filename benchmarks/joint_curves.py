"""Curves of the joint log-likelihood over CPU seconds, of several samplers in turn."""

import numpy as np
from peers import PEERS, Mallet, Sklda, SkldaSequential, log_joint, stopwatch
from report import say, table


def joint_curves(X, n_topics, seconds, options):
    """For every seed and sampler: CPU seconds of the sweeps so far, and log p(w, z) per token."""
    n_tokens = int(X.sum())
    # topica makes its sweeps in one fit.
    names = [name for name in options.libraries if name not in ("scikit-learn", "topica")]
    names.append(SkldaSequential.name)
    kinds = PEERS | {SkldaSequential.name: SkldaSequential}
    curves = {name: [] for name in [*names, *([Mallet.name] if options.mallet else [])]}
    for seed in range(options.seed, options.seed + options.repeats):
        samplers = {name: kinds[name](X, n_topics, seed) for name in names}
        points = {name: [(0.0, log_joint(s.tokens, s.topics(), n_topics) / n_tokens)] for name, s in samplers.items()}
        sweeps, spent = dict.fromkeys(samplers, 0), dict.fromkeys(samplers, 0.0)
        for checkpoint in np.linspace(0, seconds, options.checkpoints + 1)[1:]:
            for name, sampler in samplers.items():
                before = sweeps[name]
                while spent[name] < checkpoint:
                    # One call makes all sweeps up to the checkpoint, because tomotopy starts a thread at every call.
                    n = int((checkpoint - spent[name]) / spent[name] * sweeps[name]) if sweeps[name] else 1
                    with stopwatch() as taken:
                        sampler.sweep(max(n, 1))
                    spent[name] += taken["cpu"]
                    sweeps[name] += max(n, 1)
                if sweeps[name] > before:
                    level = log_joint(sampler.tokens, sampler.topics(), n_topics) / n_tokens
                    points[name].append((spent[name], level))
        for name in names:
            curves[name].append(points[name])
        if options.mallet:
            curves[Mallet.name].append(mallet_curve(X, n_topics, seconds, seed, options.mallet))
    return curves


def mallet_curve(X, n_topics, seconds, seed, jars):
    """The curve of MALLET, with a new run for every point: 1, 2, 4, … sweeps, until they take `seconds`."""
    mallet, n_tokens = Mallet(X, n_topics, seed, jars), int(X.sum())
    points, n = [], 1
    while not points or points[-1][0] < seconds:
        spent, tokens, topics = mallet.run(n)
        points.append((spent, log_joint(tokens, topics, n_topics) / n_tokens))
        n *= 2
    return points


def at_time(points, seconds):
    return float(np.interp(seconds, *np.transpose(points)))


def time_of(points, level):
    """The time at which the curve first reaches `level`, interpolated; NaN if it never does."""
    times, levels = np.transpose(points)
    passed = np.flatnonzero(levels >= level)
    if not len(passed):
        return np.nan
    i = passed[0]
    return float(np.interp(level, levels[i - 1 : i + 1], times[i - 1 : i + 1])) if i else 0.0


def show_joint(corpus, n_topics, seconds, curves):
    moments = seconds * np.array([0.1, 0.25, 0.5, 0.75, 1])
    rows = [
        [name, *(f"{np.median([at_time(points, t) for points in runs]):.4f}" for t in moments)]
        for name, runs in curves.items()
    ]
    header = ["log p(w, z) per token", *(f"{t:.3g} s" for t in moments)]
    table(f"{corpus}, K = {n_topics}: joint log-likelihood in nats per token after CPU seconds", header, rows)
    summary = {}
    ours = Sklda.name, SkldaSequential.name
    for name in curves:
        if name in ours:
            continue
        # Equal seeds of different libraries have nothing in common, so medians over seeds are compared.
        level = float(np.median([at_time(points, seconds) for points in curves[name]]))
        summary[name] = {"level": level}
        for own in ours:
            reached = [time_of(points, level) for points in curves[own]]
            summary[name][own] = {"seconds": reached, "share": np.median(reached) / seconds}
            say(
                f"  {name} has {level:.4f} after {seconds:.3g} s; {own} reaches it after {np.median(reached):.3g} s "
                f"({min(reached):.3g}–{max(reached):.3g}), ratio {np.median(reached) / seconds:.3f}"
            )
    return summary
