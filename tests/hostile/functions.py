"""Functions: of counts, of topics, of assignments; scorers; simulated corpora; pictures."""

import tempfile
from pathlib import Path

import numpy as np

from hostile.corpora import draw_counts
from hostile.estimators import INITS
from hostile.session import ESTIMATED
from sklda import CompoundLDA, ConsensusTopics, CovariateLDA, GibbsLDA, callbacks, datasets, inspection, metrics
from sklda.papers import held_out as papers
from sklda.papers.topic_count import log_evidence, log_evidence_by_sweeps

HELD_OUT = ("guided_ais", "document_completion", "exact")


class Topics:
    """A topic model of somebody else's."""

    def __init__(self, components, alpha):
        self.components_, self.doc_topic_prior_ = components, alpha


def held_out(draw, session):
    X = draw_counts(draw)
    V, K, D = _features(X), draw.n_components(), _documents(X)
    phi, alpha = draw.topics(K, V), _given(draw.prior([(K,), (D, K)]))
    method = draw.option(*HELD_OUT)
    std = draw.chance(0.3)
    options = {
        "method": method,
        "n_temperatures": draw.option(1, 2, 5),
        "n_runs": draw.option(1, 2, 3) if not std else draw.option(2, 3),
        "return_std": std,
        "random_state": draw.seed(),
        "n_jobs": draw.jobs(),
    }
    if str(method) == "exact" and X.clean is not None:
        # Its time is polynomial in the number of tokens.
        if K > 3 or (X.clean.size and X.clean.sum(axis=1).max() > 12):
            options["method"] = "guided_ais"
    found = session.call(metrics.held_out_log_likelihood, (phi, alpha), X.given, refuse=_wrong(X), **options)
    if found is None or X.clean is None:
        return
    value, error = found if std else (found, 0.0)
    _likelihoods(session, value, X.clean, phi, options["method"])
    session.require(
        np.isnan(error) | (np.asarray(error) >= 0) | ~np.isfinite(value), "a standard error is not negative"
    )


def of_papers(draw, session):
    X = draw_counts(draw)
    V, K, D = _features(X), draw.n_components(), _documents(X)
    phi, alpha = draw.topics(K, V), _given(draw.prior([(K,), (D, K)]))
    estimate, options = draw.pick(
        [
            (papers.ais, {"n_temperatures": draw.option(1, 2, 5), "schedule": draw.option("linear", "quadratic")}),
            (papers.left_to_right, {}),
            (papers.particle_filter, {"n_particles": draw.option(1, 3)}),
            (papers.chib, {"n_states": draw.option(1, 2, 5)}),
        ]
    )
    options |= {"n_runs": draw.option(1, 2, 3), "random_state": draw.seed(), "n_jobs": draw.jobs()}
    found = session.call(estimate, (phi, alpha), X.given, refuse=_wrong(X), **options)
    if found is None or X.clean is None:
        return
    value, error = found
    _likelihoods(session, value, X.clean, phi, estimate.__name__)
    session.require(np.isnan(error) | (error >= 0) | ~np.isfinite(value), "a standard error is not negative")


def compare(draw, session):
    X = draw_counts(draw)
    V, D = _features(X), _documents(X)
    K = draw.pick([1, 2, 3, 17])
    models = []
    for _ in range(2):
        own = K + draw.wrong(0.2)
        phi, alpha = draw.topics(own, V), _given(draw.prior([(own,), (D, own)]))
        models.append(draw.pick([(phi, alpha), (phi, alpha), Topics(phi, alpha)]))
    if draw.wrong(0.05):
        models[0] = draw.pick([GibbsLDA(2), None, (1,), "x", (1, 2, 3)])
    compared, options = draw.pick(
        [(metrics.compare_topic_models, {}), (papers.ratio_ais, {"path": draw.option("convex", "geometric")})]
    )
    found = session.call(
        compared,
        *models,
        X.given,
        **options,
        n_temperatures=draw.option(1, 2, 5),
        n_runs=draw.mostly([2, 3], [1]),
        random_state=draw.seed(),
        n_jobs=draw.jobs(),
        refuse=_wrong(X),
    )
    if found is not None:
        session.require(found.log_ratio.shape == found.std.shape == (D,), "a ratio for every document")
        # NaN where both models make a document impossible, as documented.
        session.require(~np.isnan(found.log_ratio) | (X.clean.sum(axis=1) > 0), "log_ratio is a number")


