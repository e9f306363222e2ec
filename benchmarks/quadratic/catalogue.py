"""What is compared on what. Standard library only: the driver runs on any Python, without packages."""

from __future__ import annotations

from benchmarks._harness.layers import suite
from benchmarks._harness.layers.suite import Pace, Peer, Suite

TIGHT = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
BATCHES = (1, 8, 32, 256)
PROBLEMS = ("portfolio-50", "portfolio-500", "portfolio-500-factor", "dense-100x50", "sparse-1000")

SUITE = Suite(
    name="quadratic",
    title="Quadratic programs: foresolve and its peers",
    problems=PROBLEMS,
    quick_problems=("portfolio-50", "dense-100x50"),
    batches=BATCHES,
    quick_batches=(1, 8),
    peers={
        "foresolve": Peer("foresolve_layer", "foresolve", "defaults, gamma 0"),
        "qpth": suite.QPTH,
        "cvxpylayers": suite.CVXPYLAYERS,
        "cvxpylayers-clarabel": Peer(
            "cvxpylayers_layer",
            "cvxpylayers",
            "diffcp with Clarabel at 1e-10, LSQR backward (a dense factorization where there is a gradient for Q)",
            {"solve_method": "Clarabel", "direct_for_Q": True, **TIGHT},
        ),
        "proxsuite": suite.PROXSUITE,
        # The proximal terms of its backward pass, not its tolerance, limit the accuracy of the gradient.
        "proxsuite-tight": Peer(
            "proxsuite_layer",
            "proxsuite",
            "eps 1e-9 (default), eps_backward, rho_backward and mu_backward 1e-10, float64",
            {"eps_backward": 1e-10, "rho_backward": 1e-10, "mu_backward": 1e-10},
        ),
        "osqp-layer": suite.OSQP_LAYER,
        "osqp-tight": suite.OSQP_TIGHT,
        "moreau": suite.MOREAU,
        "moreau-ipm": suite.MOREAU_IPM,
        "moreau-ipm-tight": Peer(
            "moreau_layer",
            "moreau",
            "moreau.torch, solver 'ipm', tolerances 1e-10",
            {"solver": "ipm", "ipm_settings": TIGHT},
        ),
    },
    # For a whole run in less than half an hour: what takes longer is extrapolated from the smaller batch.
    timeout=30.0,
    pace=Pace(most=30, enough=1.0, patience=8.0),
    extrapolate=True,
)
CASES_DIR = SUITE.folder
