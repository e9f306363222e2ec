"""What is compared on what. Standard library only: the driver runs on any Python, without packages."""

from __future__ import annotations

from dataclasses import dataclass, field

from benchmarks._harness import places

CASES_DIR = places.cases("linear")

BATCHES = (1, 8, 32)
PROBLEMS = ("matching-10x10", "matching-20x20", "matching-50x50", "grid-5x5", "grid-30x30", "sparse-400")
QUICK_PROBLEMS = ("matching-10x10", "grid-5x5")
QUICK_BATCHES = (1, 8)

# What each environment is made of; constraints.txt holds the versions. qpth does not run on numpy 2.
ENVIRONMENTS: dict[str, tuple[str, ...]] = {
    "reference": ("numpy", "scipy", "clarabel", "piqp", "matplotlib"),
    "qpth": ("torch", "qpth", "numpy<2", "scipy"),
    "cvxpylayers": ("torch", "cvxpylayers", "clarabel", "scs", "numpy", "scipy"),
    "proxsuite": ("torch", "proxsuite", "numpy", "scipy"),
    "osqp": ("torch", "osqp", "numpy", "scipy"),
}


@dataclass(frozen=True)
class Peer:
    """A module of `peers/`, the environment it runs in, and the options of its `build`."""

    module: str
    environment: str
    settings: str
    options: dict[str, object] = field(default_factory=dict)


PEERS: dict[str, Peer] = {
    "foresolve": Peer("foresolve_layer", "foresolve", "defaults"),
    "qpth": Peer("qpth_layer", "qpth", "defaults (eps 1e-12, at most 20 iterations), float64"),
    "cvxpylayers": Peer("cvxpylayers_layer", "cvxpylayers", "defaults (diffcp with SCS, LSQR backward)"),
    "cvxpylayers-tight": Peer(
        "cvxpylayers_layer", "cvxpylayers", "SCS with eps 1e-9", {"eps": 1e-9, "max_iters": 1_000_000}
    ),
    "cvxpylayers-clarabel": Peer(
        "cvxpylayers_layer", "cvxpylayers", "diffcp with Clarabel, defaults", {"solve_method": "Clarabel"}
    ),
    "proxsuite": Peer("proxsuite_layer", "proxsuite", "defaults (eps 1e-9, eps_backward 1e-4), float64"),
    "osqp-layer": Peer("osqp_torch_layer", "osqp", "osqp.nn.torch, defaults (eps 1e-5)"),
    "osqp": Peer("osqp_layer", "osqp", "adjoint derivative, solvers kept, eps 1e-5", {"eps": 1e-5}),
    "osqp-tight": Peer("osqp_layer", "osqp", "adjoint derivative, solvers kept, eps 1e-9", {"eps": 1e-9}),
}
