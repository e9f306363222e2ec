"""The steps that are timed in both trees. Inputs come from NumPy alone, so that no tree has a say in them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks._harness import places
from benchmarks.comparison.names import find
from benchmarks.linear.cases import PROBLEMS
from benchmarks.linear.inputs import load, save
from benchmarks.submodular.catalogue import GAMMA, GREEDY_CASES, TOL
from benchmarks.submodular.heavy_tailed import heavy_tailed

FOLDER = places.cases("comparison")
# A step on one of the draws: its answers, by name.
Step = Callable[[int], dict[str, Tensor]]
DRAWS = 3
SPARSE = GREEDY_CASES["sparse-100000x50000"]


def saved(name: str, draw: Callable[[], dict[str, np.ndarray]]) -> dict[str, Tensor]:
    """Arrays drawn once and kept."""
    path = FOLDER / f"{name}.npz"
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        np.savez(path, **draw())  # type: ignore[arg-type]
    with np.load(path) as arrays:
        return {key: torch.from_numpy(arrays[key]) for key in arrays}


def layer_step(layer: Any, problem: Any, thetas: Tensor, v: Tensor) -> Step:
    """Forward and backward on fresh theta."""

    def step(draw: int) -> dict[str, Tensor]:
        leaf = thetas[draw % len(thetas)].clone().requires_grad_()
        x = layer(leaf, problem)
        (gradient,) = torch.autograd.grad(x, leaf, v)
        return {"x": x.detach(), "gradient": gradient}

    return step


def quadratic(name: str, batch: int) -> Step:
    if not (places.cases("linear") / f"{name}.npz").exists():
        save(PROBLEMS[name]())
    case = load(name).with_batch(batch)
    # Imported here: the driver, which only needs the names of the cases, works without foresolve.
    from benchmarks.linear.peers.foresolve_layer import make_problem

    layer = find("QuadraticRelaxation")(gamma=case.gamma)
    theta, v = (torch.from_numpy(part.copy()) for part in (case.theta, case.cotangent))
    return layer_step(layer, make_problem(case), theta, v)


def _budget() -> dict[str, np.ndarray]:
    """Like budget allocation: [0, 0.2] at random edges, with heavy-tailed degrees on both sides."""
    rng = np.random.default_rng(500)
    shape = (DRAWS * 32, 100, 500)
    a = rng.weibull(0.665, (shape[0], 100, 1))
    b = rng.lognormal(0.0, 1.1, (shape[0], 1, 500))
    edges = rng.random(shape) < 0.0415 * a / a.mean() * b / b.mean()
    theta = np.where(edges, rng.uniform(0.0, 0.2, shape), 0.0)
    return {"theta": theta.reshape(DRAWS, 32, 100, 500), "v": rng.standard_normal((32, 100))}


def _coverage(items: int, k: int) -> Any:
    return find("SubmodularProblem")(find("ProbabilisticCoverage")(), find("UniformMatroid")(items, k))


def multilinear(batch: int) -> Step:
    inputs = saved("budget", _budget)
    layer = find("MultilinearRelaxation")(gamma=GAMMA, tol=TOL)
    return layer_step(layer, _coverage(100, 10), inputs["theta"][:, :batch], inputs["v"][:batch])


def greedy() -> Step:
    theta, problem = saved("budget", _budget)["theta"], _coverage(100, 10)
    return lambda draw: {"x": problem.solve(theta[draw % DRAWS])}


def _heavy_tailed() -> dict[str, np.ndarray]:
    matrix = heavy_tailed(SPARSE.items, SPARSE.targets, SPARSE.nonzeros or 0)
    return {"indptr": matrix.indptr, "indices": matrix.indices, "data": matrix.data}


def sparse_greedy() -> Step:
    inputs = saved("heavy-tailed", _heavy_tailed)
    parts = (inputs[key] for key in ("indptr", "indices", "data"))
    theta = torch.sparse_csr_tensor(*parts, size=(SPARSE.items, SPARSE.targets))
    problem = _coverage(SPARSE.items, SPARSE.k)
    return lambda draw: {"x": problem.solve(theta)}


def _paths() -> dict[str, np.ndarray]:
    """Costs of a 5 x 5 grid as in Elmachtoub and Grigas, and the model's first weights."""
    rng = np.random.default_rng(5)
    features = rng.standard_normal((1000, 5))
    mixing = rng.random((5, 40)) < 0.5
    costs = ((features @ mixing / np.sqrt(5) + 3) ** 4 + 1) / 3.5**4 * rng.uniform(0.5, 1.5, (1000, 40))
    weight, bias = rng.uniform(-0.4, 0.4, (40, 5)), rng.uniform(-0.4, 0.4, 40)
    arrays = {"features": features, "costs": costs, "weight": weight, "bias": bias}
    return {key: array.astype(np.float32) for key, array in arrays.items()}


def spo_epoch() -> Step:
    inputs = saved("paths", _paths)
    fit, loss = find("fit"), find("SPOPlus")()
    data = find("DecisionDataset")(inputs["features"], inputs["costs"], find("ShortestPath").grid(5, 5))
    data.solve(progress=False)

    def step(draw: int) -> dict[str, Tensor]:
        model = torch.nn.Linear(5, 40)
        model.load_state_dict({"weight": inputs["weight"], "bias": inputs["bias"]})
        fit(model, loss, data, epochs=1, batch_size=32, lr=0.01, seed=0, progress=False)
        return {"weight": model.weight.detach(), "bias": model.bias.detach()}

    return step


CASES: dict[str, Callable[[], Step]] = {
    **{f"quadratic, 50x50 matching, batch {b}": partial(quadratic, "matching-50x50", b) for b in (1, 8, 32)},
    **{f"quadratic, 5x5 grid path, batch {b}": partial(quadratic, "grid-5x5", b) for b in (1, 8)},
    "quadratic, sparse LP of 400, batch 8": partial(quadratic, "sparse-400", 8),
    **{f"multilinear, 100x500 k=10, batch {b}": partial(multilinear, b) for b in (1, 32)},
    "greedy, 100x500 k=10, batch 32": greedy,
    "greedy, sparse 100,000x50,000 k=1,000": sparse_greedy,
    "SPO+ epoch, 5x5 grid path, 1,000 instances": spo_epoch,
}
