"""Short documents with their exact log-likelihoods, and two models to compare."""

import numpy as np
from enumeration import make_corpus

from sklda.metrics import held_out_log_likelihood

PHI = np.array([[0.5, 0.3, 0.1, 0.1], [0.1, 0.1, 0.2, 0.6], [0.25, 0.25, 0.25, 0.25]])
TWO, THREE = np.array([0.5, 0.5]), np.array([0.2, 0.5, 1.0])
# Two models to compare.
A, B = PHI, np.array([[0.4, 0.4, 0.15, 0.05], [0.05, 0.15, 0.3, 0.5], [0.1, 0.2, 0.3, 0.4]])
ALPHA_A, ALPHA_B = THREE, np.array([0.6, 0.4, 0.3])
MIXED = [0, 1, 2, 3, 3, 0, 0, 3, 3, 3]
DOCS = [[0], [0, 1, 3], [3, 3, 3, 0, 0, 1, 2, 3], [0, 3] * 6, []]

# log p(w | phi, alpha), exact to 20 digits by dynamic programming over topic counts in rational arithmetic.
EXACT = {
    "one word": ([0], TWO, -1.203972804325935992622),
    "three": ([0, 1, 3], TWO, -4.150914913710494982992),
    "eight": ([3, 3, 3, 0, 0, 1, 2, 3], TWO, -10.54095356001277840486),
    "twenty": ([0, 3] * 10, TWO, -23.85342235756564946966),
    "fifty": (MIXED * 5, TWO, -62.33500358998904280266),
    "one word, asymmetric": ([0], THREE, -1.446918982936325461415),
    "three, asymmetric": ([0, 1, 3], THREE, -4.190094690405845250233),
    "eight, asymmetric": ([3, 3, 3, 0, 0, 1, 2, 3], THREE, -10.54298081578380695431),
    "twenty, asymmetric": ([0, 3] * 10, THREE, -25.61369339282640067697),
    "thirty, asymmetric": (MIXED * 3, THREE, -38.81873398472065646975),
}


def counts(docs):
    return make_corpus(docs, 4).to_counts()


def exact(phi, alpha, docs=DOCS):
    return held_out_log_likelihood((phi, alpha), counts(docs), method="exact")


def different_documents():
    """Counts of 30 documents of 0 to 29 words. Equal ones would share their stream and so their error."""
    rng = np.random.default_rng(0)
    docs = [rng.choice(4, size=n, p=[0.4, 0.2, 0.1, 0.3]) for n in range(30)]
    return docs, counts(docs)
