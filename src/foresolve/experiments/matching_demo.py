r"""Matching trained end to end: decision-focused against two-stage, on generated data.

Each instance has papers on the left and papers on the right. What a pair is worth is how much the left one cites in
general, plus how much the right one is cited in general, plus how close their topics are:

    theta_ij = out(l_i) + in(r_j) + exp(-2 |T l_i - S r_j|^2) + noise

The first two terms make most of the variance, yet every perfect matching collects the same sum of them: only the
closeness of topics tells matchings apart. A network too small for all three terms has to choose, and mean squared
error chooses the first two. Rates, gamma and epochs are chosen on validation data, with equal effort for both methods.
The rule and the width of the network were chosen to show the effect: `--hidden 32` fits all three terms, and closes the
gap.
"""

from __future__ import annotations

import importlib.metadata
import math
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

import torch
from torch import Tensor, nn

from foresolve import _check
from foresolve.layers.quadratic import QuadraticRelaxation
from foresolve.layers.smoothing import Relative
from foresolve.problems.matching import BipartiteMatching

TWO_STAGE, DECISION_FOCUSED = "two-stage", "decision-focused"
Progress = Callable[[int, int, str], None]
"""Called as `progress(epochs done, epochs in all, what is being trained)`."""


@dataclass(frozen=True)
class DemoConfig:
    """The settings of the demo; both methods get the same network, the same data and as many candidates.

    An epoch of the two-stage method costs a fraction of a decision-focused one, so it gets `two_stage_epochs` times
    as many.
    """

    seed: int = 0
    epochs: int = 30
    two_stage_epochs: int = 3
    hidden: int = 8
    side: int = 20
    features: int = 6
    train: int = 100
    validation: int = 30
    test: int = 60
    batch: int = 10
    two_stage_rates: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3)
    decision_rates: tuple[float, ...] = (0.01, 0.03)
    gammas: tuple[float, ...] = (0.1, 0.5)
    resamples: int = 10_000

    def __post_init__(self) -> None:
        _check.positive_int("seed", self.seed, zero=True)
        counts = ("epochs", "two_stage_epochs", "hidden", "side", "features", "train", "validation", "test", "batch")
        for name in (*counts, "resamples"):
            _check.positive_int(name, getattr(self, name))
        for name in ("two_stage_rates", "decision_rates", "gammas"):
            if not getattr(self, name):
                raise _check.fail(name, "at least one number", "none")


@dataclass(frozen=True)
class Trial:
    """One candidate's training: the weights kept are those of the epoch with the best validation value."""

    method: str
    rate: float
    gamma: float | None
    history: tuple[float, ...]
    seconds: float
    model: PairScorer = field(repr=False, compare=False)

    @property
    def best(self) -> float:
        """The best mean value of exact decisions on the validation instances."""
        return max(self.history)

    @property
    def epoch(self) -> int:
        """The epoch that reached it, counted from 1."""
        return self.history.index(self.best) + 1


@dataclass(frozen=True)
class Row:
    """A line of the table: exact decisions on the test instances, scored under the truth."""

    name: str
    value: float
    normalised_regret: float
    prediction_error: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class DemoResult:
    """What the demo found; `difference` is (mean, low, high) of decision-focused minus two-stage, per test instance."""

    config: DemoConfig
    rows: tuple[Row, ...]
    trials: tuple[Trial, ...]
    chosen: dict[str, Trial]
    difference: tuple[float, float, float]
    validation_limits: dict[str, float]
    versions: dict[str, str]


@dataclass(frozen=True)
class Instances:
    """Features of all pairs `(N, side, side, 2 * features)` and what they are worth `(N, side * side)`."""

    pairs: Tensor
    theta: Tensor

    def __len__(self) -> int:
        return len(self.theta)

    def batches(self, size: int, generator: torch.Generator) -> Iterator[tuple[Tensor, Tensor]]:
        """One pass in random order."""
        for index in torch.randperm(len(self), generator=generator).split(size):
            yield self.pairs[index], self.theta[index]


