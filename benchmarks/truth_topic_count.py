"""The number of topics: intervals of `TopicCountLDA` by default, on corpora whose number of topics is known.

The corpora have priors that are not those of the fit, and some come from models that are not quite LDA. They are made
with NumPy alone, so that no code of the package takes part.
"""

import numpy as np
from report import fitted, table

from sklda import TopicCountLDA


def _dirichlet(rng, parameter):
    """Rows of a Dirichlet distribution, (n, n_parts); parameters near zero do not divide zero by zero."""
    gamma = rng.gamma(parameter) + 1e-300
    return gamma / gamma.sum(axis=1, keepdims=True)


def _log_uniform(rng, low, high):
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _counts(rng, theta, phi, lengths, burst=None):
    """Counts of words, and the tokens of each topic. With `burst`, phi of a document is Dir(burst phi_k)."""
    X, tokens = np.zeros((len(theta), phi.shape[1]), int), np.zeros(len(phi), int)
    for d, (proportions, length) in enumerate(zip(theta, lengths, strict=True)):
        of_topics = rng.multinomial(length, proportions)
        tokens += of_topics
        for k in np.flatnonzero(of_topics):
            words = phi[k] if burst is None else _dirichlet(rng, burst * phi[[k]])[0]
            X[d] += rng.multinomial(of_topics[k], words)
    return X, tokens


def _plain(rng):
    """LDA: 2 to 15 topics, 300 to 3,000 words, 80 to 250 documents of 25 to 90 tokens."""
    T, V, D = int(rng.integers(2, 16)), int(_log_uniform(rng, 300, 3000)), int(rng.integers(80, 251))
    alpha, eta = _log_uniform(rng, 0.05, 0.5), _log_uniform(rng, 0.02, 0.2)
    theta, phi = _dirichlet(rng, np.full((D, T), alpha)), _dirichlet(rng, np.full((T, V), eta))
    return _counts(rng, theta, phi, np.full(D, rng.integers(25, 91)))


def _many(rng):
    """LDA: 16 to 40 topics, 200 to 800 words, 300 to 600 documents of 60 to 120 tokens."""
    T, V, D = int(rng.integers(16, 41)), int(rng.integers(200, 801)), int(rng.integers(300, 601))
    alpha, eta = _log_uniform(rng, 0.03, 0.2), _log_uniform(rng, 0.02, 0.1)
    theta, phi = _dirichlet(rng, np.full((D, T), alpha)), _dirichlet(rng, np.full((T, V), eta))
    return _counts(rng, theta, phi, np.full(D, rng.integers(60, 121)))


def _one_each(rng):
    """One topic a document, 3 to 10 topics."""
    T = int(rng.integers(3, 11))
    return _counts(rng, np.eye(T)[rng.integers(T, size=250)], _dirichlet(rng, np.full((T, 300), 0.1)), np.full(250, 60))


def _none(rng):
    """One Zipf distribution of words."""
    p = 1 / np.arange(1, int(rng.integers(200, 801)) + 1)
    return _counts(rng, np.ones((150, 1)), (p / p.sum())[None], np.full(150, 60))


def _bursts(rng):
    """Bursts: a word of a document is likely to occur there again, 2 to 6 topics."""
    T = int(rng.integers(2, 7))
    theta, phi = _dirichlet(rng, np.full((250, T), 0.2)), _dirichlet(rng, np.full((T, 300), 0.1))
    return _counts(rng, theta, phi, np.full(250, 60), burst=50.0)


def _unequal(rng):
    """Topics of unequal size, lengths of documents log-normal around 50, and two topics that are alike."""
    T = int(rng.integers(4, 11))
    phi = _dirichlet(rng, np.full((T, 400), 0.08))
    phi[1] = 0.5 * phi[0] + 0.5 * phi[1]
    theta = _dirichlet(rng, np.tile(1 / np.arange(1, T + 1), (200, 1)))
    return _counts(rng, theta, phi, np.maximum(rng.lognormal(np.log(50), 0.7, 200), 1).astype(int))


# Of ten corpora in a row, four are plain, two have many topics, and one is of each other kind.
KINDS = (_plain, _many, _one_each, _plain, _none, _plain, _bursts, _many, _plain, _unequal)


def _with_shares(rng, kind):
    """LDA whose alpha has these shares; Zipf words, 3 to 15 topics, 120 to 500 unequal documents."""
    T, V, D = int(rng.integers(3, 16)), int(_log_uniform(rng, 150, 1500)), int(rng.integers(120, 501))
    eta, a = _log_uniform(rng, 0.02, 0.2), _log_uniform(rng, 0.3, 2.0)
    theta, phi = _around_shares(rng, kind, (D, T, V), eta, a, ratios=(0.7, 0.85), zipf=(0, 0.8))
    return _counts(rng, theta, phi, _lengths(rng.lognormal(np.log(rng.uniform(25, 80)), 0.4, D)))


