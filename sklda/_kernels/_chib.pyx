"""The Chib-style estimate of a document's likelihood, phi fixed (Murray & Salakhutdinov 2009; Wallach et al. 2009)."""
from libc.math cimport exp, log
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy

from sklda._kernels._document cimport Document, count, draw, log_topics, log_words, put, sweep, take
from sklda._kernels._meeting cimport look
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
    const int32_t[::1] stop,              # IN (1,): not zero: end, which another thread may ask for meanwhile
):
    """p(w, z*) / mean_s T(z* <- z_s), with z* a high state found beforehand.

    At a place drawn uniformly the chain is drawn by a backward sweep from z*; from there it runs forward to S and, with
    sweeps in reverse order, backward to 1.
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

    doc.base = &word_topic[0, 0]
    doc.K, doc.P = doc_prior.shape[1], word_topic.shape[1]
    doc.topics, doc.counts, doc.proportions = &scratch_topics[0, 0], &scratch_counts[0], &scratch_float[0, 0]
    doc.state = state
    with nogil:
        for d in range(offsets.shape[0] - 1):
            log_weights[d] = 0
            doc.n = offsets[d + 1] - offsets[d]
            if doc.n == 0 or look(&stop[0]):
                continue
            doc.rows = &words[offsets[d]]
            doc.prior = &doc_prior[d if doc_prior.shape[0] > 1 else 0, 0]
            doc.walked = &scratch_double[1, 0]
            seed_state(keys[d], state)
            for i in range(doc.n):
                doc.topics[i] = -1
            count(&doc)
            for _s in range(n_burn_in):
                if look(&stop[0]):
                    break
                sweep(&doc)
            for _s in range(n_burn_in):
                if look(&stop[0]):
                    break
                climb(&doc)
            if look(&stop[0]):
                # Tokens may have no topic yet.
                break
            memcpy(special, doc.topics, doc.n * sizeof(int32_t))
            log_weight = log_words(&doc) + log_topics(&doc, doc.prior)

            place = <int64_t>(uniform(state) * n_states)
            for i in range(doc.n - 1, -1, -1):
                draw(&doc, i, NULL)
            memcpy(middle, doc.topics, doc.n * sizeof(int32_t))
            for s in range(place, n_states):
                if look(&stop[0]):
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
                if look(&stop[0]):
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
