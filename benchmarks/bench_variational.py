"""CVB0 and SCVB0: seconds of a pass, held-out likelihood over CPU time compared with other methods, and a long stream.

    python benchmarks/bench_variational.py                                   all parts, with the bundled corpus
    python benchmarks/bench_variational.py --ldac news:folder/corpus.ldac.gz --synthetic --topics 20 100 500
    python benchmarks/bench_variational.py --parts stream --stream-tokens 10000000 --json figures.json

All models have alpha = 0.1 and eta = 0.01 and one thread. The curves have the held-out log-likelihood per token of 300
documents, by document completion with `sklda.metrics`, after CPU seconds of training. The seconds of an online method
do not include the evaluation. scikit-learn and gensim fit by variational Bayes.
"""

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
from peers import ALPHA, ETA, Sklda, SklearnLDA, describe, peak_memory, read_ldac, synthetic
from report import say, table
from sklearn.decomposition import LatentDirichletAllocation
from threadpoolctl import threadpool_limits

from sklda import CollapsedVariationalLDA
from sklda._core.corpus import Corpus
from sklda._core.parallel import with_team
from sklda._core.priors import Priors
from sklda._models.variational.batch import Batch
from sklda.datasets import load_docstrings
from sklda.metrics import held_out_log_likelihood

PARTS = ("pass", "curves", "stream")
HELD_OUT = 300
PRIORS = {"doc_topic_prior": ALPHA, "topic_word_prior": ETA}


# --- models: `step` is a piece of the training, `topics` the weights of words in topics -------------------------------


class CVB0:
    name = "CVB0"

    def __init__(self, X, n_topics, seed):
        corpus = Corpus.from_counts(X)
        self.model = Batch(corpus, Priors.make(ALPHA, ETA, n_topics, X.shape[1]), np.random.SeedSequence(seed))
        self.started = False

    def step(self):
        with_team(1, self.model.sweep if self.started else self.model.initialise)
        self.started = True

    def topics(self):
        return self.model.counts + ETA


class Chunks:
    """Chunks of a corpus in random order, with a new order for every pass."""

    def __init__(self, X, seed, size):
        self.X, self.size, self.rng, self.left = X, size, np.random.default_rng(seed), []

    def __next__(self):
        if not len(self.left):
            self.left = self.rng.permutation(self.X.shape[0])
        now, self.left = self.left[: self.size], self.left[self.size :]
        return self.X[now]


class SCVB0:
    name = "SCVB0"

    def __init__(self, X, n_topics, seed):
        self.model = CollapsedVariationalLDA(n_topics, **PRIORS, total_samples=X.shape[0], random_state=seed)
        self.chunks = Chunks(X, seed, 8 * 128)

    def step(self):
        self.model.partial_fit(next(self.chunks))

    def topics(self):
        return self.model.components_


class OnlineVB:
    name = "scikit-learn, online"

    def __init__(self, X, n_topics, seed):
        self.model = LatentDirichletAllocation(
            n_topics, **PRIORS, learning_method="online", total_samples=X.shape[0], random_state=seed
        )
        self.chunks = Chunks(X, seed, 4 * 128)

    def step(self):
        self.model.partial_fit(next(self.chunks))

    def topics(self):
        return self.model.components_


class BatchVB(SklearnLDA):
    name = "scikit-learn, batch"
    step = SklearnLDA.sweep

    def topics(self):
        return self.model.components_


class Gensim:
    name = "gensim"

    def __init__(self, X, n_topics, seed):
        from gensim.models import LdaModel

        words = {v: str(v) for v in range(X.shape[1])}
        self.model = LdaModel(
            id2word=words, num_topics=n_topics, alpha=np.full(n_topics, ALPHA), eta=ETA, random_state=seed
        )
        self.chunks = Chunks(X, seed, 2000)

    def step(self):
        X = next(self.chunks)
        rows = (slice(*X.indptr[row : row + 2]) for row in range(X.shape[0]))
        self.model.update([list(zip(X.indices[own].tolist(), X.data[own].tolist(), strict=True)) for own in rows])

    def topics(self):
        return self.model.state.get_lambda().astype(np.float64)


