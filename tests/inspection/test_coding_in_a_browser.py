"""The page of coders in Chromium: simulated coders answer by clicks and keys, and their files give the results."""

import json

import numpy as np
import pytest
from browser import needs_chromium, run
from inspection_pages import HOSTILE
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sklda import GibbsLDA
from sklda.datasets import load_docstrings
from sklda.inspection import CodingTask, describe

pytestmark = needs_chromium

HEBREW = ["שלום עולם", "מלחמה ושלום", "לחם וחמאה", "ים והר", "בית וגן", "יום ולילה"]
CHINESE = ["战争 与 和平", "面包 和 黄油", "山 和 海", "家 与 花园", "白天 和 黑夜", "太阳 和 月亮"]
# Give a name, and answer the questions with these options, from zero on.
START = """
    const enter = (name) => { one("#coder").value = name; one("#start").click(); };
    let link = null;
    // A download would keep the browser open.
    win.HTMLAnchorElement.prototype.click = function () { link = this; };
    const answer = (places) => { for (const place of places) all("#options button")[place].click(); };
"""


@pytest.fixture(scope="module")
def docstrings():
    return load_docstrings()


def task_of(docstrings, n_topics, **options):
    lda = GibbsLDA(n_topics, doc_topic_prior=0.1, topic_word_prior=0.05, max_iter=5, random_state=0)
    named = describe(lda.fit(docstrings.data), docstrings.data, vocabulary=docstrings.feature_names)
    return CodingTask.from_estimator(named, kind="words", random_state=0, **options)


def of_texts(texts, kind, n_topics=4, **options):
    lda = GibbsLDA(n_topics, doc_topic_prior=0.1, topic_word_prior=0.1, max_iter=30, random_state=0)
    vectorizer = CountVectorizer(token_pattern=r"(?u)\b\w+\b")
    return CodingTask.from_estimator(
        make_pipeline(vectorizer, lda).fit(texts), texts, kind=kind, random_state=0, **options
    )


@pytest.mark.parametrize(("n_topics", "width"), [(5, 390), (100, 1400)])
def test_coders_of_known_ability(n_topics, width, docstrings, tmp_path):
    """Two coders answer on the page; the shares of right answers are those with which they were simulated."""
    task = task_of(docstrings, n_topics)
    right = np.array([item["right"] for item in task.items])
    rng = np.random.default_rng(0)
    is_right = rng.random((2, n_topics)) < [[0.9], [0.4]]
    choices = np.where(is_right, right, (right + rng.integers(1, 6, (2, n_topics))) % 6)
    files = []
    for name, places in zip(["Ann", "Bo, =1"], choices.tolist(), strict=True):
        script = f"""{START}
        let blob = null;
        const address = win.URL.createObjectURL;
        win.URL.createObjectURL = (made) => {{ blob = made; return address(made); }};
        const shown = [];
        enter({json.dumps(name)});
        for (const place of {places}) {{ shown.push(text("#options button")); all("#options button")[place].click(); }}
        await pause();
        const widths = [doc.documentElement.scrollWidth, win.innerWidth];
        one("#save").click();
        return {{shown, widths, ended: !one("#end").hidden, copy: one("#answers").value,
          file: await blob.text(), name: link.download}};"""
        report = run(task.to_html(), script, tmp_path, width=width, height=844)
        assert report.console == [] and [url for url in report.requests if not url.startswith("blob:")] == []
        found = report.value
        assert found["ended"] and found["shown"] == [item["options"] for item in task.items]
        assert found["widths"][0] <= found["widths"][1] == width
        assert found["copy"].splitlines() == found["file"].lstrip("\ufeff").splitlines()
        files.append(tmp_path / found["name"])
        files[-1].write_text(found["file"], encoding="utf-8")
    assert [file.name for file in files] == [f"Ann-{task.id}.csv", f"Bo-1-{task.id}.csv"]
    results = task.results(files)
    topic = np.array([item["topic"] for item in task.items])
    assert results.overall["right"] == pytest.approx(is_right.mean()) and results.overall["coders"] == 2
    np.testing.assert_allclose(results.table["right"], is_right[:, np.argsort(topic)].mean(axis=0))
    by_coder = results.answers.groupby("coder", sort=False)["right"].mean()
    assert by_coder.index.tolist() == ["Ann", "Bo, =1"]
    np.testing.assert_allclose(by_coder, is_right.mean(axis=1))


