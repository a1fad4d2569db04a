"""The choice of the class of chains for a sampler."""

from sklda._inference.sampling.collapsed import GibbsChain
from sklda._inference.sampling.grouped import GroupedChain
from sklda._inference.sampling.partially_collapsed import PartiallyCollapsedChain
from sklda._inference.sampling.partitioned import PartitionedChain
from sklda._inference.sampling.word_major import WordMajorChain
from sklda._inference.sampling.word_major_partitioned import WordMajorPartitionedChain

SAMPLERS = ("collapsed", "partitioned", "grouped", "partially_collapsed")

# For the collapsed sampler, the word-major sweep is used from this number of topics on, and from this number of topics
# times the mean length of a document. Measured on five corpora: the word-major sweep becomes faster than the dense one
# at 190 to 260 topics if documents have 70 to 210 tokens, and at 450 topics if they have 340 tokens.
_LEAST_TOPICS, _TOPICS_PER_TOKEN = 256, 1.4


def chain_class(sampler, corpus, priors):
    """The class of chains for a sampler. For the collapsed and the partitioned sampler, the faster of two.

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
    if sampler == PartitionedChain.sampler:
        sparse = priors.n_components >= _LEAST_TOPICS and WordMajorPartitionedChain.supports(corpus, priors)
        return WordMajorPartitionedChain if sparse else PartitionedChain
    for kind in (GroupedChain, PartiallyCollapsedChain):
        if sampler == kind.sampler:
            return kind
    least = max(_LEAST_TOPICS, _TOPICS_PER_TOKEN * corpus.n_tokens / corpus.n_documents)
    return WordMajorChain if priors.n_components >= least and WordMajorChain.supports(corpus, priors) else GibbsChain
