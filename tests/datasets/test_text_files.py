"""read_texts: names, dates, encodings and pieces of the files of a folder; what it refuses."""

import os
import re
import sys
import time
import unicodedata

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sklda import GibbsLDA
from sklda.datasets import read_texts
from sklda.datasets._text_files import _pieces
from sklda.inspection import document_table, topic_effects


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())


def test_whole_texts(tmp_path):
    write(tmp_path, {"b.txt": "two words", "a.txt": "one\r\ntwo\rthree", "sub/c.txt": "x", "d.md": "y", ".e.txt": "z"})
    table = read_texts(tmp_path)
    assert table.index.tolist() == ["a", "b", "sub/c"]
    assert table["text"].tolist() == ["one\ntwo\nthree", "two words", "x"]
    assert table["source"].tolist() == ["a", "b", "sub/c"]
    assert table["folder"].tolist() == [tmp_path.name, tmp_path.name, "sub"]
    assert table["heading"].tolist() == ["", "", ""]
    assert table["length"].tolist() == [3, 2, 1]
    assert table["piece"].tolist() == [1, 1, 1]
    assert table["year"].isna().all() and table["date"].isna().all()
    assert read_texts(str(tmp_path), pattern="*.md").index.tolist() == ["d"]


def test_files_that_differ_in_their_suffix_keep_it(tmp_path):
    write(tmp_path, {"a.txt": "x", "a.md": "y", "b.md": "z"})
    assert read_texts(tmp_path, pattern="*").index.tolist() == ["a.md", "a.txt", "b"]
    # The path of one file is that of another without its suffix.
    write(tmp_path, {"a.txt.txt": "x"})
    assert read_texts(tmp_path, pattern="*").index.tolist() == ["a.md", "a.txt", "a.txt.txt", "b"]


def test_endings_in_capitals(tmp_path):
    write(tmp_path, {"a.txt": "x", "NOTES.TXT": "y", "sub/b.Txt": "z"})
    assert read_texts(tmp_path).index.tolist() == ["NOTES", "a", "sub/b"]


def test_letters_are_composed(tmp_path):
    """Files from macOS may hold an accent as a character of its own."""
    apart = unicodedata.normalize("NFD", "Müller/café")
    write(tmp_path, {f"{apart}.txt": apart})
    table = read_texts(tmp_path)
    assert table.index.tolist() == ["Müller/café"] and table["text"].tolist() == ["Müller/café"]
    assert table["folder"].tolist() == ["Müller"]
    write(tmp_path, {"Müller/café.txt": "x"})
    with pytest.raises(ValueError, match=r"'Müller/café\.txt'.*accent"):
        read_texts(tmp_path)


@pytest.mark.parametrize(
    ("name", "date"),
    [
        ("1818_frankenstein", "1818-01-01"),
        ("speech-2004-05-12", "2004-05-12"),
        ("speech_20040512_evening", "2004-05-12"),
        ("2004.05", "2004-05-01"),
        ("letter 12-05-2004", "2004-01-01"),
        ("1789-1815", "1789-01-01"),
        ("1818, dated 1818-01-01", "1818-01-01"),
        ("1900b, of 2004-02-03", "2004-02-03"),
        ("1999-02-31", None),
        ("1999-13-01", None),
        ("2004-11-3", "2004-11-03"),
        ("1999-02-31, sent 1999-03-02", "1999-03-02"),
        ("1342-0", None),
        ("1815_2", "1815-01-01"),
        ("1999/letter", "1999-01-01"),
        ("1999/letter of 1998", "1998-01-01"),
        ("text1818", None),
        ("200405", None),
        ("12345", None),
        ("page 0999", None),
        ("a 2100", None),
    ],
)
def test_dates_of_names(tmp_path, name, date):
    write(tmp_path, {f"{name}.txt": "x"})
    row = read_texts(tmp_path).iloc[0]
    if date is None:
        assert pd.isna(row["date"]) and pd.isna(row["year"])
    else:
        assert row["date"] == pd.Timestamp(date)
        assert row["year"] == int(date[:4])


def test_files_without_a_suffix(tmp_path):
    write(tmp_path, {"2004.05.12": "x", "letter.1818": "x"})
    table = read_texts(tmp_path, pattern="*")
    assert table.index.tolist() == ["2004.05.12", "letter.1818"]
    assert table["date"].dt.strftime("%Y-%m-%d").tolist() == ["2004-05-12", "1818-01-01"]


