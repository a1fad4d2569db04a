"""Counts and topics from token lists and from the state files of MALLET."""

import gzip
import re

import numpy as np
import pytest

from sklda import GibbsLDA
from sklda.datasets import count_tokens, make_lda_corpus, read_mallet_state

HEADER = "#doc source pos typeindex type topic\n#alpha : 0.5 0.25 2.0E-4 \n#beta : 0.01\n"


def draw_documents(rng, n_documents=30, n_features=12, n_components=3):
    """Word ids and topics of every document, in the order of the text. Some documents are empty, the last is not."""
    lengths = rng.integers(0, 15, n_documents) * rng.integers(0, 2, n_documents)
    lengths[-1] = 4
    return [[rng.integers(0, n, length).tolist() for length in lengths] for n in (n_features, n_components)]


def expected(words, topics, n_features):
    """Counts and topics in the order of the counts, by a plain loop."""
    counts, z = np.zeros((len(words), n_features), int), []
    for d, (document, own) in enumerate(zip(words, topics, strict=True)):
        for v in document:
            counts[d, v] += 1
        z += [k for v in range(n_features) for w, k in zip(document, own, strict=True) if w == v]
    return counts, z


def state_lines(words, topics, vocabulary, sources):
    """The lines of the tokens, as MALLET prints them."""
    for d, (document, own) in enumerate(zip(words, topics, strict=True)):
        for position, (v, k) in enumerate(zip(document, own, strict=True)):
            yield f"{d} {sources[d]} {position} {v} {vocabulary[v]} {k}\n"


def write(folder, *lines, header=HEADER, compress=False):
    path = folder / "state"
    text = (header + "".join(lines)).encode()
    path.write_bytes(gzip.compress(text) if compress else text)
    return path


def check_state(found, words, topics, vocabulary, sources):
    """Check what was read against plain loops; columns are the words that occur."""
    used = sorted({v for document in words for v in document})
    column = {v: j for j, v in enumerate(used)}
    counts, z = expected([[column[v] for v in document] for document in words], topics, len(used))
    np.testing.assert_array_equal(found.data.toarray(), counts)
    np.testing.assert_array_equal(found.topic_assignments, z)
    assert found.feature_names.tolist() == [vocabulary[v] for v in used]
    assert found.type_indices.tolist() == used
    assert found.document_names.tolist() == [s if w else "" for s, w in zip(sources, words, strict=True)]


# Characters that str.split and str.splitlines would divide at.
ODD = f"NA|naïve|東京|#alpha|a\tb|no\xa0break|x\x85y|line\u2028end|a\x1cb|0|-1|{'word' * 9}".split("|")
SPACED = "New York|a  b| lead|trail | |in 0 words|7 30 pm|1 2 3 4 5|New York City|b||c".split("|")
# "0 5 x" could be the position, the type index and a word, so a document of this source would be refused.
SOURCES = "NA|file:/a%20b.txt|C:/My Documents/a 1.txt|on 12 30 1999 at 1 5 x||the 1 2 3 4|9 1 2 3 4".split("|")


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("sources", [["NA"], ["東.txt", "b" * 40, "b" * 41]])
def test_state_is_read(tmp_path, compress, ending, sources):
    words, topics = draw_documents(np.random.default_rng(0))
    sources = [sources[d % len(sources)] for d in range(len(words))]
    lines = [line.replace("\n", ending) for line in state_lines(words, topics, ODD, sources)]
    found = read_mallet_state(write(tmp_path, *lines, header=HEADER.replace("\n", ending), compress=compress))
    check_state(found, words, topics, ODD, sources)
    np.testing.assert_array_equal(found.doc_topic_prior, [0.5, 0.25, 2e-4])
    assert (found.topic_word_prior, found.n_components) == (0.01, 3)
    assert (found.data.dtype, found.topic_assignments.dtype) == (np.int64, np.int32)
    assert found.data.format == "csr"
    assert found.data.has_canonical_format


