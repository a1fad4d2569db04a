"""The Chib-style estimate of a document's likelihood, phi fixed (Murray & Salakhutdinov 2009; Wallach et al. 2009)."""
from libc.math cimport exp, log
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy

from sklda._kernels._document cimport (
    Document, clear, count, draw, log_topics, log_words, open_block, open_document, put, sweep, take,
)
from sklda._kernels._barrier cimport load
from sklda._kernels._xoshiro cimport seed_state, uniform


cdef double log_transition(Document* doc, const int32_t* target) noexcept nogil:
    """Log probability that one sweep from the topics of doc leads to target; doc is left there."""
    cdef:
        double result = 0, total, weight
        int64_t i, k
        int32_t t
        const float* row
    for i in range(doc.n):
        take(doc, i)
        row = doc.base + doc.rows[i] * doc.P
        total = 0
        for k in range(doc.K):
            total += row[k] * doc.proportions[k]
        t = target[i]
        weight = row[t] * doc.proportions[t] if t >= 0 else 0
        result += log(weight / total)
        put(doc, i, t)
    return result


cdef void climb(Document* doc) noexcept nogil:
    """One pass in which every token takes its most probable topic."""
    cdef:
        int64_t i, k
        int32_t t
        float best
        const float* row
    for i in range(doc.n):
        take(doc, i)
        row = doc.base + doc.rows[i] * doc.P
        t, best = 0, -1
        for k in range(doc.K):
            if row[k] * doc.proportions[k] > best:
                best = row[k] * doc.proportions[k]
                t = <int32_t>k
        put(doc, i, t)


def chib(
    const int32_t[::1] words,             # IN (N,): rows of word_topic; every word has a topic of positive weight
    const int64_t[::1] offsets,           # IN (D + 1,)
    const uint64_t[::1] keys,             # IN (D,): each document's own seed
    const float[:, ::1] word_topic,       # IN (W, P): phi by word, each row up to a factor, zero in the padding
    const double[:, ::1] doc_prior,       # IN (1 or D, K): alpha
    int64_t n_states,                     # IN: length S of the chain behind the estimate
    int64_t n_burn_in,                    # IN: sweeps and climbing passes before the special state
    double[::1] log_weights,              # OUT (D,): log of an unbiased estimate
    int32_t[:, ::1] scratch_topics,       # SCRATCH (4, longest document)
    float[:, ::1] scratch_float,          # SCRATCH (1, P)
    int32_t[::1] scratch_counts,          # SCRATCH (P,)
    double[:, ::1] scratch_double,        # SCRATCH (2, max(P // LANES, n_states))
    const int32_t[::1] stop,              # IN (1,): another thread may set it; if not zero, end
):
    """p(w, z*) / mean_s T(z* <- z_s), where z* is a state of high probability, found by sweeps and climbing passes.

    One place of the chain is drawn uniformly. Its state is drawn by a sweep in reverse order from z*. From there the
    chain runs forward to S, and by sweeps in reverse order backward to 1.
    """
    cdef:
        int64_t d, i, s, _s, place
        double log_weight, largest, total
        uint64_t[4] state
        int32_t* special = &scratch_topics[1, 0]
        int32_t* middle = &scratch_topics[2, 0]
        int32_t* kept = &scratch_topics[3, 0]
        double* logs = &scratch_double[0, 0]
        Document doc

    open_block(&doc, word_topic, doc_prior, scratch_counts, &scratch_float[0, 0], &scratch_double[1, 0])
    with nogil:
        for d in range(offsets.shape[0] - 1):
            log_weights[d] = 0
            if not open_document(&doc, d, offsets, words, doc_prior, &scratch_topics[0, 0], state, stop):
                continue
            seed_state(keys[d], state)
            clear(&doc)
            for _s in range(n_burn_in):
                if load(&stop[0]):
                    break
                sweep(&doc)
            for _s in range(n_burn_in):
                if load(&stop[0]):
                    break
                climb(&doc)
            if load(&stop[0]):
                # Tokens may have no topic yet.
                break
            memcpy(special, doc.topics, doc.n * sizeof(int32_t))
            log_weight = log_words(&doc) + log_topics(&doc, doc.prior)

            place = <int64_t>(uniform(state) * n_states)
            for i in range(doc.n - 1, -1, -1):
                draw(&doc, i, NULL)
            memcpy(middle, doc.topics, doc.n * sizeof(int32_t))
            for s in range(place, n_states):
                if load(&stop[0]):
                    break
                if s > place:
                    sweep(&doc)
                memcpy(kept, doc.topics, doc.n * sizeof(int32_t))
                logs[s] = log_transition(&doc, special)
                memcpy(doc.topics, kept, doc.n * sizeof(int32_t))
                count(&doc)
            memcpy(doc.topics, middle, doc.n * sizeof(int32_t))
            count(&doc)
            for s in range(place - 1, -1, -1):
                if load(&stop[0]):
                    break
                for i in range(doc.n - 1, -1, -1):
                    draw(&doc, i, NULL)
                memcpy(kept, doc.topics, doc.n * sizeof(int32_t))
                logs[s] = log_transition(&doc, special)
                memcpy(doc.topics, kept, doc.n * sizeof(int32_t))
                count(&doc)
            largest = logs[0]
            for s in range(1, n_states):
                largest = max(largest, logs[s])
            total = 0
            for s in range(n_states):
                total += exp(logs[s] - largest)
            log_weights[d] = log_weight - largest - log(total / n_states)
