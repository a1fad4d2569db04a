"""Draws of the topic proportions of documents, and their linear models on covariates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_scalar

from sklda._base import BaseLDA
from sklda._consensus import ConsensusTopics
from sklda._design import FormulaDesign, TransformedDesign, WithIntercept
from sklda._inference import random
from sklda._inference.arguments import check_int
from sklda._inference.composition import LinearModels, collinear
from sklda._inference.held_out.token_topics import draw_topics
from sklda.inspection._view import view
from sklda.metrics._models import corpus_and_model, inner_model

# Sweeps over a document for each draw of theta, for documents that the model was not fitted to.
_FOLD_IN_SWEEPS = 30
# The largest value of a term, and the inverse of the smallest: its squares are summed.
_LARGEST = 1e100


@dataclass
class ProportionDraws:
    """Draws of theta."""

    view: Any
    theta: Any  # iterator of (n_documents, n_topics); NaN in the columns of topics that a fit does not have
    weight: float  # mean of n_d / (n_d + alpha_0), with n_d tokens and alpha_0 the sum of alpha
    groups: Any = None  # (n_documents, n_groups): the columns that the prior of theta knows


def proportion_draws(X, model, n_draws, seed, **names):
    """`ProportionDraws` of documents.

    For the documents of a fit by this package, they are posterior draws of all chains in turn. For other documents and
    models, the topics of all tokens are drawn given phi and alpha of the model, and theta given these. The draws of
    `ConsensusTopics` are those of its fits in turn.
    """
    if X is None:
        raise ValueError("topic_effects needs the documents to which the covariates belong: give X.")
    if isinstance(model, tuple):
        corpus, phi, alpha = corpus_and_model(X, model)
        found = view((phi, np.ones((corpus.n_documents, len(phi)))), X, **names)
    else:
        found = view(model, X, **names)
        inner, X = inner_model(model, X)
        if isinstance(inner, ConsensusTopics):
            return _of_fits(X, inner, found, n_draws, seed)
        if isinstance(inner, BaseLDA) and found.is_training:
            theta = inner._draw_doc_topic(n_draws, seed)
            return ProportionDraws(found, theta, _weight(found.lengths, found.alpha), inner._known_groups())
        corpus, phi, alpha = corpus_and_model(X, inner)
    return ProportionDraws(found, _folded_in(corpus, phi, alpha, n_draws, seed), _weight(corpus.lengths, alpha))


def _weight(lengths, alpha):
    return float(np.mean(lengths / (lengths + alpha.sum(axis=-1))))


def _folded_in(corpus, phi, alpha, n_draws, seed):
    documents, rng = corpus.token_documents, np.random.default_rng(random.child(seed, 0))
    for i in range(n_draws):
        key = random.key(random.child(seed, 1, i))
        topics = draw_topics(corpus, phi, alpha, n_sweeps=_FOLD_IN_SWEEPS, seed=key)
        counts = np.zeros((corpus.n_documents, len(phi)))
        known = topics >= 0
        np.add.at(counts, (documents[known], topics[known]), 1)
        yield np.exp(random.log_dirichlet(rng, counts + alpha))


def _of_fits(X, consensus, found, n_draws, seed):
    n_fits = len(consensus.estimators_)
    # One of each fit at least, because a topic may be in few of them.
    n_draws = max(n_draws, n_fits)
    parts = [
        proportion_draws(X, each, n_draws // n_fits + (f < n_draws % n_fits), random.child(seed, f))
        for f, each in enumerate(consensus.estimators_)
    ]

    def theta():
        for i in range(n_draws):
            own = next(parts[i % n_fits].theta)
            summed = np.full((len(own), consensus.n_topics_), np.nan)
            for c, pairs in enumerate(consensus.members_):
                members = pairs[pairs[:, 0] == i % n_fits, 1]
                if len(members):
                    summed[:, c] = own[:, members].sum(axis=1)
            yield summed

    return ProportionDraws(found, theta(), float(np.mean([each.weight for each in parts])))


@dataclass
class Effects:
    """Linear models of topic proportions on covariates."""

    view: Any
    design: Any  # makes the columns from covariates
    covariates: Any
    models: LinearModels
    attenuation: float
    level: float

    @classmethod
    def of(cls, X, model, covariates, formula, transformer, n_draws, level, random_state, **names) -> Effects:
        n_draws = check_int(n_draws, "n_draws", 1)
        level = float(check_scalar(level, "level", (int, float)))
        # Not a number, too.
        if not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1, got {level:g}.")
        seed = random.seed_sequence(random_state)
        draws = proportion_draws(X, model, n_draws, seed, **names)
        if draws.view.n_topics == 0:
            raise ValueError("the model has no topics: there are no effects to estimate.")
        n_documents = draws.view.n_documents
        if formula is not None and transformer is not None:
            raise ValueError("give a formula or a transformer, not both.")
        design: FormulaDesign | TransformedDesign | WithIntercept
        if formula is not None:
            design = FormulaDesign(formula, covariates, n_documents)
        elif transformer is not None:
            design = TransformedDesign(transformer, covariates, n_documents)
        else:
            design = WithIntercept(covariates, n_documents)
        _check_number(n_documents, len(design.terms))
        matrix = _checked(design.matrix(covariates, n_documents), design.terms)
        models = LinearModels.fit(matrix, draws.theta)
        known = draws.groups is not None and _spans(draws.groups, matrix)
        return cls(draws.view, design, covariates, models, 1.0 if known else draws.weight, level)


def _check_number(n_documents, n_terms):
    if n_documents <= n_terms:
        raise ValueError(f"{n_documents} documents do not determine {n_terms} coefficients: give fewer terms.")


def _checked(matrix, terms):
    """The columns, after checks that least squares has one solution and residuals."""
    largest = np.abs(matrix).max(axis=0)
    for term, size in zip(terms, largest, strict=True):
        if size > _LARGEST or 0 < size < 1 / _LARGEST:
            raise ValueError(f"the term {term!r} has values too large or too small: give it in another unit.")
    j = collinear(matrix)
    if j is not None:
        raise ValueError(
            f"the term {terms[j]!r} is a combination of the terms before it, so it has no effect of its own. Leave it "
            "out; the intercept is there already, so give SplineTransformer(include_bias=False) and "
            "OneHotEncoder(drop='first')."
        )
    return matrix


def _spans(groups, matrix):
    """Whether every column of `matrix` is a combination of the columns `groups` and ones."""
    base = np.column_stack([np.ones(len(groups)), groups])
    scaled = matrix / np.sqrt((matrix**2).sum(axis=0))
    rest = scaled - base @ np.linalg.lstsq(base, scaled, rcond=None)[0]
    return bool((np.abs(rest) < 1e-8).all())
