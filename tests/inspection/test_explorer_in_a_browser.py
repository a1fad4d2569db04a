"""The explorer's page in Chromium: panels, clicks, keys, slider, search; no error and no request."""

import http.server
import threading

import numpy as np
import pytest
from browser import needs_chromium, run
from inspection_pages import HOSTILE, hostile_page, shares
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.utils import Bunch

from sklda import GibbsLDA
from sklda.datasets import load_docstrings
from sklda.inspection import TopicExplorer, describe, top_documents, topic_table, topics_over_time
from sklda.metrics import match_topics

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def docstrings():
    return load_docstrings()


@pytest.fixture(scope="module")
def fitted(docstrings):
    return GibbsLDA(6, doc_topic_prior=0.1, topic_word_prior=0.05, max_iter=20, random_state=0).fit(docstrings.data)


@pytest.fixture(scope="module")
def named(docstrings, fitted):
    names = {"vocabulary": docstrings.feature_names, "document_names": docstrings.document_names}
    return describe(fitted, docstrings.data, **names)


@pytest.fixture(scope="module")
def page(docstrings, named):
    return TopicExplorer.from_estimator(named, groups=docstrings.collection).to_html()


def words_at(named, k, weight):
    return topic_table(named, rank_by="relevance", probability_weight=weight, n_words=30)["words"][k]