class Gibbs(Sklda):
    name = "GibbsLDA"

    def step(self):
        self.sweep(5)

    def topics(self):
        # The topics by CGS_p of the last draw, as GibbsLDA computes them from one draw.
        from draws import estimate_counts

        chain = self.chain
        return estimate_counts(chain.corpus, chain.priors, chain.topics)[1] + ETA


class Topica:
    """A new fit for every point, of twice as many sweeps: the model does not continue."""

    name, sampler = "topica, Gibbs", "sparse"

    def __init__(self, X, n_topics, seed):
        rows = (slice(*X.indptr[row : row + 2]) for row in range(X.shape[0]))
        self.documents = [np.repeat(X.indices[own], X.data[own]).astype(str).tolist() for own in rows]
        self.shape, self.seed, self.sweeps = (n_topics, X.shape[1]), seed, 5

    def step(self):
        from topica import LDA

        n_topics = self.shape[0]
        self.sweeps *= 2
        priors = {"alpha_sum": ALPHA * n_topics, "beta": ETA, "optimize_interval": 0}
        self.model = LDA(n_topics, **priors, seed=self.seed, sampler=self.sampler)
        self.model.fit(self.documents, iters=self.sweeps, num_threads=1, keep_theta_draws=False)

    def topics(self):
        found = np.empty(self.shape)
        found[:, np.array(self.model.vocabulary, int)] = self.model.topic_word
        return found


class TopicaCVB0(Topica):
    name, sampler = "topica, CVB0", "cvb0"


MODELS = {each.name: each for each in (CVB0, SCVB0, BatchVB, OnlineVB, Gensim, Topica, TopicaCVB0, Gibbs)}


# --- parts ------------------------------------------------------------------------------------------------------------


def pass_seconds(X, n_topics, repeats):
    """CPU seconds of a pass: the median for CVB0; the mean for scikit-learn, whose first passes take longer."""
    ours, theirs = CVB0(X, n_topics, 0), BatchVB(X, n_topics, 0)
    before = time.process_time()
    ours.step()
    spent = {"first": time.process_time() - before, CVB0.name: [], BatchVB.name: []}
    for _ in range(repeats):
        for model in (ours, theirs):
            before = time.process_time()
            model.step()
            spent[model.name].append(time.process_time() - before)
    return {name: float(np.median(value)) for name, value in spent.items()}


