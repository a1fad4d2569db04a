"""Make docstrings.npz, the bag of words that sklda.datasets.load_docstrings returns.

Usage: python make_docstrings.py OUTPUT.npz

It needs numpydoc, and numpy, scipy and scikit-learn in the versions that sklda/datasets/data/docstrings.rst names.
The result depends only on their docstrings.
"""

import argparse
import importlib
import inspect
import re
import warnings
from collections import Counter

import numpy as np
from numpydoc.docscrape import NumpyDocString
from scipy import sparse
from sklearn.experimental import enable_halving_search_cv, enable_iterative_imputer  # noqa: F401
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from sklearn.metrics.pairwise import cosine_similarity

# Subject group -> modules. An object found in several modules belongs to the first.
GROUPS = {
    "polynomials": [
        "numpy.polynomial",
        "numpy.polynomial.chebyshev",
        "numpy.polynomial.hermite",
        "numpy.polynomial.hermite_e",
        "numpy.polynomial.laguerre",
        "numpy.polynomial.legendre",
        "numpy.polynomial.polynomial",
        "numpy.polynomial.polyutils",
    ],
    "random": ["numpy.random", "scipy.stats.qmc", "scipy.stats.sampling"],
    "linalg": ["numpy.linalg", "scipy.linalg", "scipy.linalg.interpolative", "sklearn.utils.extmath"],
    "signal": ["numpy.fft", "scipy.fft", "scipy.fftpack", "scipy.signal", "scipy.signal.windows"],
    "strings and files": [
        "numpy.char",
        "numpy.strings",
        "numpy.rec",
        "numpy.lib.recfunctions",
        "numpy.lib.format",
        "numpy.lib.npyio",
        "numpy.dtypes",
        "numpy.ctypeslib",
        "scipy.io",
        "scipy.io.arff",
        "scipy.io.matlab",
        "scipy.io.wavfile",
        "scipy.datasets",
        "sklearn.datasets",
    ],
    "arrays": [
        "numpy",
        "numpy.exceptions",
        "numpy.lib",
        "numpy.lib.array_utils",
        "numpy.lib.mixins",
        "numpy.lib.scimath",
        "numpy.lib.stride_tricks",
        "numpy.ma",
        "numpy.ma.mrecords",
        "numpy.matlib",
        "numpy.testing",
    ],
    "sparse": ["scipy.sparse", "scipy.sparse.csgraph", "scipy.sparse.linalg", "sklearn.utils.sparsefuncs"],
    "special functions": ["scipy.special", "scipy.constants"],
    "stats": ["scipy.stats", "scipy.stats.contingency", "scipy.stats.mstats"],
    "interpolation and integration": ["scipy.interpolate", "scipy.integrate", "scipy.differentiate"],
    "optimization": ["scipy.optimize", "scipy.optimize.elementwise", "scipy.odr"],
    "images": ["scipy.ndimage", "sklearn.feature_extraction.image"],
    "space and clusters": [
        "scipy.spatial",
        "scipy.spatial.distance",
        "scipy.spatial.transform",
        "scipy.cluster.hierarchy",
        "scipy.cluster.vq",
        "sklearn.cluster",
        "sklearn.neighbors",
    ],
    "metrics and selection": [
        "sklearn.metrics",
        "sklearn.metrics.cluster",
        "sklearn.metrics.pairwise",
        "sklearn.model_selection",
        "sklearn.calibration",
        "sklearn.inspection",
    ],
    "unsupervised learning": [
        "sklearn.covariance",
        "sklearn.cross_decomposition",
        "sklearn.decomposition",
        "sklearn.feature_extraction",
        "sklearn.feature_extraction.text",
        "sklearn.kernel_approximation",
        "sklearn.manifold",
        "sklearn.mixture",
        "sklearn.preprocessing",
        "sklearn.random_projection",
        "sklearn.impute",
        "sklearn.feature_selection",
        "sklearn.compose",
        "sklearn.pipeline",
    ],
    "supervised learning": [
        "sklearn.base",
        "sklearn.discriminant_analysis",
        "sklearn.dummy",
        "sklearn.ensemble",
        "sklearn.exceptions",
        "sklearn.gaussian_process",
        "sklearn.gaussian_process.kernels",
        "sklearn.isotonic",
        "sklearn.kernel_ridge",
        "sklearn.linear_model",
        "sklearn.multiclass",
        "sklearn.multioutput",
        "sklearn.naive_bayes",
        "sklearn.neural_network",
        "sklearn.semi_supervised",
        "sklearn.svm",
        "sklearn.tree",
    ],
}

