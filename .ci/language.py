"""Language of pages, docstrings, comments and messages: long sentences, phrases that are not plain English, spelling.

    python .ci/language.py [FILE ...]

Without files, all of the repository. It exits with 1 if there are findings. codespell finds misspelt words.
"""

import ast
import inspect
import io
import re
import sys
import tokenize
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PATTERNS = ("*.md", "doc/*.rst", "doc/*/*.rst", "examples/*.py", "benchmarks/**/*.py", ".ci/*.py", "tests/**/*.py")
PATTERNS += tuple(f"sklda/**/*.{suffix}" for suffix in ("py", "pyx", "pxd", "h"))
GENERATED = {"auto_examples", "generated", "_build", "sg_execution_times.rst"}
MOST_WORDS, MOST_COLUMNS = 35, 120
# So many sentences of at most so many words, one after the other, read like a list of commands.
SHORT_WORDS, MOST_SHORT = 6, 3

CODE = r"(?:kernel|sampler|chain|model|estimator|function|method|class|fit|search|sweep|topic|prior|score)s?"
IS = r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|may|must)"
PHRASES = {
    "inversion": rf"^(?:neither|nor|never|seldom|rarely|not only|only then|only so|nowhere) {IS}\b|\b(?:nor|so) {IS} "
    r"(?:the|it|they|a|an|all|any|its|their|each)\b|^(?:here|there|hence|from it) (?:comes?|lies?|begins?|follows?)\b",
    "clause as a subject": r"^(?:what|whatever|who|whoever) (?:[^\s?:;]+ ){2,}?"
    r"(?:is|are|was|were|does|do|can|must|comes?|gives?|makes?|changes?) [^?:]*$",
    "code as a person": rf"\b{CODE} (?:knows?|wants?|thinks?|believes?|sees?|likes?|trusts?|remembers?|forgets?|hopes?"
    r"|speaks?|asks?|dares?|cares?|minds?|dies?|waits? and)\b",
    "question without do": r"\b(?:which|what|how many) \w+ (?:has|have|had) (?:an?|the|each|every|my|your|it|they)\b"
    r"[^?]*\?$",
    "noun that is denied": r"(?<!there )\b(?:is|are|was|were) (?:no (?!longer|more|less|better|worse|larger|smaller"
    r"|faster|slower|later|earlier|higher|lower|other|way|need|use|good|sign|error|guarantee)\w+|(?-i:none)\b(?! of))"
    r"|\bno \w+(?: \w+)? either\b",
    "pronoun at the end": r"(?<!there )\b(?:is|are) (?:one|some|those)[.:;]?$",
    "translated idiom": r"\bspeaks? (?:for|against)\b|\bbut for\b|\bhence (?:no|none|the|a|an|fewer|more)\b"
    r"|\bcomes? again\b|\bso it is with\b|\bis another one\b",
    "riddle": r"\bin the eye\b|\bhangs? on\b|\b(?:nothing|none) but\b|\bthe more so\b|\bbe (?:it|they)\b|\blet alone\b"
    r"|\bby no means\b|\bof (?:its|their) own making\b",
    "formal or old word": r"\b(?:upon|whilst|amongst|albeit|whence|wherein|whereby|thereof|therein|hereby|lest|ere"
    r"|shall|thus|heretofore|notwithstanding|aforementioned|utili[sz]e[sd]?|in order to)\b",
    "ornament": r"\b(?:simply|obviously|of course|needless to say|elegant(?:ly)?|powerful|seamless(?:ly)?|leverag\w+"
    r"|magic|state.of.the.art|blazing\w*|beautiful\w*|under the hood|out of the box|at the heart of|for free)\b",
    "chain of dashes": r" [—–] .* [—–] ",
    "exclamation mark": r"[a-z]{2}!(?:$|\s)",
    "American spelling": r"(?<![\w.-])(?:(?:col|behavi|neighb|fav)or\w*"
    r"|(?!\w*(?:siz|priz|seiz|vectoriz|binariz|sanitiz))[a-z]+iz(?:e[sd]?|ing|ations?|ers?)"
    r"|center\w*|analyz\w+|(?:model|cancel|travel)(?:ed|ing))\b",
}
PHRASES = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in PHRASES.items()}

# Tables and code, which become empty lines.
TABLE = re.compile(r"^ *=+(?: +=+)+\n(?:.*\n)*?.*=+(?: +=+)+ *$(?=\n\s*\n|\n?\Z)", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```|^---\n.*?^---", re.MULTILINE | re.DOTALL)
DIRECTIVES = "code|math|image|figure|csv-table|toctree|contents|raw|auto|currentmodule"
LITERAL = re.compile(rf"^\s*\.\. (?:\[|(?:{DIRECTIVES})[\w-]*::)")
NOT_PROSE = re.compile(r"^\s*(?:\.\.|>>>|python \S+\.py|:\w[\w -]*:\s|[=\-~^\"]{3}|\||\* +-|#|[\w*, ]+ : )")
MARKER = re.compile(r"^\s*(?:(?:[-*+•]|\d+\.)\s+)+")
INLINE = (
    (re.compile(r"\\ "), ""),
    (re.compile(r":(?:math|sub|sup):`[^`]*`"), ""),
    (re.compile(r"``.+?``"), "Code"),
    (re.compile(r":[\w:.-]+:`~?([^`<]*?)(?: *<[^`>]*>)?`"), r"\1"),
    (re.compile(r"`([^`<]+?) *<[^`>]*>`_{1,2}"), r"\1"),
    (re.compile(r"`[^`]+`_{0,2}"), "Code"),
    (re.compile(r"!?\[([^\]]*)\]\([^)]*\)"), r"\1"),
    (re.compile(r"\*[^*]+\*(?!\*)"), "Title"),
    (re.compile(r"\*\*"), ""),
)
SENTENCE = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<! al\.)(?<! cf\.)(?<! vs\.)[)\"]?\s+")
# The authors and the year, at the beginning of a reference.
REFERENCE = re.compile(r"^[A-Z][\w,&'’. -]+? \((?:19|20)\d\d\w?\)\.(?: |$)")


