"""The priors of a model whose number of topics varies: given, or learnt at each number."""

from dataclasses import dataclass, replace

import numpy as np

from sklda._inference.gibbs_em import MStep
from sklda._inference.priors import Priors

# Priors that are learnt: EM steps after each merge, each on one draw, and between what they stay.
_EM_STEPS, _LEARNT = 5, (1e-5, 1e4)


@dataclass(frozen=True, eq=False)
class PriorRule:
    """The priors for any number of topics, the same for all topics.

    Attributes
    ----------
    doc_topic_prior : float or None
        alpha; None: one over the number of topics.
    topic_word_prior : float, ndarray of shape (n_features,) or None
        eta, likewise.
    n_features : int
    """

    doc_topic_prior: float
    topic_word_prior: object
    n_features: int

    def __call__(self, n_components):
        values = self.values(n_components)
        return Priors.make(values["doc_topic_prior"], values["topic_word_prior"], n_components, self.n_features)

    def values(self, n_components):
        """The two priors by name."""
        given = {name: getattr(self, name) for name in ("doc_topic_prior", "topic_word_prior")}
        return {name: 1 / n_components if value is None else value for name, value in given.items()}

    def learn(self, chain):
        """The rule that goes on from `chain`; this one learns nothing."""
        return self

    def mean(self, rules):
        """One rule for what several prunings found."""
        return self


@dataclass(frozen=True, eq=False)
class LearntRule(PriorRule):
    """Priors by Gibbs-EM along a chain, one or both; those that are not learnt stay as they are.

    Attributes
    ----------
    learns : tuple of str
        Which are.
    """

    learns: tuple = ()

    def learn(self, chain):
        rule, K = self, chain.priors.n_components
        for _ in range(_EM_STEPS):
            m_step, now = MStep((_LEARNT, _LEARNT)), rule.values(K)
            log_h = np.log([now["topic_word_prior"], now["doc_topic_prior"]])
            eta, alpha = np.exp(m_step.maximum([m_step.statistics(chain)], log_h))
            found = {"topic_word_prior": float(eta), "doc_topic_prior": float(alpha)}
            rule = replace(rule, **{name: found[name] for name in self.learns})
            chain.priors = rule(K)
            chain.sweep()
        return rule

    def mean(self, rules):
        return replace(
            self, **{n: float(np.exp(np.mean([np.log(getattr(rule, n)) for rule in rules]))) for n in self.learns}
        )
