"""What is compared on what. Standard library only: the driver runs on any Python, without packages."""

from __future__ import annotations

from benchmarks._harness.layers import suite
from benchmarks._harness.layers.suite import Peer, Suite

BATCHES = (1, 8, 32)
PROBLEMS = ("matching-10x10", "matching-20x20", "matching-50x50", "grid-5x5", "grid-30x30", "sparse-400")

SUITE = Suite(
    name="linear",
    title="Linear programs: foresolve and its peers",
    problems=PROBLEMS,
    quick_problems=("matching-10x10", "grid-5x5"),
    batches=BATCHES,
    quick_batches=(1, 8),
    peers={
        "foresolve": Peer("foresolve_layer", "foresolve", "defaults"),
        "qpth": suite.QPTH,
        "cvxpylayers": suite.CVXPYLAYERS,
        "cvxpylayers-tight": Peer(
            "cvxpylayers_layer", "cvxpylayers", "SCS with eps 1e-9", {"eps": 1e-9, "max_iters": 1_000_000}
        ),
        "cvxpylayers-clarabel": Peer(
            "cvxpylayers_layer", "cvxpylayers", "diffcp with Clarabel, defaults", {"solve_method": "Clarabel"}
        ),
        "proxsuite": suite.PROXSUITE,
        "osqp-layer": suite.OSQP_LAYER,
        "osqp": Peer("osqp_layer", "osqp", "adjoint derivative, solvers kept, eps 1e-5", {"eps": 1e-5}),
        "osqp-tight": suite.OSQP_TIGHT,
        "moreau": suite.MOREAU,
        "moreau-ipm": suite.MOREAU_IPM,
    },
    timeout=120.0,
)
CASES_DIR = SUITE.folder