@pytest.mark.parametrize(
    ("vocabulary", "sources"), [(SPACED, ["NA"]), (ODD, SOURCES), (["a", "b c", *ODD[2:]], ["x y", "z", "x y z"])]
)
def test_spaces_in_words_and_sources(tmp_path, vocabulary, sources):
    # In the third case both have spaces.
    rng = np.random.default_rng(1)
    words, topics = draw_documents(rng, n_documents=40)
    for document in words:
        # A document begins with a line that can be read in one way only.
        document[:1] = [0 for _ in document[:1]]
    sources = [sources[d % len(sources)] for d in range(len(words))]
    path = write(tmp_path, *state_lines(words, topics, vocabulary, sources))
    check_state(read_mallet_state(path), words, topics, vocabulary, sources)


def test_sources_of_many_numbers(tmp_path):
    """Any of a thousand places could have the position."""
    source = " ".join(map(str, range(1000)))
    lines = [f"0 {source} {i} {i % 7} w{i % 7} 1\n" for i in range(1000)]
    path = write(tmp_path, *lines)
    found = read_mallet_state(path)
    assert found.document_names.tolist() == [source] and found.data.sum() == 1000


def test_a_long_source_among_short_ones(tmp_path):
    source = "x" * 1_000_000
    lines = [f"0 {source} 0 0 a 1\n", *(f"{d} NA 0 0 a 1\n" for d in range(1, 75_000))]
    path = write(tmp_path, *lines)
    found = read_mallet_state(path)
    assert found.document_names[0] == source and set(found.document_names[1:]) == {"NA"}


def test_gaps_in_documents_and_types(tmp_path):
    found = read_mallet_state(write(tmp_path, "2 b 0 70000 pear 1\n", "2 b 1 5 apple 0\n", "4 d 0 5 apple 2"))
    np.testing.assert_array_equal(found.data.toarray(), [[0, 0], [0, 0], [1, 1], [0, 0], [1, 0]])
    assert found.topic_assignments.tolist() == [0, 1, 2]
    assert found.feature_names.tolist() == ["apple", "pear"]
    assert found.type_indices.tolist() == [5, 70000]
    assert found.document_names.tolist() == ["", "", "b", "", "d"]


def test_lines_in_any_order(tmp_path):
    words, topics = draw_documents(np.random.default_rng(3))
    lines = list(state_lines(words, topics, ODD, ["NA"] * len(words)))
    np.random.default_rng(3).shuffle(lines)
    check_state(read_mallet_state(write(tmp_path, *lines)), words, topics, ODD, ["NA"] * len(words))


def test_estimates_are_those_of_the_corpus(tmp_path):
    corpus = make_lda_corpus(40, 30, 3, doc_length=(0, 30), topic_word_prior=1.0, random_state=0)
    assert corpus.data.sum(axis=0).min() > 0
    cells = corpus.data.tocoo()
    tokens = np.repeat(np.column_stack([cells.row, cells.col]), cells.data, axis=0)
    words, topics = [[] for _ in range(40)], [[] for _ in range(40)]
    for i in np.random.default_rng(0).permutation(len(tokens)):
        words[tokens[i, 0]].append(tokens[i, 1])
        topics[tokens[i, 0]].append(corpus.topic_assignments[i])
    path = write(tmp_path, *state_lines(words, topics, [f"w{v}" for v in range(30)], ["NA"] * 40), compress=True)
    state, lists = read_mallet_state(path), count_tokens(words, topics, n_features=30)
    options = {"n_components": 3, "doc_topic_prior": state.doc_topic_prior, "topic_word_prior": 0.01}
    truth = GibbsLDA.from_assignments(corpus.data, corpus.topic_assignments, **options)
    for found in (state, lists):
        own = GibbsLDA.from_assignments(found.data, found.topic_assignments, **options)
        np.testing.assert_allclose(own.doc_topic_, truth.doc_topic_)
        np.testing.assert_allclose(own.topic_word_, truth.topic_word_)