def curve(draw, session):
    X = draw_counts(draw)
    V, K = _features(X), draw.pick([1, 2, 3, 17])
    snapshots = [draw.topics(K, V) for _ in range(draw.mostly([1, 2, 3], [0]))]
    prior = draw.prior([(K,)])
    models = [(topic_word, prior) for topic_word in snapshots]
    models = draw.pick([GibbsLDA(2), None, 3, snapshots, tuple(models)]) if draw.wrong(0.04) else models
    found = session.call(
        papers.held_out_curve,
        models,
        X.given,
        n_temperatures=draw.option(1, 2, 5),
        n_runs=draw.mostly([2, 3], [1]),
        random_state=draw.seed(),
        n_jobs=draw.jobs(),
        refuse=_wrong(X),
    )
    if found is not None:
        for value in found.log_likelihood:
            _likelihoods(session, value, X.clean, np.minimum.reduce(snapshots), "curve")
        session.require(~np.isnan(found.score), f"the score is a number, got {found.score}")


def leave_one_out(draw, session):
    X = draw_counts(draw)
    topics, K = _assignments(draw, X)
    wrong = [[-1], [10**6], [0.5], "x", [], [True], 0, np.zeros((1, 1), int)]
    rows = draw.mostly([None, [0], [0], np.array([0, 0])], wrong)
    found = session.call(
        papers.leave_one_out_score,
        (topics, *(_given(draw.prior(shapes)) for shapes in ([(K,)], [(_features(X),)]))),
        X.given,
        rows=rows,
        n_draws=draw.mostly([10, 11], [9, 0, -1]),
        n_temperatures=draw.option(1, 2),
        n_components=draw.option(K, K, None),
        random_state=draw.seed(),
        n_jobs=draw.jobs(),
        refuse=_wrong(X),
    )
    if found is not None:
        session.log_probability(found.log_likelihood, found.log_likelihood.shape, "L_d", tolerance=ESTIMATED)
        session.finite(found.score, "score")


def estimates(draw, session):
    X = draw_counts(draw)
    topics, K = _assignments(draw, X)
    D, V = _documents(X), _features(X)
    found = session.call(
        GibbsLDA.from_assignments,
        X.given,
        topics,
        n_components=draw.mostly([K, K, None], [0, -1, 1]),
        doc_topic_prior=draw.prior([(K,)]),
        topic_word_prior=draw.prior([(V,), (K, V)]),
        point_estimate=draw.option("cgs_p", "cgs"),
        refuse=_wrong(X),
    )
    if found is not None:
        K = len(found.components_)
        session.distribution(found.doc_topic_, (D, K), "doc_topic")
        session.distribution(found.topic_word_, (K, V), "topic_word")
        session.require(found.components_.sum() >= X.clean.sum() * (1 - 1e-6), "counts add up")


def evidence(draw, session):
    X = draw_counts(draw)
    K = draw.pick([1, 2, 3, 5, 17])
    function, method = log_evidence, draw.option("guided_ais", "guided_ais", "ais")
    of_method = {"n_temperatures": draw.option(2, 3, 10)}
    if draw.chance(0.3):
        function = log_evidence_by_sweeps
        method = draw.option("cgs_transition", "chib", "harmonic_mean_z", "harmonic_mean_psi")
        of_method = {"n_inner": draw.option(2, 5)}
    n_runs, n_chains = draw.option(1, 2), draw.option(1, 2)
    found = session.call(
        function,
        X.given,
        draw.mostly([K], [0, -1, 1.5, None, True]),
        doc_topic_prior=draw.prior([(K,)]),
        topic_word_prior=draw.prior([(_features(X),), (K, _features(X))]),
        method=method,
        n_runs=n_runs,
        n_chains=n_chains,
        init=draw.option(None, *INITS[:-1]),
        random_state=draw.seed(),
        n_jobs=draw.jobs(),
        **of_method,
        refuse=_wrong(X),
    )
    if found is not None:
        session.finite(found[0], "the evidence")
        if method in ("guided_ais", "ais", "cgs_transition"):
            # One chain says nothing of its error.
            is_bounded = found[0] <= ESTIMATED or found[1] == np.inf
            session.require(is_bounded, f"the evidence is that of a probability, got {found}")
        session.require(n_runs == n_chains == 1 or not np.isnan(found[1]), f"its error is a number, got {found}")


