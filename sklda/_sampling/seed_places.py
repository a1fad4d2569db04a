"""Which topic has the place of seeds: exchanges of places in the burn-in.

The first state has all tokens of the seeds in their topic, and tokens of the other subjects of their documents as well.
A large subject may take the topic over. The words that belong to the seeds are then in another topic, with most tokens
of the seeds, and sweeps do not leave this mode.
"""

import numpy as np
from scipy.optimize import linear_sum_assignment

from sklda._sampling.known_places import Exchange, Places

# A topic has the seeds if it has more than this share of the tokens of a seed, as a mean over the seeds: it takes their
# place, and another one in this place may be about something else.
MOST_OF_SEEDS = 0.5


class SeedPlaces(Places):
    """Gives the places of seeds to topics that have most of their tokens, in the burn-in, after the annealed sweeps.

    Parameters
    ----------
    seed_words : SeedWords
    alpha_moves : bool
        Whether alpha goes with topics. Otherwise it must be equal.
    n_known : int, default=0
        Known topics, which are the first ones and keep their places.
    """

    def __init__(self, seed_words, alpha_moves, n_known=0):
        self.seed_words, self.alpha_moves, self.n_known = seed_words, alpha_moves, n_known

    def exchange(self, chain):
        K, seeded = chain.priors.n_components, self.seed_words.seeded
        gains = self.seed_words.shares_of_topics(chain.corpus, chain.topics)
        gains = np.where(gains > MOST_OF_SEEDS, gains, 0)
        gains[:, : self.n_known] = -1
        if not self.alpha_moves:
            alpha = chain.priors.doc
            gains[(alpha[:, seeded, None] != alpha[:, None]).any(axis=0)] = -1
        # Where none has most of the seeds, the topic stays.
        gains[np.arange(len(seeded)), seeded] += 1e-9
        chosen = linear_sum_assignment(gains, maximize=True)[1]
        if np.array_equal(chosen, seeded):
            return None
        sources = np.arange(K)
        sources[seeded] = chosen
        # The places of topics that have moved go to those that have lost theirs.
        sources[np.setdiff1d(chosen, seeded)] = np.setdiff1d(seeded, chosen)
        return Exchange(sources)
