"""Callbacks of scikit-learn for tests."""


class DoNothing:
    """A callback whose hooks do nothing."""

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **kwargs):
        pass

    def on_fit_task_end(self, estimator, context, **kwargs):
        pass


class Stop(DoNothing):
    """A callback that ends a fit at once."""

    def on_fit_task_end(self, estimator, context, **kwargs):
        return True


class EndAfter(DoNothing):
    """A callback that ends a chain with its n-th sweep, counted over all chains."""

    def __init__(self, n_sweeps):
        self.n_left = n_sweeps

    def on_fit_task_end(self, estimator, context):
        self.n_left -= context.task_name == "sweep"
        return context.task_name == "sweep" and self.n_left == 0
