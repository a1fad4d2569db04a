"""The check of language finds what it must find, and nothing in plain text."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
specification = importlib.util.spec_from_file_location("language", ROOT / ".ci" / "language.py")
language = importlib.util.module_from_spec(specification)
specification.loader.exec_module(language)

FAULTS = {
    "inversion": "Neither is a likelihood.",
    "clause as a subject": "What is concluded does not depend on the prior.",
    "code as a person": "The kernel knows its corpus.",
    "question without do": "Which labels has a new document?",
    "noun that is denied": "So they are no nearest topics either.",
    "pronoun at the end": "Without clusters each document is one.",
    "translated idiom": "A fit that does not have a topic does not speak for it.",
    "riddle": "Elbows are in the eye.",
    "chain of short sentences": "Topics are drawn. Priors are learnt then. They stay fixed.",
    "formal or old word": "The words upon which it rests.",
    "ornament": "A powerful sampler.",
    "chain of dashes": "A sweep – slow – draws a chain – of tokens.",
    "exclamation mark": "It works!",
    "American spelling": "The color of the neighbors is normalized.",
    "36 words": f"It is {'a b ' * 16}to be.",
}
PLAIN = """
Sweeps
------

Each sweep draws the topics of all tokens. What does it cost? See :ref:`costs <behavior>` and ``normalize=True``.

- A chain is warmed up, e.g. by 100 sweeps.
- {}
  {}

.. code-block:: python

    color = "upon"

Wallach (2006). Topic modeling: beyond bag-of-words. *ICML*.

>>> print("upon the color")
upon the color

=====  ==========
upon   whilst
=====  ==========
""".format("A list item of many words is wrapped, and it is still one item.", "Its second sentence is short.")


@pytest.mark.parametrize("kind", FAULTS)
def test_bad_sentences_are_found_in_pages_docstrings_and_comments(kind):
    sentence = FAULTS[kind]
    sources = {
        "page.rst": f"Title\n=====\n\n{sentence}\n",
        "page.md": f"# Title\n\n{sentence}\n",
        "module.py": f'def f(x):\n    """Do it.\n\n    {sentence}\n    """\n',
        "kernel.pyx": f"cdef int n\n# {sentence}\n",
        "kernel.h": f"int n;\n/* {sentence} */\n",
    }
    for name, source in sources.items():
        line = 1 + source.split("\n").index(next(each for each in source.split("\n") if sentence in each))
        found = list(language.faults(Path(name), source))
        assert [each for each, fault in found] == [line], name
        assert found[0][1].startswith(kind)


def test_bad_sentences_are_found_in_errors_and_warnings():
    source = (
        'def f(x):\n    if x:\n        raise ValueError(f"{x!r} is no date.")\n    warn("Which name has a topic?")\n'
    )
    found = list(language.faults(Path("module.py"), source))
    assert [line for line, _ in found] == [3, 4]
    assert found[0][1].startswith("noun that is denied")
    assert found[1][1].startswith("question without do")


def test_plain_text_code_tables_and_titles_are_not_found():
    assert not list(language.faults(Path("page.rst"), PLAIN))


@pytest.mark.parametrize(
    "sentence",
    [
        "Which labels does a new document have?",
        "There is no matrix of counts, and the fit is no longer than before.",
        "A prior that is None is learnt, if there is one.",
        "A sweep draws topics. Then the priors are learnt from these draws. They stay fixed.",
        "None: all documents. True: half of them. False: none of them.",
    ],
)
def test_plain_sentences_like_these_are_not_found(sentence):
    assert not list(language.faults(Path("page.rst"), sentence))


def test_sentences_are_counted_over_lines_but_not_over_paragraphs():
    half = "a " * 18
    assert list(language.faults(Path("page.rst"), f"{half}\n{half}"))
    assert not list(language.faults(Path("page.rst"), f"{half}\n\n{half}"))
    assert not list(language.faults(Path("page.rst"), f"- {half}\n- {half}"))
    assert not list(language.faults(Path("page.rst"), f"{half}stop. {half}"))


def test_long_lines_of_pages_are_found(tmp_path, capsys):
    page = tmp_path / "page.rst"
    page.write_text("word\n" * 3 + "w" * 121 + "\n", encoding="utf-8")
    assert language.main([str(page)]) == 1
    assert capsys.readouterr().out == f"{page}:4: 121 characters in a line\n"
    page.write_text("w" * 120, encoding="utf-8")
    assert language.main([str(page)]) == 0
