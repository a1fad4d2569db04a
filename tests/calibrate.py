"""Calibration of all posteriors and errors: `make calibrate`, about half an hour of one core.

    python tests/calibrate.py
    python tests/calibrate.py --cases CompoundLDA --fits 300 --mutations 100 --jobs 2
    python tests/calibrate.py --errors log_evidence --seeds 200

Results are added to `tests/calibration/results.json`, and written to the page and its picture. A case or error
whose result leaves its bounds ends the script with an error at the end.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from calibration.cases import CASES, N_DRAWS
from calibration.errors import ERRORS, estimates, ratio
from calibration.page import with_tables
from calibration.picture import draw
from calibration.ranks import chi_square_p, counts_below, ecdf_p
from joblib import Parallel, delayed

HERE = Path(__file__).parent
RESULTS = HERE / "calibration" / "results.json"
PAGE = HERE.parent / "doc" / "method" / "calibration.rst"
PICTURE = HERE.parent / "doc" / "_static" / "calibration.svg"
LEVEL = 1e-4


def run_case(case, n_fits, n_mutated, n_jobs):
    """Ranks of all fits, tests of them, and the smallest p-value of the mutation."""
    parallel, begin = Parallel(n_jobs), time.process_time()
    found = parallel(delayed(case.run)(seed) for seed in range(n_fits))
    broken = parallel(delayed(case.run)(seed, mutated=True) for seed in range(n_mutated))
    quantities = {}
    for name in found[0][0]:
        ranks, mutated = ([each[0][name] for each in runs] for runs in (found, broken))
        quantities[name] = {
            "below": counts_below(ranks, N_DRAWS).tolist(),
            "chi_square": chi_square_p(ranks, N_DRAWS),
            "ecdf": ecdf_p(ranks, N_DRAWS),
            "mutated": ecdf_p(mutated, N_DRAWS) if mutated else None,
        }
    sums = {name: np.sum([each[1][name] for each in found], axis=0) for name in found[0][1]}
    return {
        "fits": n_fits,
        "mutated_fits": n_mutated,
        "mutation": case.mutation,
        "seconds": time.process_time() - begin,
        "quantities": quantities,
        "deviations": {name: float(np.sqrt(stated / seen)) for name, (seen, stated) in sums.items()},
    }


def run_error(name, n_seeds):
    found = estimates(name, range(n_seeds))
    # An estimate may say that it has no error, by an infinite one.
    found = found[:, np.isfinite(found[1]).all(axis=1)]
    value, low, high = ratio(found)
    return {"seeds": found.shape[1], "ratio": float(value), "low": float(low), "high": float(high)}


def complaints(results):
    """Quantities whose ranks are not uniform, and mutations that were not found."""
    for name, case in results["cases"].items():
        for quantity, found in case["quantities"].items():
            if min(found["chi_square"], found["ecdf"]) < LEVEL:
                yield f"{name}, {quantity}: ranks are not uniform"
        if min(found["mutated"] for found in case["quantities"].values()) > LEVEL:
            yield f"{name}: the mutation was not found"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="*", default=[case.name for case in CASES])
    parser.add_argument("--fits", type=int, default=300)
    parser.add_argument("--mutations", type=int, default=100)
    parser.add_argument("--errors", nargs="*", default=list(ERRORS))
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    results = {"cases": {}, "errors": {}}
    if options.results.exists():
        results = json.loads(options.results.read_text(encoding="utf-8"))
    for case in CASES:
        if case.name in options.cases:
            results["cases"][case.name] = run_case(case, options.fits, options.mutations, options.jobs)
            print(case.name, json.dumps(results["cases"][case.name]["quantities"]), flush=True)
            save(results, options.results)
    for name in ERRORS:
        if name in options.errors:
            results["errors"][name] = run_error(name, options.seeds)
            print(name, results["errors"][name], flush=True)
            save(results, options.results)
    if options.results == RESULTS:
        draw(results["cases"], PICTURE)
        PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")
    if found := list(complaints(results)):
        raise SystemExit("\n".join(found))


def save(results, path):
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
