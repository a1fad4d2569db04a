"""log p(w | K) of small corpora against exact values, and how good estimates of it say they are.

Means are compared at `LIMIT` of their own standard errors. Weights are skewed: where the rare large ones are missed,
the mean is too low and its error too small. Resampled from pools of 6,000 runs, each of these tests fails less than
once in 10,000 times; at 4.5, which would do for normal values, some fail once in 300.
"""

import numpy as np
import pytest
from enumeration import CASES, DOCS, EXACT, PRIORS, Enumeration, make_chain, make_corpus, rising
from enumeration import K as TWO
from enumeration import V as FOUR
from scipy.special import gammaln, logsumexp

from sklda._inference import random
from sklda._inference.evidence import annealing as evidence
from sklda._inference.evidence.combining import combine
from sklda._inference.priors import Priors
from sklda._inference.sampling.collapsed import GibbsChain

LIMIT = 8
FLAT = "three words, 1, 1"
# Three topics, of which all, two or none have the same priors.
OWN_PRIORS = {
    "alpha per topic": (np.array([0.3, 0.9, 0.3]), 0.4),
    "eta per word": (0.4, np.array([0.1, 0.5, 0.9, 0.2])),
    "eta per topic and word": (
        0.4,
        np.array([[0.1, 0.5, 0.9, 0.2], [0.7, 0.2, 0.3, 1.1], [0.1, 0.5, 0.9, 0.2]]),
    ),
    "all different": (np.array([0.2, 0.5, 0.9]), np.array([0.1, 0.5, 0.9, 0.2])),
    "alpha per document": (np.array([[0.2, 0.9, 0.2], [1.5, 0.3, 1.5], [0.4, 0.4, 0.4]]), 0.3),
}
THREE = 3


def log_weights(method, corpus, priors, n_runs, *, n_temperatures=30, n_inner=15, seed=0):
    """Of independent runs, each from a pilot of its own; and the topics in which they ended."""
    found, ends = [], []
    for r in range(n_runs):
        own = np.random.SeedSequence(seed, spawn_key=(r,))
        pilot = GibbsChain.start(corpus, priors, random.child(own, 0))
        if method == "guided_ais":
            run = evidence.guided_ais(corpus, evidence.Guide.along(pilot), n_temperatures, random.child(own, 1))
        elif method == "ais":
            run = evidence.ais(corpus, priors, n_temperatures, random.child(own, 1))
        else:
            values = evidence.cgs_transition(pilot, n_inner)
            run = evidence.Run(logsumexp(values) - np.log(n_inner), pilot.snapshot())
        found.append(run.log_weight)
        ends.append(run.state.topics)
    return np.array(found), np.array(ends)


def standard_score(values, expected):
    """How many standard errors the mean of independent values is away; 1e-6 are single precision's own."""
    return (values.mean() - expected) / (values.std(ddof=1) / np.sqrt(len(values)) + 1e-6)


def score(method, case, K, n_runs=500, **options):
    docs, n_features, alpha, eta, exact = EXACT[case]
    corpus = make_corpus(docs, n_features)
    found, _ = log_weights(method, corpus, Priors.make(alpha, eta, K, n_features), n_runs, **options)
    return standard_score(np.exp(found - exact[K - 1]), 1.0)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("method", evidence.UNBIASED)
def test_p_hat_is_unbiased(method, case):
    for K in (1, 2, 3, 4):
        # Elsewhere single weights of the transition reach 100,000 times the mean: no affordable number of runs tells.
        if method in evidence.ANNEALED or case == FLAT or K == 1:
            assert abs(score(method, case, K, n_runs=300)) < LIMIT, K