def test_the_key_is_not_on_the_page(docstrings):
    task = task_of(docstrings, 5)
    other = CodingTask("words", task.labels, [{**item, "right": 0, "topic": 0} for item in task.items])
    assert task.to_html() == other.to_html() and not any(label in task.to_html() for label in task.labels)


def test_answers_are_kept_by_coder(docstrings, tmp_path):
    script = f"""{START}
    const again = async () => {{
      await new Promise((go) => {{ frame.onload = go; frame.srcdoc = frame.srcdoc; }});
      return frame.contentDocument;
    }};
    enter("Ann");
    answer([2, 3]);
    const steps = [one("#count").textContent];
    let page = await again();
    steps.push(page.querySelector("#coder").value);
    page.querySelector("#start").click();
    steps.push(page.querySelector("#count").textContent);
    page.querySelector("#back").click();
    steps.push([...page.querySelectorAll("#options button")].map((each) => each.getAttribute("aria-pressed")));
    page = await again();
    page.querySelector("#coder").value = "Bo";
    page.querySelector("#start").click();
    steps.push(page.querySelector("#count").textContent);
    return steps;"""
    report = run(task_of(docstrings, 5).to_html(), script, tmp_path)
    pressed = ["false"] * 6
    pressed[3] = "true"
    assert report.console == [] and report.value == ["3 / 5", "Ann", "3 / 5", pressed, "1 / 5"]


def test_answers_by_keys_and_the_time_that_they_take(docstrings, tmp_path):
    script = f"""{START}
    enter("Ann");
    const steps = [doc.activeElement.id];
    press(doc.activeElement, "4");
    press(doc.activeElement, "ArrowDown");
    press(doc.activeElement, "ArrowUp");
    steps.push(all("#options button").indexOf(doc.activeElement));
    doc.activeElement.click();
    press(doc.activeElement, "Backspace");
    steps.push(one("#count").textContent, one("#options [aria-pressed=true]").textContent);
    await new Promise((go) => setTimeout(go, 3000));
    press(doc.activeElement, "1");
    press(doc.activeElement, "9");
    press(doc.activeElement, "x");
    steps.push(one("#count").textContent);
    answer([0, 0, 0]);
    return [steps, one("#answers").value];"""
    task = task_of(docstrings, 5)
    report = run(task.to_html(), script, tmp_path)
    steps, table = report.value
    assert report.console == [] and steps == ["question", 5, "2 / 5", task.items[1]["options"][5], "3 / 5"]
    (tmp_path / "ann.csv").write_text(table, encoding="utf-8")
    answers = task.results(tmp_path / "ann.csv").answers
    assert answers["choice"].tolist() == [4, 1, 1, 1, 1]
    assert 2.5 < answers["seconds"][1] < 10 and (answers["seconds"][[0, 2, 3, 4]] < 1).all()


