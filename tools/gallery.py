"""Draw one picture for each problem and each layer: `python tools/gallery.py FOLDER`, or `make gallery`.

The pictures of docs/figures.md; the same each time.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from foresolve import layers, problems, sets

Picture = Callable[[], Any]  # gives matplotlib axes
FOLDER = Path(__file__).parents[1] / "docs" / "gallery"


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    """Numbers between 0 and 1."""
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def linear_program() -> Any:
    names = ["wheat", "barley", "maize", "rape", "fallow"]
    rows = [[1.0, 1.0, 1.0, 1.0, 1.0], [2.0, 1.0, 4.0, 3.0, 0.0], [0.0, 0.0, 1.0, 1.0, 0.0]]
    problem = problems.LinearProgram(rows, [100.0, 210.0, 30.0], names=names)
    return problem.plot(torch.tensor([3.0, 2.0, 5.0, 4.0, 0.1]))


def integer_program() -> Any:
    problem = problems.LinearProgram(drawn(3, 8).numpy() * 3, [6.0, 5.0, 7.0], bounds=(0, 3), integrality=1)
    return problem.plot(drawn(8, seed=1))


def quadratic_program() -> Any:
    names = ["north", "east", "south", "west"]
    problem = problems.QuadraticProgram(
        diagonal=[1.0, 2.0, 1.0, 4.0], A_ub=[[1.0] * 4], b_ub=[2.0], names=names
    )  # fmt: skip
    return problem.plot(torch.tensor([2.0, 1.0, 1.5, 1.0]))


def bipartite_matching() -> Any:
    people, jobs = ["Ann", "Bob", "Cleo", "Dan", "Eve", "Finn"], ["dig", "cook", "sail", "sing", "sew", "paint"]
    return problems.BipartiteMatching(people, jobs).plot(drawn(36))


def large_matching() -> Any:
    return problems.BipartiteMatching(50, 50).plot(drawn(2500) ** 8)


def assignment() -> Any:
    return problems.Assignment(["van 1", "van 2", "van 3"], ["Oslo", "Bergen", "Moss", "Bodo"]).plot(drawn(12))


def shortest_path_cells() -> Any:
    i, j = np.mgrid[0:12, 0:12]
    cells = 1 + 9 * np.exp(-((i - 6) ** 2 + (j - 5) ** 2) / 9) + 6 * np.exp(-((i - 1) ** 2 + (j - 8) ** 2) / 6)
    return problems.ShortestPath.grid(12, 12, "8", costs="cells").plot(torch.from_numpy(cells).flatten())


def shortest_path_steps() -> Any:
    problem = problems.ShortestPath.grid(5, 5, "4")
    return problem.plot(drawn(problem.n) + 0.1)


def shortest_path_graph() -> Any:
    roads = [("home", "A", 4), ("home", "B", 2), ("A", "C", 5), ("B", "A", 1), ("B", "C", 8), ("B", "D", 10),
             ("C", "D", 2), ("C", "work", 6), ("D", "work", 3)]  # fmt: skip
    problem = problems.ShortestPath([road[:2] for road in roads], "home", "work")
    return problem.plot(torch.tensor([float(road[2]) for road in roads]))


def shortest_path_map() -> Any:
    places = {
        "port": (0, 0),
        "mill": (2, 0.4),
        "hill": (1, 1.5),
        "lake": (3, 1.4),
        "town": (4.2, 0.3),
        "fort": (2.3, 2.6),
    }
    roads = [("port", "mill"), ("port", "hill"), ("mill", "lake"), ("hill", "lake"), ("hill", "fort"), ("fort", "lake"),
             ("lake", "town"), ("mill", "town")]  # fmt: skip
    both = [road for pair in roads for road in (pair, pair[::-1])]
    problem = problems.ShortestPath(both, "port", "town")
    theta = drawn(len(both), seed=4) + 0.5
    return problem.draw(problem.solve(theta), theta, positions=places)


PIPES = [("mine", "dam"), ("mine", "port"), ("dam", "mill"), ("port", "dam"), ("port", "rail"), ("rail", "mill"),
         ("dam", "rail")]  # fmt: skip


def max_flow() -> Any:
    problem = problems.MaxFlow(PIPES, "mine", "mill", [6.0, 5.0, 4.0, 2.0, 3.0, 5.0, 3.0])
    return problem.plot(problem.flow_value_theta())


def min_cost_flow() -> Any:
    supply = {"mine": 7.0, "port": 2.0, "mill": -6.0, "rail": -3.0}
    return problems.MinCostFlow(PIPES, supply, [6.0] * 7).plot(drawn(7) + 0.2)


def knapsack() -> Any:
    names = ["tent", "stove", "rope", "water", "map", "axe", "lamp", "tarp"]
    problem = problems.Knapsack([30, 12, 15, 25, 2, 18, 6, 14], 80, names=names)
    return problem.plot(torch.tensor([9.0, 6.0, 3.0, 9.0, 4.0, 3.0, 4.0, 2.0]))


def top_k() -> Any:
    problem, truth = problems.TopK(12, 4), drawn(12)
    return problem.draw(problem.solve(truth + 0.4 * drawn(12, seed=1)), truth)  # decided by a prediction


def travelling_salesman() -> Any:
    places = drawn(14, 2, seed=2)
    problem = problems.TravellingSalesman(14)
    return problem.plot(problem.edge_costs(torch.cdist(places, places)))


def portfolio() -> Any:
    names = ["bonds", "shares", "gold", "land", "cash"]
    loadings = drawn(5, 2).numpy() * 0.2
    problem = problems.Portfolio(
        loadings=loadings, specific=[0.002, 0.02, 0.02, 0.01, 0.0005], current=[0.5, 0.2, 0.1, 0.1, 0.1],
        turnover=0.6, risk_aversion=4.0, names=names,
    )  # fmt: skip
    return problem.plot(torch.tensor([0.02, 0.08, 0.03, 0.05, 0.01]))


def tracking() -> Any:
    hours = np.arange(24)
    load = 3 + 1.5 * np.sin((hours - 8) / 24 * 2 * np.pi) + 1.2 * (abs(hours - 19) < 2)
    steps = np.eye(24, k=1)[:-1] - np.eye(24)[:-1]
    problem = problems.Tracking(np.concatenate([steps, -steps]), np.full(46, 0.4))
    return problem.plot(torch.from_numpy(load))


def coverage() -> Any:
    theta = drawn(6, 9) * (drawn(6, 9, seed=1) > 0.55)
    problem = problems.SubmodularProblem(
        sets.ProbabilisticCoverage(), sets.UniformMatroid(6, 2), names=["radio", "TV", "web", "press", "post", "bus"],
        targets=[f"town {j}" for j in range(9)],
    )  # fmt: skip
    return problem.plot(theta)


def large_coverage() -> Any:
    theta = drawn(60, 300) ** 2 * (drawn(60, 300, seed=1) > 0.85)
    return problems.SubmodularProblem(sets.ProbabilisticCoverage(), sets.UniformMatroid(60, 8)).plot(theta)


def facility_location() -> Any:
    theta = drawn(5, 8, seed=3)
    return problems.SubmodularProblem(sets.FacilityLocation(), sets.UniformMatroid(5, 2)).plot(theta)


def influence() -> Any:
    edges = [(i, j) for i in range(14) for j in range(14) if i != j and (i * 7 + j * 5) % 11 == 0]
    problem = problems.SubmodularProblem(sets.InfluenceSpread(edges, 14), sets.UniformMatroid(14, 2))
    return problem.plot(drawn(len(edges)) * 0.6)


class Diminishing(sets.SetFunction):
    """The root of what is taken."""

    def value(self, mask: torch.Tensor, theta: torch.Tensor) -> torch.Tensor:
        return (mask * theta).sum(-1).clamp_min(0).sqrt()


def set_function() -> Any:
    return problems.SubmodularProblem(Diminishing(), sets.UniformMatroid(9, 3)).plot(drawn(9))


def oracle() -> Any:
    def cheapest(theta: np.ndarray) -> np.ndarray:
        return (theta <= np.sort(theta)[2]).astype(float)

    return problems.OracleProblem(cheapest, n=8, sense="min").plot(drawn(8))


PROBLEMS: tuple[Picture, ...] = (
    linear_program, integer_program, quadratic_program, bipartite_matching, large_matching, assignment,
    shortest_path_cells, shortest_path_steps, shortest_path_graph, shortest_path_map, max_flow, min_cost_flow, knapsack,
    top_k, travelling_salesman, portfolio, tracking, coverage, large_coverage, facility_location, influence,
    set_function, oracle,
)  # fmt: skip


def smooth_path(layer: Any) -> Picture:
    """How a smoothed layer moves as gamma falls."""

    def picture() -> Any:
        if isinstance(layer, layers.MultilinearRelaxation | layers.WilderMultilinear):
            problem = problems.SubmodularProblem(sets.ProbabilisticCoverage(), sets.UniformMatroid(6, 2))
            return layer.plot_path(drawn(6, 9) * 0.8, problem)
        return layer.plot_path(drawn(8), problems.TopK(8, 3))

    return picture


def response(layer: Any) -> Picture:
    """What a layer gives, and passes back, on the way from one theta to another."""

    def picture() -> Any:
        if "set function" in layer.needs:
            problem = problems.SubmodularProblem(sets.ProbabilisticCoverage(), sets.UniformMatroid(5, 2))
            return layer.plot_response(drawn(5, 7) * 0.8, drawn(5, 7, seed=3) * 0.8, problem)
        return layer.plot_response(drawn(5), drawn(5, seed=3), problems.TopK(5, 2))

    return picture


RESPONSES = {
    "quadratic_relaxation": layers.QuadraticRelaxation(0.2),
    "regularized_frank_wolfe": layers.RegularizedFrankWolfe(0.2),
    "perturbed_additive": layers.PerturbedAdditive(200, 0.2, seed=0),
    "perturbed_multiplicative": layers.PerturbedMultiplicative(200, 0.5, seed=0),
    "blackbox_interpolation": layers.BlackboxInterpolation(0.5),
    "negative_identity": layers.NegativeIdentity(),
    "identity_projection": layers.IdentityProjection(),
    "imle": layers.IMLE(200, temperature=0.2, lam=0.5, seed=0),
    "adaptive_imle": layers.AdaptiveIMLE(200, temperature=0.2, seed=0),
    "multilinear_relaxation": layers.MultilinearRelaxation(0.3),
    "wilder_multilinear": layers.WilderMultilinear(),
    "wilder_quadratic": layers.WilderQuadratic(0.2),
}
PATHS = {
    "quadratic_relaxation_path": layers.QuadraticRelaxation(0.1),
    "regularized_frank_wolfe_path": layers.RegularizedFrankWolfe(0.1),
    "multilinear_relaxation_path": layers.MultilinearRelaxation(0.3),
}


def pictures() -> dict[str, Picture]:
    """All of them, by the name of their file."""
    return (
        {picture.__name__: picture for picture in PROBLEMS}
        | {name: response(layer) for name, layer in RESPONSES.items()}
        | {name: smooth_path(layer) for name, layer in PATHS.items()}
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    parser.add_argument("--only", nargs="+", default=None, help="names of pictures")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    for name, picture in pictures().items():
        if given.only is None or name in given.only:
            picture().get_figure().savefig(given.folder / f"{name}.png", dpi=72, metadata={"Software": None})
            print(given.folder / f"{name}.png")


if __name__ == "__main__":
    main()
