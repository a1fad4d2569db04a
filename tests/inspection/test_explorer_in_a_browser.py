"""The explorer's page in Chromium: panels, clicks, keys, slider, search; no error and no request."""

import http.server
import threading

import numpy as np
import pytest
from browser import needs_chromium, run
from inspection_pages import HOSTILE, hostile_page, shares
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sklda import GibbsLDA
from sklda.datasets import load_docstrings
from sklda.inspection import TopicExplorer, describe, similarity_table, top_documents, top_words, topic_table

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def docstrings():
    return load_docstrings()


@pytest.fixture(scope="module")
def fitted(docstrings):
    return GibbsLDA(6, doc_topic_prior=0.1, topic_word_prior=0.05, max_iter=20, random_state=0).fit(docstrings.data)


@pytest.fixture(scope="module")
def named(docstrings, fitted):
    names = {"feature_names": docstrings.feature_names, "document_names": docstrings.document_names}
    return describe(fitted, docstrings.data, **names)


@pytest.fixture(scope="module")
def page(docstrings, named):
    return TopicExplorer.from_estimator(named, groups=docstrings.collection).to_html()


def words_at(named, k, weight):
    table = topic_table(named, by="relevance", weight=weight, n_words=30)
    return table["word"][table["topic"] == k].tolist()


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
    return {
      panels: all("main > section").filter((panel) => panel.offsetHeight > 80).map((panel) => panel.id),
      topics: all("#topic-list button").map((button) => Number(button.dataset.topic)),
      labels: text("#topic-list .name"), values: text("#topic-list .value"),
      current: all("#topic-list [aria-current=true]").map((button) => Number(button.dataset.topic)),
      lambda: one("#lambda-value").textContent, words: text("#word-list .name"),
      documents: text("#document-list .name"), tokens: all("#text .token").length,
      drawn: new Set(one("#map").getContext("2d").getImageData(0, 0, one("#map").width, one("#map").height).data).size,
      groups: text("#group-list .name"), summary: one("#summary").textContent, title: doc.title,
      unnamed: all("button, input, canvas").filter((element) => !(element.textContent.trim() ||
        element.getAttribute("aria-label") || (element.labels && element.labels.length))).length
    };"""
    report = run(page, script, tmp_path)
    found = report.value
    assert report.console == [] and report.requests == []
    assert found["panels"] == ["topics", "words", "documents", "similarity", "groups"]
    share = shares(fitted, docstrings.data)
    order = np.argsort(-share)
    assert found["topics"] == order.tolist()
    assert [value.partition(" ")[0] for value in found["values"]] == [f"{100 * share[k]:.1f}%" for k in order]
    top = top_words(named, n_words=4)
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
    steps.sought = [one("#document-title").textContent, Number(one("#document").dataset.document)];
    type(one("#query"), "no such thing");
    steps.nothing = one("#results").textContent;
    press(one("#query"), "Escape");
    steps.closed = one("#results").hidden;
    return steps;"""
    report = run(page, script, tmp_path)
    found = report.value
    assert report.console == [] and report.requests == []
    similar = np.array([similarity_table(fitted)[f"topic_{j}"][2] for j in range(6)])
    order = [j for j in np.argsort(-similar) if j != 2]
    assert found["topic"][:4] == [
        "Words of topic 2",
        "Documents closest to topic 2",
        "Topic 2 in the groups",
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
    const map = one("#map"), before = one("#words-title").textContent;
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
    await pause();
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
    assert set(found["documents"]) <= shown
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
      found.push([one("#text").textContent, text("#text .token")]);
    }
    return found;"""
    found = run(TopicExplorer.from_estimator(pipeline, texts).to_html(), script, tmp_path).value
    assert found[:4] == [1, 0, 0, 1]
    assert [text for text, _ in found[4:]] == texts
    assert found[6][1] == ["Car", "engine", "wheel"] and found[8][1] == []


def test_names_of_topics(docstrings, fitted, tmp_path):
    topics = [*HOSTILE[:3], "Sums & products", "Zeros", "Other"]
    explorer = TopicExplorer.from_estimator(
        describe(fitted, feature_names=docstrings.feature_names, topic_names=topics), docstrings.data
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
    steps.chip = text("#document-topics button")[0];
    const map = one("#map");
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
