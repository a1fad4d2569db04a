"""log p(w, z | alpha, eta) with theta and phi integrated out, in nats (George & Doss 2018, equation 2.2's numerator).

It is a sum over cells of log Gamma(a + n) - log Gamma(a), less the same of the totals. A cell is a topic in a document
or in a word, with a count n and a prior a; cells of n = 0 add nothing. Each function here is the sum for one layout of
the counts. The values of small counts come from a table if the prior does not depend on the group, a document or word.
"""
from libc.math cimport log
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from sklda._kernels._document cimport rescale
from sklda._kernels._lanes cimport LANES
from sklda._kernels._lists cimport COUNT, TOPIC, row_count
from sklda._kernels._log_gamma cimport log_gamma_ratio

cdef enum:
    # Up to this many factors, each between 1e-12 and 1e13, cannot overflow between two checks.
    FACTORS = 6


ctypedef fused number_t:
    uint16_t
    int32_t


cdef struct Cells:
    const double* prior       # a of the cells of group g from starts[g] on; NULL if it is in single precision
    const float* single
    const int64_t* starts     # (G,), or (1,) if the prior does not depend on the group
    int64_t group_step        # 1 or 0 accordingly
    int64_t stride            # 0: all cells of a group have one prior
    const double* table       # log rising factorials of each prior, `width` numbers each; NULL if there is none
    int64_t width
    double result             # logarithms so far
    double product            # its logarithm is to be added


cdef Cells open_cells(
    const double[::1] prior, const float[::1] single, const int64_t[::1] starts, int64_t stride, double[:, ::1] table,
) noexcept nogil:
    """Set the priors and fill the table, which has a row for each prior, or no number."""
    cdef Cells cells
    cdef int64_t row, n
    cells.prior = &prior[0] if prior.shape[0] > 0 else NULL
    cells.single = &single[0] if single.shape[0] > 0 else NULL
    cells.starts, cells.group_step, cells.stride = &starts[0], starts.shape[0] > 1, stride
    cells.width = table.shape[1]
    cells.table = &table[0, 0] if table.shape[0] > 0 and table.shape[1] > 0 else NULL
    cells.result, cells.product = 0, 1
    if cells.table != NULL:
        for row in range(table.shape[0]):
            table[row, 0] = 0
            for n in range(1, table.shape[1]):
                table[row, n] = table[row, n - 1] + log(prior[row] + (n - 1))
    return cells


cdef inline double value(Cells* cells) noexcept nogil:
    return cells.result + log(cells.product)


cdef inline void add_cell(Cells* cells, int64_t group, int64_t label, int64_t n) noexcept nogil:
    """Add log Gamma(a + n) - log Gamma(a) of one cell."""
    cdef int64_t at = cells.starts[group * cells.group_step] + label * cells.stride
    if n <= 0:
        return
    if cells.table != NULL and n < cells.width:
        cells.result += cells.table[at * cells.width + n]
        return
    add_rising(cells, cells.prior[at] if cells.prior != NULL else cells.single[at], n)


cdef inline void add_rising(Cells* cells, double a, int64_t n) noexcept nogil:
    """Add log Gamma(a + n) - log Gamma(a), for n > 0."""
    cdef int64_t i
    cdef double rising = a, large = 1e12
    # Annealing from independent tokens has larger priors than models.
    if n > FACTORS or a > large:
        cells.result += log_gamma_ratio(a, n)
        return
    for i in range(1, n):
        rising *= a + i
    cells.product = rescale(cells.product * rising, &cells.result)


