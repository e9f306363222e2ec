"""A black box: jobs with time windows on one machine, chosen by OR-Tools' CP-SAT in worker processes.

What a job earns is not known in advance and is predicted from features; when it may run and how long it takes is known.
foresolve sees the solver as a function from earnings to the jobs that are taken, which is all that SPO+ and the
perturbed layers need.

OR-Tools cannot share a process with HiGHS. So it is imported only in the function that the workers call, and the
imports of foresolve stand in `main`: the workers import this file too, and start faster without them.

    pip install ortools
    python examples/cp_sat.py
"""

from __future__ import annotations

import importlib.util
import time

import numpy as np

JOBS, HORIZON = 16, 40
_source = np.random.default_rng(0)
DURATION = _source.integers(3, 9, JOBS)
RELEASE = _source.integers(0, HORIZON - 16, JOBS)
DEADLINE = RELEASE + DURATION + _source.integers(2, 9, JOBS)


def schedule(earnings: np.ndarray) -> np.ndarray:
    """The jobs, 0/1, that earn the most of those that can run one after the other in their windows."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    taken = [model.new_bool_var(f"job {j}") for j in range(JOBS)]
    intervals = []
    for j in range(JOBS):
        length, first, last = int(DURATION[j]), int(RELEASE[j]), int(DEADLINE[j] - DURATION[j])
        start = model.new_int_var(first, last, f"start {j}")
        intervals.append(model.new_optional_fixed_size_interval_var(start, length, taken[j], f"run {j}"))
    model.add_no_overlap(intervals)
    # CP-SAT counts in integers; at this resolution the rounding does not matter.
    worth = np.round(earnings * (1e6 / np.abs(earnings).max())).astype(int)
    model.maximize(sum(int(worth[j]) * taken[j] for j in range(JOBS)))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    if solver.solve(model) != cp_model.OPTIMAL:
        raise RuntimeError(f"CP-SAT stopped: {solver.status_name()}")
    return np.array([solver.value(job) for job in taken], dtype=float)


def main() -> None:
    if importlib.util.find_spec("ortools") is None:
        raise SystemExit("This example needs OR-Tools: pip install ortools")
    import torch

    import foresolve

    generator = torch.Generator().manual_seed(0)
    features = torch.randn(200, 6, generator=generator)
    weights = (torch.rand(JOBS, 6, generator=generator) < 0.5).float()
    earnings = ((features @ weights.T / 6**0.5 + 3) ** 4 + 1) / 3.5**4
    earnings *= 0.5 + torch.rand(earnings.shape, generator=generator)

    problem = foresolve.problems.OracleProblem(schedule, n=JOBS, workers=2)
    data = foresolve.DecisionDataset(features, earnings, problem)
    began = time.perf_counter()
    data.solve()
    print(f"{len(data)} schedules in {time.perf_counter() - began:.1f} s, the start of the workers included")
    train, test = data.split(100, 100, seed=0)

    losses = {
        "two stages (squared error)": (foresolve.MSE(), 60),
        "SPO+": (foresolve.SPOPlus(), 6),
        "perturbed Fenchel-Young": (
            foresolve.losses.FenchelYoung(foresolve.layers.PerturbedAdditive(samples=2, sigma=0.5)),
            3,
        ),
    }
    reports, start = {}, None
    for name, (loss, epochs) in losses.items():
        began = time.perf_counter()
        model = torch.nn.Linear(6, JOBS)
        if start is not None:  # the decision-focused methods start from the two-stage model
            model.load_state_dict(start)
        foresolve.fit(model, loss, train, epochs=epochs, lr=0.05 if start is None else 0.01)
        start = start or {key: value.clone() for key, value in model.state_dict().items()}
        reports[name] = foresolve.evaluate(model, test, metrics=False)
        print(f"{name}: {time.perf_counter() - began:.1f} s")
    print(foresolve.compare(reports))
    problem.close()


if __name__ == "__main__":
    main()