def coherence(draw, session):
    X = draw_counts(draw)
    V, K = _features(X), draw.pick([1, 2, 3, 17])
    phi = draw.topics(K, V)
    if draw.chance(0.5):
        value = session.call(metrics.topic_diversity, phi, n_words=draw.mostly([1, 2, V], [V + 1, 0]))
        if value is not None:
            session.require(0 < value <= 1, f"diversity is a share, got {value}")
        return
    if draw.chance(0.3):
        cue = draw.mostly([0, V - 1, [0, V - 1], []], [V, -1, 1.5, "x", [None], None])
        value = session.call(metrics.word_association, draw.pick([phi, (phi, 0.5)]), cue)
        if value is not None:
            session.distribution(value, np.shape(value), "p(w | cue)")
        return
    method, each = draw.option("npmi", "umass"), draw.chance(0.5)
    value = session.call(
        metrics.topic_coherence,
        phi,
        X.given,
        method=method,
        n_words=draw.mostly([2, 3, V], [V + 1, 1, 0, "x"]),
        per_topic=each,
    )
    if value is not None:
        session.finite(value, "coherence")
        session.require(method == "umass" or (np.abs(value) <= 1 + 1e-9), f"NPMI lies between -1 and 1, got {value}")


def scorers(draw, session):
    X = draw_counts(draw)
    V, K = _features(X), draw.pick([1, 2, 3, 17])
    if draw.chance(0.15):
        value = session.call(metrics.neg_ais_perplexity_scorer, _of_any_form(draw, K, V), X.given, refuse=_wrong(X))
        session.require(value is None or value <= -1 + 1e-6, f"a perplexity is at least 1, got {value}")
        return
    std = draw.chance(0.3)
    makers = [
        (metrics.make_coherence_scorer, {"method": draw.option("npmi", "umass"), "n_words": draw.option(2, 3, V)}),
        *2
        * [
            (
                metrics.make_held_out_scorer,
                {
                    "method": draw.option(*HELD_OUT[:-1]),
                    "metric": draw.option("perplexity", "log_likelihood"),
                    "n_temperatures": draw.option(1, 3),
                    "n_runs": draw.option(None, 2),
                    "return_std": std,
                    "random_state": draw.whole(0, 9),
                    "n_jobs": draw.jobs(),
                },
            )
        ],
    ]
    make, options = draw.pick(makers)
    scorer = session.call(make, **options)
    if scorer is None:
        return
    model = _of_any_form(draw, K, V)
    # Coherence counts documents in which a word occurs, so it takes weights.
    refuse = _wrong(X) if make is metrics.make_held_out_scorer else None
    value = session.call(scorer, model, X.given, refuse=refuse)
    for name, each in value.items() if isinstance(value, dict) else [("score", value)] if value is not None else []:
        session.require(name.endswith("_std") or not np.isnan(each), f"{name} is not NaN")


def _of_any_form(draw, K, V):
    if draw.wrong(0.08):
        return draw.pick([None, GibbsLDA(2), Topics(np.ones((2, V)), None), 3])
    return Topics(draw.topics(K, V, zeros=draw.chance(0.2)), _given(draw.prior([(K,)])))


def predictive(draw, session):
    seen = draw_counts(draw)
    V, K, D = _features(seen), draw.pick([1, 2, 3, 17, 260]), _documents(seen)
    hidden = draw_counts(draw, n_features=V, n_documents=None if draw.wrong(0.1) else D)
    model = Topics(draw.topics(K, V), _given(draw.prior([(K,)])))
    if draw.wrong(0.05):
        model = draw.pick([None, GibbsLDA(2), 3])
    value = session.call(
        papers.predictive_perplexity,
        model,
        seen.given,
        hidden.given,
        collections=draw.option(None, odds=0.02),
        n_sweeps=draw.option(1, 2, 3, 10),
        random_state=draw.seed(),
        n_jobs=draw.jobs(),
        refuse=_wrong(seen) or _wrong(hidden),
    )
    if value is not None:
        session.require(value >= 1 - 1e-9, f"a perplexity is at least 1, got {value}")


