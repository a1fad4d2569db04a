"""Tasks for coders: what they show, how answers are read, and what the results say of simulated coders."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import binom, chisquare
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import cohen_kappa_score, precision_score, recall_score
from sklearn.pipeline import make_pipeline

from sklda import GibbsLDA
from sklda.inspection import CodingResults, CodingTask, describe
from sklda.inspection._coding_results import crossed_intervals, krippendorff_alpha

plt = pytest.importorskip("matplotlib.pyplot")
FALSE_ALARM = 1e-4
N_TOPICS, V, N_DOCUMENTS = 5, 60, 200
WORDS = [f"w{v:02}" for v in range(V)]


def corpus():
    """Topics of twelve words each, and documents of two topics, with words of one topic in each half."""
    rng = np.random.default_rng(0)
    phi = np.full((N_TOPICS, V), 0.001)
    for k in range(N_TOPICS):
        phi[k, 12 * k : 12 * k + 12] = np.linspace(2, 1, 12)
    phi /= phi.sum(axis=1, keepdims=True)
    theta = rng.dirichlet(np.full(N_TOPICS, 0.3), N_DOCUMENTS)
    texts = [" ".join(rng.choice(WORDS, 40, p=row @ phi)) for row in theta]
    return phi, theta, texts


PHI, THETA, TEXTS = corpus()
X = CountVectorizer(vocabulary=WORDS).transform(TEXTS)
ARRAYS = describe((PHI, THETA), X, vocabulary=WORDS)


def task_of(kind, **options):
    given = {} if kind == "words" else {"texts": TEXTS}
    return CodingTask.from_estimator(ARRAYS, kind=kind, **{"random_state": 0} | given | options)


def write(task, path, choices, coder="Ann", seconds=5.0):
    """The file of a coder with these options, from zero on; -1 where an answer is absent."""
    rows = [(task.id, coder, i + 1, c + 1, seconds) for i, c in enumerate(choices) if c >= 0]
    pd.DataFrame(rows, columns=["task", "coder", "item", "choice", "seconds"]).to_csv(path, index=False)
    return path


def right_of(task):
    return np.array([item["right"] for item in task.items])


# --- What is shown ------------------------------------------------------------------------------------------------


def test_words_and_an_intruder():
    task = task_of("words", n_items=2)
    assert sorted(item["topic"] for item in task.items) == sorted([*range(N_TOPICS)] * 2)
    for topic in range(N_TOPICS):
        own = [item for item in task.items if item["topic"] == topic]
        shown = []
        for item in own:
            words = [WORDS.index(word) for word in item["options"]]
            intruder = words.pop(item["right"])
            assert intruder // 12 != topic and {v // 12 for v in words} == {topic}
            assert intruder in np.argsort(-PHI[intruder // 12], kind="stable")[:10]
            shown += [*words, intruder]
        # The words of one item do not tell the intruder of another.
        assert len(set(shown)) == 12 and set(shown[:5] + shown[6:11]) == set(range(12 * topic, 12 * topic + 10))
    assert task_of("words", topics=[1, 3]).labels == ["1: w12 w13 w14", "3: w36 w37 w38"]


def test_an_intruder_is_not_probable_in_the_topic():
    """The word that two topics share is an intruder of neither, although it is frequent in both."""
    phi = PHI.copy()
    phi[0, 12] = phi[0, 11]
    named = describe((phi / phi.sum(axis=1, keepdims=True), THETA), vocabulary=WORDS)
    intruders = set()
    for seed in range(40):
        task = CodingTask.from_estimator(named, kind="words", topics=[0], random_state=seed)
        intruders.add(task.items[0]["options"][task.items[0]["right"]])
    assert "w12" not in intruders and len(intruders) > 10


def test_topics_of_a_text_and_an_intruder():
    task = task_of("topics", n_items=3, passage_length=12)
    names = [", ".join(WORDS[12 * k : 12 * k + 8]) for k in range(N_TOPICS)]
    beginnings = {" ".join(text.split()[:12]) + " …": d for d, text in enumerate(TEXTS)}
    for item in task.items:
        order = np.argsort(-THETA[beginnings[item["text"]]])
        shown = [names.index(option) for option in item["options"]]
        intruder = shown.pop(item["right"])
        assert order[0] == item["topic"] and set(shown) == set(order[:3]) and intruder in order[3:]
    named = describe(ARRAYS, topic_names=list("abcde"))
    options = CodingTask.from_estimator(named, kind="topics", texts=TEXTS, random_state=0).items[0]["options"]
    assert set(options) < set("abcde")


def test_documents_of_a_topic_and_an_intruder():
    task = task_of("documents", n_items=2, passage_length=60)
    for topic in range(N_TOPICS):
        closest = np.argsort(-THETA[:, topic], kind="stable")[:6]
        shown = []
        for item in task.items:
            if item["topic"] == topic:
                rows = [TEXTS.index(text) for text in item["options"]]
                intruder = rows.pop(item["right"])
                assert THETA[intruder, topic] <= np.median(THETA[:, topic])
                shown += rows
        assert sorted(shown) == sorted(closest)


def test_codings_are_drawn_by_label():
    labels = ["x", "y", "x", "z", "y"]
    task = task_of("coding", categories=labels, n_items=20)
    assert task.labels == ["x", "y", "z"]
    by_label = THETA @ [[label == name for name in task.labels] for label in labels]
    main = np.array([task.labels.index(labels[k]) for k in THETA.argmax(axis=1)])
    for item in task.items:
        d = TEXTS.index(item["text"])
        assert main[d] == item["right"]
        np.testing.assert_allclose(item["weight"], (main == main[d]).sum() / 20)
        assert len(item["shares"]) == 1 or np.abs(np.mean(item["shares"], axis=0) - by_label[d]).max() < 0.6
    assert np.bincount([item["topic"] for item in task.items]).tolist() == [20, 20, 20]
    few = task_of("coding", n_items=10**6)
    assert len(few.items) == N_DOCUMENTS and {item["weight"] for item in few.items} == {1.0}


def test_texts_of_a_pipeline_without_empty_ones():
    texts = [*TEXTS[:100], "", "  "]
    model = make_pipeline(CountVectorizer(), GibbsLDA(4, max_iter=10, random_state=0)).fit(texts)
    for kind in ("topics", "documents", "coding"):
        task = CodingTask.from_estimator(model, texts, kind=kind, n_items=100, random_state=0)
        assert all(text.strip() for item in task.items for text in [item["text"], *item.get("options", ())] if text)
        assert all(item["text"] for item in task.items) == (kind != "documents")


@pytest.mark.parametrize("kind", ["words", "topics", "documents", "coding"])
def test_the_same_seed_gives_the_same_task_which_can_be_saved(kind, tmp_path):
    task, same = task_of(kind, n_items=2), task_of(kind, n_items=2)
    assert task == same and task.id == same.id
    assert task.id != CodingTask.from_estimator(ARRAYS, kind=kind, texts=TEXTS, n_items=2, random_state=1).id
    task.save(tmp_path / "task.json")
    loaded = CodingTask.load(tmp_path / "task.json")
    # Without the key.
    assert repr(loaded) == f"<{kind} task of {len(loaded.items)} questions>"
    assert loaded == task and loaded.id == task.id and loaded.to_html() == task.to_html()


def intruder_last(rng, topic, text, shown, intruder):
    return {"text": text, "options": [*shown, intruder], "right": len(shown), "topic": topic}


@pytest.mark.mutation("sklda.inspection._coding._item", intruder_last)
def test_places_of_intruders_are_uniform():
    """A chi-square test of 2,000 places; its false-alarm rate is 1e-4."""
    places = np.concatenate([right_of(task_of("words", random_state=seed)) for seed in range(400)])
    assert chisquare(np.bincount(places, minlength=6)).pvalue > FALSE_ALARM


def test_what_cannot_be_asked_is_refused():
    with pytest.raises(ValueError, match="kind must be one of"):
        task_of("word")
    with pytest.raises(ValueError, match="kind='coding' shows texts: give them"):
        CodingTask.from_estimator(ARRAYS, kind="coding")
    with pytest.raises(ValueError, match="categories are for kind='coding'"):
        task_of("topics", categories=list("abcde"))
    with pytest.raises(ValueError, match="categories has 2 names; there are 5 topics"):
        task_of("coding", categories=["a", "b"])
    with pytest.raises(ValueError, match="too few words for 13 items"):
        task_of("words", n_items=13)
    with pytest.raises(ValueError, match="too few words for 1 items"):
        CodingTask.from_estimator(describe((PHI[:1], np.ones((3, 1))), vocabulary=WORDS), kind="words")
    three = describe((PHI[:3], np.full((2, 3), 1 / 3)), X[:2], vocabulary=WORDS)
    with pytest.raises(ValueError, match="the model has 3 topics; kind='topics' shows 3 and an intruder"):
        CodingTask.from_estimator(three, kind="topics", texts=TEXTS[:2])
    with pytest.raises(ValueError, match=r"wording has 'stop'; its keys are 'question', 'name'"):
        task_of("words").to_html(wording={"stop": "x"})


# --- How answers are read -----------------------------------------------------------------------------------------


def test_files_that_are_not_answers_are_refused(tmp_path):
    task, other = task_of("words"), task_of("words", random_state=1)
    path = tmp_path / "answers.csv"
    for content, message in {
        "a,b\n1,2\n": "is not the file of a coder: it has no 'task', 'item', 'choice', 'seconds', 'coder'",
        "task,coder,item,choice,seconds\n": "it has no answers",
        f"task,coder,item,choice,seconds\n{other.id},a,1,1,1\n": f"another task: '{other.id}' in place of '{task.id}'",
        f"task,coder,item,choice,seconds\n{task.id},a,6,1,1\n": "has the item '6'; they are from 1 to 5",
        f"task,coder,item,choice,seconds\n{task.id},a,1,x,1\n": "has the choice 'x'; they are from 1 to 6",
    }.items():
        path.write_text(content)
        with pytest.raises(ValueError, match=message):
            task.results(path)
    with pytest.raises(ValueError, match="files is empty"):
        task.results([])
    twice = [write(task, tmp_path / f"{i}.csv", right_of(task)) for i in range(2)]
    with pytest.raises(ValueError, match="'Ann' answers item 1 twice"):
        task.results(twice)


# --- What the results say -----------------------------------------------------------------------------------------


def test_shares_of_right_answers_and_topics_that_fail(tmp_path):
    """Topic 0 is seen by all, topic 4 by nobody, and one coder left out the last two items."""
    task = task_of("words", n_items=2)
    topic, right = np.array([item["topic"] for item in task.items]), right_of(task)
    files = []
    for coder in range(3):
        choices = np.where(topic == 4, (right + 1 + coder) % 6, right)
        if coder == 2:
            choices[-2:] = -1
        files.append(write(task, tmp_path / f"{coder}.csv", choices, f"coder {coder}", seconds=1.0 + coder))
    results = task.results(files)
    table = results.table
    assert table["topic"].tolist() == [f"{k}: w{12 * k:02} w{12 * k + 1:02} w{12 * k + 2:02}" for k in range(5)]
    lost = np.bincount(topic[-2:], minlength=5)
    assert table["items"].tolist() == [2] * 5 and table["answers"].tolist() == (6 - lost).tolist()
    assert table["right"].tolist() == [1, 1, 1, 1, 0] and table["above_chance"].tolist() == [True] * 4 + [False]
    assert ((table["low"] <= table["right"]) & (table["right"] <= table["high"])).all()
    n = (6 - lost)[:4].sum()
    assert results.overall["right"] == pytest.approx(n / 28) and results.overall["answers"] == 28
    assert results.overall["chance"] == 1 / 6 and results.overall["coders"] == 3 and results.overall["items"] == 10
    plt.close("all")


def interval(table):
    return crossed_intervals([table], 0.95)[0]


def test_one_coder_has_the_interval_of_wilson(tmp_path):
    """The interval that Newcombe (1998, table I) prints for 81 of 263 is .2553 to .3662."""
    right = (np.arange(263) < 81).astype(float)
    for table in (right[None], right[:, None]):
        assert interval(table) == pytest.approx((81 / 263, 0.2553, 0.3662), abs=5e-5)
    assert interval(np.full((2, 3), np.nan))[1:] == (0, 1)


def covers(sd_coder, sd_item, sd_topic=0.0, shape=(5, 1, 40), n=1000):
    """How often intervals contain the share of right answers of all coders and items, for simulated answers.

    Coders, topics and items of a topic have effects on the log odds. The other number is without the effects.
    """
    rng = np.random.default_rng(0)
    x, w = np.polynomial.hermite_e.hermegauss(60)
    found = np.zeros(2, int)
    for _ in range(n):
        mean = 1 + sd_topic * rng.standard_normal((1, shape[1], 1))
        share = expit(mean.ravel()[:, None] + np.hypot(sd_coder, sd_item) * x) @ w / w.sum()
        logit = mean + sd_coder * rng.standard_normal((shape[0], 1, 1)) + sd_item * rng.standard_normal((1, *shape[1:]))
        right = (rng.random(shape) < expit(logit)).astype(float).swapaxes(0, 1)
        for i, tables in enumerate((list(right), [each.reshape(1, -1) for each in right])):
            intervals = np.array(crossed_intervals(tables, 0.95))
            # One topic of each simulation, so that the simulations are independent.
            found[i] += intervals[0, 1] <= share[0] <= intervals[0, 2]
    return found


@pytest.mark.mutation
@pytest.mark.parametrize("effects", [(0.0, 0.0), (0.8, 1.5)])
def test_intervals_know_coders_and_items(effects):
    """At least 93 % of 95 % intervals contain the share; those of answers that are counted alone do not."""
    known, alone = covers(*effects)
    assert binom.cdf(known, 1000, 0.93) > FALSE_ALARM
    assert effects == (0, 0) or binom.cdf(alone, 1000, 0.93) < FALSE_ALARM


@pytest.mark.mutation
def test_intervals_of_topics_with_few_answers():
    """The same for one of ten topics with three items, and four coders."""
    known, alone = covers(0.8, 1.5, sd_topic=1.0, shape=(4, 10, 3), n=500)
    assert binom.cdf(known, 500, 0.93) > FALSE_ALARM
    assert binom.cdf(alone, 500, 0.93) < FALSE_ALARM


@pytest.mark.parametrize(
    ("values", "alpha"),
    [
        # Krippendorff (2011), B and C: two observers of 12 articles; four of 12 units, some of which lack values.
        (["aabbdcccedda", "babbbccceddd"], 0.692),
        (["123321412...", "1233224125.3", ".3332342251.", "1233244125 1.".replace(" ", "")], 0.743),
        # A: two observers of ten units with two values.
        (["0100000010", "1110010000"], 0.095),
    ],
)
def test_published_values_of_alpha(values, alpha):
    letters = sorted(set("".join(values)) - {"."})
    found = krippendorff_alpha(np.array([[letters.index(c) if c != "." else -1 for c in row] for row in values]))
    assert found == pytest.approx(alpha, abs=5e-4)


def test_alpha_without_pairs_or_differences():
    assert np.isnan(krippendorff_alpha(np.array([[0, 1, 2]])))
    assert np.isnan(krippendorff_alpha(np.array([[1, 1], [1, 1]])))
    assert krippendorff_alpha(np.array([[0, 1], [0, 1]])) == 1


def test_agreement_of_a_coding_is_that_of_scikit_learn(tmp_path):
    """With all documents, one coder, and shares of zero and one."""
    rng = np.random.default_rng(1)
    main, codes = rng.integers(3, size=60), rng.integers(4, size=60)
    items = [
        {"text": "x", "right": int(k), "topic": int(k), "weight": 1.0, "shares": [np.eye(3)[k].tolist()]} for k in main
    ]
    task = CodingTask("coding", list("abc"), items)
    results = task.results(write(task, tmp_path / "a.csv", codes))
    table, scores = results.table, {"labels": [0, 1, 2], "average": None}
    np.testing.assert_allclose(table["precision"], precision_score(codes, main, **scores))
    np.testing.assert_allclose(table["recall"], recall_score(codes, main, **scores))
    assert results.overall["kappa"] == pytest.approx(cohen_kappa_score(main, codes))
    assert results.overall["agreement"] == pytest.approx((main == codes).mean())
    assert results.overall["kappa_low"] < results.overall["kappa"] < results.overall["kappa_high"]
    assert np.isnan(results.overall["alpha"])


def test_documents_stand_for_those_that_were_not_drawn(tmp_path):
    """Codes of all documents, and of half of those of one label, give about the same; weights make up for it."""
    items = [
        {"text": "x", "right": k, "topic": k, "weight": weight, "shares": [np.eye(2)[k].tolist()]}
        for k, n, weight in ((0, 40, 1.0), (1, 10, 4.0))
        for _ in range(n)
    ]
    task = CodingTask("coding", ["a", "b"], items)
    codes = np.r_[np.arange(40) % 4 == 0, np.arange(10) % 2 == 0].astype(int)
    found = task.results(write(task, tmp_path / "a.csv", codes))
    # 30 of 40 and 20 of 40 documents have the code of their label.
    assert found.overall["agreement"] == pytest.approx(50 / 80)
    np.testing.assert_allclose(found.table["precision"], [0.75, 0.5])
    np.testing.assert_allclose(found.table["recall"], [30 / 50, 20 / 30])


def test_draws_of_shares_widen_the_intervals(tmp_path):
    rng = np.random.default_rng(0)
    main = np.repeat([0, 1], 30)
    codes = np.where(rng.random(60) < 0.8, main, 1 - main)
    widths = []
    for spread in (0.0, 0.3):
        level = np.clip(0.7 + spread * rng.uniform(-1, 1, 50), 0, 1)
        shares = [[[s, 1 - s] if k == 0 else [1 - s, s] for s in level] for k in main]
        items = [
            {"text": "x", "right": int(k), "topic": int(k), "weight": 1.0, "shares": own}
            for k, own in zip(main, shares, strict=True)
        ]
        task = CodingTask("coding", ["a", "b"], items)
        table = task.results(write(task, tmp_path / "a.csv", codes)).table
        widths.append((table["recall_high"] - table["recall_low"]).to_numpy())
    assert (widths[1] > 1.5 * widths[0]).all()


@pytest.mark.mutation("sklda.inspection._coding_results._N_RESAMPLES", 2)
def test_kappa_of_simulated_codes_is_covered(tmp_path):
    """At least 88 % of 95 % intervals contain kappa of all documents, for samples of 20 of each label."""
    rng = np.random.default_rng(0)
    sizes, truth = [400, 1200, 400], np.array([[0.8, 0.1, 0.1], [0.1, 0.7, 0.2], [0.3, 0.3, 0.4]])
    joint = truth * np.array(sizes)[:, None] / sum(sizes)
    expected = joint.sum(axis=0) @ joint.sum(axis=1)
    kappa = (np.trace(joint) - expected) / (1 - expected)
    found = 0
    for _ in range(20):
        main = np.repeat(range(3), 20)
        items = [
            {"text": "", "right": int(k), "topic": int(k), "weight": sizes[k] / 20, "shares": [np.eye(3)[k].tolist()]}
            for k in main
        ]
        task = CodingTask("coding", list("abc"), items)
        codes = [rng.choice(3, p=truth[k]) for k in main]
        overall = task.results(write(task, tmp_path / "a.csv", codes)).overall
        found += overall["kappa_low"] <= kappa <= overall["kappa_high"]
    assert binom.cdf(found, 20, 0.88) > FALSE_ALARM


@pytest.mark.parametrize("n_topics", [1, 40])
@pytest.mark.parametrize("kind", ["words", "coding"])
def test_the_picture_has_all_topics_in_their_order(kind, n_topics):
    rng = np.random.default_rng(0)
    names = ["right"] if kind == "words" else ["precision", "recall"]
    table = pd.DataFrame({"topic": [f"{k}: word" for k in range(n_topics)]})
    for name in names:
        value = rng.random(n_topics)
        ends = ("low", "high") if name == "right" else (f"{name}_low", f"{name}_high")
        table = table.assign(**{name: value, ends[0]: value / 2, ends[1]: (1 + value) / 2})
    results = CodingResults(table, {"chance": 1 / 6}, pd.DataFrame()).plot()
    assert len(results.axes_) == len(names)
    order = np.argsort(-table[names[0]], kind="stable")
    for ax, name in zip(results.axes_, names, strict=True):
        np.testing.assert_allclose(ax.lines[0].get_xdata(), table[name][order])
    shown = [label.get_text() for label in results.axes_[0].get_yticklabels()]
    assert len(shown) == n_topics and shown[0].startswith(f"{order[0]}:")
    with pytest.raises(ValueError, match="one Axes for each of"):
        results.plot(plt.subplots(1, 3)[1])
    plt.close("all")


def test_json_of_a_task_is_plain(tmp_path):
    task_of("coding", n_items=1).save(tmp_path / "task.json")
    assert json.loads((tmp_path / "task.json").read_text())["kind"] == "coding"