def curve(kind, train, test, n_topics, seconds, seed):
    """(CPU seconds, held-out log-likelihood per token) at geometric moments."""
    before = time.process_time()
    model = kind(train, n_topics, seed)
    # Preparing the documents of libraries that take lists does not count.
    spent = time.process_time() - before if kind in (CVB0, SCVB0, Gibbs) else 0.0
    points, due = [], 0.5
    while spent < seconds:
        before = time.process_time()
        model.step()
        now = time.process_time() - before
        # A library without continuation begins again: its time is that of the last fit.
        spent = now if issubclass(kind, Topica) else spent + now
        if spent >= due:
            weights = np.maximum(model.topics(), 1e-12)
            phi = weights / weights.sum(axis=1, keepdims=True)
            value = held_out_log_likelihood((phi, ALPHA), test, method="document_completion", random_state=0)
            n_tokens = test.sum() - np.sum((np.asarray(test.sum(axis=1)).ravel() + 1) // 2)
            points.append((spent, float(value.sum() / n_tokens)))
            due = 1.4 * spent
    return points


def show_curves(title, curves, seconds):
    moments = [t for t in (1, 2, 5, 10, 20, 40, 80, 160) if t <= seconds]

    def at(points, t):
        times, values = np.transpose(points)
        return f"{np.interp(t, times, values):.4f}" if times[0] <= t else "–"

    rows = [[name, *(at(points, t) for t in moments)] for name, points in curves.items() if points]
    table(f"{title}: held-out log-likelihood per token", ["CPU seconds", *map(str, moments)], rows)


def write_texts(folder, n_tokens, seed=0):
    """Files of texts with documents of 150 words from 200 topics and 20,000 words; a document a line."""
    rng, V, K = np.random.default_rng(seed), 20_000, 200
    phi = np.cumsum(rng.dirichlet(np.full(V, 0.05), K), axis=1)
    names = np.array([f"w{v}" for v in range(V)])
    written, part = 0, 0
    while written < n_tokens:
        with open(folder / f"part-{part:04d}.txt", "w") as file:
            for _ in range(2000):
                theta = rng.dirichlet(np.full(K, 0.03))
                z = rng.multinomial(150, theta)
                words = np.concatenate([np.searchsorted(phi[k], rng.random(z[k])) for k in np.flatnonzero(z)])
                print(*names[np.minimum(words, V - 1)], file=file)
                written += 150
        part += 1
    return names


def stream(n_tokens, n_topics):
    """Tokens from disk, chunk by chunk: wall and CPU seconds, and the largest memory after a tenth and at the end."""
    from sklearn.feature_extraction.text import CountVectorizer

    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        names = write_texts(folder, n_tokens)
        vectorizer = CountVectorizer(vocabulary=names, token_pattern=r"\S+")
        lda = CollapsedVariationalLDA(n_topics, **PRIORS, total_samples=n_tokens / 150, random_state=0)
        wall, cpu, read, memory = time.perf_counter(), time.process_time(), 0.0, []
        parts = sorted(folder.iterdir())
        for part in parts:
            before = time.process_time()
            with part.open() as file:
                X = vectorizer.transform(file)
            read += time.process_time() - before
            lda.partial_fit(X)
            memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        found = {
            "tokens": len(parts) * 300_000,
            "wall": time.perf_counter() - wall,
            "cpu": time.process_time() - cpu,
            "vectorizer": read,
            "memory after a tenth, MB": memory[len(memory) // 10],
            "memory at the end, MB": memory[-1],
        }
    say(f"\nstream, K = {n_topics}: " + ", ".join(f"{name} {value:,.1f}" for name, value in found.items()))
    return found


def corpora(options):
    found = {"bundled": load_docstrings(return_X_y=True)[0]}
    for given in options.ldac:
        name, path = given.split(":", 1)
        found[name] = read_ldac(path)
    if options.synthetic:
        found["synthetic"] = synthetic()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--ldac", nargs="+", default=[], metavar="NAME:PATH")
    parser.add_argument("--synthetic", action="store_true", help="also a corpus of three million tokens")
    parser.add_argument("--only", nargs="+", help="names of corpora")
    parser.add_argument("--topics", nargs="+", type=int, default=[100])
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--seconds", type=float, default=40.0, help="of every curve")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--stream-tokens", type=float, default=1e7)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    figures = {}
    with threadpool_limits(1):
        if "stream" in options.parts:
            figures["stream"] = stream(options.stream_tokens, options.topics[0])
        for name, X in corpora(options).items():
            if options.only and name not in options.only:
                continue
            say(f"\n{name}: {describe(X)}")
            for K in options.topics:
                if "pass" in options.parts:
                    found = figures[f"{name}, {K}, pass"] = pass_seconds(X, K, options.repeats)
                    ratio = found[BatchVB.name] / found[CVB0.name]
                    say(f"K = {K}: CPU seconds of a pass {found}, ratio {ratio:.1f}; peak {peak_memory() / 1e6:.0f} MB")
                if "curves" in options.parts:
                    order = np.random.default_rng(0).permutation(X.shape[0])
                    train, test = X[order[HELD_OUT:]], X[order[:HELD_OUT]]
                    curves = figures[f"{name}, {K}, curves"] = {}
                    for each in options.models:
                        curves[each] = curve(MODELS[each], train, test, K, options.seconds, options.seed)
                        if options.json:
                            options.json.write_text(json.dumps(figures, indent=1))
                    show_curves(f"{name}, K = {K}", curves, options.seconds)
                if options.json:
                    options.json.write_text(json.dumps(figures, indent=1))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
