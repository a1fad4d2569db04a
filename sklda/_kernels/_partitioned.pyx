"""A turn of an exact sweep of the collapsed sampler on several threads: lanes share neither documents nor words.

Given all other tokens, those that the lanes are at in one step meet in the topics' totals only:

    p(z)  ∝  prod_l f_l(z_l)  prod_k 1 / Gamma(c_k + sum_l a_lk + sum_v eta_kv),

with a_lk the lane's tokens in topic k and c_k those of nobody. Every lane sweeps its tokens as if the others' a_jk were
constants r_jk, which follow from c alone, forwards or backwards by the toss of a coin: that is reversible with respect
to prod_l f_l(z_l) prod_k 1 / Gamma(c_k + a_lk + sum_(j != l) r_jk + sum_v eta_kv). What all have done is then accepted
with the Metropolis-Hastings probability that the ratio of the two distributions gives, or undone.
"""
from libc.math cimport exp
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy, memset

from sklda._kernels._dense cimport Dense, draw, fetch, open_document, weigh_topics
from sklda._kernels._log_gamma cimport log_gamma_step
from sklda._kernels._meeting cimport MEETING, meet
from sklda._kernels._xoshiro cimport seed_state, uniform

# Numbers that threads meet by.
MEETING_SIZE = MEETING


def run(
    const int32_t[::1] words,              # IN (N,): word ids, ascending within a document
    const int64_t[:, ::1] cuts,            # IN (D, L + 1): the first token of each part of the vocabulary, and the end
    const int64_t[:, ::1] edges,           # IN (L, S + 1): documents of each lane, step by step
    int64_t turn,                          # IN: lane l is at part (l + turn) % L of the vocabulary
    const double[:, ::1] doc_prior,        # IN (1 or D, K): alpha
    const double[::1] word_prior,          # IN (V,): eta when topics share it; empty otherwise
    const float[:, ::1] topic_prior,       # IN (V, P): eta when each topic has its own; empty otherwise
    const double[::1] prior_totals,        # IN (K,): sum of eta over words
    int32_t[::1] topics,                   # IN/OUT (N,): z
    int32_t[:, ::1] word_topic_counts,     # IN/OUT (V, P): m_kv, zero in the padding
    int64_t[::1] topic_totals,             # IN/OUT (K,): m_k
    uint64_t[:, ::1] streams,              # IN/OUT (L, 4): the lanes' generators
    uint64_t key,                          # IN: seeds the generator of what is accepted
    int64_t[::1] accepted,                 # OUT (1,): steps
    bint wide,                             # IN: whether to use AVX2, which changes no draw
    int32_t[:, :, ::1] shared_before,      # SCRATCH (2, L, K): a_lk before a step, of this and the next
    int32_t[:, :, ::1] shared_after,       # SCRATCH (2, L, K): a_lk after it
    double[:, ::1] shared_rise,            # SCRATCH (2, L): what a lane adds to the log of the ratio
    int32_t[:, ::1] shared_kept,           # SCRATCH (L, most tokens of a step): topics to go back to
    int32_t[::1] meeting,                  # SCRATCH (MEETING_SIZE,): zeros
    const int32_t[::1] stop,               # IN (1,): not zero: end, which other threads may ask for meanwhile
    int32_t n_threads,                     # IN: so many threads run this at once, all of the above the same
    int32_t thread,                        # IN: this one takes lane l if l % n_threads is this
    double[:, ::1] own_doubles,            # SCRATCH (5, P): its own, as what follows
    float[:, ::1] own_floats,              # SCRATCH (2, P)
    int32_t[:, ::1] own_counts,            # SCRATCH (2, P)
):
    cdef:
        int64_t K = topic_totals.shape[0], L = edges.shape[0], n_steps = edges.shape[1] - 1
        int64_t k, lane, s, n_all, n_accepted = 0
        int32_t* now = &own_counts[1, 0]       # a_lk
        double log_ratio, others, n_rest
        double* total = &own_doubles[1, 0]     # m_k
        double* rest = &own_doubles[2, 0]      # c_k
        double* share = &own_doubles[4, 0]     # what stands for the tokens of the other lanes, and the prior's total
        uint64_t[4] common, state
        Dense dense

    if words.shape[0] == 0:
        return
    dense.rows, dense.K, dense.P = &word_topic_counts[0, 0], K, word_topic_counts.shape[1]
    dense.word_prior = &word_prior[0] if word_prior.shape[0] > 0 else NULL
    dense.topic_prior = &topic_prior[0, 0] if topic_prior.shape[0] > 0 else NULL
    dense.wide, dense.totals, dense.walked = wide, &own_doubles[0, 0], &own_doubles[3, 0]
    dense.prior_totals = share
    dense.scale, dense.inverse, dense.counts = &own_floats[0, 0], &own_floats[1, 0], &own_counts[0, 0]
    dense.state = state
    with nogil:
        seed_state(key, common)
        for k in range(K):
            total[k] = topic_totals[k]
        for lane in range(L):
            if lane % n_threads != thread:
                continue
            count_step(cuts, edges[lane, 0], edges[lane, 1], (lane + turn) % L, topics, &shared_before[0, lane, 0], K)
        if not meet(&meeting[0], n_threads, &stop[0]):
            n_steps = 0
        for s in range(n_steps):
            n_all, n_rest = 0, 0
            for k in range(K):
                rest[k] = total[k]
                for lane in range(L):
                    rest[k] -= shared_before[s & 1, lane, k]
                n_all += <int64_t>(total[k] - rest[k])
                n_rest += rest[k]
            for lane in range(L):
                if lane % n_threads != thread:
                    continue
                others = n_all
                for k in range(K):
                    now[k] = shared_before[s & 1, lane, k]
                    others -= now[k]
                for k in range(K):
                    # Any function of c would do.
                    share[k] = others * (rest[k] + 1) / (n_rest + K) + prior_totals[k]
                    dense.totals[k] = rest[k] + now[k]
                memcpy(state, &streams[lane, 0], sizeof(state))
                sweep_step(
                    &dense, words, cuts, edges[lane, s], edges[lane, s + 1], (lane + turn) % L, doc_prior, topics,
                    now, &shared_kept[lane, 0],
                )
                log_ratio = 0
                for k in range(K):
                    if now[k] != shared_before[s & 1, lane, k]:
                        log_ratio += log_gamma_step(
                            share[k], rest[k] + shared_before[s & 1, lane, k], dense.totals[k]
                        )
                shared_rise[s & 1, lane] = log_ratio
                memcpy(&shared_after[s & 1, lane, 0], now, K * sizeof(int32_t))
                memcpy(&streams[lane, 0], state, sizeof(state))
                if s + 1 < n_steps:
                    count_step(
                        cuts, edges[lane, s + 1], edges[lane, s + 2], (lane + turn) % L, topics,
                        &shared_before[1 - (s & 1), lane, 0], K,
                    )
            if not meet(&meeting[0], n_threads, &stop[0]):
                break
            # Every thread comes to the same conclusion.
            log_ratio = 0
            for lane in range(L):
                log_ratio += shared_rise[s & 1, lane]
            for k in range(K):
                for lane in range(L):
                    rest[k] += shared_after[s & 1, lane, k]
                if rest[k] != total[k]:
                    log_ratio += log_gamma_step(prior_totals[k], rest[k], total[k])
            if uniform(common) < exp(log_ratio):
                n_accepted += 1
                for k in range(K):
                    total[k] = rest[k]
            else:
                for lane in range(L):
                    if lane % n_threads != thread:
                        continue
                    undo_step(
                        &dense, words, cuts, edges[lane, s], edges[lane, s + 1], (lane + turn) % L, topics,
                        &shared_kept[lane, 0],
                    )
        if thread == 0:
            accepted[0] = n_accepted
            for k in range(K):
                topic_totals[k] = <int64_t>total[k]