class Rule:
    """How features make values; drawn once, the same for all instances."""

    def __init__(self, features: int, generator: torch.Generator) -> None:
        def directions(count: int) -> Tensor:
            return torch.randn(count, features, generator=generator) / math.sqrt(features)

        self.cites, self.cited = directions(3), directions(3)
        self.left_topic, self.right_topic = directions(2), directions(2)

    def instances(self, count: int, side: int, generator: torch.Generator) -> Instances:
        """Fresh papers with normal features, and the values of their pairs."""
        features = self.cites.shape[1]
        left, right = (torch.randn(count, side, features, generator=generator) for _ in range(2))
        cites = 0.5 * (1 + torch.sin(1.5 * left @ self.cites.T)).sum(-1)
        cited = 0.5 * (1 + torch.sin(1.5 * right @ self.cited.T)).sum(-1)
        topics = (left @ self.left_topic.T)[:, :, None] - (right @ self.right_topic.T)[:, None]
        noise = 0.1 * torch.rand(count, side, side, generator=generator)
        theta = cites[:, :, None] + cited[:, None] + torch.exp(-2 * topics.square().sum(-1)) + noise
        shape = (count, side, side, features)
        pairs = torch.cat([left[:, :, None].expand(shape), right[:, None].expand(shape)], -1)
        return Instances(pairs, theta.flatten(1))


class PairScorer(nn.Module):
    """A small network from the features of a pair to its worth; two hidden layers of equal width."""

    def __init__(self, features: int, hidden: int, mean: float, generator: torch.Generator) -> None:
        super().__init__()

        def linear(width: int, out: int) -> nn.Linear:
            # Made without values and filled by our own generator: the global random state is left alone.
            layer = nn.Linear(width, out, device="meta").to_empty(device="cpu")
            with torch.no_grad():
                for parameter in layer.parameters():
                    parameter.uniform_(-(width**-0.5), width**-0.5, generator=generator)
            return layer

        self.first, self.second, self.last = linear(2 * features, hidden), linear(hidden, hidden), linear(hidden, 1)
        nn.init.constant_(self.last.bias, mean)

    def forward(self, pairs: Tensor) -> Tensor:
        """`(B, side, side, 2 * features)` to `(B, side * side)`."""
        return self.last(self.second(self.first(pairs).tanh()).tanh()).flatten(1)


def run_demo(config: DemoConfig | None = None, progress: Progress | None = None) -> DemoResult:
    """Train all candidates of both methods, choose one of each by validation value, score both on test instances.

    The same configuration gives the same numbers (all but the seconds) on the same machine with as many threads.
    """
    config = DemoConfig() if config is None else config
    problem = BipartiteMatching(config.side, config.side)
    source = _generator(config, 0)
    rule = Rule(config.features, source)
    sizes = (config.train, config.validation, config.test)
    train, validation, test = (rule.instances(size, config.side, source) for size in sizes)
    candidates: list[tuple[str, float, float | None]] = [(TWO_STAGE, rate, None) for rate in config.two_stage_rates]
    candidates += [(DECISION_FOCUSED, *pair) for pair in product(config.decision_rates, config.gammas)]
    total = sum(_epochs(config, method) for method, _, _ in candidates)
    trials: list[Trial] = []
    for method, rate, gamma in candidates:
        done = sum(len(trial.history) for trial in trials)

        def report(epoch: int, done: int = done, method: str = method) -> None:
            if progress is not None:
                progress(done + epoch, total, method)

        trials.append(_train(config, problem, train, validation, method, rate, gamma, report))
    methods = (TWO_STAGE, DECISION_FOCUSED)
    chosen = {m: max((t for t in trials if t.method == m), key=lambda trial: trial.best) for m in methods}
    rows, difference = _score(config, problem, test, chosen, trials)
    return DemoResult(
        config, rows, tuple(trials), chosen, difference, _limits(config, problem, validation), _versions()
    )