def test_single_bytes_of_another_encoding(tmp_path):
    """They do not turn the accents of the whole file into other letters."""
    write(tmp_path, {"a.txt": "café naïve ".encode() * 20 + b"the year\x92s end", "b.txt": "un été".encode("cp1252")})
    with pytest.warns(UserWarning) as said:
        table = read_texts(tmp_path)
    assert table["text"].tolist() == ["café naïve " * 20 + "the year’s end", "un été"]
    assert table["encoding"].tolist() == ["utf-8 and cp1252", "cp1252"]
    assert ["single bytes" in str(each.message) for each in said] == [False, True]


def test_a_word_has_one_spelling(tmp_path):
    given = "e\ufb03cient co\u00adoperation demo\u2060cracy re\ufeffpublic ＡＢＣ re\u0301sume\u0301"
    write(tmp_path, {"a.txt": given})
    assert read_texts(tmp_path)["text"].tolist() == ["efficient cooperation democracy republic ABC résumé"]


def test_encodings(tmp_path):
    word = "naïve"
    encodings = ["utf-8", "utf-8-sig", "utf-16", "utf-32"]
    write(tmp_path, {f"{encoding}.txt": word.encode(encoding) for encoding in encodings})
    table = read_texts(tmp_path)
    assert table["text"].tolist() == [word] * 4
    assert set(table["encoding"]) == set(encodings)
    write(tmp_path, {"old.txt": word.encode("cp1252")})
    with pytest.warns(UserWarning, match="not UTF-8.*Windows-1252: 'old'"):
        table = read_texts(tmp_path)
    assert table.loc["old", ["text", "encoding"]].tolist() == [word, "cp1252"]


def test_a_given_encoding(tmp_path):
    write(tmp_path, {"a.txt": "дом".encode("cp1251"), "b.txt": "сад".encode("cp1251")})
    assert read_texts(tmp_path, encoding="cp1251")["text"].tolist() == ["дом", "сад"]
    with pytest.raises(ValueError, match=r"a\.txt is not a text in utf-8 .*another encoding"):
        read_texts(tmp_path, encoding="utf-8")
    with pytest.raises(ValueError, match="encoding = 'utf-9'"):
        read_texts(tmp_path, encoding="utf-9")
    with pytest.raises(ValueError, match="encoding = 'base64' is not one"):
        read_texts(tmp_path, encoding="base64")
    with pytest.raises(TypeError, match="encoding must be a str"):
        read_texts(tmp_path, encoding=8)


def test_what_is_refused(tmp_path):
    with pytest.raises(ValueError, match="does not exist"):
        read_texts(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"no file in .* fits the pattern .*; it has no files"):
        read_texts(tmp_path)
    write(tmp_path, {"a.pdf": b"x", "b.pdf": b"y"})
    with pytest.raises(ValueError, match=r"it has 2 files \*\.pdf"):
        read_texts(tmp_path)
    with pytest.raises(ValueError, match="is a file, not a folder"):
        read_texts(tmp_path / "a.pdf")
    with pytest.raises(ValueError, match="absolute path"):
        read_texts(tmp_path, pattern=str(tmp_path / "*.txt"))
    write(tmp_path, {"c.txt": b"\x00\x01"})
    with pytest.raises(ValueError, match=r"c\.txt has zero characters"):
        read_texts(tmp_path)
    write(tmp_path, {"c.txt": b"\x81\x8d"})
    with pytest.raises(ValueError, match=r"c\.txt .*utf-8 or cp1252"):
        read_texts(tmp_path)
    for chunk, error in ((0, ValueError), (1.5, TypeError), (True, TypeError), ("100", TypeError)):
        with pytest.raises(error, match="chunk"):
            read_texts(tmp_path, chunk=chunk)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such a name")
def test_a_name_that_is_not_utf8(tmp_path):
    (tmp_path / os.fsdecode(b"text \xe9.txt")).write_text("x", encoding="utf-8")
    with pytest.raises(ValueError, match=r"the name of the file text \\xe9\.txt in .* is not UTF-8: rename it"):
        read_texts(tmp_path)


def test_an_empty_file_is_a_row(tmp_path):
    write(tmp_path, {"a.txt": "", "b.txt": "x"})
    with pytest.warns(UserWarning, match="1 texts have no words: 'a'"):
        table = read_texts(tmp_path, chunk=10)
    assert table["text"].tolist() == ["", "x"]


def test_pieces_end_where_paragraphs_end(tmp_path):
    paragraphs = [f"{' '.join([f'w{i}'] * n)}." for i, n in enumerate([40, 50, 10, 95, 8, 7, 80, 20])]
    write(tmp_path, {"book.txt": "\n\n".join(paragraphs), "short.txt": "few words"})
    table = read_texts(tmp_path, chunk=100)
    assert table.index.tolist() == ["book 1", "book 2", "book 3", "short 1"]
    assert table["length"].tolist() == [100, 110, 100, 2]
    assert table["text"].tolist()[:3] == ["\n\n".join(paragraphs[a:b]) for a, b in ((0, 3), (3, 6), (6, 8))]
    assert table["source"].tolist() == ["book"] * 3 + ["short"]