cdef void count_step(
    const int64_t[:, ::1] cuts, int64_t first, int64_t last, int64_t part, const int32_t[::1] topics,
    int32_t* counts, int64_t K,
) noexcept nogil:
    cdef int64_t d, i
    memset(counts, 0, K * sizeof(int32_t))
    for d in range(first, last):
        for i in range(cuts[d, part], cuts[d, part + 1]):
            counts[topics[i]] += 1


cdef void sweep_step(
    Dense* dense, const int32_t[::1] words, const int64_t[:, ::1] cuts, int64_t first, int64_t last, int64_t part,
    const double[:, ::1] doc_prior, int32_t[::1] topics, int32_t* now, int32_t* kept,
) noexcept nogil:
    """Draw the tokens once; `now` follows, and `kept` gets what they were."""
    cdef:
        int64_t d, i, n, step = 1 if uniform(dense.state) < 0.5 else -1, L = cuts.shape[1] - 1
        int32_t t, new
    for d in range(first, last):
        n = cuts[d, part + 1] - cuts[d, part]
        memcpy(kept, &topics[0] + cuts[d, part], n * sizeof(int32_t))
        kept += n
    weigh_topics(dense)
    d = first if step > 0 else last - 1
    while first <= d < last:
        open_document(
            dense, &doc_prior[d if doc_prior.shape[0] > 1 else 0, 0], &topics[0] + cuts[d, 0], cuts[d, L] - cuts[d, 0]
        )
        i = cuts[d, part] if step > 0 else cuts[d, part + 1] - 1
        while cuts[d, part] <= i < cuts[d, part + 1]:
            if 0 <= i + 2 * step < words.shape[0]:
                fetch(dense, words[i + 2 * step])
            t = topics[i]
            new = draw(dense, words[i], t)
            if new != t:
                topics[i] = new
                now[t] -= 1
                now[new] += 1
            i += step
        d += step


cdef void undo_step(
    Dense* dense, const int32_t[::1] words, const int64_t[:, ::1] cuts, int64_t first, int64_t last, int64_t part,
    int32_t[::1] topics, const int32_t* kept,
) noexcept nogil:
    cdef int64_t d, i
    for d in range(first, last):
        for i in range(cuts[d, part], cuts[d, part + 1]):
            dense.rows[words[i] * dense.P + topics[i]] -= 1
            dense.rows[words[i] * dense.P + kept[0]] += 1
            topics[i] = kept[0]
            kept += 1
