from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import foresolve
from foresolve.data import DecisionDataset
from foresolve.errors import SolverError
from foresolve.layers import WilderMultilinear
from foresolve.losses import LODL, ScoreFunction
from foresolve.problems import SubmodularProblem
from foresolve.sets import (
    FacilityLocation,
    GraphicMatroid,
    LaminarMatroid,
    Matroid,
    PartitionMatroid,
    ProbabilisticCoverage,
    SetFunction,
    UniformMatroid,
)
from mistakes import mistake
from problems.conformance import ProblemConformance, conform, seeds

N, TARGETS = 7, 5


class Root(SetFunction):
    """Monotone and submodular, and known to foresolve through its values alone."""

    theta_dims = 2

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return ((mask.unsqueeze(-1) * theta).sum(-2) + 1e-3).sqrt().sum(-1)


FUNCTIONS = [ProbabilisticCoverage(), FacilityLocation(), Root()]
MATROIDS: list[Matroid] = [
    UniformMatroid(N, 3),
    PartitionMatroid([0, 0, 0, 1, 1, 2, 2], [1, 1, 2]),
    LaminarMatroid(N, [[0, 1], [0, 1, 2, 3], range(N)], [1, 2, 4]),
    GraphicMatroid([[0, 1], [1, 2], [0, 2], [2, 3], [3, 4], [2, 4], [0, 4]]),
]


def draw_theta(batch: tuple[int, ...], seed: int, n: int = N) -> Tensor:
    """Worths or probabilities: 0/1, few levels (ties), scattered, tiny."""
    generator = torch.Generator().manual_seed(seed)
    theta = torch.rand(*batch, n, TARGETS, generator=generator, dtype=torch.float64)
    kind = seed % 4
    if kind == 0:
        return (theta < 0.3).double()
    if kind == 1:
        return (4 * theta).round() / 4
    return theta if kind == 2 else 1e-3 * theta * (theta > 0.5)


def every_base(matroid: Matroid) -> Tensor:
    masks = torch.zeros(math.comb(matroid.n, matroid.rank), matroid.n, dtype=torch.float64)
    for row, items in zip(masks, combinations(range(matroid.n), matroid.rank), strict=True):
        row[list(items)] = 1.0
    return masks[matroid.independent(masks)]


def brute_force(problem: SubmodularProblem, theta: Tensor) -> float:
    bases = every_base(problem.matroid)
    return float(problem.function.value(bases, theta.expand(len(bases), *theta.shape)).max())


def plain_greedy(problem: SubmodularProblem, theta: Tensor) -> Tensor:
    mask = torch.zeros(problem.n, dtype=torch.float64)
    for _ in range(problem.matroid.rank):
        best, item = -math.inf, -1
        for i in problem.matroid.addable(mask.bool()).nonzero()[:, 0].tolist():
            more = mask.clone()
            more[i] = 1.0
            value = problem.function.value(more, theta).item()
            if value > best + 1e-12:  # ties go to the first
                best, item = value, i
        mask[item] = 1.0
    return mask