@pytest.mark.parametrize("length", [1, 7, 8, 9, 16, 21])
def test_two_words_of_one_type_are_found(tmp_path, length):
    word = "abcdefghijklmnopqrstuvwxyz"[:length]
    others = [word[:j] + "X" + word[j + 1 :] for j in range(length)] + [word + "X", word[:-1]]
    for other in others:
        lines = [f"0 NA 0 3 {word} 0\n", f"0 NA 1 3 {word} 0\n", f"0 NA 2 3 {other} 0\n", "0 NA 3 4 c 1\n"]
        message = f"line 6: type index 3 has the word {other!r} here, and {word!r} before"
        with pytest.raises(ValueError, match=re.escape(message)):
            read_mallet_state(write(tmp_path, *lines))


GOOD = "0 NA 0 0 apple 0\n"
MALFORMED = {
    "too few fields": (GOOD + "0 NA 1 1 pear\n", "line 5: 5 fields instead of six"),
    "an empty line": (GOOD + "\n", "line 5: 1 fields instead of six"),
    "fields that add up": ("0 NA 0 0 a b 0\n0 NA 1 1 2\n", "line 5: 5 fields instead of six"),
    "no numbers": (GOOD + "0 NA x y z pear 2\n", "line 5: 7 fields instead of six .* has no two numbers"),
    "two readings": ("0 a 0 1 b 0 2 c 1\n", "line 4: .* can be read in 2 ways: '0 a 0 1 b 0 2 c 1'. Remove the spaces"),
    "a word for a document": (GOOD + "d NA 1 1 pear 0\n", "line 5: the document is 'd'; it must be a whole number"),
    "a negative document": ("-1 NA 1 1 pear 0\n", "line 4: the document is '-1'"),
    "a fraction": ("0 NA 0.5 1 pear 0\n", "line 4: the position is '0.5'"),
    "an underscore": ("0 NA 0 1_0 pear 0\n", "line 4: the type index is '1_0'"),
    "no type": ("0 NA 0  pear 0\n", "line 4: the type index is ''"),
    "2^31": (f"0 NA 0 {2**31} pear 0\n", "line 4: the type index is '2147483648'"),
    "many digits": (f"0 NA 0 {10**10} pear 0\n", "line 4: the type index is '10"),
    "an unassigned topic": (GOOD + "0 NA 1 1 pear -1\n", "line 5: the topic is '-1'"),
    "a topic out of range": (GOOD + "0 NA 1 1 pear 3\n", "line 5: topic 3 is out of range: alpha has 3 values"),
    "two sources": (GOOD + "0 b 1 1 pear 0\n", "line 5: document 0 has the source 'b' here, and 'NA' before"),
    "a far document": (GOOD + "2000000000 NA 0 0 apple 0\n", "line 5: document 2000000000 is too large a number for 2"),
    "a second state": (GOOD + HEADER + GOOD, "line 5: the document is '#doc'"),
    "no tokens": ("", "line 3: the file ends here and has no tokens"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_lines(tmp_path, case):
    lines, message = MALFORMED[case]
    with pytest.raises(ValueError, match=f"state, {message}"):
        read_mallet_state(write(tmp_path, lines))


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("", "line 1: '#doc source pos typeindex type topic' is missing; the line begins with b'0 NA 0 0 apple 0"),
        (HEADER[:37], "line 2: '#alpha :' is missing; the line begins with b'0 NA"),
        (HEADER.replace("#beta : 0.01\n", ""), "line 3: '#beta :' is missing"),
        (HEADER.replace("0.25", "x"), "line 2: the values after '#alpha :' are not all numbers"),
        (HEADER.replace("0.25", "NaN"), "line 2: the values after '#alpha :' must be positive and finite"),
        (HEADER.replace("0.25", "0.0"), "line 2: the values after '#alpha :' must be positive and finite"),
        (HEADER.replace("0.5 0.25 2.0E-4", ""), "line 2: alpha has no values"),
        (HEADER.replace("0.01", "0.01 0.02"), "line 3: beta has 2 values"),
    ],
)
def test_malformed_headers(tmp_path, header, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        read_mallet_state(write(tmp_path, GOOD, header=header))


def test_texts_that_are_not_utf8(tmp_path):
    path = tmp_path / "state"
    path.write_bytes((HEADER + GOOD + "0 NA 1 1 café 0\n").encode("latin-1"))
    with pytest.raises(ValueError, match=r"line 5: .* not UTF-8"):
        read_mallet_state(path)


def test_damaged_gzip(tmp_path):
    words, topics = draw_documents(np.random.default_rng(4), n_documents=200)
    whole = write(tmp_path, *state_lines(words, topics, ODD, ["NA"] * 200), compress=True).read_bytes()
    path = tmp_path / "state"
    for kept in (2, 5, 12, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:kept])
        with pytest.raises(ValueError, match=r"line \d+: .*incomplete"):
            read_mallet_state(path)
    path.write_bytes(whole[:-6] + bytes([whole[-6] ^ 1]) + whole[-5:])
    with pytest.raises(ValueError, match="CRC"):
        read_mallet_state(path)


