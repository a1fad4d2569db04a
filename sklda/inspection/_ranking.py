"""Orders of words in a topic: by probability, relevance or frequency and exclusivity."""

import numpy as np
from scipy.stats import rankdata

from sklda._core.largest import largest
from sklda._input.arguments import check_choice

METHODS = ("probability", "relevance", "frex")
# Sievert & Shirley (2014) found 0.6 best in a user study; stm takes 0.5.
DEFAULT_WEIGHT = {"probability": None, "relevance": 0.6, "frex": 0.5}


class Ranking:
    """Scores of words in topics; a greater score comes first.

    The weight is lambda of the relevance, or the weight of the frequency in FREX.
    """

    def __init__(self, view, rank_by="probability", probability_weight=None):
        self.rank_by = check_choice(rank_by, "rank_by", METHODS)
        self.weight = check_weight(rank_by, probability_weight)
        self.topic_word, self.word_share = view.topic_word, view.word_share
        self._sums = view.topic_word.sum(axis=0) if rank_by == "frex" else None

    def scores(self, k):
        """Scores of all words in topic k, (n_features,)."""
        row = self.topic_word[k]
        if self.rank_by == "probability":
            return row
        if self.rank_by == "relevance":
            return relevance(row, self.word_share, self.weight)
        exclusivity = np.divide(row, self._sums, out=np.zeros_like(row), where=self._sums > 0)
        frequency_rank, exclusivity_rank = (rankdata(values) / len(row) for values in (row, exclusivity))
        return 1 / (self.weight / frequency_rank + (1 - self.weight) / exclusivity_rank)

    def top(self, k, n):
        """Ids of the n words with the greatest scores in topic k, greatest first; of equals the smaller id is first."""
        return largest(self.scores(k), n)


def relevance(probability, word_share, weight):
    """lambda log p(w | k) + (1 - lambda) log(p(w | k) / p(w)), Sievert & Shirley (2014), in nats; -inf where p is 0."""
    scores = np.full(len(probability), -np.inf)
    possible = probability > 0
    scores[possible] = np.log(probability[possible]) - (1 - weight) * np.log(word_share[possible])
    return scores


def check_weight(rank_by, weight):
    """The weight to use, or an error that says what is wrong with it."""
    if weight is None:
        return DEFAULT_WEIGHT[rank_by]
    if rank_by == "probability":
        raise ValueError(
            "probability_weight is for rank_by='relevance' and 'frex': the order by probability has no weight."
        )
    if isinstance(weight, bool) or not isinstance(weight, (int, float, np.integer, np.floating)):
        raise TypeError(f"probability_weight must be a number from 0 to 1, got {weight!r}.")
    if not 0 <= weight <= 1:
        raise ValueError(f"probability_weight must lie between 0 and 1, got {weight}.")
    return float(weight)