@pytest.mark.parametrize(
    "method, name",
    [
        *((method, name) for method in evidence.UNBIASED for name in OWN_PRIORS if method != "ais"),
        # As guided annealing without the guide: its weights and sweeps are the same code.
        *(
            pytest.param("ais", name, marks=() if "per topic and word" in name else pytest.mark.exhaustive)
            for name in OWN_PRIORS
        ),
    ],
)
def test_p_hat_is_unbiased_with_priors_of_every_shape(method, name):
    exact = Enumeration(DOCS, FOUR, THREE, *OWN_PRIORS[name])
    log_p = logsumexp(exact.log_joint)
    found, ends = log_weights(method, exact.corpus, exact.priors, 600, n_temperatures=100)
    relative = np.exp(found - log_p)
    assert abs(standard_score(relative, 1.0)) < LIMIT
    if method not in evidence.ANNEALED:
        return
    # With its weight the end of a run is a draw from the posterior: topics of all tokens, and which are together.
    for i in range(exact.corpus.n_tokens):
        of_topic = ends[:, i] == THREE - 1
        together = ends[:, i] == ends[:, 0]
        p_topic = exact.posterior[exact.states[:, i] == THREE - 1].sum()
        p_together = exact.posterior[exact.states[:, i] == exact.states[:, 0]].sum()
        assert abs(standard_score(relative * of_topic, p_topic)) < LIMIT
        assert abs(standard_score(relative * together, p_together)) < LIMIT


@pytest.mark.parametrize("method", evidence.UNBIASED)
def test_a_few_temperatures_do_for_unbiasedness(method):
    """Short runs have weights of their own to get right, which long ones hide."""
    assert abs(score(method, FLAT, 3, n_runs=600, n_temperatures=4, n_inner=3)) < LIMIT


# What these tests would find.


def of_one_word_each(K, length, alpha, eta):
    """Two documents, each of one word `length` times over; and log p(w), by a sum over the counts of topics."""
    counts = np.array([n for n in np.ndindex(*[length + 1] * K) if sum(n) == length])
    ways = gammaln(length + 1) - gammaln(counts + 1.0).sum(axis=1)
    first, second = np.repeat(counts, len(counts), axis=0), np.tile(counts, (len(counts), 1))
    documents = rising(np.full(K, alpha), first[:, None]) + rising(np.full(K, alpha), second[:, None])
    words = rising(np.full((K, 2), eta), np.stack([first, second], axis=2))
    log_p = logsumexp(documents + words + np.add.outer(ways, ways).ravel())
    return make_corpus([[0] * length, [1] * length], 2), log_p


@pytest.mark.parametrize("K", [2, 3])
def test_topics_that_do_not_change_places(K, monkeypatch):
    """Documents so long that runs keep the labels of the guide: p-hat is right all the same, thanks to the sum."""
    corpus, log_p = of_one_word_each(K, 14, 0.1, 0.5)
    priors = Priors.make(0.1, 0.5, K, 2)
    found, _ = log_weights("guided_ais", corpus, priors, 150)
    assert abs(standard_score(np.exp(found - log_p), 1.0)) < LIMIT
    monkeypatch.setattr(evidence, "_over_labels", lambda chain, guide, rng: (0.0, 0.0))
    found, _ = log_weights("guided_ais", corpus, priors, 150)
    # Most runs miss the other labellings; rare ones would have to make up for it.
    assert np.median(found) < log_p - 0.5


def test_the_sum_over_counts():
    exact = EXACT["two words, 0.1, 0.5"][4]
    np.testing.assert_allclose([of_one_word_each(K, 5, 0.1, 0.5)[1] for K in (1, 2, 3, 4)], exact, rtol=1e-12)


def test_topics_with_other_priors_must_not_change_places(monkeypatch):
    monkeypatch.setattr(evidence, "_kinds", lambda priors: np.zeros(priors.n_components, int))
    for name in ("eta per topic and word", "all different"):
        exact = Enumeration(DOCS, FOUR, THREE, *OWN_PRIORS[name])
        found, _ = log_weights("guided_ais", exact.corpus, exact.priors, 300)
        assert abs(standard_score(np.exp(found - logsumexp(exact.log_joint)), 1.0)) > LIMIT