class SubmodularConformance(ProblemConformance):
    method = "greedy"

    def make(self, seed: int) -> SubmodularProblem:
        return SubmodularProblem(FUNCTIONS[seed % 2], MATROIDS[seed % 3], self.method)  # type: ignore[arg-type]

    def draw(self, problem: SubmodularProblem, batch: tuple[int, ...], seed: int) -> Tensor:  # type: ignore[override]
        return draw_theta(batch, seed)

    def best(self, problem: SubmodularProblem, theta: Tensor) -> float:  # type: ignore[override]
        return brute_force(problem, theta)

    @conform
    @given(seed=seeds)
    def test_decisions_are_bases(self, seed: int) -> None:
        problem = self.make(seed)
        x = problem.solve(self.draw(problem, (3,), seed))
        assert set(x.unique().tolist()) <= {0.0, 1.0}
        assert (x.sum(-1) == problem.matroid.rank).all()

    @conform
    @given(seed=seeds)
    def test_permuting_items_permutes_the_value(self, seed: int) -> None:
        problem = SubmodularProblem(FUNCTIONS[seed % 2], UniformMatroid(N, 3), self.method)  # type: ignore[arg-type]
        theta = torch.rand(N, TARGETS, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        order = torch.randperm(N, generator=torch.Generator().manual_seed(seed))
        value = problem.objective(problem.solve(theta), theta)
        permuted = theta[order]
        torch.testing.assert_close(problem.objective(problem.solve(permuted), permuted), value)


class TestExact(SubmodularConformance):
    method = "exact"

    def test_says_that_it_is_exact(self) -> None:
        assert self.make(0).exact


class _Approximate(SubmodularConformance):
    best = None  # type: ignore[assignment]
    share = 1 - 1 / math.e  # of the best, for any of the matroids
    share_uniform = 1 - 1 / math.e

    @conform
    @given(seed=seeds)
    def test_value_matches_an_independent_route(self, seed: int) -> None:
        """A proven share of the best value, instead of all of it."""
        problem = self.make(seed)
        theta = self.draw(problem, (), seed)
        value = problem.objective(problem.solve(theta), theta).item()
        share = self.share_uniform if isinstance(problem.matroid, UniformMatroid) else self.share
        best = brute_force(problem, theta)
        assert share * best - 1e-9 <= value <= best + 1e-9

    def test_does_not_claim_to_be_exact(self) -> None:
        assert not self.make(0).exact


class TestGreedy(_Approximate):
    share = 0.5


class _Slow(_Approximate):
    instances = 3


class TestContinuousGreedy(_Slow):
    method = "continuous_greedy"
    share = share_uniform = 0.99 * (1 - 1 / math.e)


class TestAscent(_Slow):
    method = "ascent"
    share = share_uniform = 0.5 * (1 - 1e-6)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: type(f).__name__)
@pytest.mark.parametrize("matroid", MATROIDS, ids=lambda m: type(m).__name__)
@conform
@given(seed=seeds)
def test_lazy_equals_plain_greedy(function: SetFunction, matroid: Matroid, seed: int) -> None:
    problem = SubmodularProblem(function, matroid)
    theta = draw_theta((3,), seed)
    expected = torch.stack([plain_greedy(problem, instance) for instance in theta])
    assert torch.equal(problem.solve(theta), expected)


@conform
@given(seed=seeds)
def test_greedy_bound_for_functions_without_formula_and_graphs(seed: int) -> None:
    problem = SubmodularProblem(Root(), MATROIDS[3])
    theta = draw_theta((), seed)
    assert problem.objective(problem.solve(theta), theta).item() >= 0.5 * brute_force(problem, theta)


def test_single_precision_decides_as_double() -> None:
    theta = draw_theta((6,), 2).float()
    for function in FUNCTIONS:
        problem = SubmodularProblem(function, MATROIDS[1])
        assert torch.equal(problem.solve(theta).double(), problem.solve(theta.double()))