@pytest.mark.parametrize("texts", [HEBREW, CHINESE], ids=["hebrew", "chinese"])
@pytest.mark.parametrize("kind", ["words", "topics", "documents", "coding"])
def test_other_scripts(kind, texts, tmp_path):
    texts = [f"{text} {more}" for text in texts for more in texts for _ in range(3)]
    task = of_texts(texts, kind, passage_length=20)
    hebrew = texts[0].startswith("ש")
    wording = {"question": texts[0], "start": texts[1], "none": texts[2]}
    page = task.to_html(language="he" if hebrew else "zh", title=texts[3], wording=wording)
    answers = [0] * len(task.items)
    script = f"""{START}
    const shown = [one("h1").textContent, one("#start").textContent, doc.documentElement.dir];
    enter({json.dumps(texts[4])});
    shown.push(one("#question").textContent, win.getComputedStyle(one("#options button")).direction,
      all("#options button").at(-1).textContent, doc.documentElement.scrollWidth <= win.innerWidth);
    answer({answers});
    return [shown, one("#answers").value];"""
    report = run(page, script, tmp_path, width=390, height=844)
    shown, table = report.value
    assert report.console == [] and report.requests == []
    direction = "rtl" if hebrew else "ltr"
    last = texts[2] if kind == "coding" else task.items[0]["options"][-1]
    assert shown == [texts[3], texts[1], direction, texts[0], direction, last, True]
    (tmp_path / "coder.csv").write_text(table, encoding="utf-8")
    found = task.results(tmp_path / "coder.csv").answers
    assert set(found["coder"]) == {texts[4]} and len(found) == len(task.items) and (found["choice"] == 1).all()


def test_hostile_words_and_texts_do_not_run(tmp_path):
    items = [{"text": text, "options": HOSTILE, "right": 0, "topic": 0} for text in HOSTILE]
    task = CodingTask("topics", ["0: a"], items)
    page = task.to_html(title=HOSTILE[1], language=HOSTILE[2], wording={"question": HOSTILE[0], "start": HOSTILE[2]})
    name = "=HYPERLINK(1) \"'<b>"
    script = f"""{START}
    const title = doc.title;
    enter({json.dumps(name)});
    const shown = text("#options button");
    answer({list(range(len(HOSTILE)))});
    return [title, doc.title, shown, all("script, img").length, one("#answers").value];"""
    report = run(page, script, tmp_path)
    title, later, shown, n_elements, table = report.value
    assert report.console == [] and report.requests == []
    assert title == later == HOSTILE[1] and n_elements == 2
    expected = [text.encode("utf-8", "replace").decode().strip() or "–" for text in HOSTILE]
    assert shown == expected
    (tmp_path / "coder.csv").write_text(table, encoding="utf-8")
    answers = task.results(tmp_path / "coder.csv").answers
    assert answers["choice"].tolist() == list(range(1, len(HOSTILE) + 1))
    # A spreadsheet takes no cell for a formula.
    assert set(answers["coder"]) == {f"'{name}"}


def test_the_file_can_be_had_where_the_browser_keeps_nothing(docstrings, tmp_path):
    script = f"""{START}
    Object.defineProperty(win, "localStorage", {{get() {{ throw new Error("denied"); }}}});
    enter("Ann");
    answer([1, 1, 1, 1]);
    const left = new win.Event("beforeunload", {{cancelable: true}});
    win.dispatchEvent(left);
    answer([1]);
    one("#save").click();
    const saved = new win.Event("beforeunload", {{cancelable: true}});
    win.dispatchEvent(saved);
    return [left.defaultPrevented, saved.defaultPrevented, one("#answers").value.trim().split("\\n").length];"""
    report = run(task_of(docstrings, 5).to_html(), script, tmp_path)
    assert report.value == [True, False, 6]


@pytest.mark.parametrize("width", [390, 1400])
def test_texts_and_many_labels_can_be_read(width, tmp_path):
    labels = [f"label {k} " * (k % 7 + 1) for k in range(100)]
    items = [{"text": "word " * 200, "right": 0, "topic": 0, "weight": 1.0, "shares": [[0.01] * 100]}] * 2
    script = f"""{START}
    enter("Ann");
    const boxes = all("#options button, #text, #moves button").map((each) => each.getBoundingClientRect());
    const outside = boxes.filter((box) => box.left < 0 || box.right > win.innerWidth || box.height < 40).length;
    press(doc.activeElement, "7");
    press(doc.activeElement, "3");
    const chosen = doc.activeElement.textContent;
    doc.activeElement.click();
    return [outside, boxes.length, chosen, one("#count").textContent, win.scrollY];"""
    report = run(CodingTask("coding", labels, items).to_html(), script, tmp_path, width=width, height=844)
    assert report.console == [] and report.value == [0, 104, labels[72].strip(), "2 / 2", 0]