def _sweep_first(chain, priors):
    """As `_move`, with the weight taken after a sweep under the new priors."""
    before = chain.priors
    chain.priors = priors
    chain.sweep()
    after = chain.log_joint()
    chain.priors = before
    after -= chain.log_joint()
    chain.priors = priors
    return after


@pytest.mark.parametrize("method", evidence.ANNEALED)
def test_a_weight_taken_after_the_sweep_is_found(method, monkeypatch):
    monkeypatch.setattr(evidence, "_move", _sweep_first)
    assert abs(score(method, FLAT, 3, n_runs=800, n_temperatures=4)) > LIMIT


def test_sweeps_under_a_guide_of_another_strength_are_found(monkeypatch):
    """Weights as they should be, but sweeps that lean to the guide three times as much."""
    tilted, sweep, other = evidence.Guide.tilted, GibbsChain.sweep, {}

    def remember(guide, strength):
        priors = tilted(guide, strength)
        other[id(priors)] = priors, tilted(guide, 3 * strength)
        return priors

    def sweep_under_the_other(chain, stop=lambda: False):
        priors = chain.priors
        chain.priors = other.get(id(priors), (None, priors))[1]
        sweep(chain, stop)
        chain.priors = priors

    monkeypatch.setattr(evidence.Guide, "tilted", remember)
    monkeypatch.setattr(GibbsChain, "sweep", sweep_under_the_other)
    assert abs(score("guided_ais", FLAT, 3, n_temperatures=10)) > LIMIT


def test_the_transition_back_is_not_the_transition(monkeypatch):
    transition = evidence.transition

    def back(chain, before):
        return transition(make_chain(chain.corpus, chain.priors, before), chain.topics)

    monkeypatch.setattr(evidence, "transition", back)
    assert abs(score("cgs_transition", FLAT, 3, n_runs=2000, n_inner=3)) > LIMIT


# The parts


@pytest.mark.parametrize("name", PRIORS)
def test_transition_is_the_probability_of_a_sweep(name):
    exact = Enumeration(DOCS, FOUR, TWO, *PRIORS[name])
    starts = np.random.default_rng(0).choice(len(exact.states), 20)
    for start in starts:
        expected = exact.transition(exact.states[start])
        found = [
            evidence.transition(make_chain(exact.corpus, exact.priors, end), exact.states[start].astype(np.int32))
            for end in exact.states
        ]
        np.testing.assert_allclose(np.exp(found), expected, rtol=2e-5)


def independent_draws(theta, phi):
    """Topics of many copies of two words in two documents, and their log probability."""
    corpus = make_corpus([[0] * 20_000 + [1] * 10_000, [1] * 20_000], 2)
    return corpus, *evidence._independent(corpus, theta, phi, random.stream(random.seed_sequence(0)))


def test_independent_tokens():
    theta, phi = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]]), np.array([[0.5, 0.1, 2.0], [0.2, 0.9, 0.1]])
    weights = theta[[0, 0, 1]] * phi[[0, 1, 1]]
    p = weights / weights.sum(axis=1, keepdims=True)

    def distance(topics):
        """Chi-square of 6 degrees of freedom."""
        parts = np.split(topics, [20_000, 30_000])
        return sum(
            ((np.bincount(z, minlength=3) - len(z) * each) ** 2 / (len(z) * each)).sum()
            for z, each in zip(parts, p, strict=True)
        )

    _, topics, log_probability = independent_draws(theta, phi)
    assert distance(topics) < 29  # 6e-5
    of_draws = np.log(p[np.repeat([0, 1, 2], [20_000, 10_000, 20_000]), topics]).sum()
    assert log_probability == pytest.approx(of_draws, rel=1e-12)
    assert distance(independent_draws(theta, np.roll(phi, 1, axis=1))[1]) > 1000