def simulate(draw, session):
    D, V, K = draw.pick([1, 2, 5]), draw.pick([1, 2, 7]), draw.pick([1, 2, 5])
    lengths = [0, 1, 10, (0, 5), (3, 3), [1] * D, np.arange(D)]
    wrong = [(5, 1), -1, 1.5, [0.5] * D, "x", None, np.nan, [np.inf] * D, []]
    common = {"doc_length": draw.mostly(lengths, wrong), "topic_word_prior": _given(draw.prior([(V,), (K, V)]))}
    common |= {"random_state": draw.seed()}
    if draw.chance(0.5):
        sizes = [draw.mostly([size], [0, -1, 1.5, True, "x"], 0.02) for size in (D, V, K)]
        zipf = draw.mostly([None, 1.0, 0, 10], [11, -1, np.nan, "x"])
        found = session.call(
            datasets.make_lda_corpus, *sizes, doc_topic_prior=_given(draw.prior([(K,)])), zipf_exponent=zipf, **common
        )
    else:
        sizes = [draw.mostly([D, [D], (D, 0), [1] * D], [[], [-1], [0], 1.5, "x", None]), V, K]
        found = session.call(
            datasets.make_compound_lda_corpus,
            *sizes,
            collection_topic_prior=_given(draw.prior([(K,)])),
            doc_concentration=draw.mostly([1.0, draw.power()], [1e-13, 1e13, np.nan, "x"]),
            collection_topic=draw.mostly([None, None, np.full((1, K), 1 / K)], [np.zeros((1, K)), "x", [[np.nan] * K]]),
            **common,
        )
    if found is not None:
        session.distribution(found.topic_word, found.topic_word.shape, "topic_word")
        session.distribution(found.doc_topic, found.doc_topic.shape, "doc_topic")
        session.require(found.data.sum() == len(found.topic_assignments) == found.doc_length.sum(), "counts add up")

    answers = session.call(
        datasets.make_survey_answers, draw.mostly([2, 7], [0, 1, 1.5, "x", None]), random_state=draw.seed()
    )
    session.require(answers is None or (answers["answer"].str.len() > 0).all(), "every answer has words")


def token_lists(draw, session):
    if draw.chance(0.05):
        session.call(datasets.load_docstrings, return_X_y=draw.option(True, False))
    numbers = [[], [0], [2, 0, 2], np.array([1, 1], np.uint8), (0,)]
    wrong = [[-1], [0.5], "x", None, [[0]], 3, [2**40], [True], [[0], [1, 2]]]
    documents = [draw.mostly(numbers, wrong) for _ in range(draw.pick([0, 1, 5]))]
    topics = draw.mostly([None, documents], [documents[1:], [[0]], 3, "x"])
    found = session.call(datasets.count_tokens, documents, topics, n_features=draw.mostly([None, 3, 7], [0, 1, True]))
    if found is not None:
        n_tokens = sum(map(len, documents))
        session.require(found.data.sum() == n_tokens, "counts add up")
        session.require(topics is None or len(found.topic_assignments) == n_tokens, "a topic for every token")


def state_file(draw, session):
    """A state of MALLET with some bytes replaced, removed or added."""
    source = draw.pick(["NA", "a b"])
    lines = [f"{d} {source} {i} {v} w{v} {v % 2}\n" for d in (0, 3) for i, v in enumerate((5, 0, 5))]
    text = bytearray(b"#doc source pos typeindex type topic\n#alpha : 1.0 0.5 \n#beta : 0.1\n")
    text += "".join(lines).encode()
    for _ in range(draw.pick([0, 1, 1, 3])):
        place = draw.whole(0, len(text) - 1)
        new = [b"", b" ", b"\n", b"7", b"-", b"\xff", b"0 0", b"\x1f\x8b"]
        text[place : place + draw.pick([0, 1, 1, 9])] = draw.pick(new)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "state")
        path.write_bytes(bytes(text))
        found = session.call(datasets.read_mallet_state, path)
    if found is not None:
        session.require(found.data.sum() == len(found.topic_assignments), "a topic for every token")
        session.require(
            found.data.shape == (len(found.document_names), len(found.feature_names)), "names fit the counts"
        )
        session.require(found.topic_assignments.max() < found.n_components, "topics are in range")