def test_a_paragraph_that_is_too_long_is_cut_at_sentences_then_words():
    sentence = "This sentence has six words here. "
    assert _pieces(sentence * 4, 12) == [(sentence * 2).strip()] * 2
    assert _pieces('He said "Stop now." ' * 2, 4) == ['He said "Stop now."'] * 2
    assert _pieces("word " * 30, 10) == [("word " * 10).strip()] * 3


def test_the_time_of_texts_without_sentences_is_linear():
    began = time.process_time()
    assert len(_pieces("word " * 300_000, 10)) == 30_000
    # It is half a second; a time that grows with the square of the length is a minute.
    assert time.process_time() - began < 15


def test_lines_are_paragraphs_without_empty_lines():
    assert _pieces("one two\nthree four\nfive six", 2) == ["one two", "three four", "five six"]
    assert _pieces("one two\nthree\n\nfour five six", 3) == ["one two\nthree", "four five six"]


def test_parts_have_the_names_of_their_headings(tmp_path):
    novel = (
        "A title\n\nCHAPTER I\nCHAPTER II\n\nCHAPTER  I. Of\tships\nOne two.\n\nSee CHAPTER II.\nCHAPTER II\n\n four"
    )
    write(tmp_path, {"novel.txt": novel, "sub/other.txt": "CHAPTER I\r\nfive six"})
    table = read_texts(tmp_path, split="CHAPTER ")
    assert table["heading"].tolist() == ["", "CHAPTER I. Of ships", "CHAPTER II", "CHAPTER I"]
    assert table["text"].tolist() == ["A title", "One two.\n\nSee CHAPTER II.", "four", "five six"]
    names = ["novel 1", "novel 2 CHAPTER I. Of ships", "novel 3 CHAPTER II", "sub/other 1 CHAPTER I"]
    assert table.index.tolist() == names
    assert table["piece"].tolist() == [1, 2, 3, 1]
    assert table["part"].tolist() == [0, 1, 2, 1]
    # Pieces of a part have its heading, and their numbers are those in the whole text.
    table = read_texts(tmp_path, split="CHAPTER ", chunk=2)
    assert table["heading"].tolist() == ["", *["CHAPTER I. Of ships"] * 2, "CHAPTER II", "CHAPTER I"]
    assert table["text"].tolist()[1:3] == ["One two.", "See CHAPTER II."]
    assert table.index[2] == "novel 3 CHAPTER I. Of ships"
    assert table["part"].tolist() == [0, 1, 1, 2, 1]
    assert read_texts(tmp_path, chunk=2)["part"].eq(0).all()


def test_chapters_of_several_volumes_have_numbers_of_their_own(tmp_path):
    write(tmp_path, {"emma.txt": "VOLUME I\nCHAPTER I\none\nCHAPTER II\ntwo\nVOLUME II\nCHAPTER I\nthree"})
    table = read_texts(tmp_path, split="CHAPTER ")
    chapters = table[table["part"] > 0]
    assert chapters["part"].tolist() == [1, 2, 3] and chapters["heading"].nunique() == 2


def test_expressions_of_headings(tmp_path):
    write(tmp_path, {"a.txt": "  Letter 1\nTo Anne\n\none\n  letter 2\nTo Bob\n\ntwo letter 3\n"})
    table = read_texts(tmp_path, split=r"(?i)\s*letter \d+\n.*\n")
    assert dict(zip(table["heading"], table["text"], strict=True)) == {
        "Letter 1 To Anne": "one",
        "letter 2 To Bob": "two letter 3",
    }
    assert read_texts(tmp_path, split="^To ")["heading"].tolist() == ["", "To Anne", "To Bob"]
    assert read_texts(tmp_path, split=r"(?=.*2$)")["heading"].tolist() == ["", "letter 2"]


@pytest.mark.parametrize("before", ["  ", "\t", "\f", "\u00a0"])
def test_headings_after_white_space(tmp_path, before):
    write(tmp_path, {"a.txt": f"Chapter 1\nx\n{before}Chapter 2\ny\nno Chapter 3\nChapter\u00a04\nz"})
    table = read_texts(tmp_path, split="Chapter ")
    assert table["heading"].tolist() == ["Chapter 1", "Chapter 2", "Chapter 4"]
    with pytest.raises(ValueError, match=r"Capitals count: '\(\?i\)CHAPTER"):
        read_texts(tmp_path, split="CHAPTER ")