cdef inline void add_row(Cells* cells, int64_t group, const number_t* counts, int64_t n) noexcept nogil:
    """Add the cells of the labels 0, ..., n - 1 of one group."""
    cdef:
        int64_t i, j, k, first, step = cells.stride * cells.width, width = cells.width if cells.table != NULL else 0
        int64_t block = 16 // <int64_t>sizeof(number_t)
        const double* table = cells.table
        double a = 0, b = 0
        uint64_t bits[2]
    for i in range(n // block):
        first = i * block
        # Most of the counts of most words are zero.
        memcpy(bits, &counts[first], 16)
        if not (bits[0] | bits[1]):
            continue
        for j in range(block // 2):
            k = first + 2 * j
            if counts[k] < width and counts[k + 1] < width:
                a += table[k * step + counts[k]]
                b += table[(k + 1) * step + counts[k + 1]]
            else:
                add_cell(cells, group, k, counts[k])
                add_cell(cells, group, k + 1, counts[k + 1])
    for i in range(n - n % block, n):
        add_cell(cells, group, i, counts[i])
    cells.result += a + b


def tokens(
    const int64_t[::1] offsets,           # IN (G + 1,)
    const number_t[::1] labels,           # IN (N,): the topic of each token, group by group
    int64_t K,                            # IN: number of labels
    const double[::1] prior,              # IN, or empty if it is `single`
    const float[::1] single,              # IN, or empty
    const int64_t[::1] starts,            # IN (1 or G,): the prior of label k in group g is at starts[g] + stride * k
    int64_t stride,                       # IN: 0 or 1
    double[:, ::1] table,                 # SCRATCH (priors, T) if starts is (1,); else empty
    int32_t[::1] scratch_counts,          # SCRATCH (at least K,)
):
    """The sum over the cells, from the labels of tokens."""
    cdef:
        int64_t g, i, n, step = stride * table.shape[1], width = table.shape[1] if table.shape[0] > 0 else 0
        int32_t* counts = &scratch_counts[0]
        double result = 0
        Cells cells
    with nogil:
        cells = open_cells(prior, single, starts, stride, table)
        memset(counts, 0, K * sizeof(int32_t))
        for g in range(offsets.shape[0] - 1):
            for i in range(offsets[g], offsets[g + 1]):
                counts[labels[i]] += 1
            if K <= offsets[g + 1] - offsets[g]:
                add_row(&cells, g, counts, K)
                memset(counts, 0, K * sizeof(int32_t))
                continue
            for i in range(offsets[g], offsets[g + 1]):
                n = counts[labels[i]]
                counts[labels[i]] = 0
                if n < width:
                    result += cells.table[labels[i] * step + n]
                else:
                    add_cell(&cells, g, labels[i], n)
    return result + value(&cells)


def rows(
    const int64_t[::1] offsets,           # IN (G + 1,): the counts of group g are those from offsets[g] on
    const number_t[::1] counts,           # IN
    const double[::1] prior,              # IN: see `tokens`
    const float[::1] single,              # IN
    const int64_t[::1] starts,            # IN (1 or G,)
    int64_t stride,                       # IN
    double[:, ::1] table,                 # SCRATCH (priors, T) or empty
):
    """The sum over the cells, from rows of counts."""
    cdef int64_t g
    cdef Cells cells
    with nogil:
        cells = open_cells(prior, single, starts, stride, table)
        for g in range(offsets.shape[0] - 1):
            if offsets[g] < offsets[g + 1]:
                add_row(&cells, g, &counts[offsets[g]], offsets[g + 1] - offsets[g])
    return value(&cells)


def lists(
    const int32_t[::1] begins,            # IN (D,)
    const uint32_t[::1] entries,          # IN (E,): see _word_layout
    const int32_t[::1] sizes,             # IN (D,)
    int64_t K,                            # IN
    const double[::1] prior,              # IN: see `tokens`
    const float[::1] single,              # IN
    const int64_t[::1] starts,            # IN (1 or D,)
    int64_t stride,                       # IN
    double[:, ::1] table,                 # SCRATCH (priors, T) or empty
):
    """The sum over the cells, from lists or rows of documents."""
    cdef:
        int64_t d, j, k, n, step = stride * table.shape[1], width = table.shape[1] if table.shape[0] > 0 else 0
        const uint32_t* entry_list
        double result = 0
        Cells cells
    with nogil:
        cells = open_cells(prior, single, starts, stride, table)
        for d in range(sizes.shape[0]):
            if sizes[d] == 0:
                continue
            entry_list = &entries[<int64_t>begins[d] * LANES]
            for j in range(sizes[d] if sizes[d] > 0 else K):
                k = TOPIC(entry_list[j]) if sizes[d] > 0 else j
                n = COUNT(entry_list[j]) if sizes[d] > 0 else row_count(entry_list, sizes[d], j)
                if n < width:
                    result += cells.table[k * step + n]
                else:
                    add_cell(&cells, d, k, n)
    return result + value(&cells)


def cells(
    const int64_t[::1] places,            # IN (n,): where the prior of each cell is
    const int32_t[::1] counts,            # IN (n,): positive
    const double[::1] prior,              # IN
):
    """The sum over cells that are given one by one."""
    cdef int64_t i
    cdef Cells sums
    with nogil:
        sums.result, sums.product = 0, 1
        for i in range(places.shape[0]):
            add_rising(&sums, prior[places[i]], counts[i])
    return value(&sums)


def histogram(
    const int64_t[:, ::1] numbers,        # IN (K, W): [k, n] is how often topic k has the count n, for 0 < n < W
    const int32_t[:, ::1] larger,         # IN (2, n): the topics and the counts of the others
    const double[::1] prior,              # IN: see `tokens`; of all groups
    int64_t stride,                       # IN
):
    """The sum over the cells, from a histogram."""
    cdef:
        int64_t k, n
        double rising, result = 0
    with nogil:
        for k in range(numbers.shape[0]):
            rising = 0
            for n in range(1, numbers.shape[1]):
                rising += log(prior[k * stride] + (n - 1))
                result += numbers[k, n] * rising
        for n in range(larger.shape[1]):
            result += log_gamma_ratio(prior[larger[0, n] * stride], larger[1, n])
    return result


def totals(
    const double[::1] prior_totals,       # IN (1 or G,): sum of the prior of each group of cells
    const int64_t[::1] numbers,           # IN (G,): its number of tokens
    const int64_t[::1] repeats,           # IN (G,): how many groups are like this one; empty: one each
):
    """The sum over the totals, which is to be subtracted."""
    cdef:
        int64_t g, step = prior_totals.shape[0] > 1
        double result = 0
    with nogil:
        for g in range(numbers.shape[0]):
            result += (log_gamma_ratio(prior_totals[g * step], numbers[g])
                       * (repeats[g] if repeats.shape[0] > 0 else 1))
    return result
