"""Is all well on this machine? Versions, solvers and gradients, put to the test in less than a minute."""

from __future__ import annotations

import importlib
import importlib.metadata
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor

from foresolve.errors import ForesolveError
from foresolve.layers.base import Layer
from foresolve.layers.multilinear import MultilinearRelaxation
from foresolve.layers.quadratic import QuadraticRelaxation
from foresolve.problems.base import Problem
from foresolve.problems.knapsack import Knapsack
from foresolve.problems.matching import BipartiteMatching
from foresolve.problems.quadratic import QuadraticProgram
from foresolve.problems.shortest_path import ShortestPath
from foresolve.problems.submodular import SubmodularProblem
from foresolve.sets.functions.coverage import ProbabilisticCoverage
from foresolve.sets.matroids.laminar import UniformMatroid
from foresolve.testing.gradient import check_gradient
from foresolve.testing.report import ConformanceReport, Finding

REQUIRED = ("torch", "numpy", "scipy", "highspy", "threadpoolctl", "filelock")
# What is optional, and the extra that brings it.
OPTIONAL = {
    "pandas": "learn", "scikit-learn": "learn", "pydantic": "learn", "safetensors": "learn", "skops": "learn",
    "pyarrow": "parquet",
    "typer": "cli", "rich": "cli", "jinja2": "report", "networkx": "graph", "matplotlib": "plot", "cvxpy": "cvxpy",
    "pymetis": "reproduce", "ray": "ray",
}  # fmt: skip
TOLERANCE = 1e-6


@dataclass(frozen=True)
class MachineReport(ConformanceReport):
    """A `ConformanceReport` on a machine.

    Attributes
    ----------
    versions: of Python and of every package that foresolve uses; `None` for one that is not installed.
    devices: where tensors can be, in words, and how many threads torch has.
    seconds: that the tests took.
    """

    versions: dict[str, str | None] = field(default_factory=dict)
    devices: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0


def check_machine(*, seed: int = 0) -> MachineReport:
    """Whether foresolve's solvers and gradients are right on this machine, with the packages that are installed.

    Solvers are compared with decisions that are known, gradients of a linear, a quadratic and a submodular layer with
    finite differences; on a GPU too, where there is one.

    Examples
    --------
    >>> from foresolve.testing import check_machine
    >>> report = check_machine()
    >>> bool(report), report.versions["ray"] is None or report.versions["ray"] > "2"
    (True, True)
    """
    began = time.monotonic()
    findings = tuple(_attempt(promise, test) for promise, test in _tests(seed))
    own = importlib.import_module("foresolve").__version__  # it may run without being installed
    versions = {"foresolve": own, "python": platform.python_version()}
    versions |= {name: _version(name) for name in (*REQUIRED, *OPTIONAL)}
    subject = f"{platform.system()} {platform.machine()}"
    return MachineReport(subject, findings, versions, _devices(), time.monotonic() - began)


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _devices() -> dict[str, str]:
    cuda = "none"
    if torch.cuda.is_available():
        cuda = ", ".join(torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count()))
    return {"cuda": cuda, "threads": str(torch.get_num_threads())}


Test = Callable[[], Finding]


def _tests(seed: int) -> Iterator[tuple[str, Test]]:
    for name, problem, theta, best in _known():
        yield name, lambda problem=problem, theta=theta, best=best, name=name: _decides(name, problem, theta, best)
    yield "batched Cholesky factors", lambda: _factors(seed)
    for device in ("cpu", *(["cuda"] if torch.cuda.is_available() else [])):
        for kind, layer, problem, theta in _layers(seed):
            name = f"gradients of {kind} layers on {device}"
            yield (
                name,
                lambda name=name, layer=layer, problem=problem, theta=theta, device=device: _gradient(
                    name, layer, problem.to(torch.device(device)), theta.to(device)
                ),
            )


def _attempt(promise: str, test: Test) -> Finding:
    """The finding of a test; what is raised is a failure too, whatever it is."""
    try:
        return test()
    except Exception as error:
        detail, remedy = f"{type(error).__name__}: {error}", ""
        if not isinstance(error, ForesolveError):
            remedy = "Install the package again, or another version of what it names"
        return Finding(promise, "failed", detail=detail, remedy=remedy, error=error)


def _known() -> Iterator[tuple[str, Problem, Tensor, Tensor]]:
    """Problems with their best values, which anyone can work out."""
    roads = ShortestPath([(0, 1), (1, 2), (0, 2)], 0, 2)
    yield "shortest paths", roads, torch.tensor([[1.0, 1.0, 3.0], [2.0, 2.0, 3.0]]), torch.tensor([-2.0, -3.0])
    yield "matchings", BipartiteMatching(2, 2), torch.tensor([[3.0, 2.0, 2.0, 0.0]]), torch.tensor([4.0])
    weights = [2.5, 2.5, 3.5]  # no whole numbers: HiGHS decides, not dynamic programming
    yield "integer programs (HiGHS)", Knapsack(weights, 5.0), torch.tensor([[2.0, 2.0, 3.0]]), torch.tensor([4.0])
    yield (
        "quadratic programs",
        QuadraticProgram(torch.eye(2) * 2.0, bounds=(0, 1)),
        torch.tensor([[1.0, 4.0]]),
        (torch.tensor([3.25])),
    )


def _decides(name: str, problem: Problem, theta: Tensor, best: Tensor) -> Finding:
    value = problem.objective(problem.solve(theta.double()), theta.double())
    error = float((value - best.double()).abs().max())
    verdict = "passed" if error <= TOLERANCE else "failed"
    return Finding(name, verdict, error, TOLERANCE, detail=f"worth {value.tolist()}; {best.tolist()} is the best")


def _factors(seed: int) -> Finding:
    """What every projection rests on; builds of torch have had batched factorizations that were wrong in silence."""
    generator = torch.Generator().manual_seed(seed)
    root = torch.randn(8, 200, 200, generator=generator, dtype=torch.float64)
    matrix = root @ root.mT + 200 * torch.eye(200, dtype=torch.float64)
    factor = torch.linalg.cholesky(matrix)
    error = float(((factor @ factor.mT - matrix).abs().amax((-2, -1)) / matrix.abs().amax((-2, -1))).max())
    verdict = "passed" if error <= 1e-12 else "failed"
    return Finding("batched Cholesky factors", verdict, error, 1e-12, remedy="Install another version of torch")


def _layers(seed: int) -> Iterator[tuple[str, Layer, Problem, Tensor]]:
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=generator, dtype=torch.float64)

    yield "linear", QuadraticRelaxation(gamma=0.5), BipartiteMatching(12, 12), draw(8, 144)
    root = draw(6, 6)
    curved = QuadraticProgram(root @ root.T + torch.eye(6), torch.ones(1, 6), [1.0], bounds=(0, 1))
    yield "quadratic", QuadraticRelaxation(gamma=0.0), curved, draw(3, 6)
    coverage = SubmodularProblem(ProbabilisticCoverage(), UniformMatroid(8, 3))
    yield "submodular", MultilinearRelaxation(gamma=2.0), coverage, draw(3, 8, 12)


def _gradient(name: str, layer: Layer, problem: Problem, theta: Tensor) -> Finding:
    report = check_gradient(layer, problem, theta, tol=TOLERANCE, raise_errors=False)
    error = float((report.error + 3 * report.doubt).max())  # by how much the two can differ at most
    failures = "; ".join(str(finding) for finding in report.failures)
    return Finding(name, "passed" if report else "failed", error, TOLERANCE, detail=failures)