def prose(text):
    """(line, paragraph or item of a list) of a page or docstring, without code, tables and types of parameters."""
    lines, first, indent, skipped, session = [], 0, 0, None, False
    for number, line in enumerate([*text.split("\n"), ""], 1):
        left = len(line) - len(line.lstrip())
        if skipped is not None and (left > skipped or not line.strip()):
            continue
        skipped = None
        marker = MARKER.match(line)
        body_left = len(marker[0]) if marker else left
        # The output of a session ends with an empty line.
        session = line.strip() != "" and (session or line.lstrip().startswith(">>>"))
        apart = session or not line.strip() or NOT_PROSE.match(line)
        if lines and (apart or marker or left != indent):
            yield first, " ".join(lines)
            lines = []
        if LITERAL.match(line):
            skipped = left
        if apart:
            continue
        if not lines:
            first, indent = number, body_left
        lines.append(line[body_left:].strip())
        if line.rstrip().endswith("::"):
            yield first, " ".join(lines)
            lines, skipped = [], left


def comments_and_docstrings(source, path):
    """(line, text) of the docstrings of Python and Cython, and of comments, of which adjacent lines are one text."""
    if path.suffix == ".h":
        for found in re.finditer(r"/\*(.*?)\*/", source, re.DOTALL):
            text = re.sub(r"^ *\* ?", "", found[1].lstrip(" "), flags=re.MULTILINE)
            yield source.count("\n", 0, found.start()) + 1, text
        return
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    lines = []
    for before, token in pairwise([tokens[0]._replace(type=tokenize.NEWLINE), *tokens]):
        if token.type == tokenize.COMMENT and not source.split("\n")[token.start[0] - 1][: token.start[1]].strip():
            if lines and token.start[0] != lines[-1][0] + 1:
                yield lines[0][0], "\n".join(text for _, text in lines)
                lines = []
            lines.append((token.start[0], re.sub(r"^#+:? ?(?:%%)?", "", token.string)))
        elif token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("# ")
        elif token.type == tokenize.STRING and before.type in (tokenize.NEWLINE, tokenize.INDENT):
            yield token.start[0], inspect.cleandoc(token.string.strip("r\"'"))
    if lines:
        yield lines[0][0], "\n".join(text for _, text in lines)


def messages(source):
    """(line, text) of the texts of errors and warnings of Python; what is filled in is a word of code."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            call = node.exc
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "warn":
            call = node
        else:
            continue
        for argument in call.args:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                yield argument.lineno, argument.value
            elif isinstance(argument, ast.JoinedStr):
                parts = (each.value if isinstance(each, ast.Constant) else "``x``" for each in argument.values)
                yield argument.lineno, "".join(parts)


def chain_of_short_sentences(sentences, lengths):
    """The first sentences of a paragraph that are short one after the other, or None."""
    chain = []
    for sentence, n_words in zip(sentences, lengths, strict=True):
        # Values of a parameter with their meanings are a list.
        short = 2 < n_words <= SHORT_WORDS and sentence.rstrip().endswith((".", "!")) and ":" not in sentence
        chain = [*chain, sentence] if short else []
        if len(chain) == MOST_SHORT:
            return " ".join(chain)
    return None


def faults_of_prose(text):
    """(line, fault) of a text in the markup of pages."""
    for pattern in (TABLE, FENCED):
        text = pattern.sub(lambda found: "\n" * found[0].count("\n"), text)
    for line, paragraph in prose(text):
        for pattern, replacement in INLINE:
            paragraph = pattern.sub(replacement, paragraph)
        if REFERENCE.match(paragraph):
            continue
        sentences = SENTENCE.split(paragraph)
        lengths = [sum(bool(re.search(r"\w", word)) for word in sentence.split()) for sentence in sentences]
        if chain := chain_of_short_sentences(sentences, lengths):
            yield line, f"chain of short sentences: {chain}"
        for sentence, n_words in zip(sentences, lengths, strict=True):
            if n_words > MOST_WORDS:
                yield line, f"{n_words} words: {sentence}"
            for name, pattern in PHRASES.items():
                if found := pattern.search(sentence):
                    yield line, f"{name}, {found[0] if len(found[0]) < 40 else found[0][:40] + '…'!r}: {sentence}"


def faults(path, source):
    """(line, fault) of a file."""
    for number, line in enumerate(source.split("\n"), 1):
        if path.suffix in (".rst", ".md") and len(line) > MOST_COLUMNS and not NOT_PROSE.match(line):
            yield number, f"{len(line)} characters in a line"
    if path.suffix == ".rst":
        texts = [(1, source)]
    elif path.suffix == ".md":
        texts = [(1, re.sub(r"^ {4}.*$", "", source, flags=re.MULTILINE))]
    else:
        texts = [*comments_and_docstrings(source, path), *(messages(source) if path.suffix == ".py" else ())]
    for first, text in texts:
        for line, fault in faults_of_prose(text):
            yield first + line - 1, fault


def main(names):
    paths = [Path(name).resolve() for name in names] or sorted({p for each in PATTERNS for p in ROOT.glob(each)})
    n_faults = 0
    for path in paths:
        if GENERATED.isdisjoint(path.parts):
            for line, fault in faults(path, path.read_text(encoding="utf-8")):
                n_faults += 1
                print(f"{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}:{line}: {fault}")
    return 1 if n_faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
