"""Short fits of every estimator that samples, for the tests of checkpoints."""

from sklda import CompoundLDA, CovariateLDA, EmpiricalBayesLDA, GibbsLDA, LabeledLDA, TopicCountLDA


def gibbs(**parameters):
    return lambda: GibbsLDA(**{"n_components": 3, "max_iter": 40, "n_draws": 3, "random_state": 0, **parameters})


def empirical_bayes(**parameters):
    parameters = {"n_chains": 2, "max_iter": 60, "n_tuning": 8, "n_draws": 2, "grid_shape": (3, 3), **parameters}
    return lambda: EmpiricalBayesLDA(3, random_state=0, **parameters)


def compound(**parameters):
    parameters = {"n_components": 3, "max_iter": 30, "n_draws": 3, "n_chains": 2, **parameters}
    return lambda: CompoundLDA(random_state=0, **parameters)


def covariate(**parameters):
    return lambda: CovariateLDA(3, max_iter=40, n_draws=3, n_chains=2, random_state=0, **parameters)


def labeled(**parameters):
    return lambda: LabeledLDA(max_iter=20, n_draws=2, n_chains=2, random_state=0, **parameters)


def topic_count(**parameters):
    parameters = {"n_temperatures": 8, "max_sweeps": 600, **parameters}
    return lambda: TopicCountLDA(2, 5, random_state=0, **parameters)