def test_the_guide_is_the_mean_of_the_counts():
    exact = Enumeration(DOCS, FOUR, TWO, 0.4, 0.3)
    guide = evidence.Guide.along(make_chain(exact.corpus, exact.priors, exact.states[0]), n_sweeps=7)
    chain = make_chain(exact.corpus, exact.priors, exact.states[0])
    doc, word = 0, 0
    for _ in range(7):
        chain.sweep()
        doc, word = doc + chain.doc_topic_counts() / 7, word + chain.word_topic_counts[:, :TWO] / 7
    np.testing.assert_allclose(guide.doc, doc + 0.4)
    np.testing.assert_allclose(guide.word, word + 0.3)
    tilted = guide.tilted(2.0)
    np.testing.assert_allclose(tilted.doc, 0.4 + 2 * guide.doc)
    np.testing.assert_allclose(tilted.topic_word(), 0.3 + 2 * guide.word.T, rtol=1e-6)
    np.testing.assert_allclose(tilted.totals, tilted.topic_word().sum(axis=1), rtol=1e-6)


def test_comparators_find_the_evidence_of_a_tiny_corpus():
    """Where their weights have a variance: eta exceeds the counts. Their errors over 40 chains are about 0.005."""
    exact = Enumeration([[0, 1], [2, 3], [0, 2]], 4, 2, 2.0, 3.0)
    log_p = logsumexp(exact.log_joint)
    for method in ("chib", "harmonic_mean_z", "harmonic_mean_psi"):
        ((found, *_),) = evidence.run_pilots(
            exact.corpus,
            [
                (
                    exact.priors,
                    [make_chain(exact.corpus, exact.priors, exact.states[5]).snapshot()],
                    random.seed_sequence(0),
                )
            ],
            method=method,
            temperatures=[0] * 40,
            n_inner=300,
        )
        # Of 1 / p, which is what they average.
        assert abs(standard_score(np.exp(log_p - found[0]), 1.0)) < LIMIT, method
        assert abs(found.mean() - log_p) < 0.05, method


@pytest.mark.parametrize("method", ["chib", "harmonic_mean_z", "harmonic_mean_psi"])
def test_comparators_of_other_priors_are_wrong(method):
    exact = Enumeration([[0, 1], [2, 3], [0, 2]], 4, 2, 2.0, 3.0)
    other = Priors.make(2.0, 1.0, 2, 4)
    state = make_chain(exact.corpus, other, exact.states[5]).snapshot()
    ((found, *_),) = evidence.run_pilots(
        exact.corpus,
        [(other, [state], random.seed_sequence(0))],
        method=method,
        temperatures=[0] * 40,
        n_inner=300,
    )
    assert abs(found.mean() - logsumexp(exact.log_joint)) > 0.1


def test_run_pilots_keeps_the_larger_mean_and_both_shapes():
    exact = Enumeration(DOCS, FOUR, TWO, 0.4, 0.3)
    states = [make_chain(exact.corpus, exact.priors, exact.states[i]).snapshot() for i in (3, 60)]
    target = (exact.priors, states, random.seed_sequence(0))
    options = {"temperatures": [5, 9, 20], "n_inner": 3}
    means = {}
    for method, beside in [("guided_ais", True), ("guided_ais", False), ("ais", False)]:
        if method == "ais":
            options["temperatures"] = [50, 90, 200]
        ((found, ends, left_out, now),) = evidence.run_pilots(
            exact.corpus, [target], method=method, beside=beside, **options
        )
        assert found.shape == (2, 3)
        assert len(ends) == 6
        assert left_out < 1e-6
        assert len(now) == 2
        means[method, beside] = logsumexp(found)
    assert means["guided_ais", True] == max(means["guided_ais", False], means["ais", False])


# Their combination


def agree(errors, stds):
    """Whether errors are within two of the stated ones as often as they should, and these not three times too large.

    The limit is five standard errors of a share of 500 below the least of the shares that were found, 0.93; a median of
    0.67 is that of normal scores.
    """
    scores = np.abs(errors) / stds
    return (scores < 2).mean() > 0.88 and np.median(scores) > 0.67 / 3