def test_the_detector_of_messages_and_requests(tmp_path):
    """The detector finds messages and requests where a page makes them."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *args):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/asked"
        page = f'<img src="{address}"><script>console.error("complaint")</script>'
        report = run(page, "await pause(); return 1", tmp_path)
        server.shutdown()
    assert report.value == 1 and any(url.startswith("http://127.0.0.1") for url in report.requests)
    assert any("complaint" in line for line in report.console)


def test_every_panel_is_there_and_nothing_is_fetched(page, fitted, docstrings, named, tmp_path):
    script = """
    await settled();
    one("#show-pairs").click();
    await pause();
    const heat = one("#heat");
    return {
      panels: all("main > section").filter((panel) => panel.offsetHeight > 80).map((panel) => panel.id),
      topics: all("#topic-list button").map((button) => Number(button.dataset.topic)),
      labels: text("#topic-list .name"), values: text("#topic-list .value"),
      current: all("#topic-list [aria-current=true]").map((button) => Number(button.dataset.topic)),
      lambda: one("#lambda-value").textContent, words: text("#word-list .name"),
      documents: text("#document-list .name"), tokens: all("#text .token").length,
      drawn: new Set(heat.getContext("2d").getImageData(0, 0, heat.width, heat.height).data).size,
      circles: all("#map g").map((circle) => Number(circle.dataset.topic)),
      groups: text("#group-list .name"), summary: one("#summary").textContent, title: doc.title,
      unnamed: all("button, input, canvas").filter((element) => !(element.textContent.trim() ||
        element.getAttribute("aria-label") || (element.labels && element.labels.length))).length
    };"""
    report = run(page, script, tmp_path)
    found = report.value
    assert report.console == [] and report.requests == []
    assert found["panels"] == ["similarity", "topics", "words", "documents", "groups"]
    share = shares(fitted, docstrings.data)
    order = np.argsort(-share)
    # Large circles are behind small ones.
    assert found["topics"] == found["circles"] == order.tolist()
    assert [value.partition(" ")[0] for value in found["values"]] == [f"{100 * share[k]:.1f}%" for k in order]
    top = topic_table(named, n_words=4)
    assert found["labels"] == [" ".join(top["words"][k]) for k in order]
    assert found["current"] == [order[0]] and found["lambda"] == "0.60"
    assert found["words"] == words_at(named, order[0], 0.6)
    closest = top_documents(named, n_documents=10)
    assert found["documents"] == closest["documents"][order[0]]
    assert found["tokens"] > 10 and found["drawn"] > 10 and found["unnamed"] == 0
    assert found["groups"] == ["numpy", "scipy", "sklearn"]
    assert found["summary"] == "6 topics, 2,533 words, 1,638 documents, 112,716 tokens"


def test_clicks_slider_and_search_show_the_right_things(page, fitted, docstrings, named, tmp_path):
    script = """
    const steps = {};
    one('#topic-list [data-topic="2"]').click();
    steps.topic = [one("#words-title").textContent, one("#documents-title").textContent,
      one("#groups-title").textContent, one("#similar-title").textContent, text("#similar-list .id"),
      text("#similar-list .value")];
    steps.closest = all("#document-list button").map((button) => Number(button.dataset.document));
    all("#document-list button")[3].click();
    await settled();
    steps.document = [Number(one("#document").dataset.document), one("#document-title").textContent,
      one("#document-hint").textContent, all("#document-list [aria-current=true]").length];
    steps.chips = text("#document-topics button");
    steps.tokens = all("#text .token").map((token) => [token.textContent, Number(token.dataset.topic)]);
    steps.lists = [];
    for (const position of [0, 6, 20]) {
      type(one("#lambda"), position);
      const counts = text("#word-list td:nth-child(3)");
      steps.lists.push([one("#lambda-value").textContent, text("#word-list .name"), counts]);
    }
    type(one("#query"), "EigenVal");
    steps.found = text("#results [data-word] .name");
    all("#results [data-word]")[0].click();
    steps.word = [one("#results").hidden, one("#word-title").textContent, one("#word-hint").textContent,
      text("#word-topics .id"), text("#word-topics .value"), doc.activeElement.id];
    type(one("#query"), "scipy.signal.butter");
    all("#results [data-document]")[0].click();
    await settled();
    steps.sought = [one("#document-title").textContent, Number(one("#document").dataset.document)];
    type(one("#query"), "no such thing");
    steps.nothing = one("#results").textContent;
    press(one("#query"), "Escape");
    steps.closed = one("#results").hidden;
    return steps;"""
    report = run(page, script, tmp_path)
    found = report.value
    assert report.console == [] and report.requests == []
    similar = 1 - match_topics(fitted, fitted).distances[2]
    order = [j for j in np.argsort(-similar) if j != 2]
    assert found["topic"][:4] == [
        "Words of topic 2",
        "Documents closest to topic 2",
        "Topic 2 by group",
        "Most similar to topic 2",
    ]
    assert found["topic"][4] == [str(j) for j in order]
    np.testing.assert_allclose(np.array(found["topic"][5], float), similar[order], atol=0.0101)
    closest = top_documents(fitted, n_documents=10, X=docstrings.data)["rows"][2]
    assert found["closest"] == closest
    d = closest[3]
    n = int(docstrings.data[d].sum())
    assert found["document"] == [
        d,
        docstrings.document_names[d],
        f"{n} tokens. Each token has its topic in the last draw of the chain.",
        1,
    ]
    assert found["chips"][0] == f"topic 2: {100 * round(fitted.doc_topic_[d, 2], 3):.1f}%"
    start = int(docstrings.data[:d].sum())
    row = docstrings.data[d]
    tokens = np.repeat(docstrings.feature_names[row.indices], row.data)
    expected = {}
    for word, k in zip(tokens, fitted.topic_assignments_[start : start + n], strict=True):
        expected[word, int(k)] = expected.get((word, int(k)), 0) + 1
    shown = {(word.partition(" ×")[0], k): int(word.partition(" ×")[2] or 1) for word, k in found["tokens"]}
    assert shown == expected
    counts = dict(zip(docstrings.feature_names, np.asarray(docstrings.data.sum(axis=0)).ravel(), strict=True))
    for (value, words, frequencies), weight in zip(found["lists"], [0, 0.3, 1], strict=True):
        assert value == f"{weight:.2f}" and words == words_at(named, 2, weight)
        assert [int(f.replace(",", "")) for f in frequencies] == [counts[word] for word in words]
    assert found["found"] == [word for word in docstrings.feature_names if word.startswith("eigenval")]
    word = found["found"][0]
    v = docstrings.feature_names.tolist().index(word)
    given = shares(fitted, docstrings.data) * fitted.topic_word_[:, v]
    given /= given.sum()
    top = [k for k in np.argsort(-given) if given[k] >= 0.01]
    assert found["word"] == [
        True,
        f"Topics of the word {word}",
        f"{counts[word]} tokens in the corpus.",
        [str(k) for k in top],
        [f"{100 * round(given[k], 3):.1f}%" for k in top],
        "word-title",
    ]
    butter = docstrings.document_names.tolist().index("scipy.signal.butter")
    assert found["sought"] == ["scipy.signal.butter", butter]
    assert found["nothing"] == "No word and no document contains this." and found["closed"]


def test_keys_and_colours_on_a_narrow_screen(page, tmp_path):
    script = """
    const steps = {}, buttons = all("#topic-list button");
    buttons[0].focus();
    press(buttons[0], "ArrowDown");
    steps.focus = buttons.indexOf(doc.activeElement);
    press(doc.activeElement, "ArrowUp");
    steps.back = buttons.indexOf(doc.activeElement);
    one("#show-pairs").click();
    const map = one("#heat"), before = one("#words-title").textContent;
    map.focus();
    const {topics, similarity} = JSON.parse(one("#data").textContent);
    const last = topics.id[similarity.order.at(-1)] === Number(buttons[0].dataset.topic);
    press(map, last ? "ArrowLeft" : "ArrowRight");
    steps.pair = one("#pair").textContent;
    press(map, "Enter");
    steps.chosen = one("#words-title").textContent !== before;
    const panel = () => win.getComputedStyle(one("section")).backgroundColor, light = panel();
    one("#theme").click();
    steps.colours = [light, panel(), one("#theme").textContent];
    type(one("#query"), "matrix");
    one("#query").focus();
    press(one("#query"), "ArrowDown");
    steps.result = doc.activeElement.dataset.word !== undefined;
    await pause();
    steps.widths = [doc.documentElement.scrollWidth, win.innerWidth];
    return steps;"""
    report = run(page, script, tmp_path, width=600)
    found = report.value
    assert report.console == [] and report.requests == []
    assert found["widths"][0] <= found["widths"][1] and 580 <= found["widths"][1] <= 600
    assert (found["focus"], found["back"], found["chosen"], found["result"]) == (1, 0, True, True)
    assert found["pair"].startswith("Topics ") and "similarity 0." in found["pair"]
    assert found["colours"] == ["rgb(255, 255, 255)", "rgb(27, 32, 39)", "Light colours"]


@pytest.mark.parametrize("width", [600, 1400])
def test_hostile_names_are_text(width, tmp_path):
    script = """
    await settled();
    return {
      title: doc.title, scripts: all("script").length, images: all("img").length,
      words: text("#word-list .name"), groups: text("#group-list .name"), heading: one("h1").textContent,
      documents: text("#document-list .name"), text: one("#text").textContent,
      errors: text("#topic-list .value"), stability: text("#topic-list .stability").sort(),
      whiskers: all("#topic-list .whisker").length, std: text("#document-list .value"),
      scroll: doc.documentElement.scrollWidth, inner: win.innerWidth
    };"""
    report = run(hostile_page(), script, tmp_path, width=width)
    found = report.value
    assert report.console == [] and report.requests == []
    assert found["scripts"] == 2 and found["images"] == 0
    assert found["title"] == found["heading"].strip() == HOSTILE[1]
    shown = {name[:199] + "…" if len(name) > 200 else name for name in HOSTILE if name not in ("", "\ud800")}
    shown |= {"(empty)", "?"}
    # The table has the words that a topic has; a NUL character is a replacement character in no text node.
    assert set(found["words"]) == shown and set(found["groups"]) == shown
    # Beside the name of a document is the beginning of its text.
    beginnings = {" ".join(name.split()) for name in HOSTILE if len(name) <= 120}
    assert set(found["documents"]) <= shown | beginnings | {"a" * 119 + "…"}
    assert found["scroll"] <= found["inner"]
    assert all(value.endswith("% ± 1.0") for value in found["errors"]) and found["whiskers"] == 3
    assert found["stability"] == [
        "stability 0.25, in 2 of 4 chains",
        "stability 0.50, in 4 of 4 chains",
        "stability 1.00, in 4 of 4 chains",
    ]
    assert len(found["std"]) == 10 and all(value.endswith(" ± 2.0") for value in found["std"])


def test_a_pipeline_of_texts_shows_them_whole(tmp_path):
    texts = ["Apple banana, apple!", "Banana (cherry) apple.", "Car & <engine> wheel", "engine wheel wheel 🦊", "…"]
    lda = GibbsLDA(2, doc_topic_prior=0.1, topic_word_prior=0.1, max_iter=50, random_state=0)
    pipeline = make_pipeline(CountVectorizer(), lda).fit(texts)
    script = """
    const found = [];
    for (const query of ["banana", "&", "fox", "2"]) {
      type(one("#query"), query);
      found.push(all("#results button").length);
    }
    for (const query of ["0", "1", "2", "3", "4"]) {
      type(one("#query"), query);
      all("#results [data-document]")[0].click();
      await settled();
      found.push([one("#text").textContent, text("#text .token")]);
    }
    return found;"""
    found = run(TopicExplorer.from_estimator(pipeline, texts).to_html(), script, tmp_path).value
    # A word and the documents that begin with it; documents; nothing; one number.
    assert found[:4] == [3, 1, 0, 1]
    assert [text for text, _ in found[4:]] == texts
    assert found[6][1] == ["Car", "engine", "wheel"] and found[8][1] == []


def test_names_of_topics(docstrings, fitted, tmp_path):
    topics = [*HOSTILE[:3], "Sums & products", "Zeros", "Other"]
    explorer = TopicExplorer.from_estimator(
        describe(fitted, vocabulary=docstrings.feature_names, topic_names=topics), docstrings.data
    )
    script = """
    const steps = {labels: text("#topic-list .name"), query: one("#query-label").textContent};
    type(one("#query"), "sums");
    steps.found = [text("#results h3"), text("#results [data-topic] .name")];
    all("#results [data-topic]")[0].click();
    steps.closed = one("#results").hidden;
    steps.focus = doc.activeElement.id;
    steps.titles = ["words", "documents", "similar"].map((id) => one(`#${id}-title`).textContent);
    all("#document-list button")[0].click();
    await settled();
    steps.chip = text("#document-topics button")[0];
    one("#show-pairs").click();
    const map = one("#heat");
    map.focus();
    press(map, "ArrowLeft");
    steps.pair = one("#pair").textContent;
    type(one("#query"), "no such thing");
    steps.nothing = one("#results").textContent;
    steps.scripts = all("script").length;
    return steps;"""
    report = run(explorer.to_html(), script, tmp_path)
    found = report.value
    assert report.console == [] and report.requests == []
    order = np.argsort(-shares(fitted, docstrings.data))
    assert found["labels"] == [topics[k] for k in order]
    assert found["query"] == "Find a topic, a word or a document"
    assert found["found"] == [["Topics", "Words"], ["Sums & products"]]
    assert found["closed"] and found["focus"] == "words-title"
    assert found["titles"] == [
        "Words of topic 3: Sums & products",
        "Documents closest to topic 3: Sums & products",
        "Most similar to topic 3: Sums & products",
    ]
    assert found["chip"].startswith("topic 3: Sums & products, ") and found["pair"].count("(") >= 2
    assert found["nothing"] == "No topic, no word and no document contains this." and found["scripts"] == 2


def test_the_topics_of_a_word_are_beside_the_click(page, tmp_path):
    script = """
    const steps = {}, list = () => all("#word-list > tr[data-word]");
    const box = (element) => element.getBoundingClientRect();
    const radii = () => all("#map circle").map((circle) => Number(circle.getAttribute("r"))).sort((a, b) => a - b);
    const before = radii(), row = list()[20], button = row.querySelector("button");
    button.focus();
    button.click();
    steps.below = Math.abs(box(one("#word")).top - box(row).bottom);
    steps.seen = box(one("#word")).bottom <= win.innerHeight && box(one("#word")).top >= 0;
    steps.opened = [button.getAttribute("aria-expanded"), one("#word").dataset.word === row.dataset.word,
      doc.activeElement === button, one("#places-hint").textContent.includes(button.textContent)];
    steps.circles = radii().join() !== before.join() && radii().at(-1) <= before.at(-1) + 0.1;
    // The words stay in their order while the slider moves, and the box with its word.
    type(one("#lambda"), 20);
    const again = one(`#word-list tr[data-word="${row.dataset.word}"]`);
    steps.moved = again ? one("#word").closest("tr").previousElementSibling === again
      : one("#word").parentElement.id === "word-outside";
    const other = all("#word-topics button").at(-1).dataset.topic;
    all("#word-topics button").at(-1).click();
    steps.kept = [one("#words-title").textContent === `Words of topic ${other}`, one("#word").hidden];
    press(one("#words-title"), "Escape");
    steps.closed = [one("#word").hidden, all("[aria-expanded=true]").length, all("#word-row").length];
    list()[3].querySelector("button").click();
    one("#word-close").focus();
    one("#word-close").click();
    steps.focus = doc.activeElement === list()[3].querySelector("button");
    list()[5].querySelector("button").click();
    all("#topic-list button")[1].click();
    steps.another = one("#word").hidden;
    // A word that the topic does not list is above the list.
    type(one("#query"), "eigenval");
    all("#results [data-word]")[0].click();
    const listed = list().some((each) => each.dataset.word === one("#word").dataset.word);
    steps.outside = listed || box(one("#word")).bottom <= box(one("#words table")).top + 1;
    return steps;"""
    report = run(page, script, tmp_path, height=800)
    found = report.value
    assert report.console == [] and report.requests == []
    assert found["below"] < 8 and found["seen"] and found["opened"] == ["true", True, True, True]
    assert found["circles"] and found["moved"] and found["kept"] == [True, False] and found["closed"] == [True, 0, 0]
    assert found["focus"] and found["another"] and found["outside"]


def test_the_map_of_topics(page, fitted, docstrings, tmp_path):
    script = """
    const circles = () => Object.fromEntries(all("#map g").map((each) => [each.dataset.topic,
      ["cx", "cy", "r"].map((name) => Number(each.querySelector("circle").getAttribute(name)))]));
    const current = () => one('#map [aria-current="true"]').dataset.topic;
    const steps = {circles: circles(), size: [one("#map").clientWidth, one("#map").clientHeight]};
    steps.tabs = all('#map [tabindex="0"]').length;
    steps.names = all("#map g").map((each) => each.getAttribute("aria-label"));
    // A click near a small circle means it.
    const other = all("#map g").at(-1).dataset.topic, [x, y, r] = circles()[other];
    const corner = one("#map").getBoundingClientRect();
    one("#map").dispatchEvent(new win.MouseEvent("click", {bubbles: true, clientX: corner.left + x,
      clientY: corner.top + y}));
    steps.clicked = [other, current(), one("#words-title").textContent, all("#map line").length,
      all("#map text.chosen").length];
    one('#map [aria-current="true"]').focus();
    const seen = new Set();
    for (const key of ["ArrowUp", "ArrowLeft", "ArrowDown", "ArrowRight", "ArrowUp", "ArrowUp", "ArrowDown"]) {
      press(doc.activeElement, key);
      seen.add(doc.activeElement.dataset.topic);
    }
    steps.moves = seen.size;
    const focused = doc.activeElement.dataset.topic;
    press(doc.activeElement, "Enter");
    steps.entered = [current() === focused, doc.activeElement.dataset.topic === focused];
    steps.labels = all("#map text[data-label]").map((each) => {
      const box = each.getBBox();
      return [box.x, box.y, box.x + box.width, box.y + box.height];
    });
    return steps;"""
    report = run(page, script, tmp_path)
    found = report.value
    assert report.console == [] and report.requests == []
    circles = np.array([found["circles"][str(k)] for k in range(6)])
    width, height = found["size"]
    share = shares(fitted, docstrings.data)
    # The area is in proportion to the share, and circles are inside.
    np.testing.assert_allclose(circles[:, 2] ** 2 / share, (circles[:, 2] ** 2).sum(), rtol=0.02)
    assert (circles[:, :2] >= circles[:, 2:]).all() and (circles[:, :2] + circles[:, 2:] <= [width, height]).all()
    # No circle is on another.
    drawn = np.linalg.norm(circles[:, None, :2] - circles[:, :2], axis=2)
    assert (drawn >= circles[:, 2] + circles[:, None, 2])[np.triu_indices(6, 1)].all()
    assert found["tabs"] == 1 and all(name.startswith("Topic ") and name.endswith("%") for name in found["names"])
    k = found["clicked"][0]
    assert found["clicked"] == [k, k, f"Words of topic {k}", 3, 1]
    assert found["moves"] > 2 and found["entered"] == [True, True]
    boxes = np.array(found["labels"])
    assert len(boxes) >= 3 and (boxes[:, :2] >= -3).all() and (boxes[:, 2:] <= [width + 3, height + 3]).all()
    for i in range(len(boxes)):
        for j in range(i):
            a, b = boxes[i], boxes[j]
            assert (a[:2] >= b[2:] - 2).any() or (b[:2] >= a[2:] - 2).any()


def test_distances_on_the_map_have_one_scale(tmp_path):
    phi = np.array([[0.9, 0.05, 0.05, 0], [0.1, 0.8, 0.1, 0], [0.05, 0.05, 0.1, 0.8]])
    model = describe((phi, [[0.4, 0.3, 0.3]]), vocabulary=list("abcd"))
    explorer = TopicExplorer.from_estimator(model)
    script = """return all("#map circle").map((circle) => [circle.parentElement.dataset.topic,
      circle.getAttribute("cx"), circle.getAttribute("cy")].map(Number));"""
    circles = np.array(sorted(run(explorer.to_html(), script, tmp_path).value))[:, 1:]
    points = np.array(explorer.data["similarity"]["points"])
    drawn, given = (np.linalg.norm(each - np.roll(each, 1, axis=0), axis=1) for each in (circles, points))
    np.testing.assert_allclose(drawn / given, (drawn / given).mean(), rtol=0.01)


LONG = [
    "Functions that compute eigenvalues and eigenvectors of symmetric and Hermitian matrices, dense or sparse",
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
]
CHINESE = ["数组与矩阵运算", "信号处理、滤波器设计与频谱分析方法综述，以及概率分布和随机变量的密度函数"]


@pytest.fixture(scope="module")
def some(docstrings):
    """Every fourth docstring, for pages whose panels matter."""
    rows = ("data", "document_names", "collection")
    return Bunch(**{name: each[::4] if name in rows else each for name, each in docstrings.items()})


@pytest.fixture(scope="module")
def many(some):
    """Few sweeps: topics are alike, and their circles at one place of the map."""
    return {
        n: GibbsLDA(n, doc_topic_prior=0.1, topic_word_prior=0.05, max_iter=3, random_state=0).fit(some.data)
        for n in (5, 20, 100)
    }


def page_of_many(lda, some, names=("Arrays",), **options):
    topics = [f"{names[k % len(names)]} {k}" for k in range(lda.n_components)]
    model = describe(lda, some.data, vocabulary=some.feature_names, topic_names=topics)
    return TopicExplorer.from_estimator(model, **options).to_html()


@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize("n_topics", [20, 100])
def test_the_number_of_every_circle_can_be_read(n_topics, width, many, some, tmp_path):
    script = """
    const box = (each) => { const {x, y, width, height} = each.getBBox(); return [x, y, x + width, y + height]; };
    return {
      numbers: all("#map text.number").map((each) => [each.textContent, box(each)]),
      circles: all("#map g").map((each) => [each.dataset.topic,
        ["cx", "cy", "r"].map((name) => Number(each.querySelector("circle").getAttribute(name)))]),
      names: all("#map text[data-label]").map((each) => [each.dataset.label, box(each)]),
      size: parseFloat(win.getComputedStyle(one("#map .number")).fontSize),
      map: [one("#map").clientWidth, one("#map").clientHeight]
    };"""
    page = page_of_many(many[n_topics], some, LONG)
    found = run(page, script, tmp_path, width=width, height=900).value
    numbers, circles = dict(found["numbers"]), dict(found["circles"])
    assert sorted(map(int, numbers)) == sorted(map(int, circles)) == list(range(n_topics)) and found["size"] >= 11
    # A line of text is higher than its digits.
    digits = {k: (left, top + 3, right, bottom - 3) for k, (left, top, right, bottom) in numbers.items()}
    others = [*digits.items(), *found["names"]]
    for k, (left, top, right, bottom) in digits.items():
        assert left >= 0 and top >= 0 and right <= found["map"][0] and bottom <= found["map"][1]
        for j, (from_x, from_y, to_x, to_y) in others:
            assert j == k or left >= to_x - 1 or from_x >= right - 1 or top >= to_y - 3 or from_y >= bottom - 3, (j, k)
        for j, (x, y, r) in circles.items():
            gap = np.hypot(max(left - x, 0, x - right), max(top - y, 0, y - bottom))
            assert j == k or gap >= r - 1.5, (j, k)


@pytest.mark.parametrize("width", [390, 1400])
def test_the_list_shows_the_chosen_topic(width, many, some, tmp_path):
    script = """
    await settled();
    const seen = [], list = one("#topic-list");
    for (const topic of [99, 3, 50, 0, 28]) {
      one(`#map g[data-topic="${topic}"]`).focus();
      press(doc.activeElement, "Enter");
      const current = one('#topic-list [aria-current="true"]');
      const [outer, inner] = [list, current].map((each) => each.getBoundingClientRect());
      seen.push([current.dataset.topic === String(topic),
        inner.top >= outer.top - 1 && inner.bottom <= outer.bottom + 1,
        inner.bottom <= win.innerHeight && outer.bottom <= win.innerHeight, win.scrollY === 0]);
    }
    return seen;"""
    # A phone has the map first, and the list below it.
    height = 900 if width == 1400 else 1600
    found = run(page_of_many(many[100], some, LONG), script, tmp_path, width=width, height=height).value
    assert found == [[True] * 4] * 5


@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize("names", [LONG, CHINESE], ids=["long", "chinese"])
def test_long_and_chinese_names_stay_in_their_panels(names, width, many, some, tmp_path):
    groups = [names[d % 2] for d in range(some.data.shape[0])]
    dates = 2000 + np.arange(len(groups)) % 30
    page = page_of_many(many[5], some, names, groups=groups, dates=dates)
    script = """
    await settled();
    all("#word-list button")[0].click();
    for (const help of all(".help summary")) help.click();
    await pause();
    const outside = all("main > section").flatMap((panel) => {
      const edges = panel.getBoundingClientRect();
      return [...panel.querySelectorAll("*")].filter((each) => !each.closest("svg")).filter((each) => {
        const own = each.getBoundingClientRect();
        // Words of a line that ends in dots go on behind its edge.
        return !each.closest(".clipped") && own.width && (own.left < edges.left - 1 || own.right > edges.right + 1);
      }).map((each) => `${panel.id}: ${each.tagName}.${each.className}#${each.id}`);
    });
    const lines = (each) => each.clientHeight / parseFloat(win.getComputedStyle(each).lineHeight);
    return {outside, widths: [doc.documentElement.scrollWidth, win.innerWidth], titles: all("h2").map(lines),
      shares: text("#document-topics button").every((each) => /\\d%$/.test(each))};"""
    found = run(page, script, tmp_path, width=width, height=900).value
    assert found["outside"] == [] and found["widths"][0] <= found["widths"][1] == width
    assert max(found["titles"]) < 2.5 and found["shares"]


def test_panels_of_time_and_groups_are_below_the_words(many, some, tmp_path):
    groups, dates = some.collection, 2000 + np.arange(some.data.shape[0]) % 30
    script = """
    await settled();
    return ["words", "periods", "groups"].map((id) => {
      const box = one(`#${id}`).getBoundingClientRect();
      return [box.left, box.top, box.bottom];
    });"""
    page = page_of_many(many[5], some, groups=groups, dates=dates)
    words, periods, groups = run(page, script, tmp_path).value
    assert words[0] == periods[0] == groups[0]
    assert 0 < periods[1] - words[2] < 20 and 0 < groups[1] - periods[2] < 20


@pytest.mark.parametrize("width", [390, 1400])
def test_formulas_are_behind_question_marks(width, page, tmp_path):
    script = """
    const look = async (id, formula) => {
      const button = one(`#${id} summary`), text = one(`#${id} p`), steps = [text.checkVisibility()];
      button.click();
      await pause();
      const own = text.getBoundingClientRect(), panel = text.closest("section").getBoundingClientRect();
      steps.push(text.checkVisibility(), text.textContent.includes(formula),
        own.left >= panel.left && own.right <= panel.right);
      button.click();
      await pause();
      return [...steps, text.checkVisibility()];
    };
    const found = [await look("lambda-help", "log p(w | topic)"), await look("places-help", "moved apart")];
    const shown = () => ["places-help", "pairs-help"].map((id) => one(`#${id}`).checkVisibility());
    const before = shown();
    one("#show-pairs").click();
    return [...found, await look("pairs-help", "one minus the Jensen–Shannon distance"), before, shown()];"""
    found = run(page, script, tmp_path, width=width).value
    assert found[:3] == [[False, True, True, True, False]] * 3 and found[3:] == [[True, False], [False, True]]


def test_the_chosen_circle_differs_from_others_without_colours(page, tmp_path):
    script = """
    const luminance = (colour) => colour.match(/\\d+/g).slice(0, 3).map((part) => part / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
      .reduce((sum, part, i) => sum + [0.2126, 0.7152, 0.0722][i] * part, 0.05);
    const edge = (current) => {
      const style = win.getComputedStyle(one(`#map g[aria-current="${current}"] circle`));
      return [luminance(style.stroke), parseFloat(style.strokeWidth)];
    };
    const found = [];
    for (const theme of ["light", "dark"]) {
      doc.documentElement.dataset.theme = theme;
      const [[chosen, thick], [other, thin]] = [edge(true), edge(false)];
      found.push([Math.max(chosen / other, other / chosen), thick / thin]);
    }
    return found;"""
    contrast, thickness = np.transpose(run(page, script, tmp_path).value)
    assert (contrast > 1.5).all() and (thickness > 1.5).all()


@pytest.mark.filterwarnings("ignore:The GibbsLDA was fitted to a matrix without names")
@pytest.mark.parametrize("n_topics", [1, 2, 200])
def test_few_and_many_topics_on_a_phone(n_topics, some, tmp_path):
    lda = GibbsLDA(n_topics, doc_topic_prior=0.1, topic_word_prior=0.05, max_iter=2, random_state=0)
    page = TopicExplorer.from_estimator(
        lda.fit(some.data), dates=2000 + np.arange(len(some.document_names)) % 9
    ).to_html()
    script = """
    await settled();
    const box = one("#map").getBoundingClientRect();
    const steps = {circles: all("#map g").length, outside: all("#map circle").filter((circle) => {
      const own = circle.getBoundingClientRect();
      return own.left < box.left - 1 || own.right > box.right + 1 || own.top < box.top - 1
        || own.bottom > box.bottom + 1;
    }).length};
    all("#word-list button")[0].click();
    one("#show-pairs").click();
    await pause();
    steps.widths = [doc.documentElement.scrollWidth, win.innerWidth];
    steps.jump = [...one("#jump").querySelectorAll("button")].map((button) => {
      button.click();
      const top = one(`#${button.dataset.panel}`).getBoundingClientRect().top;
      return top >= -1 && top < win.innerHeight - 50;
    });
    // Numbers and names are not broken or cut in one line.
    steps.lines = all("#topic-list .id, #similar-list .id").map((each) => each.getClientRects().length);
    steps.heights = all("#topic-list .id").every((each) => each.offsetHeight < 30);
    return steps;"""
    report = run(page, script, tmp_path, width=390, height=844)
    found = report.value
    assert report.console == [] and report.requests == []
    assert found["circles"] == n_topics and found["outside"] == 0
    assert found["widths"][0] <= found["widths"][1] == 390 and found["jump"] == [True] * 3
    assert set(found["lines"]) == {1} and found["heights"]


def test_names_have_two_lines_and_documents_the_beginnings_of_their_texts(tmp_path):
    texts = ["apple banana " * 40, "car engine wheel " * 40, "Fruit: apple", "A car."]
    pipeline = make_pipeline(CountVectorizer(), GibbsLDA(2, max_iter=20, random_state=0)).fit(texts)
    names = ["a name of a topic that needs two lines", "another one that is somewhat longer than two lines are " * 3]
    script = """
    await settled();
    const lines = (element) => Math.round(element.clientHeight / parseFloat(win.getComputedStyle(element).lineHeight));
    return {lines: all("#topic-list .name").map(lines).sort(), documents: text("#document-list .document"),
      beginnings: text("#document-list .excerpt"), title: one("#document-title").textContent};"""
    found = run(TopicExplorer.from_estimator(describe(pipeline, texts, topic_names=names)).to_html(), script, tmp_path)
    assert found.console == []
    assert found.value["lines"] == [2, 2]
    d = [int(name.removeprefix("document ")) for name in found.value["documents"]]
    assert sorted(d) == [0, 1, 2, 3] and found.value["title"] == f"document {d[0]}"
    whole = [" ".join(texts[each].split()) for each in d]
    assert found.value["beginnings"] == [text if len(text) <= 120 else text[:119] + "…" for text in whole]


def test_long_names_of_documents_keep_the_part_in_which_they_differ(tmp_path):
    texts = ["apple banana", "car engine", "apple banana", "car engine"]
    pipeline = make_pipeline(CountVectorizer(), GibbsLDA(2, max_iter=20, random_state=0)).fit(texts)
    common = "a folder of novels with a long name/" * 3
    names = [f"{common}emma {i} CHAPTER IX" for i in (1, 2)] + [f"another novel {'x' * 100}", "persuasion"]
    script = """
    await settled();
    const found = all("#document-list .document");
    return found.map((each) => [each.textContent, each.title, each.scrollHeight <= each.clientHeight + 1]);"""
    page = TopicExplorer.from_estimator(describe(pipeline, texts, document_names=names)).to_html()
    shown = {title: (label, is_whole) for label, title, is_whole in run(page, script, tmp_path).value}
    for name in names[:2]:
        label, is_whole = shown[name]
        assert label.startswith("…") and is_whole and name.endswith(label[1:]) and name[len(common) :] in label
    assert shown[names[2]][0] == names[2] and shown[names[3]] == (names[3], True)


def test_long_texts_are_shown_in_portions(tmp_path):
    text = "apple <b>banana</b> & cherry\n" * 2000
    pipeline = make_pipeline(CountVectorizer(), GibbsLDA(2, max_iter=2, random_state=0)).fit([text, "cherry"])
    script = """
    const open = async (d) => {
      type(one("#query"), `${d}`);
      all("#results [data-document]").find((each) => each.dataset.document === `${d}`).click();
      await settled();
    };
    await open(0);
    const steps = {first: one("#text").textContent.length, more: one("#more").textContent};
    while (!one("#more").hidden) one("#more").click();
    steps.text = one("#text").textContent;
    steps.tokens = all("#text .token").length;
    await open(1);
    steps.short = [one("#text").textContent, one("#more").hidden];
    return steps;"""
    report = run(TopicExplorer.from_estimator(pipeline, [text, "cherry"]).to_html(), script, tmp_path)
    found = report.value
    assert report.console == [] and report.requests == []
    assert 20_000 <= found["first"] < 20_100
    assert found["more"] == f"Show more: {len(text) - found['first']:,} characters are left"
    assert found["text"] == text and found["tokens"] == 6000 and found["short"] == ["cherry", True]


def test_browsers_without_decompression_say_so(page, tmp_path):
    script = """
    delete win.DecompressionStream;
    // Documents of a block that is not unpacked yet.
    const {documents} = JSON.parse(one("#data").textContent);
    const first = documents.blocks.at(-1)[0];
    type(one("#query"), documents.name[first]);
    all("#results [data-document]")[0].click();
    await settled();
    return [one("#document-hint").textContent, text("#document-topics button").length, one("#text").textContent];"""
    report = run(page, script, tmp_path)
    hint, chips, text = report.value
    assert "This browser cannot unpack texts: use one of 2023 or later." in hint and chips and text == ""


def test_a_topic_over_time(fitted, docstrings, named, tmp_path):
    n = docstrings.data.shape[0]
    years = [None if d % 50 == 0 else 1990 + d % 7 if d % 7 != 3 else 1999 for d in range(n)]
    with pytest.warns(UserWarning, match="dates is missing in documents 0, 50,"):
        page = TopicExplorer.from_estimator(named, dates=years, missing="drop").to_html()
        table = topics_over_time(named, dates=years, topics=[2], missing="drop", random_state=0).dropna()
    script = """
    one('#topic-list [data-topic="2"]').click();
    await settled();
    const steps = {title: one("#periods-title").textContent, hint: one("#periods-hint").textContent};
    steps.circles = all("#time circle").map((circle) => [Number(circle.getAttribute("cx")),
      Number(circle.getAttribute("cy"))]);
    steps.intervals = all("#time .interval").length;
    steps.trend = all("#time .trend").map((each) => each.getAttribute("points").split(" ").length);
    steps.labels = text("#time text");
    steps.rows = all("#period-list tr").map((row) => [...row.children].map((cell) => cell.textContent));
    steps.document = one("#document-hint").textContent;
    steps.last = Number(one("#document").dataset.document);
    return steps;"""
    report = run(page, script, tmp_path)
    found = report.value
    assert report.console == [] and report.requests == []
    assert found["title"] == "Topic 2 over time" and found["hint"].endswith(" 33 documents have no date.")
    lengths = np.asarray(docstrings.data.sum(axis=1)).ravel()
    expected = {}
    for (_, documents, share, interval), row in zip(found["rows"], table.itertuples(), strict=True):
        expected[str(row.start.year)] = row.estimate
        assert int(documents) == row.documents and share == f"{row.estimate:.1%}"
        assert interval == f"{row.low:.1%} to {row.high:.1%}"
    assert [row[0] for row in found["rows"]] == list(expected) and found["intervals"] == len(expected) == 7
    # Gaps are as long as years without documents, and greater shares are higher.
    x, y = np.array(found["circles"]).T
    steps = np.diff([int(year) for year in expected])
    np.testing.assert_allclose(np.diff(x) / steps, np.diff(x)[0] / steps[0], rtol=1e-6)
    assert (np.argsort(-y) == np.argsort(list(expected.values()))).all()
    assert found["trend"] == [3, 3]
    assert {"1990", "1992", "0%"} <= set(found["labels"])
    date = years[found["last"]]
    assert found["document"].startswith(f"{date}. " if date else f"{int(lengths[found['last']])} tokens")
