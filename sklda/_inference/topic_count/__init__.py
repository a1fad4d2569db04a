"""The posterior p(T | w) over the number of topics T.

- ``count_prior``: p(T), and the range of T. ``prior_rules``: alpha and eta at each T, given or learnt.
- ``pruning``: chains for each T, by merging topics from above or by annealing.
- ``evidence_by_count``: log p(w | T) of each T with its errors. ``candidates``: which T may be likely.
- ``scan``: estimates of the evidence over the range, more precise at likely T. ``pmmh``: pseudo-marginal
  Metropolis-Hastings over T.
- ``settings``: lengths and numbers of runs. ``cost``: the budget of sweeps, and their seconds.
- ``posterior``: what both methods find, and draws from it.
"""