# English stop words, and words that occur in docstrings of all subjects.
STOP_WORDS = ENGLISH_STOP_WORDS | set(
    """
    able accept accepted accepts according actual actually additional additionally allow allowed
    allowing allows alternative alternatively applied applies apply applying appropriate arbitrary arg
    args argument arguments array arrays associated assume assumed assumes attribute attributes
    automatically available avoid axes axis based basic behavior behaviour better bool boolean broadcast
    broadcastable broadcasted broadcasting calculate calculated calculates calculating calculation
    callable called calling calls carefully case cases change changed changes check checked checks
    choose chosen classmethod code combination come common compared compatible computation compute
    computed computes computing consider considered contain contained containing contains controls
    convenience convert converted copied copy correct correctly correspond corresponding corresponds
    create created creates creating current currently default defaults define defined defines
    definition depend depending depends deprecated described description desired detailed details
    determine determined determines determining device did different dimension dimensional dimensions
    directly documentation does doing dtype dtypes easily effect element elements elementwise ensure
    entire entries entry equal equivalent error errors especially exactly example examples exception
    execution exist exists expected expects explicit explicitly extra fact false far fast faster float
    floats follow followed following follows form function functions general generally given gives good
    greater guide handle handled having help hold holds identical ignored implement implementation
    implemented implements important include included includes including indicate indicated indicates
    indicating info information initialize inplace input inputs instance instances instead int integer
    integers intended interface interpreted introduced items iterable just keepdims keyword known kwarg
    kwargs large larger later lead length let like likely list lists longer main make makes making
    manner means mentioned method methods modified module multiple named names nan nans ndarray ndarrays
    necessary need needed needs negative new non nonetheless nonnegative normally notation note notes
    number numbers numerical numpy object objects obtain obtained omitted operation operations option
    optional optionally options ordinary original output outputs overview package param parameter
    parameters particular pass passed passes passing perform performed performing performs placed plot
    positive possible practice preferred presence present previous previously produce produced produces
    producing property provide provided provides providing purpose python raise raised raises raising
    range read reason recommended refer reference references regardless related relevant remain remains
    represent represented representing represents require required requires respect respective
    respectively result resulting results return returned returning returns routine routines run scalar
    scalars scikit scipy second section select selected self sequence sequences set sets setting
    settings shape shaped shapes short shorter shown similar similarly simple simply single size sizes
    slightly small smaller software specific specifically specified specifies specify specifying store
    stored stores strictly sub subclass suitable supplied support supported supports suppose sure taken
    takes taking tell terms thing things times total treat treated treats true try tuple tuples turn
    turned type types typically underlying unless unlike unspecified usage use used useful user uses
    using usual usually valid value valued values variant variants various version versions want warning
    warnings way ways wise word words work works writing written yield yields zero
    """.split()
)

MIN_DOCUMENT_FREQUENCY = 5
MIN_TOKENS = 20
MAX_SENTENCE_REPEATS = 6  # a sentence in more documents than this is boilerplate
MAX_COSINE = 0.9

LISTS = ("Parameters", "Other Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns")
PROSE = ("Summary", "Extended Summary", "Notes", "Warnings", "Examples")

# Literals, roles, footnotes, formulas and URLs inside a line.
NOT_PROSE = re.compile(r"``.*?``|(:\w+)*:?`[^`]*`_*|\|[^|]*\||\[[\w ]*\]_|\$[^$]*\$|https?:\S+")


def public_objects():
    """Yield (group, qualified name, docstring) of every public function and class, each docstring once."""
    seen = set()
    for group, modules in GROUPS.items():
        for name in modules:
            module = importlib.import_module(name)
            for member in sorted(getattr(module, "__all__", dir(module))):
                obj = getattr(module, member, None)
                doc = getattr(obj, "__doc__", None)
                if member.startswith("_") or not callable(obj) or not isinstance(doc, str):
                    continue
                if doc in seen or (not hasattr(module, "__all__") and obj.__module__ != name):
                    continue
                seen.add(doc)  # an alias or a subclass may have the same text
                yield group, f"{name}.{member}", inspect.cleandoc(doc)