def test_texts_without_headings(tmp_path):
    write(tmp_path, {"a.txt": "one", "b.txt": "# I\ntwo", "c.txt": "# I\n# II"})
    with pytest.warns(UserWarning) as caught:
        table = read_texts(tmp_path, split="# ")
    assert [str(each.message) for each in caught] == [
        "1 texts have no words: 'c'.",
        "1 texts have no heading that begins with '# ': 'a'.",
    ]
    assert table["text"].tolist() == ["one", "two", ""]
    assert table.index.tolist() == ["a 1", "b 1 # I", "c 1 # II"]


def test_a_text_whose_last_heading_has_no_words_has_headings(tmp_path):
    write(tmp_path, {"a.txt": "preface\nCHAPTER I\n"})
    table = read_texts(tmp_path, split="CHAPTER ")
    assert table[["heading", "text"]].to_numpy().tolist() == [["", "preface"]]


@pytest.mark.parametrize("split", ["CHAPTER ", "CHAPTER [^#]*"])
def test_headings_that_leave_no_words(tmp_path, split):
    text = "CHAPTER I\nCHAPTER II\n" if split == "CHAPTER " else "CHAPTER I\none two\n"
    write(tmp_path, {"a.txt": text})
    said = rf"split = '{re.escape(split)}' leaves no words, because all are in headings, such as 'CHAPTER I.*': give"
    with pytest.warns(UserWarning, match="1 texts have no words"), pytest.raises(ValueError, match=said):
        read_texts(tmp_path, split=split)


def test_headings_with_accents(tmp_path):
    """A letter and its accent may be two characters, in texts and in the expression."""
    composed, apart = "CAP\N{LATIN CAPITAL LETTER I WITH ACUTE}TULO", "CAPI\N{COMBINING ACUTE ACCENT}TULO"
    for split, heading in ((composed, apart), (apart, composed)):
        write(tmp_path, {"a.txt": f"{heading} 1\ntexto"})
        assert read_texts(tmp_path, split=split)["heading"].tolist() == [f"{composed} 1"]


def test_expressions_that_are_refused(tmp_path):
    write(tmp_path, {"a.txt": "one"})
    with pytest.raises(ValueError, match=r"split = '\* \*' is not a regular expression \(nothing to repeat.*backslash"):
        read_texts(tmp_path, split="* *")
    with pytest.raises(ValueError, match=r"split = '.*' fits every line"):
        read_texts(tmp_path, split=".*")
    with pytest.raises(TypeError, match=r"split must be a str"):
        read_texts(tmp_path, split=1)
    with pytest.raises(ValueError, match=r"split = 'two'"):
        read_texts(tmp_path, split="two")


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 30), st.sampled_from([" ", "\n", "\n\n", ". ", ".\n \n "])), max_size=60),
    st.integers(1, 50),
)
def test_pieces_have_all_words_in_order_and_about_the_size(parts, size):
    text = "".join("w " * (n - 1) + f"w{i}" + end for i, (n, end) in enumerate(parts))
    pieces = _pieces(text, size)
    words = [piece.split() for piece in pieces]
    assert [word for each in words for word in each] == text.split()
    assert max(map(len, words)) <= 2.25 * size
    assert len(pieces) <= max(round(len(text.split()) / size), 1)
    assert all(words) or not text.split()
    assert all(piece in text for piece in pieces)


def test_pieces_have_the_names_of_their_books_in_tables(tmp_path):
    rng = np.random.default_rng(0)
    vocabularies = {"sea": ["ship", "wave", "sail", "wind"], "land": ["horse", "field", "wheat", "barn"]}
    for i in range(8):
        words = rng.choice(vocabularies["sea" if i % 2 else "land"], size=120)
        write(tmp_path, {f"18{i}0_book{i}.txt": " ".join(words)})
    table = read_texts(tmp_path, chunk=30)
    model = make_pipeline(CountVectorizer(), GibbsLDA(2, random_state=0)).fit(table["text"])
    proportions = document_table(model, table["text"])
    assert proportions["document"].tolist() == table.index.tolist()
    by_book = proportions.set_index("document")[["topic_0", "topic_1"]].groupby(table["source"]).mean()
    assert by_book.shape == (8, 2)
    assert (by_book.max(axis=1) > 0.9).all()
    years = table["year"].astype(float).rename("year")
    effects = topic_effects(model, table["text"], years.to_frame(), clusters=table["source"], random_state=0)
    assert set(effects["term"]) == {"intercept", "year"}
