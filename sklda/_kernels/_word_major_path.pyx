"""The log weights of annealed importance sampling, word by word: see _prior_path.

Between two sweeps of ``_word_major`` the priors move, and the change of log p(w, z) is the increment of the log weight.
"""
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t
from libc.string cimport memset

from sklda._kernels._lanes cimport LANES
from sklda._kernels._lists cimport COUNT, TOPIC, move_row, row_count
from sklda._kernels._log_gamma cimport log_gamma_ratio
from sklda._kernels._weight cimport Weight, move_prior, value


def move_documents(
    const int64_t[::1] offsets,            # IN (D + 1,)
    const int32_t[::1] begins,             # IN (D,): see _word_major
    const uint32_t[::1] entries,           # IN (E,)
    const float[::1] excess,               # IN (E,) or empty
    const int32_t[::1] sizes,              # IN (D,)
    const double[::1] doc_before,          # IN (K,): alpha that documents share, before
    const double[::1] doc_after,           # IN (K,): and after
    float strength_before,                 # IN: the excess is multiplied by it, before
    float strength_after,                  # IN: and after
    const double[:, ::1] doc_totals,       # IN (2, 1 or D): sums of the prior of a document, before and after
):
    """The change of log p(z) when alpha moves."""
    cdef:
        int64_t d, j, k, n, count, row
        double a, b
        const uint32_t* entry_list
        const float* excess_list = NULL
        Weight weight
    weight.result, weight.above, weight.below = 0, 1, 1
    with nogil:
        for d in range(sizes.shape[0]):
            if offsets[d + 1] == offsets[d]:
                continue
            entry_list = &entries[<int64_t>begins[d] * LANES]
            if excess.shape[0] > 0:
                excess_list = &excess[<int64_t>begins[d] * LANES]
            n = sizes[d] if sizes[d] >= 0 else doc_before.shape[0]
            for j in range(n):
                k = TOPIC(entry_list[j]) if sizes[d] >= 0 else j
                count = COUNT(entry_list[j]) if sizes[d] >= 0 else row_count(entry_list, sizes[d], j)
                if count > 0:
                    a, b = doc_before[k], doc_after[k]
                    if excess_list != NULL:
                        a = a + <double>strength_before * excess_list[j]
                        b = b + <double>strength_after * excess_list[j]
                    move_prior(&weight, a, b, count)
            row = d if doc_totals.shape[1] > 1 else 0
            n = offsets[d + 1] - offsets[d]
            a, b = doc_totals[0, row], doc_totals[1, row]
            weight.result -= log_gamma_ratio(b, <double>n) - log_gamma_ratio(a, <double>n)
    return value(&weight)


def move_words(
    const int64_t[::1] word_offsets,       # IN (V + 1,)
    const uint16_t[::1] topics,            # IN (N,): z, word by word
    const int64_t[::1] topic_totals,       # IN (K,): m_k
    const double[::1] word_base,           # IN (V,): eta at position 0 when topics share it; empty otherwise
    const float[:, ::1] topic_base,        # IN (V, P): eta at position 0 when each topic has its own; empty otherwise
    const double[::1] word_slope,          # IN (V,): its slope when topics share it; empty otherwise
    const double[:, ::1] topic_slope,      # IN (V, K): its slope when each topic has its own; empty otherwise
    double position,                       # IN: eta moves there
    bint weigh,                            # IN: whether the log weight is needed
    double[::1] word_prior,                # IN/OUT (V,): eta when topics share base and slope; empty otherwise
    float[:, ::1] topic_prior,             # IN/OUT (V, P): eta otherwise, zero in the padding
    double[:, ::1] prior_totals,           # IN/OUT (2, K): its sums over words in row 0. Row 1 is scratch
    int32_t[::1] scratch_counts,           # SCRATCH (at least K,)
):
    """Move eta to a position. Return the change of log p(w | z) if it is needed, else 0."""
    cdef:
        int64_t K = topic_totals.shape[0], V = word_offsets.shape[0] - 1, v, i, k, n
        double base = 0, slope = 0, after
        const float* bases = NULL
        const double* slopes = NULL
        int32_t* counts = &scratch_counts[0]
        bint shared = word_prior.shape[0] > 0
        Weight weight
    weight.result, weight.above, weight.below = 0, 1, 1
    with nogil:
        memset(counts, 0, K * sizeof(int32_t))
        for k in range(K):
            prior_totals[1, k] = 0
        for v in range(V):
            n = word_offsets[v + 1] if weigh else 0
            for i in range(word_offsets[v], n):
                counts[topics[i]] += 1
            if word_base.shape[0] > 0:
                base = word_base[v]
            if word_slope.shape[0] > 0:
                slope = word_slope[v]
            if topic_base.shape[0] > 0:
                bases = &topic_base[v, 0]
            if topic_slope.shape[0] > 0:
                slopes = &topic_slope[v, 0]
            for i in range(word_offsets[v], n):
                k = topics[i]
                if counts[k] == 0:
                    continue
                after = (base if bases == NULL else bases[k]) + position * (slope if slopes == NULL else slopes[k])
                if shared:
                    move_prior(&weight, word_prior[v], after, counts[k])
                else:
                    move_prior(&weight, topic_prior[v, k], <float>after, counts[k])
                counts[k] = 0
            if shared:
                word_prior[v] = base + position * slope
                prior_totals[1, 0] += word_prior[v]
            else:
                move_row(bases, base, slopes, slope, position, K, &topic_prior[v, 0], &prior_totals[1, 0])
        for k in range(K):
            after = prior_totals[1, 0] if shared else prior_totals[1, k]
            if weigh:
                weight.result -= log_gamma_ratio(after, <double>topic_totals[k])
                weight.result += log_gamma_ratio(prior_totals[0, k], <double>topic_totals[k])
            prior_totals[0, k] = after
    return value(&weight)
