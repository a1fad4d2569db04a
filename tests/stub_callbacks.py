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
