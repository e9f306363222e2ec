"""What is compared on what. Standard library only: the driver runs on any Python, without packages."""

from __future__ import annotations

from dataclasses import dataclass, field

from benchmarks._harness import places

CASES_DIR = places.cases("submodular")

CHANNELS, CUSTOMERS, K, GAMMA, TOL = 100, 500, 10, 2.0, 1e-6
BATCHES = (1, 32, 256)
QUICK_BATCHES = (1, 32)
DRAWS = 3  # of theta for a whole batch; the first is the cold call
REFERENCES = 8  # instances of a draw whose x and gradient are known

# Only apricot-select needs an environment of its own.
ENVIRONMENTS: dict[str, tuple[str, ...]] = {
    "apricot": (
        "apricot-select==0.6.1",
        "numba==0.68.1",
        "numpy==2.4.6",
        "scipy==1.17.1",
        "scikit-learn",
        "setuptools",
    ),
}


@dataclass(frozen=True)
class Peer:
    """A module of `peers/` and the options of its `build`.

    `most`: how many instances of a batch it is timed on. `smoothed`: whether it maximizes F - gamma |x|^2 over the
    polytope, so that residual and reference mean something.
    """

    module: str
    settings: str
    options: dict[str, object] = field(default_factory=dict)
    most: int | None = None
    smoothed: bool = True


PEERS: dict[str, Peer] = {
    "foresolve": Peer("foresolve_layer", "MultilinearRelaxation(gamma=2, tol=1e-6), cold"),
    "published": Peer(
        "published_formula",
        "the paper's recipe in NumPy: gamma 0, 10 steps, cap 0.95, ridge 0.01, all of dx/dtheta",
        {"adjoint": False},
        most=3,
        smoothed=False,
    ),
    "numpy-adjoint": Peer(
        "published_formula",
        "the same recipe in NumPy with one adjoint solve",
        {"adjoint": True},
        most=32,
        smoothed=False,
    ),
    "unrolled": Peer("unrolled_ascent", "accelerated projected ascent in torch to 1e-6, autograd", {"steps": None}),
    "unrolled-10": Peer("unrolled_ascent", "10 steps of it, whatever they reach", {"steps": 10}),
}


@dataclass(frozen=True)
class GreedyCase:
    """`theta` (instances, items, targets), dense or sparse, and the size of the set."""

    instances: int
    items: int
    targets: int
    k: int
    nonzeros: int | None = None
    binary: bool = False


# topics: apricot's lazy greedy takes an item of no gain when it meets two of them in a row (its naive greedy does not),
# so its value falls short there.
GREEDY_CASES: dict[str, GreedyCase] = {
    "budget-100x500": GreedyCase(32, 100, 500, 10),
    "budget-2000x2000": GreedyCase(1, 2000, 2000, 100),
    "topics-2000x2000": GreedyCase(1, 2000, 2000, 20, binary=True),
    "sparse-100000x50000": GreedyCase(1, 100_000, 50_000, 1000, nonzeros=5_000_000),
}
QUICK_GREEDY = ("budget-100x500",)
GREEDY_PEERS = ("foresolve", "apricot")