def _train(
    config: DemoConfig,
    problem: BipartiteMatching,
    train: Instances,
    validation: Instances,
    method: str,
    rate: float,
    gamma: float | None,
    report: Callable[[int], None],
) -> Trial:
    started = time.perf_counter()
    generator = _generator(config, 1)  # every candidate starts from the same weights and sees the same order
    model = PairScorer(config.features, config.hidden, train.theta.mean().item(), generator)
    optimiser = torch.optim.Adam(model.parameters(), rate)
    layer = None if gamma is None else QuadraticRelaxation(Relative(gamma))
    history: list[float] = []
    best: dict[str, Tensor] = {}
    for epoch in range(1, _epochs(config, method) + 1):
        for pairs, theta in train.batches(config.batch, generator):
            predicted = model(pairs)
            if layer is None:
                loss = (predicted - theta).square().mean()
            else:
                loss = -problem.objective(layer(predicted, problem), theta).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        history.append(_values(model, problem, validation).mean().item())
        if history[-1] == max(history):
            best = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        report(epoch)
    model.load_state_dict(best)
    return Trial(method, rate, gamma, tuple(history), time.perf_counter() - started, model)


@torch.no_grad()
def _values(model: PairScorer, problem: BipartiteMatching, data: Instances) -> Tensor:
    """What the exact decisions for the predictions are worth under the truth, per instance."""
    return problem.objective(problem.solve(model(data.pairs)), data.theta)


def _random_and_best(config: DemoConfig, problem: BipartiteMatching, data: Instances) -> tuple[Tensor, Tensor]:
    guess = torch.rand(data.theta.shape, generator=_generator(config, 2)) + 0.5
    return tuple(problem.objective(problem.solve(theta), data.theta) for theta in (guess, data.theta))  # type: ignore[return-value]


def _limits(config: DemoConfig, problem: BipartiteMatching, data: Instances) -> dict[str, float]:
    random, best = _random_and_best(config, problem, data)
    return {"random matching": random.mean().item(), "optimum": best.mean().item()}


@torch.no_grad()
def _score(
    config: DemoConfig,
    problem: BipartiteMatching,
    test: Instances,
    chosen: dict[str, Trial],
    trials: Sequence[Trial],
) -> tuple[tuple[Row, ...], tuple[float, float, float]]:
    random, best = _random_and_best(config, problem, test)

    def row(name: str, values: Tensor, *extra: float) -> Row:
        return Row(name, values.mean().item(), ((best - values).sum() / best.abs().sum()).item(), *extra)

    values = {method: _values(trial.model, problem, test) for method, trial in chosen.items()}
    rows = [row("random matching", random)]
    for method, trial in chosen.items():
        error = (trial.model(test.pairs) - test.theta).square().mean().item()
        seconds = sum(other.seconds for other in trials if other.method == method)
        rows.append(row(method, values[method], error, seconds))
    rows.append(row("optimum", best))
    gap = values[DECISION_FOCUSED] - values[TWO_STAGE]
    return tuple(rows), bootstrap(gap, config.resamples, _generator(config, 3))


def bootstrap(sample: Tensor, resamples: int, generator: torch.Generator) -> tuple[float, float, float]:
    """The mean of a sample with its 95 % percentile interval over resamples of the same size."""
    index = torch.randint(len(sample), (resamples, len(sample)), generator=generator)
    means = sample[index].double().mean(-1)
    low, high = torch.quantile(means, torch.tensor([0.025, 0.975], dtype=means.dtype)).tolist()
    return sample.double().mean().item(), low, high


def _epochs(config: DemoConfig, method: str) -> int:
    return config.epochs * (config.two_stage_epochs if method == TWO_STAGE else 1)


def _generator(config: DemoConfig, stream: int) -> torch.Generator:
    """An independent stream of random numbers: 0 data, 1 training, 2 random matchings, 3 the bootstrap."""
    return torch.Generator().manual_seed(10 * config.seed + stream)


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in ("foresolve", "torch", "numpy", "scipy"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed as a package"
    return found
