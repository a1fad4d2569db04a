"""The step that stores the priors of every sweep, beside one that changes them."""

from sklda._sampling.steps import Step


class PriorTrace(Step):
    """Stores alpha, its mean if topics have different ones, and eta of every sweep, in `path`."""

    def __init__(self, path=()):
        self.path = list(path)

    def before(self, chain):
        alpha = chain.priors.doc[0]
        mean = alpha[0] if (alpha == alpha[0]).all() else alpha.mean()
        self._h = float(mean), float(chain.priors.word[0])

    def after(self, chain, stop):
        self.path.append(self._h)


def with_step(chain, step=None):
    """The chain with a step of its own, and with its `PriorTrace` so far."""
    trace = trace_of(chain)
    chain.steps = [trace] if step is None else [step, trace]
    return chain


def trace_of(chain):
    """The `PriorTrace` of a chain; a new one if it has none."""
    return next((step for step in chain.steps if isinstance(step, PriorTrace)), None) or PriorTrace()