def folders(draw, session):
    """Counts in a folder, of which some bytes are replaced, removed or added."""
    X = draw_counts(draw)
    with tempfile.TemporaryDirectory() as name:
        session.call(datasets.save_counts, name, X.given, refuse=_wrong(X))
        files = sorted(Path(name).iterdir())
        changed = bool(files) and draw.chance(0.5)
        if changed:
            path = draw.pick(files)
            content = bytearray(path.read_bytes())
            place = draw.whole(0, max(len(content) - 1, 0))
            content[place : place + draw.pick([0, 1])] = draw.pick([b"", b"1", b"\xff", b"\x00", b"-"])
            path.write_bytes(bytes(content))
        found = session.call(datasets.load_counts, name)
        if found is None:
            return
        if changed and np.sum(found.data.data) > 10**6:
            # A byte that changed can make hundreds of millions of tokens, whose fit takes minutes.
            return
        lda = session.call(GibbsLDA(2, max_iter=1, random_state=0).fit, found.data)
        if not changed and X.clean is not None:
            session.require((found.data.toarray() == X.clean).all(), "what was written is read")
            session.require(lda is not None or not X.clean.sum(), "counts that were read can be fitted")


def checkpoints(draw, session):
    """A fit with a checkpoint whose files have some bytes replaced, and the fit that continues from it."""
    X = draw_counts(draw)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "checkpoint")
        estimator = GibbsLDA(draw.pick([1, 2, 5]), max_iter=draw.pick([1, 3]), random_state=0)
        checkpoint = session.call(callbacks.Checkpoint, folder, every=draw.option(0, 60.0, 1e9))
        if checkpoint is None:
            return
        fitted = session.call(estimator.set_callbacks(checkpoint).fit, X.given, refuse=X.refuse)
        if fitted is None:
            return
        again = session.call(GibbsLDA.resume, folder, X.given)
        session.require(again is not None, "a fit that has ended can be loaded")
        same = again is not None and (again.topic_assignments_ == fitted.topic_assignments_).all()
        session.require(same, "its draws are the same")


def consensus(draw, session):
    """Several fits of a small model, and their topics matched."""
    X = draw_counts(draw)
    options = {
        "n_fits": draw.mostly([2, 2, 3], [1, 0]),
        "min_prevalence": draw.mostly([0.75, 0.5, 1.0], [0.0, 1.5]),
        "resample": draw.mostly([None, "bootstrap", 0.5], [3, 0.0]),
        "random_state": draw.seed(),
    }
    kind, metadata = draw.pick([(GibbsLDA, None), (CompoundLDA, "collections"), (CovariateLDA, "covariates")])
    estimator = kind(draw.pick([1, 2, 5]), max_iter=draw.pick([1, 3]), random_state=0)
    make = {"collections": draw.labels, "covariates": draw.covariates}.get(metadata)
    given = {metadata: make(_documents(X))} if make else {}
    fitted = session.call(ConsensusTopics(estimator, **options).fit, X.given, refuse=_wrong(X), **given)
    if fitted is None or X.clean is None:
        return
    theta = session.call(fitted.transform, X.clean, **given)
    if theta is not None:
        session.require((theta >= 0).all() and (theta.sum(axis=1) <= 1 + 1e-9).all(), "proportions are parts of one")
    first, second = fitted.estimators_[0], fitted.estimators_[-1]
    found = session.call(metrics.match_topics, first, second)
    if found is not None:
        distances = np.asarray(found.distances)
        session.require((distances >= 0).all() and (distances <= 1 + 1e-6).all(), "distances from 0 to 1")


def known_topics(draw, session):
    """A fit with known topics, its drift, and the evidence of new topics."""
    X = draw_counts(draw)
    V, n_known = _features(X), draw.pick([1, 2, 3])
    K = draw.mostly([n_known, n_known + 1, 5], [0, n_known - 1])
    weight = draw.mostly(["learn", np.inf, 100.0, [10.0] * n_known], [0.0, -1.0, np.nan, [1.0] * 7, {0: "x"}])
    topics = draw.topics(n_known, V + (draw.pick([-1, 1]) if draw.wrong(0.04) else 0))
    lda = GibbsLDA(K, known_topics=topics, known_weight=weight, max_iter=draw.pick([1, 3, 20]), random_state=0)
    fitted = session.call(lda.fit, X.given, refuse=_wrong(X))
    few = {"n_temperatures": 2, "n_runs": 1, "n_chains": draw.mostly([1, 2], [0]), "random_state": 0}
    session.call(
        metrics.compare_new_topics, lda, X.given, n_new=draw.mostly([(0, 1), (1,)], [(-1,), (0, 0), ()]), **few
    )
    if fitted is None:
        return
    session.distribution(fitted.topic_word_, (len(fitted.components_), V), "topic_word_")
    table = session.call(inspection.topic_drift, fitted, n_draws=draw.mostly([39, 50], [0, 38]), random_state=0)
    if table is not None:
        session.require(table["moved"].dropna().between(0, 1), "a distance")
        session.require(table["moved_low"].between(0, table["moved_high"]), "an interval")


