"""alpha and eta of a model whose number of topics varies: given, or learnt at each number."""

from dataclasses import dataclass, replace

import numpy as np

from sklda._inference.gibbs_em import BOUNDS, MStep
from sklda._inference.priors import Priors, at_topics
from sklda._inference.sampling.prior_learning import Learner
from sklda._inference.sampling.steps import advance

# M-steps of Gibbs-EM after each merge of topics, each with one draw of z. The priors change little from T to T - 1, so
# few are enough.
_M_STEPS = 5


@dataclass(frozen=True, eq=False)
class PriorRule:
    """alpha and eta for any number of topics T, the same for all topics.

    Attributes
    ----------
    doc_topic_prior : float, str, callable or None
        alpha, see `at_topics`; None: 1 / T.
    topic_word_prior : float, ndarray of shape (n_features,) or None
        eta; None: 1 / T.
    n_features : int
    learns : tuple of str, default=()
        Those of ``"doc_topic_prior"`` and ``"topic_word_prior"`` that are learnt by Gibbs-EM along a chain.
    """

    doc_topic_prior: float
    topic_word_prior: object
    n_features: int
    learns: tuple = ()

    @classmethod
    def learning(cls, doc_topic_prior, topic_word_prior, n_features):
        """A rule that learns each prior that is None. Its first value is 1 / T."""
        given = {"doc_topic_prior": doc_topic_prior, "topic_word_prior": topic_word_prior}
        return cls(**given, n_features=n_features, learns=tuple(name for name in given if given[name] is None))

    def __call__(self, n_components):
        """The `Priors` of a number of topics."""
        return Priors.make(*self._values(n_components), n_components, self.n_features)

    @property
    def learning_sweeps(self):
        """Sweeps of a chain in `learn`."""
        return _M_STEPS if self.learns else 0

    def _values(self, n_components):
        """alpha and eta."""
        alpha = at_topics(self.doc_topic_prior, "doc_topic_prior", n_components)
        return tuple(1 / n_components if value is None else value for value in (alpha, self.topic_word_prior))

    def learn(self, chain):
        """The rule after some steps of Gibbs-EM, which sweep the chain; the same rule if nothing is learnt."""
        if not self.learns:
            return self
        names = "doc_topic_prior", "topic_word_prior"
        chain.priors, chain.n_burn_in = self(chain.priors.n_components), chain.n_sweeps + _M_STEPS
        learner = Learner(MStep(tuple(BOUNDS if name in self.learns else None for name in names)), 1, first_sweep=0)
        learner.begin(chain)
        for _ in range(_M_STEPS):
            advance(chain, [learner])
        found = dict(zip(names, np.exp(learner.log_h).tolist(), strict=True))
        return replace(self, **{name: found[name] for name in self.learns})

    def mean(self, rules):
        """The rule with the geometric means of the priors that several chains learnt."""
        logs = {name: np.mean([np.log(getattr(rule, name)) for rule in rules]) for name in self.learns}
        return replace(self, **{name: float(np.exp(value)) for name, value in logs.items()})
