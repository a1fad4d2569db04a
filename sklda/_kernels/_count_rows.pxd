"""The topic counts of words in rows of 16 bits, and in rows of 32 bits for words with more tokens."""
from libc.stdint cimport int32_t, int64_t, uint16_t


cdef inline int32_t count_of(
    const uint16_t[:, ::1] rows, const int32_t[:, ::1] long_rows, const int32_t[::1] place, int64_t v, int64_t k,
) noexcept nogil:
    """m_kv."""
    if long_rows.shape[0] > 0 and place[v] >= 0:
        return long_rows[place[v], k]
    return rows[v, k]


cdef inline void change_count(
    uint16_t[:, ::1] rows, int32_t[:, ::1] long_rows, const int32_t[::1] place, int64_t v, int64_t k, int32_t step,
) noexcept nogil:
    """Add `step` to m_kv."""
    if long_rows.shape[0] > 0 and place[v] >= 0:
        long_rows[place[v], k] += step
    else:
        rows[v, k] += step