def test_paths(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_mallet_state(tmp_path / "none")
    with pytest.raises(TypeError, match="PathLike"):
        read_mallet_state(0)


@pytest.mark.parametrize("kind", [list, tuple, np.array, lambda part: np.array(part, dtype=np.uint16)])
def test_token_lists(kind):
    words, topics = draw_documents(np.random.default_rng(5))
    found = count_tokens([kind(w) for w in words], (kind(z) for z in topics), n_features=20)
    counts, z = expected(words, topics, 20)
    np.testing.assert_array_equal(found.data.toarray(), counts)
    np.testing.assert_array_equal(found.topic_assignments, z)
    assert (found.data.dtype, found.topic_assignments.dtype) == (np.int64, np.int32)


def test_token_lists_without_topics_or_words():
    found = count_tokens([[3, 1, 3], []])
    np.testing.assert_array_equal(found.data.toarray(), [[0, 1, 0, 2], [0, 0, 0, 0]])
    assert found.topic_assignments is None
    for documents in ([], [[], []]):
        found = count_tokens(documents, documents)
        assert found.data.shape == (len(documents), 0)
        assert found.topic_assignments.shape == (0,)
        assert count_tokens(documents, n_features=3).data.shape == (len(documents), 3)


@pytest.mark.parametrize(
    ("documents", "topics", "n_features", "error", "message"),
    [
        (3, None, None, TypeError, "documents must be a sequence of sequences of integers, got 3"),
        ("ab", None, None, TypeError, "documents must be a sequence of sequences of integers, got 'ab'"),
        ([1, 2], None, None, TypeError, "documents[0] must be a sequence of integers, got 1"),
        ([[0], ["a"]], None, None, TypeError, "documents[1] must be a sequence of integers, got ['a']"),
        ([[0.5]], None, None, TypeError, "documents[0] must be a sequence of integers, got [0.5]"),
        ([[True]], None, None, TypeError, "documents[0] must be a sequence of integers"),
        ([[[0], [0, 1]]], None, None, TypeError, "documents[0] must be a sequence of integers"),
        ([[0], [0, -1]], None, None, ValueError, "documents[1] contains -1; its numbers must lie between 0 and 2147"),
        ([[0, 2]], None, 2, ValueError, "documents[0] contains 2; its numbers must lie between 0 and 1"),
        ([np.array([2**63], np.uint64)], None, None, ValueError, "documents[0] contains 9223372036854775808"),
        ([[0], [1]], [[0]], None, ValueError, "topic_assignments has 1 documents, documents has 2"),
        ([[0], [1]], [[0], [0, 1]], None, ValueError, "topic_assignments[1] has 2 topics; documents[1] has 1 tokens"),
        ([[0]], [[-1]], None, ValueError, "topic_assignments[0] contains -1"),
        ([[0]], [0], None, TypeError, "topic_assignments[0] must be a sequence of integers"),
        ([[0]], None, 0, ValueError, "n_features must lie between 1 and"),
        ([[0]], None, 1.0, TypeError, "n_features must be an int, got 1.0"),
    ],
)
def test_bad_token_lists(documents, topics, n_features, error, message):
    with pytest.raises(error, match=re.escape(message)):
        count_tokens(documents, topics, n_features=n_features)