def _of_size(rng, kind):
    """The same with 1,500 to 120,000 tokens, 3 to 40 topics and 30 documents or more, of 20 to 100 tokens."""
    n_tokens = _log_uniform(rng, 1500, 120_000)
    T = round(_log_uniform(rng, 3, min(40, max(4, n_tokens / 250))))
    mean = _log_uniform(rng, 20, 100)
    D, V = max(int(n_tokens / mean), 30), int(_log_uniform(rng, 150, 2000))
    eta, a = _log_uniform(rng, 0.02, 0.2), _log_uniform(rng, 0.3, 2)
    theta, phi = _around_shares(rng, kind, (D, T, V), eta, a, ratios=(0.65, 0.9), zipf=(0.3, 1))
    return _counts(rng, theta, phi, _lengths(rng.lognormal(np.log(mean) - 0.125, 0.5, D)))


def _lengths(values):
    return np.maximum(values, 3).astype(int)


def _around_shares(rng, kind, shape, eta, a, ratios, zipf):
    """Proportions and topics: alpha is a T^1/2 times the shares of a kind, and words have Zipf frequencies."""
    D, T, V = shape
    k = np.arange(T)
    shares = {
        _equal: np.ones(T),
        _geometric: rng.uniform(*ratios) ** k,
        _giant: np.where(k == 0, T - 1.0, 1.0),
        _two_giants: np.where(k < 2, max(T - 2, 1) * 0.75, 1.0),
        _by_rank: 1 / (k + 1),
        _random: _dirichlet(rng, np.full((1, T), 2.0))[0],
    }[kind]
    words = 1 / np.arange(1, V + 1) ** rng.uniform(*zipf)
    words = rng.permutation(words / words.sum())
    phi = _dirichlet(rng, eta * V * np.tile(words, (T, 1)))
    return _dirichlet(rng, np.tile(a * T**0.5 * shares / shares.sum(), (D, 1))), phi


def _equal(rng, corpus=_with_shares):
    """Equal."""
    return corpus(rng, _equal)


def _geometric(rng, corpus=_with_shares):
    """Each 0.65 to 0.9 times the one before."""
    return corpus(rng, _geometric)


def _giant(rng, corpus=_with_shares):
    """One topic as large as all others."""
    return corpus(rng, _giant)


def _two_giants(rng, corpus=_with_shares):
    """Two topics with 60 % together."""
    return corpus(rng, _two_giants)


def _by_rank(rng, corpus=_with_shares):
    """1 / rank."""
    return corpus(rng, _by_rank)


def _random(rng, corpus=_with_shares):
    """Random, Dir(2)."""
    return corpus(rng, _random)


SHARES = (_equal, _geometric, _giant, _two_giants, _by_rank, _random)


def topic_count(seed, options):
    """A corpus of the kind with number `seed` modulo ten, and the interval of T by defaults."""
    return _fit_of_kind(np.random.default_rng([2027, seed]), KINDS[seed % len(KINDS)], seed, options)


def topic_count_of_shares(seed, options):
    """The same for topics with shares of six kinds in turn."""
    return _fit_of_kind(np.random.default_rng([77031, seed]), SHARES[seed % len(SHARES)], seed, options)


def topic_count_of_sizes(seed, options):
    """The same for corpora of more different sizes, which were not looked at before."""
    return _fit_of_kind(np.random.default_rng([9100, seed]), SHARES[seed % len(SHARES)], seed, options, _of_size)


def _fit_of_kind(rng, kind, seed, options, *corpus):
    X, tokens = kind(rng, *corpus)
    T = int(np.count_nonzero(tokens))
    lda, seconds = fitted(TopicCountLDA(**options.parameters, random_state=seed), X)
    low, high = lda.topic_count_interval_
    # The rank of T, uniform between 0 and 1 if T is drawn from its prior.
    counts, posterior = lda.topic_counts_, lda.topic_count_posterior_
    return {
        "kind": kind.__name__,
        "tokens": int(X.sum()),
        "true": T,
        "mode": int(lda.n_components_),
        "low": low,
        "high": high,
        "rank": float(posterior[counts < T].sum() + rng.random() * posterior[counts == T].sum()),
        "seconds": seconds,
        "smallest": int(tokens[tokens > 0].min()),
        "few": list(lda.few_tokens_interval_),
    }


def topic_count_table(found):
    rows = []
    for kind in (*dict.fromkeys(KINDS + SHARES), None):
        own = [each for each in found if kind is None or each["kind"] == kind.__name__]
        if not own:
            continue
        missed = [each for each in own if not each["low"] <= each["true"] <= each["high"]]
        seconds, width = [each["seconds"] for each in own], np.median([each["high"] - each["low"] for each in own])
        rows.append(
            [
                "all" if kind is None else kind.__doc__.rstrip("."),
                str(len(own)),
                str(len(own) - len(missed)),
                f"{width:.0f}",
                f"{np.median(seconds):.1f}",
                f"{max(seconds):.0f}",
                "; ".join(f"{each['true']} in {each['low']} to {each['high']}" for each in missed if kind is not None),
            ]
        )
    header = ["corpora", "number", "inside", "median width", "median CPU s", "most", "missed"]
    table("intervals of 95 % for the number of topics", header, rows)