def paragraphs(lines):
    """Yield paragraphs of prose: no doctest, literal block, directive, heading or table."""
    paragraph, skip_deeper_than, code = [], None, False
    for line in [*lines, ""]:
        text = line.strip()
        indent = len(line) - len(line.lstrip())
        if not text:
            if not any(re.fullmatch(r"=+( +=+)+|\+[-=+]+\+", t) for t in paragraph):
                yield " ".join(paragraph)
            paragraph, code = [], False
            continue
        if skip_deeper_than is not None and indent > skip_deeper_than:
            continue
        skip_deeper_than = None
        code = code or text.startswith(">>>")  # code and its output end at the next empty line
        if code:
            continue
        if re.fullmatch(r"([=~^#*\"-])\1{2,}", text):
            paragraph = paragraph[:-1]  # the line above was a heading
        elif text.startswith(".. ") and not re.match(r"\.\. (note|warning|tip|important|caution)::", text):
            skip_deeper_than = indent
        else:
            if re.match(r"[-*+\u2022] |\w{1,2}[.)] ", text):  # each item of a list is a paragraph
                yield " ".join(paragraph)
                paragraph = []
            paragraph.append(re.sub(r"^\.\. \w+::", "", text))
            if text.endswith("::"):
                skip_deeper_than = indent


def sentences(doc):
    """Yield the sentences of a numpydoc docstring, each a tuple of lower-case words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parsed = NumpyDocString(doc)
    parts = [parsed[section] for section in PROSE]
    parts += [entry.desc for section in LISTS for entry in parsed[section]]
    for part in parts:
        for paragraph in paragraphs(part):
            for sentence in re.split(r"(?<=[.!?;:])\s+", NOT_PROSE.sub(" ", paragraph)):
                found = tuple(words(sentence))
                if found:
                    yield found


def words(sentence):
    """Yield plain lower-case words, without identifiers and formulas."""
    for chunk in re.split(r"[\s/\u2013\u2014-]+", sentence):
        word = re.sub(r"['\u2019]s$", "", chunk.strip(".,;:!?()[]{}\"'*\u201c\u201d\u2018\u2019"))
        if word.isalpha() and len(word) > 2 and not re.search("[a-z][A-Z]", word):
            yield word.lower()


def prune(counts):
    """Return the rows and columns that remain without rare words, short documents and near duplicates."""
    rows, columns = np.arange(counts.shape[0]), np.arange(counts.shape[1])
    while True:
        kept = counts[rows][:, columns]
        frequent = np.asarray((kept > 0).sum(axis=0)).ravel() >= MIN_DOCUMENT_FREQUENCY
        long = np.asarray(kept.sum(axis=1)).ravel() >= MIN_TOKENS
        similar = sparse.tril(cosine_similarity(kept, dense_output=False) > MAX_COSINE, k=-1, format="csr")
        # Compare only with rows that are kept, so that the first of several duplicates is kept.
        new = long.copy()
        for i in np.flatnonzero(long):
            new[i] = not new[similar[i].indices].any()
        if frequent.all() and new.all():
            return rows, columns
        rows, columns = rows[new], columns[frequent]


def main(path):
    objects = list(public_objects())
    texts = [list(sentences(doc)) for *_, doc in objects]
    repeats = Counter(s for text in texts for s in set(text))
    texts = [[s for s in text if repeats[s] <= MAX_SENTENCE_REPEATS] for text in texts]
    bags = [Counter(word for s in text for word in s if word not in STOP_WORDS) for text in texts]
    vectorizer = DictVectorizer(dtype=np.int32)
    counts = vectorizer.fit_transform(bags)
    rows, columns = prune(counts)
    counts = counts[rows][:, columns]
    counts.sort_indices()
    group = [objects[i][0] for i in rows]
    np.savez_compressed(
        path,
        counts=counts.data.astype(np.min_scalar_type(counts.max())),
        words=counts.indices.astype(np.uint16),
        n_words=np.diff(counts.indptr).astype(np.uint16),
        vocabulary=vectorizer.get_feature_names_out()[columns].astype(str),
        target=np.array([list(GROUPS).index(g) for g in group], dtype=np.uint8),
        target_names=np.array(list(GROUPS)),
        document_names=np.array([objects[i][1] for i in rows]),
    )
    print(f"{counts.shape[0]} documents, {counts.shape[1]} words, {counts.sum()} tokens")
    for name, size in Counter(group).items():
        print(f"{size:5d} {name}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output")
    main(parser.parse_args().output)
