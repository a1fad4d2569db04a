"""Cython kernels: functions of arrays that release the GIL.

Boundary rules
--------------
- Arguments are C-contiguous typed memoryviews, ``const`` where they are only read. Words and topics are ``int32``,
  offsets and totals ``int64``, generator states ``uint64[4]``.
- Every argument is tagged IN, OUT or IN/OUT. Scratch space is passed in; kernels allocate nothing.
- Kernels run without the GIL, print nothing and raise nothing: callers check shapes, ranges and signs.
- One call is one sweep, or one block of documents. Between calls, Python handles Ctrl-C, callbacks and traces. A kernel
  that may take longer than a tenth of a second reads a flag that another thread sets. It then ends, and its results are
  not used.
- A kernel imports no Python code and cimports only other kernels.

Rows that are summed in lanes are padded with zeros to a multiple of `LANES` (see ``_lanes.h``); ``K`` counts topics and
``P`` the padded width.
"""

LANES = 16
# Topics between running sums over all of them, see ``_running_sums.h``.
STRIDE = 32
