"""The posterior p(T | w) over the number of topics T.

- ``count_prior``: p(T), and the range of T.
- ``runs``: alpha and eta at each T, given or learnt; a budget of sweeps; new chains at one T, and their annealing runs.
- ``curve``: bounds and draws of log p(w | T) between runs. ``scan``: where the next runs are made.
- ``posterior``: what a scan finds, and draws from it.
"""