def test_weights_of_each_instance() -> None:
    theta = draw_theta((), 2)
    weights = torch.rand(4, TARGETS, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for method in ("greedy", "exact", "continuous_greedy", "ascent"):
        for given_theta in (theta, theta.expand(4, -1, -1)):
            problem = SubmodularProblem(ProbabilisticCoverage(weights), MATROIDS[0], method)
            x = problem.solve(given_theta)
            alone = [SubmodularProblem(ProbabilisticCoverage(row), MATROIDS[0], method).solve(theta) for row in weights]
            assert torch.equal(x, torch.stack(alone))
            assert problem.objective(x, given_theta).shape == (4,)


class Rooted(SetFunction):
    """The root of a sum, scaled by a number for each instance: a function with data of its own, known by `value`."""

    theta_dims = 2
    data_dims: ClassVar = {"scales": 0}

    def __init__(self, scales: Tensor) -> None:
        super().__init__(samples=16)
        self.scales = scales

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return self.scales * ((mask.unsqueeze(-1) * theta).sum((-1, -2)) + 0.01).sqrt()


class Formulated(Rooted):
    """Weighted sums of concave functions of single items: what is known by a formula, and data of two kinds."""

    data_dims: ClassVar = {"scales": 0, "worths": 1}

    def __init__(self, scales: Tensor, worths: Tensor) -> None:
        super().__init__(scales)
        self.worths = worths

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return self.scales * (mask * self.worths * theta.sum(-1).sqrt()).sum(-1)

    def multilinear(self, x: Tensor, theta: Tensor) -> Tensor:
        return self.value(x, theta)


class Chosen(SetFunction):
    """A function that says itself how its data are selected."""

    theta_dims = 2

    def __init__(self, scales: Tensor) -> None:
        super().__init__(samples=16)
        self.scales = scales

    @property
    def batch_shape(self) -> torch.Size:
        return self.scales.shape

    def select(self, index: int | slice | Tensor, batch: torch.Size) -> SetFunction:
        return Chosen(self.scales.expand(batch).reshape(-1)[index]) if self.scales.ndim else self

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return self.scales * ((mask.unsqueeze(-1) * theta).sum((-1, -2)) + 0.01).sqrt()


def identity(theta: Tensor) -> Tensor:
    return theta


PER_INSTANCE: dict[str, Callable[[Tensor], SetFunction]] = {
    "coverage": ProbabilisticCoverage,
    "sum": lambda w: 2.0 * ProbabilisticCoverage(w) + FacilityLocation(),
    "selected": lambda w: ProbabilisticCoverage(w).of(identity),
    "sum of two": lambda w: ProbabilisticCoverage(w) + ProbabilisticCoverage(w.flip(-1)).of(torch.sqrt),
    "sampled": lambda w: Rooted(w[..., 0]),
    "sampled, in a sum": lambda w: 0.5 * Rooted(w[..., 0]) + ProbabilisticCoverage(),
    "sampled, selected": lambda w: Rooted(w[..., 0]).of(torch.sqrt),
    "formula": lambda w: Formulated(w[..., 0], w[..., [0] * N] + torch.arange(N) / N),
    "formula, its items alone": lambda w: Formulated(torch.ones(()), w[..., [0] * N] + torch.arange(N) / N),
    "own select": lambda w: Chosen(w[..., 0]),
}
WEIGHTS = 0.1 + torch.rand(3, TARGETS, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize("batch", [(), (2, 3)])
@pytest.mark.parametrize("kind", PER_INSTANCE)
def test_weights_of_each_instance_broadcast(kind: str, batch: tuple[int, ...]) -> None:
    """Data of three instances against parameters of other batch shapes: objectives, slopes, sets by every method."""
    make, theta = PER_INSTANCE[kind], draw_theta(batch, 2)
    problem = SubmodularProblem(make(WEIGHTS), MATROIDS[0])
    shape = torch.broadcast_shapes(batch, (3,))
    each = theta.expand(*shape, *theta.shape[-2:])
    x = torch.full((*shape, N), 0.4, dtype=torch.float64)
    values, slopes = problem.objective(x, theta), problem.function.gradient(x, theta)
    sets = {method: problem.solve(theta, method) for method in ("greedy", "exact", "continuous_greedy", "ascent")}
    for place in np.ndindex(tuple(shape)):
        alone = SubmodularProblem(make(WEIGHTS[place[-1]]), MATROIDS[0])
        torch.testing.assert_close(values[place], alone.objective(x[place], each[place]))
        torch.testing.assert_close(slopes[place], alone.function.gradient(x[place], each[place]))
        for method in sets:
            assert torch.equal(sets[method][place], alone.solve(each[place], method))


@pytest.mark.parametrize("kind", PER_INSTANCE)
@pytest.mark.parametrize("name", ["implicit", "unrolled", "wilder"])
def test_layers_take_weights_of_each_instance_in_any_batch(name: str, kind: str) -> None:
    make, theta = PER_INSTANCE[kind], draw_theta((2, 3), 2)
    layer = WilderMultilinear(steps=5)
    if name != "wilder":
        steps = 3 if make(WEIGHTS).sampled else 200
        layer = foresolve.MultilinearRelaxation(max_iter=steps, differentiate=name)
    leaf = theta.clone().requires_grad_()
    x = layer(leaf, SubmodularProblem(make(WEIGHTS), MATROIDS[0]))
    x.square().sum().backward()
    assert leaf.grad is not None
    for b in range(3):
        single = theta[1, b].clone().requires_grad_()
        alone = layer(single, SubmodularProblem(make(WEIGHTS[b]), MATROIDS[0]))
        alone.square().sum().backward()
        assert single.grad is not None
        torch.testing.assert_close(x[1, b], alone, atol=1e-9, rtol=0)
        torch.testing.assert_close(leaf.grad[1, b], single.grad, atol=1e-7, rtol=1e-7)


@pytest.mark.parametrize("kind", PER_INSTANCE)
def test_data_follow_their_instances(kind: str) -> None:
    """Through `select`, subsets of subsets, shuffled batches and devices: each instance is worth what it is alone."""
    make, count = PER_INSTANCE[kind], 7
    weights = 0.1 + torch.rand(count, TARGETS, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    theta, x = draw_theta((count,), 3), torch.rand(count, N, generator=torch.Generator().manual_seed(2)).double()
    alone = [SubmodularProblem(make(row), MATROIDS[0]) for row in weights]
    values = torch.stack([problem.objective(*part) for problem, *part in zip(alone, x, theta)])
    sets = torch.stack([problem.solve(part) for problem, part in zip(alone, theta)])
    problem = SubmodularProblem(make(weights), MATROIDS[0])
    assert problem.batch_shape == (count,)
    data = DecisionDataset(torch.arange(count), theta, problem)
    order = torch.tensor([3, 1, 6, 0, 5])
    for batch in (data[order], data.subset(order)[:], data.subset(order.flip(0)).subset([4, 3, 2, 1, 0])[:]):
        assert batch.features.tolist() == order.tolist()
        assert batch.problem.batch_shape == (5,)
        torch.testing.assert_close(batch.problem.objective(x[order], batch.theta), values[order])
        assert torch.equal(batch.problem.solve(batch.theta), sets[order])
        assert torch.equal(batch.best()[0], sets[order])
    torch.testing.assert_close(data[2].problem.objective(x[2], data[2].theta), values[2])
    nothing = data[torch.zeros(0, dtype=torch.long)]
    assert nothing.problem.batch_shape == (0,)
    assert nothing.problem.solve(nothing.theta).shape == (0, N)
    assert nothing.problem.objective(x[:0], nothing.theta).shape == (0,)


@pytest.mark.parametrize("kind", PER_INSTANCE)
def test_fit_and_evaluate_shuffle_data_with_their_instances(kind: str) -> None:
    """Perfect predictions have no regret in any order, and a step on a shuffled batch is that on the batch in order."""
    make, count = PER_INSTANCE[kind], 6
    weights = 0.1 + torch.rand(count, TARGETS, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    data = DecisionDataset(torch.arange(count), draw_theta((count,), 3), SubmodularProblem(make(weights), MATROIDS[0]))
    for order in ([5, 0, 3], [1, 0, 5, 4, 3, 2]):
        report = foresolve.evaluate(lambda index: data.theta[index], data.subset(order), bootstrap=0)
        assert float(report.regret) == 0.0

    class Watched(foresolve.Loss):
        """The true value of fixed decisions, which tells whose data were used."""

        def forward(self, theta_hat: Tensor, batch: foresolve.Batch) -> Tensor:
            x = torch.full((len(batch), N), 0.25, dtype=torch.float64)
            expected = data.problem.objective(x.new_full((count, N), 0.25), data.theta)[batch.index]
            torch.testing.assert_close(batch.problem.objective(x, batch.theta), expected)
            return theta_hat.flatten(1).sum(-1)

    class Table(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.theta = torch.nn.Parameter(data.theta.clone())

        def forward(self, index: Tensor) -> Tensor:
            return self.theta[index]

    policy, order = foresolve.Policy(Table(), data.problem), torch.tensor([4, 0, 2])
    assert torch.equal(policy(order, data.problem.select(order)).x, policy(torch.arange(count), data.problem).x[order])
    for batch_size in (count, 2):
        foresolve.fit(Table(), Watched(), data, epochs=2, batch_size=batch_size, lr=0.0001, progress=False)


def test_data_that_a_function_keeps_to_itself_are_refused() -> None:
    """Which would be used in the order of the file, whatever the order of the instances."""

    class Hidden(SetFunction):
        def __init__(self, worths: Tensor) -> None:
            super().__init__()
            self.worths = worths

        def value(self, mask: Tensor, theta: Tensor) -> Tensor:
            return (mask * theta * self.worths).sum(-1)

    class Announced(Hidden):
        @property
        def batch_shape(self) -> torch.Size:
            return self.worths.shape[:-1]

    worths, theta = torch.rand(N, N), torch.rand(N, N)
    hidden = SubmodularProblem(Hidden(worths), UniformMatroid(N, 2))
    tables = SubmodularProblem(ProbabilisticCoverage().of(lambda t: torch.ones(N, N, 2)), UniformMatroid(N, 2))
    for problem in (hidden, tables):
        for call in (problem.solve, lambda t, p=problem: p.objective(torch.ones(N, N), t)):
            with mistake(f"{problem.function!r}.value(...)", "(1, 1)", "(1, 7)", "`data_dims`"):
                call(theta if problem is hidden else theta[..., None])
    announced = SubmodularProblem(Announced(worths), UniformMatroid(N, 2))
    with mistake("function", "Announced", "`data_dims`"):
        announced.select(torch.arange(3))


@pytest.mark.parametrize("loss", [ScoreFunction(), LODL()], ids=repr)
def test_losses_that_evaluate_many_decisions_take_weights_of_each_instance(loss: foresolve.Loss) -> None:
    problem = SubmodularProblem(ProbabilisticCoverage(WEIGHTS), MATROIDS[0])
    data = DecisionDataset(torch.zeros(3, 1), draw_theta((3,), 2), problem)
    loss.prepare(data)
    leaf = data.theta.clone().requires_grad_()
    value = loss(leaf, data[:])
    value.sum().backward()
    assert leaf.grad is not None
    assert bool(torch.isfinite(leaf.grad).all())


# -- the objective ---------------------------------------------------------------------------------------------------


def test_derivatives_of_the_objective_are_finite_or_refused() -> None:
    """For functions known by values or by a formula, alone and within others."""

    class Rooted(SetFunction):
        theta_dims = 2

        def value(self, mask: Tensor, theta: Tensor) -> Tensor:
            return (mask[..., None] * theta).sum(-2).sqrt().sum(-1)

    class Formula(SetFunction):
        theta_dims = 2

        def value(self, mask: Tensor, theta: Tensor) -> Tensor:
            return (mask * theta.sqrt().sum(-1)).sum(-1)

        def multilinear(self, x: Tensor, theta: Tensor) -> Tensor:
            return self.value(x, theta)

    x = torch.zeros(2, N, dtype=torch.float64)
    x[1, 2:] = 1.0
    for function in (Rooted(), 0.5 * Rooted() + FacilityLocation(), Rooted().of(torch.square)):
        leaf = (0.5 + draw_theta((2,), 2)).requires_grad_()
        SubmodularProblem(function, MATROIDS[0]).objective(x, leaf).sum().backward()
        assert leaf.grad is not None
        assert bool(torch.isfinite(leaf.grad).all())
        assert float(leaf.grad[0].abs().max()) < 1e-40
        assert float(leaf.grad[1, :2].abs().max()) < 1e-40
        assert bool((leaf.grad[1, 2:] > 0).all())
    for function in (Formula(), Formula() + FacilityLocation(), Formula().of(torch.clone)):
        leaf = torch.zeros(2, N, TARGETS, dtype=torch.float64, requires_grad=True)
        value = SubmodularProblem(function, MATROIDS[0]).objective(x, leaf)
        with mistake("", ".multilinear`", "`theta`", kind=SolverError, instances=[0, 1]):
            value.sum().backward()


def test_objective_agrees_with_the_set_function_on_sets() -> None:
    theta = draw_theta((), 2)
    for function in FUNCTIONS:
        problem = SubmodularProblem(function, MATROIDS[0])
        bases = every_base(problem.matroid)
        expected = function.value(bases, theta.expand(len(bases), N, TARGETS))
        torch.testing.assert_close(problem.objective(bases, theta), expected)


def test_objective_of_a_sampled_function_mixes_sets_and_points() -> None:
    problem, theta = SubmodularProblem(Root(), MATROIDS[0]), draw_theta((), 2)
    x = torch.stack([torch.eye(N, dtype=torch.float64)[0], torch.full((N,), 0.4, dtype=torch.float64)])
    value = problem.objective(x, theta)
    assert value[0].item() == pytest.approx(problem.function.value(x[0], theta).item())
    torch.testing.assert_close(value[1], problem.function.multilinear(x[1], theta))


def test_objective_of_a_sampled_function_has_gradients_at_sets() -> None:
    problem, theta = SubmodularProblem(Root(), MATROIDS[0]), draw_theta((), 2).requires_grad_()
    x = torch.eye(N, dtype=torch.float64)[:2].requires_grad_()
    value = problem.objective(x, theta)
    torch.testing.assert_close(value, problem.function.value(x, theta.expand(2, N, TARGETS)))
    by_x, by_theta = torch.autograd.grad(value[0], (x, theta))
    gain = problem.function.value(torch.eye(N, dtype=torch.float64)[:2].sum(0), theta) - value[0]
    assert by_x[0, 1].item() == pytest.approx(gain.item())
    (expected,) = torch.autograd.grad(problem.function.value(x[0].detach(), theta), theta)
    torch.testing.assert_close(by_theta, expected)


# -- sparse parameters -----------------------------------------------------------------------------------------------


def sparse_theta(seed: int, n: int = 40, targets: int = 25) -> np.ndarray:
    rng = np.random.default_rng(seed)
    levels = rng.integers(1, 5, (n, targets)) / 4 if seed % 2 else rng.random((n, targets))
    return levels * (rng.random((n, targets)) < 0.15)


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
@conform
@given(seed=seeds, weighted=st.booleans())
def test_sparse_equals_dense(seed: int, weighted: bool) -> None:
    theta = sparse_theta(seed)
    weights = np.random.default_rng(seed).random(25) if weighted else None
    for matroid in (UniformMatroid(40, 8), PartitionMatroid([i % 5 for i in range(40)], 2)):
        problem = SubmodularProblem(ProbabilisticCoverage(weights), matroid)
        expected = problem.solve(torch.from_numpy(theta))
        value = problem.objective(expected, torch.from_numpy(theta))
        dense = torch.from_numpy(theta)
        for form in (
            scipy.sparse.csr_array(theta),
            scipy.sparse.csc_matrix(theta),
            scipy.sparse.coo_array(theta),
            dense.to_sparse_coo(),
            dense.to_sparse_csr(),
        ):
            assert torch.equal(problem.solve(form), expected)
            torch.testing.assert_close(problem.objective(expected, form), value)


def test_sparse_objective_is_differentiable_and_batched() -> None:
    dense = torch.from_numpy(sparse_theta(1)).requires_grad_()
    problem = SubmodularProblem(ProbabilisticCoverage(), UniformMatroid(40, 8))
    x = torch.rand(3, 40, generator=torch.Generator().manual_seed(0), dtype=torch.float64).requires_grad_()
    x_grad, grad = torch.autograd.grad(problem.objective(x, dense).sum(), (x, dense))
    sparse = dense.detach().to_sparse_coo().requires_grad_()
    value = problem.objective(x, sparse)
    assert value.shape == (3,)
    torch.testing.assert_close(value, problem.objective(x, dense))
    by_x, by_theta = torch.autograd.grad(value.sum(), (x, sparse))
    torch.testing.assert_close(by_x, x_grad)
    torch.testing.assert_close(by_theta.to_dense(), torch.where(dense != 0, grad, 0.0))


def test_sparse_theta_is_checked() -> None:
    theta = scipy.sparse.csr_array(sparse_theta(0))
    problem = SubmodularProblem(ProbabilisticCoverage(), UniformMatroid(40, 8))
    assert problem.solve(theta.astype(np.float32)).dtype == torch.float32
    with mistake("theta", "(40, targets)", "(25, 40)"):
        problem.solve(theta.T)
    with mistake("theta", "[0, 1]", "1.27392 at [0]"):
        problem.solve(2.0 * theta)
    with mistake("theta", "nan at [0]"):
        problem.solve(theta * np.nan)
    with mistake("method", "'greedy'", "'exact'"):
        problem.solve(theta, method="exact")
    with mistake("theta", "FacilityLocation"):
        SubmodularProblem(FacilityLocation(), UniformMatroid(40, 8)).solve(theta)


def test_an_empty_sparse_theta_still_gives_a_base() -> None:
    problem = SubmodularProblem(ProbabilisticCoverage(), UniformMatroid(40, 8))
    assert problem.solve(scipy.sparse.csr_array((40, 25))).sum() == 8


# -- rounding, checks, errors ----------------------------------------------------------------------------------------


def test_a_seed_makes_rounding_random_and_repeatable() -> None:
    theta = draw_theta((20,), 2)
    problem = SubmodularProblem(ProbabilisticCoverage(), MATROIDS[1], "continuous_greedy")
    first, again = (problem.solve(theta, seed=torch.Generator().manual_seed(1)) for _ in range(2))
    assert torch.equal(first, again)
    assert torch.equal(first, problem.solve(theta, seed=1))
    assert problem.check(first)
    assert (first.sum(-1) == problem.matroid.rank).all()


def test_continuous_methods_keep_the_value_they_reach() -> None:
    """Pipage does not lower F; the bounds hold for F before rounding."""
    from foresolve.sets.continuous import continuous_greedy, projected_ascent

    theta = draw_theta((8,), 2)
    problem = SubmodularProblem(ProbabilisticCoverage(), MATROIDS[2])
    best = torch.tensor([brute_force(problem, instance) for instance in theta], dtype=torch.float64)
    for climb, method, share in ((continuous_greedy, "continuous_greedy", 0.62), (projected_ascent, "ascent", 0.499)):
        x = climb(problem.function, problem.matroid, theta, len(theta))
        assert not any((excess > 1e-9).any() for excess in problem.matroid.excess(x, base=True).values())
        reached = problem.objective(x, theta)
        assert (reached >= share * best).all()
        assert (problem.objective(problem.solve(theta, method), theta) >= reached - 1e-9).all()  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["continuous_greedy", "ascent"])
def test_continuous_methods_take_sampled_functions(method: str) -> None:
    problem, theta = SubmodularProblem(Root(samples=20), MATROIDS[0], method), draw_theta((2,), 2)  # type: ignore[arg-type]
    x = problem.solve(theta)
    assert problem.check(x)
    for value, instance in zip(problem.objective(x, theta), theta, strict=True):
        assert value.item() >= 0.5 * brute_force(problem, instance)


def test_check_names_what_is_broken() -> None:
    problem = SubmodularProblem(ProbabilisticCoverage(), MATROIDS[2])
    x = torch.zeros(3, N)
    x[1, [0, 1]] = 1.0  # the first set holds one of the two
    x[2, 5] = 0.5
    report = problem.check(x)
    assert report.feasible.tolist() == [True, False, False]
    assert {(v.instance, v.kind, v.index) for v in report.violations} == {((1,), "sets", 0), ((2,), "integrality", 5)}
    assert "instance 1" in str(report)
    assert problem.check(x, relaxed=True).feasible.tolist() == [True, False, True]
    x[0, 3] = -2.0
    assert problem.check(x).violations[0].kind == "lower"


def test_errors() -> None:
    matroid = UniformMatroid(N, 3)
    with mistake("method", "'greedy'", "'fast'"):
        SubmodularProblem(ProbabilisticCoverage(), matroid, "fast")  # type: ignore[arg-type]
    with mistake("function", "SetFunction", "class ProbabilisticCoverage"):
        SubmodularProblem(ProbabilisticCoverage, matroid)  # type: ignore[arg-type]
    with mistake("matroid", "int"):
        SubmodularProblem(ProbabilisticCoverage(), 3)  # type: ignore[arg-type]
    with mistake("time_limit", "0.0"):
        SubmodularProblem(ProbabilisticCoverage(), matroid, time_limit=0.0)
    problem, theta = SubmodularProblem(ProbabilisticCoverage(), matroid), draw_theta((2,), 2)
    with mistake("method", "'milp'"):
        problem.solve(theta, method="milp")  # type: ignore[arg-type]
    with mistake("seed", ">= 0", "1.5"):
        problem.solve(theta, seed=1.5)  # type: ignore[arg-type]
    with mistake("theta", "[0, 1]"):
        problem.solve(2 * theta + 1)
    with mistake("x", f"(*batch, {N})", "(8,)"):
        problem.objective(torch.zeros(N + 1), theta)
    with mistake("", "`x` (3,)", "`theta` (2,)"):
        problem.objective(torch.zeros(3, N), theta)
    with mistake("theta", "'meta'"):
        problem.solve(theta.to("meta"))
    with mistake("matroid", "GraphicMatroid"):
        SubmodularProblem(ProbabilisticCoverage(), MATROIDS[3], "ascent").solve(theta)


# -- weights of each instance follow it ------------------------------------------------------------------------------


def weighted_data() -> DecisionDataset:
    """Six instances, each with a target of its own that counts; features are the numbers of the instances."""
    weights = torch.zeros(6, 4)
    weights[torch.arange(6), torch.arange(6) % 4] = 1.0
    theta = 0.9 * torch.rand(6, 5, 4, generator=torch.Generator().manual_seed(0))
    problem = SubmodularProblem(ProbabilisticCoverage(weights), UniformMatroid(5, 1))
    return DecisionDataset(torch.arange(6.0)[:, None], theta, problem)


def value_alone(data: DecisionDataset, number: int) -> float:
    """The best value of the instance by itself."""
    return float(data.theta[number, :, number % 4].max())


def test_perfect_predictions_have_no_regret_in_any_order() -> None:
    data = weighted_data()
    theta = data.theta
    for chosen in ([5, 4, 3, 2, 1, 0], [4, 2], [3], [1, 1, 5]):
        report = foresolve.evaluate(
            lambda features: theta[features[:, 0].long()], data.subset(torch.tensor(chosen)), bootstrap=0
        )
        assert float(report.regret) == 0.0
        expected = sum(value_alone(data, i) for i in chosen) / len(chosen)
        assert float(report.value) == pytest.approx(expected, rel=1e-6)


def test_batches_have_the_weights_of_their_instances() -> None:
    data = weighted_data()
    for part in (data, *data.split(0.5, 0.5, seed=1)):
        order = torch.randperm(len(part), generator=torch.Generator().manual_seed(0))
        for batch in (*part.loader(2), part[order[:2]], part[order[2:]]):
            best = batch.problem.objective(batch.problem.solve(batch.theta), batch.theta)
            numbers = batch.features[:, 0].int().tolist()
            assert best.tolist() == pytest.approx([value_alone(data, i) for i in numbers], rel=1e-6)


def test_targets_have_different_names() -> None:
    with mistake("targets", "'u' twice"):
        SubmodularProblem(ProbabilisticCoverage(), UniformMatroid(2, k=1), names=["c", "d"], targets=["u", "u"])
