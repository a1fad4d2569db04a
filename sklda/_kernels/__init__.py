"""The ground floor: Cython kernels, arrays in and arrays out.

Boundary rules
--------------
- Arguments are C-contiguous typed memoryviews, ``const`` where they are only read. Words and topics are ``int32``,
  offsets and totals ``int64``, generator states ``uint64[4]``.
- Every argument is tagged IN, OUT or IN/OUT. Scratch space is passed in; kernels allocate nothing.
- Kernels run without the GIL, print nothing and raise nothing: shapes, ranges and signs are checked above.
- One call is one sweep, or one block of documents, so that Python in between keeps Ctrl-C, callbacks and traces. What
  may take longer than a tenth of a second gets a flag that another thread puts up, and ends; its results are not used.
- A kernel imports nothing from Python code and cimports nothing but its neighbours here.

Rows that are summed in lanes are padded with zeros to a multiple of `LANES` (see ``_lanes.h``); ``K`` counts topics and
``P`` the padded width.
"""

LANES = 16
# Topics between running sums over all of them, see ``_running_sums.h``.
STRIDE = 32