@pytest.mark.parametrize("shape, sigma", [((2, 40), 0.3), ((2, 40), 1.0), ((3, 60), 4.0), ((2, 200), 10.0)])
def test_combine_is_calibrated(shape, sigma):
    """Value plus shortfall over 500 sets of normal log weights."""
    rng = np.random.default_rng(0)
    made = [combine(sigma * rng.standard_normal(shape) - 1000) for _ in range(500)]
    value, std, shortfall = np.array(made).T
    low = value - (sigma**2 / 2 - 1000)
    assert agree(low + shortfall, std)
    assert not agree(low + shortfall, std / 2)
    assert (shortfall.max() < 1e-9) == (sigma <= 1)
    # Without the shortfall wide weights are found too low.
    assert agree(low, std) == (sigma <= 1)


@pytest.mark.parametrize("n_pilots", [4, 8])
@pytest.mark.parametrize("sigma", [3.0, 200.0])
def test_pilots_in_different_modes_show_how_far_others_would_be(n_pilots, sigma):
    """500 pairs of sets of pilots whose modes are normal with this deviation: each set tells how far off the other is.

    The errors are those of the largest of a few, and made wider for they know its deviation from as few.
    """
    rng = np.random.default_rng(0)
    modes = sigma * rng.standard_normal((500, 2, n_pilots, 1)) + 0.3 * rng.standard_normal((500, 2, n_pilots, 2))
    made = np.array([[combine(each)[:2] for each in pair] for pair in modes])
    value, std = made[..., 0], made[..., 1]
    assert agree(value[:, 0] - value[:, 1], np.hypot(*std.T))
    # The error of a mean would not do, nor would two pilots do whose deviation is taken as known.
    means = modes.mean(axis=3)
    assert not agree(value[:, 0] - value[:, 1], means.std(axis=2, ddof=1).mean(axis=1) * (2 / n_pilots) ** 0.5)


def test_what_sets_pilots_apart_is_not_made_up_for():
    """Half the variance of runs is, 648 nats; of modes 45 nats apart the best of four counts, 35 to 46 above the mean.

    Means of 1,000 sets have an error of 1.2. Were all variance made up for, they would be 245.
    """
    rng = np.random.default_rng(0)
    log_weights = 45 * rng.standard_normal((1000, 4, 1)) + 36 * rng.standard_normal((1000, 4, 2))
    value, std, shortfall = np.array([combine(each, 36.0**2) for each in log_weights]).T
    found = value + shortfall - 648
    assert 25 < found.mean() < 46
    assert agree(found[::2] - found[1::2], np.hypot(std[::2], std[1::2]))


def test_starts_that_failed_are_no_doubt_about_the_best_mode():
    rng = np.random.default_rng(0)
    log_weights = 0.3 * rng.standard_normal((8, 4)) + np.repeat([0, -2000], 4)[:, None]
    value, std, _ = combine(log_weights)
    assert value == pytest.approx(-np.log(2), abs=0.6)
    assert std < 1
    # Nor do its runs say how much those of the others vary.
    normal = 30 * rng.standard_normal((4, 2))
    normal[0] = -3000, -3600
    value, std, shortfall = combine(normal, 900.0)
    assert value + shortfall == pytest.approx(450 + np.log(3 / 4), abs=4.5 * std)
    assert std < 80
    assert combine(normal)[2] < 2000
    # One that is alone in its mode is another matter.
    assert combine(log_weights - np.arange(8)[:, None] * 100)[1] > 30


def test_pilots_of_other_targets_say_how_far_pilots_are_apart():
    rng = np.random.default_rng(0)
    noise = 0.1 * rng.standard_normal((2, 4))
    assert combine(noise)[1] < 0.1
    others = [np.array([0.0, 100.0]), np.array([50.0, -50.0])]
    assert 30 < combine(noise, beside=others)[1] < 200


def test_one_estimate_has_no_error():
    value, std, shortfall = combine(np.array([[-3.0]]))
    assert (value, shortfall) == (-3.0, 0.0)
    assert np.isnan(std)
