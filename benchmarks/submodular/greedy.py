"""Greedy sets by foresolve or by apricot-select on one saved instance, in a process of its own. Called by run.py.

Coverage is a feature-based function of apricot's: with m = -log(1 - theta),

    sum_j (1 - prod_{i in S} (1 - theta_ij)) = sum_j phi(sum_{i in S} m_ij),    phi(s) = 1 - exp(-s),

and 0/1 coverage is its MaxCoverageSelection: both libraries maximise the same function by lazy greedy. apricot compiles
its loops anew in every fit, so its time is given with and without that, on a few instances of a batch.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from catalogue import CASES_DIR, GREEDY_CASES, GreedyCase
from memory_use import PeakMemory

REPEATS = 3
FEW = 3


def value(theta: Any, chosen: np.ndarray) -> float:
    rows = theta[chosen].tocoo()
    log = np.zeros(theta.shape[1])
    with np.errstate(divide="ignore"):
        np.add.at(log, rows.col, np.log1p(-rows.data))
    return float(-np.expm1(log).sum())


class Foresolve:
    """The whole batch in one call of `solve`."""

    def __init__(self, case: GreedyCase, instances: list[Any]) -> None:
        import torch

        from foresolve.problems.submodular import SubmodularProblem
        from foresolve.sets.functions.coverage import ProbabilisticCoverage
        from foresolve.sets.matroids.laminar import UniformMatroid

        self.problem = SubmodularProblem(ProbabilisticCoverage(), UniformMatroid(case.items, case.k))
        if case.nonzeros is None:
            self.theta = torch.from_numpy(np.stack([instance.toarray() for instance in instances]))
        else:
            (only,) = instances
            parts = (torch.from_numpy(part) for part in (only.indptr, only.indices, only.data))
            self.theta = torch.sparse_csr_tensor(*parts, size=only.shape)

    def solve(self) -> tuple[list[np.ndarray], dict[str, float]]:
        begin = time.perf_counter()
        x = self.problem.solve(self.theta)
        seconds = time.perf_counter() - begin
        rows = x.reshape(-1, x.shape[-1])
        return [np.flatnonzero(row.numpy()) for row in rows], {"seconds": seconds / len(rows)}


class Apricot:
    """One fit an instance."""

    def __init__(self, case: GreedyCase, instances: list[Any]) -> None:
        import apricot
        from numba import njit

        @njit
        def reached(s):
            return 1.0 - np.exp(-s)

        def make() -> Any:
            if case.binary:
                return apricot.MaxCoverageSelection(case.k, optimizer="lazy")
            return apricot.FeatureBasedSelection(case.k, concave_func=reached, optimizer="lazy")

        self.make, self.inputs = make, []
        for instance in instances[:FEW]:
            m = instance.copy()
            m.data = m.data if case.binary else -np.log1p(-m.data)
            self.inputs.append(m if case.nonzeros else m.toarray())

    def solve(self) -> tuple[list[np.ndarray], dict[str, float]]:
        chosen, compiling = [], 0.0
        begin = time.perf_counter()
        for m in self.inputs:
            selector = self.make()
            prepare = selector._initialize

            def timed(X: Any, prepare: Any = prepare) -> None:
                nonlocal compiling
                started = time.perf_counter()
                prepare(X)
                compiling += time.perf_counter() - started

            selector._initialize = timed
            selector.fit(m)
            chosen.append(np.asarray(selector.ranking))
        seconds, count = time.perf_counter() - begin, len(chosen)
        return chosen, {"seconds": seconds / count, "seconds_without_compiling": (seconds - compiling) / count}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", required=True, choices=["foresolve", "apricot"])
    parser.add_argument("--case", required=True, choices=list(GREEDY_CASES))
    parser.add_argument("--budget", type=float, default=120.0, help="seconds after which nothing new is begun")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    case = GREEDY_CASES[args.case]
    stacked = sp.csr_matrix(sp.load_npz(CASES_DIR / f"{args.case}.npz"))
    instances = [stacked[i * case.items : (i + 1) * case.items] for i in range(case.instances)]
    package = {"foresolve": "foresolve", "apricot": "apricot-select"}[args.peer]
    record: dict[str, Any] = {"status": "ok", "versions": {package: importlib.metadata.version(package)}}
    try:
        peer = {"foresolve": Foresolve, "apricot": Apricot}[args.peer](case, instances)
        memory = PeakMemory()
        begin = time.perf_counter()
        calls: list[dict[str, float]] = []
        # As many calls as the time allows, on the experience of those before; the record of each is kept.
        while len(calls) < REPEATS and (time.perf_counter() - begin) * (1 + 1 / max(1, len(calls))) < args.budget:
            chosen, seconds = peer.solve()
            calls.append(seconds)
            record.update({key: statistics.median(call[key] for call in calls) for key in seconds}, calls=len(calls))
            record.update(first_seconds=calls[0]["seconds"], peak_bytes=memory.above_baseline())
            assert all(len(np.unique(ranking)) == case.k for ranking in chosen), "a set of the wrong size"
            record["value"] = float(np.mean([value(theta, ranking) for theta, ranking in zip(instances, chosen[:FEW])]))
            args.out.write_text(json.dumps(record))
    except Exception as error:
        record.update(status="failed", error=f"{type(error).__name__}: {error}"[:500])
    args.out.write_text(json.dumps(record))


if __name__ == "__main__":
    main()