def texts_and_results(draw, session):
    """Texts with any bytes, their pieces, and the files of a model."""
    with tempfile.TemporaryDirectory() as name:
        texts = Path(name, "texts")
        texts.mkdir()
        for number in range(draw.mostly([1, 3], [0])):
            words = b" ".join(
                draw.pick([b"apple", b"\xe9t\xe9", b"\xc3\xa4", b"a.", b"\n\n"]) for _ in range(draw.whole(0, 30))
            )
            noise = draw.pick([b"", b"", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf"])
            (texts / f"{draw.pick(['1999-01-02', 'x', '0000', '2024-13-45'])}_{number}.txt").write_bytes(noise + words)
        chunk = draw.mostly([None, 1, 5, 1000], [0, -1, 1.5, True])
        encoding = draw.mostly([None, "latin-1"], ["x"])
        split = draw.mostly([None, "a", "\\S+\\s", "(?i)A.*\\n"], ["", "(", 1, "nowhere"])
        pieces = session.call(datasets.read_texts, texts, chunk=chunk, split=split, encoding=encoding)
        if pieces is not None:
            session.require(pieces.index.is_unique, "pieces have names of their own")
        X = draw_counts(draw)
        fitted = session.call(GibbsLDA(2, max_iter=2, random_state=0).fit, X.given, refuse=_wrong(X))
        if fitted is None:
            return
        folder = Path(name, draw.mostly(["results"], ["texts"]))
        session.call(inspection.export_results, fitted, X.given, folder=folder, n_words=draw.mostly([1, 20], [0, 1.5]))


CASES = {
    "known topics": known_topics,
    "texts and results": texts_and_results,
    "consensus of fits": consensus,
    "held_out_log_likelihood": held_out,
    "held-out estimators of papers": of_papers,
    "compare_topic_models": compare,
    "held_out_curve": curve,
    "leave_one_out_score": leave_one_out,
    "from_assignments": estimates,
    "log_evidence": evidence,
    "coherence and diversity": coherence,
    "scorers": scorers,
    "predictive_perplexity": predictive,
    "simulated corpora": simulate,
    "token lists": token_lists,
    "folders of counts": folders,
    "checkpoints": checkpoints,
    "state files": state_file,
}


def _features(X):
    return X.clean.shape[1] if X.clean is not None else 3


def _documents(X):
    return len(X.clean) if X.clean is not None else 2


def _given(prior):
    return 0.1 if prior is None else prior


def _wrong(X):
    """Why counts must be refused; functions may take an empty matrix."""
    return None if X.clean is not None and not X.clean.size else X.refuse


def _assignments(draw, X):
    """A topic for every token, rarely something else; and the number of topics."""
    K = draw.n_components()
    clean = X.clean if X.clean is not None and X.clean.size else np.ones((2, 3), int)
    topics = draw.rng.integers(0, K, clean.sum())
    if draw.chance(0.2):
        topics = np.split(topics, np.cumsum(clean.sum(axis=1))[:-1])
    elif draw.wrong(0.2) and topics.size:
        topics = topics.astype(draw.pick([object, float, np.uint64, np.int64, bool, str, np.float32]))
        if topics.dtype.kind in "iuOf":
            topics[draw.whole(0, len(topics) - 1)] = draw.pick([K, 2**31 - 1, 2**32, 0, 2**40])
    elif draw.wrong(0.1):
        topics = draw.pick([topics - 1, topics[:-1], [], None, "x", 3, topics[None], [[0]], [*topics.tolist(), None]])
    return topics, K


def _likelihoods(session, value, clean, phi, method):
    """log p(w_d) of documents; -inf only for words that no topic has."""
    known = (np.asarray(phi, float) > 0).any(axis=0)
    possible = clean[:, ~known].sum(axis=1) == 0
    if method in ("ais", "document_completion", "curve"):
        # Where a topic lacks a word, annealing from elsewhere may end in what is impossible.
        possible &= bool((np.asarray(phi, float) > 0).all())
    tolerance = ESTIMATED if method in ("guided_ais", "ais", "chib", "curve") else 1e-6
    session.log_probability(value, (len(clean),), "log-likelihood", possible=possible, tolerance=tolerance)
    session.require(np.asarray(value)[clean.sum(axis=1) == 0] == 0, "a document without words has probability one")
