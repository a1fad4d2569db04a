"""Which chain a sampler's name stands for."""

from sklda._inference.sampling.blocked import GroupedChain, PartiallyCollapsedChain
from sklda._inference.sampling.collapsed import GibbsChain
from sklda._inference.sampling.partitioned import PartitionedChain
from sklda._inference.sampling.word_major import WordMajorChain

SAMPLERS = ("collapsed", "partitioned", "grouped", "partially_collapsed")

# Measured on five corpora: the word-major sweep overtakes the dense one between 190 and 260 topics where documents have
# 70 to 210 tokens, and at 450 where they have 340.
_MANY, _PER_TOKEN = 256, 1.4


def chain_class(sampler, corpus, priors):
    """The class of chains for a sampler; the faster one where there is a choice.

    Parameters
    ----------
    sampler : {"collapsed", "partitioned", "grouped", "partially_collapsed"}
    corpus : Corpus
    priors : Priors

    Returns
    -------
    type
        `GibbsChain` or a subclass.
    """
    for kind in (PartitionedChain, GroupedChain, PartiallyCollapsedChain):
        if sampler == kind.sampler:
            return kind
    many = max(_MANY, _PER_TOKEN * corpus.n_tokens / corpus.n_documents)
    return WordMajorChain if priors.n_components >= many and WordMajorChain.takes(corpus, priors) else GibbsChain
