"""Scoring decisions under the truth."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import Subset

from foresolve._base import checks
from foresolve._base.bootstrap import Block
from foresolve._base.devices import find_device
from foresolve._base.randomness import Seed, as_seed
from foresolve.data.batch import Batch
from foresolve.data.dataset import DecisionDataset
from foresolve.errors import ForesolveWarning, SolverError
from foresolve.learning.agreement import Digest, Metric, agreement, as_metrics, measured
from foresolve.learning.blocks import Blocks, as_block, labels_in_order
from foresolve.learning.deployment.certificate import FEASIBLE, relaxes
from foresolve.learning.features import arranged, model_names
from foresolve.learning.metrics import auc, cross_entropy, worst_decision
from foresolve.learning.policy import Policy
from foresolve.learning.prediction import Model, as_model, inference, predict
from foresolve.learning.report import COLUMNS, DOUBLE, Report, check_intervals
from foresolve.learning.subsets import as_dataset
from foresolve.learning.weak_reference import mean_decision
from foresolve.losses.base import Loss, Repair
from foresolve.problems.base import Problem

Rule = Callable[[Tensor, Problem], Tensor]


def evaluate(
    model: Model | Any,
    data: DecisionDataset | Subset,
    rule: Rule | None = None,
    *,
    repair: Repair | None = None,
    metrics: bool = True,
    metric: Metric | Mapping[str, Metric] | None = None,
    batch_size: int = 256,
    block: Blocks = None,
    bootstrap: int = 1000,
    confidence: float = 0.95,
    device: torch.device | str | None = None,
    seed: Seed = 0,
) -> Report:
    """Decide on every instance from its features, and score the decisions under its true parameters.

    Where only decisions are known, the score is how well they agree: `report.identical`, `report.hamming`. Where the
    data has weights, all means are weighted.

    Parameters
    ----------
    model: a module, a baseline, a `Policy`, any function from features to `theta`, or a fitted regressor or pipeline of
        scikit-learn. Modules are put into evaluation mode for the time. One that knows the names of its columns gets
        those of data that came as a frame in its order.
    data: its best decisions under the truth are worked out, if they are not known; or a `Subset` of a data set.
    rule: `rule(theta_hat, problem) -> x`, by default that of a `Policy` or `problem.decide`, exact and discrete. A
        layer will do too: then the fractional decisions of training are scored. One that predicts constraints without
        a problem that is `parametrized` so builds its own, and gets the true one only for its sizes.
    repair: `repair(x, problem) -> x`, for decisions that are not feasible under the true problem, `problem.at(theta)`;
        its own must be.
    metrics: whether to score the predictions as well: mean squared error, and, where all true parameters are 0 or 1,
        cross-entropy (of predictions in [0, 1]) and AUC; and the worst case over ties, which costs another solve.
    metric: your own, `metric(x, y) -> (B,)` of the decisions and the best ones (or those on record), or a dict of such
        functions by name: Kendall's tau of rankings, say. They are in `report.metrics`, with intervals.
    batch_size: instances at a time.
    block: what is resampled as one, where instances depend on each other: `None`, each alone; a length, that many
        in a row of the data's order (days), round the end to the first; or a label for each instance (weeks,
        customers), whose groups are drawn whole. Two blocks are the fewest that give an interval.
    bootstrap: resamples for the confidence intervals; 0 for none.
    confidence: their level.
    device: where to; that of the model by default.
    seed: of the bootstrap, or a `torch.Generator` that one is drawn from.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.data import DecisionDataset
    >>> from foresolve.learning import evaluate
    >>> theta = torch.tensor([[1.0, 3.0], [4.0, 2.0]])
    >>> data = DecisionDataset(torch.zeros(2, 1), theta, foresolve.TopK(2, 1))
    >>> report = evaluate(lambda features: torch.tensor([[0.0, 1.0]]).expand(2, -1), data)
    >>> report.value, report.optimum, round(report.normalized_regret, 4)
    (2.5, 3.5, 0.2857)
    """
    data = as_dataset("data", data)
    if isinstance(model, Policy):
        rule, repair = rule or model.rule, repair or (model.repair if data.has_theta else None)
        names, model = model.feature_names, as_model(model.model)
    else:
        given, model = model, as_model(model)
        names = model_names(given)
    _check_rules(rule, repair)
    if repair is not None and not data.has_theta:
        remedy = "Decisions are compared as they are; what a repair makes of them has no known value"
        raise checks.fail("repair", "left out where only decisions are known", "a function", remedy)
    seed, batch_size = as_seed("seed", seed), checks.positive_int("batch_size", batch_size)
    check_intervals(bootstrap, confidence)
    resampled = _ordered_block(block, data)
    data = arranged("data", data.solve(), names)  # solved before it is moved: the caller's keeps its decisions
    if device is not None:
        where = find_device(device, nn.Identity())
        data = data.to(where)
        if isinstance(model, nn.Module):
            model.to(where)
    elif isinstance(model, nn.Module) and next(model.parameters(), None) is not None:
        data = data.to(find_device(None, model))
    scorer = _Scorer(model, rule, repair, metrics, as_metrics(metric, COLUMNS))
    if data.has_theta:
        scorer.constant = mean_decision(data.problem, data.theta, data.weights)
    with inference(model):
        for index in torch.arange(len(data)).split(batch_size):
            scorer.add(data[index])
    settings = {"bootstrap": bootstrap, "confidence": confidence, "seed": seed, "block": resampled}
    rounding = torch.finfo(data.theta.dtype).eps if data.has_theta else DOUBLE
    return replace(scorer.report(data.problem.exact, **settings), keys=data.keys, rounding=rounding)


def _ordered_block(block: Any, data: DecisionDataset) -> Block:
    """What is resampled as one; instances in a row mean little where the order was drawn."""
    block = as_block("block", labels_in_order(block, data), len(data))
    if isinstance(block, int) and bool((data.positions.diff() < 0).any()):
        message = f"`block={block}` takes {block} instances in a row, but this part of the data was shuffled. Split it "
        message += "with `data.split(..., shuffle=False)`, or give a label for each instance"
        checks.warn(message, ForesolveWarning)
    return block


def _check_rules(rule: Any, repair: Any) -> None:
    """Before any work: how to decide and how to repair must be functions."""
    if isinstance(rule, Loss):
        remedy = "Decisions are scored by their regret, whatever they were trained on"
        raise checks.fail("rule", "a function `rule(theta_hat, problem) -> x` or a layer", "a loss", remedy)
    if rule is not None:
        checks.function("rule", rule, "rule(theta_hat, problem) -> x")
    if repair is not None:
        checks.function("repair", repair, "repair(x, problem) -> x")


def _named(error: SolverError, batch: Batch) -> SolverError:
    """With the positions in the data set."""
    rows = [row for row in error.instances if row < len(batch)] or range(len(batch))
    where = list(rows) if batch.index is None else batch.index[list(rows)].tolist()
    return error.renamed("no decision for {instances} of the data", where, checks.instance_names(where, [0]))


class _Scorer:
    """Collects the columns of a report, batch by batch."""

    def __init__(
        self, model: Model, rule: Rule | None, repair: Repair | None, metrics: bool, own: dict[str, Metric]
    ) -> None:
        self.model, self.rule, self.repair, self.metrics, self.own = model, rule, repair, metrics, own
        self.targets: Digest | None = None  # of decisions on record, which have no value to be known by
        self.columns: dict[str, list[np.ndarray]] = {}
        self.constant: Tensor | None = None  # the decision for the mean of the parameters
        self.infeasible = 0  # under constraints that theta makes, and left as they were
        self.seconds = {"prediction": 0.0, "decision": 0.0}
        self.pairs: list[tuple[np.ndarray, np.ndarray]] | None = []  # of scores and labels, while all labels are 0/1

    def add(self, batch: Batch) -> None:
        theta_hat = self._timed("prediction", predict, self.model, batch.features)
        batch.check_prediction(theta_hat)
        theta_hat = theta_hat.to(batch.device)
        if batch.has_theta:  # decisions that are rounded to less than the truth would break its rows
            theta_hat = theta_hat.to(torch.promote_types(theta_hat.dtype, batch.theta.dtype))
        checks.finite("model(features)", theta_hat)
        try:
            x = self._timed("decision", self._decide, theta_hat, batch.problem)
        except SolverError as error:
            raise _named(error, batch) from error
        if not isinstance(x, Tensor) or x.shape[:1] != (len(batch),):
            shape = str(tuple(x.shape)) if isinstance(x, Tensor) else type(x).__name__
            raise checks.fail("rule(theta_hat, problem)", f"({len(batch)}, n)", shape)
        x = self._checked(x.detach().to(batch.theta if batch.has_theta else batch.target()), batch)
        self._put(**measured(self.own, x, batch.target()))
        if batch.weight is not None:
            self._put(weight=batch.weight)
        if batch.has_theta:
            self._valued(x, theta_hat, batch)
        else:
            self.targets = self.targets or Digest()
            self.targets.add(batch.target())
            self._put(**agreement(x, batch.target()))

    def _valued(self, x: Tensor, theta_hat: Tensor, batch: Batch) -> None:
        """What decisions are worth under the truth."""
        _, best = batch.best()
        value = batch.problem.objective(x, batch.theta)
        regret = best.double() - value.double()
        self._put(value=value, optimum=best, regret=regret)
        if self.constant is not None:
            constant = self.constant.to(batch.theta).expand(len(batch), -1)
            self._put(mean_regret=best.double() - batch.problem.objective(constant, batch.theta).double())
        if self.metrics:
            self._ties(theta_hat, batch, x, regret)
            self._predictions(theta_hat.double(), batch.theta.double())

    def _decide(self, theta_hat: Tensor, problem: Problem) -> Tensor:
        if self.rule is not None:
            return self.rule(theta_hat, problem)
        x, adjusted = problem.decide(theta_hat)
        self._put(adjusted=adjusted)
        return x

    def _timed(self, what: str, function: Any, *arguments: Any) -> Any:
        began = time.perf_counter()
        result = function(*arguments)
        if isinstance(result, Tensor) and result.is_cuda:
            torch.cuda.synchronize(result.device)
        self.seconds[what] += time.perf_counter() - began
        return result

    def _checked(self, x: Tensor, batch: Batch) -> Tensor:
        """Feasible under the true problem, after repair where there is a rule for it."""
        fixed = "fixed" in batch.problem.traits
        if (fixed and self.rule is None) or not (fixed or batch.has_theta):  # nothing to find out, or to compare with
            return x
        relaxed = relaxes(self.rule)
        truth = batch.problem.at(batch.theta) if batch.has_theta else batch.problem
        feasible = truth.check(x, FEASIBLE, relaxed=relaxed).feasible.to(x.device)
        self._put(feasible=feasible)
        if not fixed and self.repair is None:
            self.infeasible += int((~feasible).sum())
        if self.repair is None or bool(feasible.all()):
            return x
        repaired = self.repair(x, truth)
        if not isinstance(repaired, Tensor):
            raise checks.fail("repair(x, problem)", "a tensor of decisions", type(repaired).__name__)
        x = torch.where(feasible.unsqueeze(-1), x, repaired.to(x))
        after = truth.check(x, FEASIBLE, relaxed=relaxed)
        if not after:
            where = [] if batch.index is None else batch.index[~after.feasible.to(batch.index.device)].tolist()
            names = checks.instance_names(where, [0])
            raise checks.fail("repair(x, problem)", "feasible under the true problem", f"{names}: {after}")
        return x

    def _ties(self, theta_hat: Tensor, batch: Batch, x: Tensor, regret: Tensor) -> None:
        problem = batch.problem
        if self.rule is None and {"linear", "exact", "fixed"} <= problem.traits:
            worst = worst_decision(problem, theta_hat, batch.theta, x)
            value = problem.objective(worst, batch.theta.double())
            self._put(worst_case_regret=torch.maximum(batch.best()[1].double() - value, regret))

    def _predictions(self, theta_hat: Tensor, theta: Tensor) -> None:
        self._put(mse=(theta_hat - theta).square().reshape(len(theta), -1).mean(-1))
        if self.pairs is not None and bool(((theta == 0) | (theta == 1)).all()):
            self.pairs.append((theta_hat.cpu().numpy().ravel(), theta.cpu().numpy().ravel()))
            if bool(((theta_hat >= 0) & (theta_hat <= 1)).all()):
                self._put(cross_entropy=cross_entropy(theta_hat, theta))
        else:
            self.pairs = None

    def _put(self, **columns: Tensor) -> None:
        for name, column in columns.items():
            array = column.detach().cpu().numpy()
            self.columns.setdefault(name, []).append(array if array.dtype == bool else array.astype(np.float64))

    def report(self, exact: bool, **intervals: Any) -> Report:
        table = {name: np.concatenate(parts) for name, parts in self.columns.items()}
        count = max(map(len, table.values()))
        if self.infeasible:
            checks.warn(
                f"{self.infeasible} of {count} decisions under predicted constraints are infeasible under the truth: "
                "their value and regret mean little. Declare what is carried out instead: "
                "`evaluate(..., repair=...)`, or `Policy(..., repair=...)` where a policy is made or monitored",
                ForesolveWarning,
            )
        table = {name: column for name, column in table.items() if len(column) == count}  # a batch may lack one
        area = None
        if self.metrics and self.pairs:
            area = auc(*(np.concatenate(side) for side in zip(*self.pairs)))
        if self.pairs is None:
            table.pop("cross_entropy", None)
        seconds = {name: total / count for name, total in self.seconds.items()}
        targets = "" if self.targets is None else str(self.targets)
        return Report.of(table, area, seconds, exact, metrics=tuple(self.own), targets=targets, **intervals)
