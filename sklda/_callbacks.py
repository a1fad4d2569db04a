"""Progress of a fit: printed lines, and scikit-learn's callbacks where it has them (1.9 and later)."""

import time

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class _NoContext:
        def subcontext(self, **kwargs):
            return self

        def call_on_fit_task_begin(self, **kwargs):
            return self

        def call_on_fit_task_end(self, **kwargs):
            return False

    class CallbackSupportMixin:
        def _init_callback_context(self, **kwargs):
            return _NoContext()

    def with_callbacks(method):
        return method


class Progress:
    """Listens to chains between sweeps: callbacks and printed lines."""

    def __init__(self, estimator, data, attributes, n_chains, n_sweeps=None):
        self.estimator, self.data, self.attributes = estimator, data, attributes
        self.total = estimator.max_iter if n_sweeps is None else n_sweeps
        self.began = time.perf_counter()
        sweeps = {"max_subtasks": self.total}
        self.root = estimator._init_callback_context(max_subtasks=n_chains, sequential_subtasks=False)
        self.begin(self.root)
        self.chains = [self.root.subcontext(task_name="chain", task_id=c, **sweeps) for c in range(n_chains)]
        for context in self.chains:
            self.begin(context)
        self.done, self.sweeps = [0] * n_chains, [None] * n_chains

    def fitted(self, chains):
        return self.attributes | self.estimator._fitted_attributes(chains)

    def begin(self, task):
        task.call_on_fit_task_begin(estimator=self.estimator, **self.data)

    def finish(self, task, chains):
        return task.call_on_fit_task_end(
            estimator=self.estimator, **self.data, reconstruction_attributes=lambda: self.fitted(chains)
        )

    def before(self, index):
        self.sweeps[index] = self.chains[index].subcontext(task_name="sweep")
        self.begin(self.sweeps[index])

    def after(self, index, chain):
        self.done[index] += 1
        self.report(index, chain)
        return self.finish(self.sweeps[index], [chain])

    def report(self, index, chain):
        total, done, verbose = self.total, self.done[index], self.estimator.verbose
        every = 1 if verbose > 1 else max(total // 10, 1)
        if verbose and (done % every == 0 or done == total):
            seconds = time.perf_counter() - self.began
            # In one piece, for chains in threads write at the same time.
            print(
                f"[{type(self.estimator).__name__}] chain {index + 1} of {len(self.done)}, sweep {done} of {total}: "
                f"log joint {chain.trace[-1]:.6g} nats ({chain.trace[-1] / chain.corpus.n_tokens:.4f} a token), "
                f"{seconds:.1f} s\n",
                end="",
                flush=True,
            )

    def end(self, chains):
        for context, chain in zip(self.chains, chains, strict=True):
            self.finish(context, [chain])
        self.finish(self.root, chains)


class Stages:
    """Listens to a fit that goes in stages whose number is not known before: callbacks and printed lines."""

    def __init__(self, estimator, data):
        self.estimator, self.data = estimator, data
        self.began = time.perf_counter()
        self.root = estimator._init_callback_context(max_subtasks=None, sequential_subtasks=True)
        self.root.call_on_fit_task_begin(estimator=estimator, **data)
        self.begin()

    def begin(self):
        self.stage = self.root.subcontext(task_name="stage")
        self.stage.call_on_fit_task_begin(estimator=self.estimator, **self.data)

    def __call__(self, text):
        """A stage is over; whether a callback asks to stop."""
        if self.estimator.verbose:
            seconds = time.perf_counter() - self.began
            print(f"[{type(self.estimator).__name__}] {text}, {seconds:.1f} s", flush=True)
        stop = self.stage.call_on_fit_task_end(estimator=self.estimator, **self.data)
        if not stop:
            self.begin()
        return stop

    def end(self, attributes):
        self.root.call_on_fit_task_end(
            estimator=self.estimator, **self.data, reconstruction_attributes=lambda: attributes
        )
