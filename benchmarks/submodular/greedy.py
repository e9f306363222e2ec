"""Greedy sets by foresolve or by apricot-select on one saved instance, in a process of its own. Called by run.py.

Coverage is a feature-based function of apricot's: with m = -log(1 - theta),

    sum_j (1 - prod_{i in S} (1 - theta_ij)) = sum_j phi(sum_{i in S} m_ij),    phi(s) = 1 - exp(-s),

and 0/1 coverage is its MaxCoverageSelection: both libraries maximize the same function by lazy greedy. apricot compiles
its loops anew in every fit, so its time is given with and without that, on a few instances of a batch.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks._harness.memory import PeakMemory
from benchmarks._harness.timing import Calls
from benchmarks._harness.worker import Record, serve
from benchmarks.submodular.catalogue import CASES_DIR, GREEDY_CASES, GreedyCase

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

        from foresolve import ProbabilisticCoverage, SubmodularProblem, UniformMatroid

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


def measure(args: argparse.Namespace, record: Record) -> None:
    case = GREEDY_CASES[args.case]
    stacked = sp.csr_matrix(sp.load_npz(CASES_DIR / f"{args.case}.npz"))
    instances = [stacked[i * case.items : (i + 1) * case.items] for i in range(case.instances)]
    peer = {"foresolve": Foresolve, "apricot": Apricot}[args.peer](case, instances)
    memory = PeakMemory()
    calls = Calls(1, budget=args.budget, most=REPEATS, enough=args.budget)
    history: list[dict[str, float]] = []
    for _ in calls:
        begin = time.perf_counter()
        chosen, seconds = peer.solve()
        calls.took(time.perf_counter() - begin)
        history.append(seconds)
        assert all(len(np.unique(ranking)) == case.k for ranking in chosen), "a set of the wrong size"
        record.update(
            **{key: statistics.median(call[key] for call in history) for key in seconds},
            calls=len(history),
            first_seconds=history[0]["seconds"],
            peak_bytes=memory.above_baseline(),
            value=float(np.mean([value(theta, ranking) for theta, ranking in zip(instances, chosen[:FEW])])),
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", required=True, choices=["foresolve", "apricot"])
    parser.add_argument("--case", required=True, choices=list(GREEDY_CASES))
    serve(measure, parser, ("foresolve", "apricot-select"))


if __name__ == "__main__":
    main()
