"""A benchmark of layers: which cases, which peers, in which environments. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from benchmarks._harness import places

PEERS = "benchmarks._harness.layers.peers"
# What each environment is made of; constraints.txt holds the versions. qpth does not run on numpy 2.
ENVIRONMENTS: dict[str, tuple[str, ...]] = {
    "reference": ("numpy", "scipy", "clarabel", "piqp", "matplotlib"),
    "qpth": ("torch", "qpth", "numpy<2", "scipy"),
    "cvxpylayers": ("torch", "cvxpylayers", "clarabel", "scs", "numpy", "scipy"),
    "proxsuite": ("torch", "proxsuite", "numpy", "scipy"),
    "osqp": ("torch", "osqp", "numpy", "scipy"),
    "moreau": ("torch", "moreau", "numpy", "scipy"),
}


@dataclass(frozen=True)
class Peer:
    """A module of `peers/` here or, for foresolve, of the benchmark; its environment; the options of its `build`."""

    module: str
    environment: str
    settings: str
    options: dict[str, object] = field(default_factory=dict)


# The same for every benchmark of layers.
QPTH = Peer("qpth_layer", "qpth", "defaults (eps 1e-12, at most 20 iterations), float64")
CVXPYLAYERS = Peer("cvxpylayers_layer", "cvxpylayers", "defaults (diffcp with SCS, LSQR backward)")
PROXSUITE = Peer("proxsuite_layer", "proxsuite", "defaults (eps 1e-9, eps_backward 1e-4), float64")
OSQP_LAYER = Peer("osqp_torch_layer", "osqp", "osqp.nn.torch, defaults (eps 1e-5)")
OSQP_TIGHT = Peer("osqp_layer", "osqp", "adjoint derivative, solvers kept, eps 1e-9", {"eps": 1e-9})
# The active set method needs an iteration for each row that becomes active: 200, the default, are too few for 500.
MOREAU = Peer(
    "moreau_layer",
    "moreau",
    "moreau.torch, defaults (solver 'auto': active set up to 500 variables, else interior point) but 10,000 iterations",
    {"max_iter": 10_000},
)
MOREAU_IPM = Peer("moreau_layer", "moreau", "moreau.torch, solver 'ipm', tolerances 1e-8 (default)", {"solver": "ipm"})


@dataclass(frozen=True)
class Pace:
    """How many calls a worker makes: see `timing.Calls`; `patience` None is the time limit."""

    most: int = 40
    enough: float = 2.0
    patience: float | None = None


@dataclass(frozen=True)
class Suite:
    """`name` is the package below `benchmarks` with `cases`, `reference`, `inputs` and `peers/`."""

    name: str
    title: str
    problems: tuple[str, ...]
    quick_problems: tuple[str, ...]
    batches: tuple[int, ...]
    quick_batches: tuple[int, ...]
    peers: dict[str, Peer]
    timeout: float
    pace: Pace = Pace()
    # Leave a batch out where the same peer's smaller one says that a single call would take longer than the limit.
    extrapolate: bool = False

    @property
    def folder(self) -> Path:
        return places.cases(self.name)

    def inputs(self, case: str) -> Path:
        return self.folder / f"{case}.npz"

    def reference(self, case: str) -> Path:
        return self.folder / f"{case}.reference.npz"

    def summary(self, case: str) -> Path:
        return self.folder / f"{case}.reference.json"

    def module(self, name: str) -> str:
        return f"benchmarks.{self.name}.{name}"

    def peer_module(self, peer: Peer) -> str:
        """The peers are the same for all benchmarks; what foresolve is asked is the benchmark's own."""
        return self.module(f"peers.{peer.module}") if peer.environment == "foresolve" else f"{PEERS}.{peer.module}"
