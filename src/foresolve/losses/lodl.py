"""Locally optimized decision losses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.progress import Progress, reporting
from foresolve._base.randomness import Seed, as_generator
from foresolve.data.batch import Batch
from foresolve.data.dataset import DecisionDataset
from foresolve.losses.base import Loss
from foresolve.losses.pool import row_keys
from foresolve.losses.quadratic_forms import LocalLosses, fit_local
from foresolve.losses.score_function import as_bounds, clamped

CHUNK = 64  # instances whose samples are solved in one call
Kind = Literal["weighted_mse", "quadratic", "directed_weighted_mse", "directed_quadratic"]
DIRECTED: frozenset[Kind] = frozenset({"directed_weighted_mse", "directed_quadratic"})
QUADRATIC: frozenset[Kind] = frozenset({"quadratic", "directed_quadratic"})


class LODL(Loss):
    r"""LODL: for each instance a quadratic loss of its own, fitted to the regret of predictions near the truth.

    With the error :math:`e = \hat\theta - \theta_i` of instance `i`, in units of the spread of `theta`,

    .. math::
        \ell_i(e) = \|L_i e\|^2 + \epsilon_i \|e\|^2, \qquad
        L_i = \arg\min_L \sum_k \big( \|L e_k\|^2 + \epsilon_i \|e_k\|^2 - r_i(\theta_i + e_k) \big)^2,

    where :math:`r_i(y) = f(x^*_i, \theta_i) - f(x(y), \theta_i)` is the regret of the decision for `y`, and
    :math:`e_k` are Gaussian draws, the same for all instances. Non-negative and positive definite by construction.
    :math:`L_i` is diagonal ("weighted_mse": a weight for each parameter) or has `rank` rows ("quadratic"); in the
    directed kinds the column of a parameter depends on the sign of its error: too much and too little cost differently.
    All solves come before training, none during it (Shah, Wang, Wilder, Perrault and Tambe, *Decision-Focused Learning
    without Decision-Making: Learning Locally Optimized Decision Losses*, NeurIPS 2022).

    `prepare(train)`, which `fit` calls, fits the losses of a training set. Instances met later are fitted when they are
    first seen, with the same draws.

    Parameters
    ----------
    kind: the form of :math:`L_i`.
    samples: solves for each instance; more than there are parameters to fit.
    spread: the standard deviation of the draws, in units of that of each parameter over the data set. It should be that
        of the errors the model will make.
    rank: rows of :math:`L_i` for the quadratic kinds.
    steps: of the fit (Adam).
    ridge: :math:`\epsilon_i`, as a share of the mean regret: a pull to the truth where decisions do not change.
    bounds: `(low, high)`, where `theta` must stay within limits: draws are put back on them. Those of the
        problem, `problem.theta_bounds`, hold too.
    seed: of the draws, or a `torch.Generator` to take one from.

    Works with: any oracle and any objective.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.data import DecisionDataset
    >>> from foresolve.losses import LODL
    >>> theta = torch.tensor([[1.0, 3.0, 0.0], [2.0, 2.5, 0.5]])
    >>> loss, data = LODL(samples=50), DecisionDataset(torch.eye(2), theta, foresolve.TopK(3, 1))
    >>> train = loss.prepare(data)
    >>> loss(theta, train[:])
    tensor([0., 0.])
    """

    needs = ("fixed",)
    uses_best = True

    def __init__(
        self,
        kind: Kind = "directed_weighted_mse",
        *,
        samples: int = 200,
        spread: float = 1.0,
        rank: int = 4,
        steps: int = 300,
        ridge: float = 0.01,
        bounds: tuple[float, float] | None = None,
        seed: Seed = 0,
    ) -> None:
        super().__init__()
        self.kind: Kind = checks.one_of("kind", kind, get_args(Kind))
        self.samples, self.steps = checks.positive_int("samples", samples), checks.positive_int("steps", steps)
        self.rank, self.spread = checks.positive_int("rank", rank), checks.positive("spread", spread)
        if not 0 <= ridge < float("inf"):
            raise checks.fail("ridge", "a finite number >= 0", str(ridge))
        self.ridge, self.bounds = float(ridge), as_bounds(bounds)
        # All instances share the draws: what is kept is a seed, which a generator gives once.
        source = as_generator("seed", seed)
        self.seed = source.initial_seed()
        if source is seed:
            self.seed = int(torch.randint(2**62, (), generator=source, device=source.device))
        self._unit: Tensor | None = None
        self._keys: Tensor | None = None
        self._local: LocalLosses | None = None

    def _prepare(self, data: DecisionDataset, valid: bool, progress: bool | Progress | None) -> None:
        """Fit the losses of all instances, forgetting those of earlier data; with `valid` these and the units stay."""
        if not valid:
            self._unit, self._keys, self._local = self._units(data.theta.detach().double()), None, None
        with reporting(progress, "local losses") as report:
            for start in range(0, len(data), CHUNK):
                batch = data[start : start + CHUNK]
                # A validated batch has no positions, which would be those of other instances.
                self._remember(replace(batch, index=None) if valid else batch)
                report(min(start + CHUNK, len(data)), len(data))

    def forward(self, theta_hat: Tensor, batch: Batch) -> Tensor:
        if self._unit is None:
            remedy = "Call `loss.prepare(train)` before training, as `fit` does"
            raise checks.fail("LODL", "fitted to the training set", "one that is not fitted yet", remedy)
        local = self._recall(batch)
        unit = self._unit.to(theta_hat.device)
        errors = (theta_hat.double() - batch.theta.double()) / unit
        return local(errors.flatten(1)).to(theta_hat.dtype)

    def _units(self, theta: Tensor) -> Tensor:
        """The spread of each parameter, `(*shape)`; one that never changes takes the mean spread of all, or 1."""
        std = theta.std(0, correction=0)
        usual = std.square().mean().sqrt()
        usual = torch.where(usual > 0, usual, torch.ones_like(usual))
        return torch.where(std > 1e-6 * usual, std, usual)

    def _recall(self, batch: Batch) -> LocalLosses:
        """The losses of a batch's instances, fitted where they are new."""
        keys = _keys(batch)
        known = torch.zeros_like(keys, dtype=torch.bool)
        if self._keys is not None:
            known = torch.isin(keys, self._keys.to(keys.device))
        if not bool(known.all()):
            self._remember(batch)
        assert self._keys is not None
        assert self._local is not None
        position = torch.searchsorted(self._keys.to(keys.device), keys)
        return self._local.to(keys.device).select(position)

    def _remember(self, batch: Batch) -> None:
        """Fit and store; keys are kept in order, so that they can be searched."""
        keys, local = _keys(batch), self._fit(batch)
        if self._keys is not None and self._local is not None:
            old = ~torch.isin(self._keys.to(keys.device), keys)
            keys = torch.cat([self._keys.to(keys.device)[old], keys])
            local = self._local.to(keys.device).select(old).join(local)
        order = keys.argsort(stable=True)
        self._keys, self._local = keys[order], local.select(order)

    @torch.no_grad()
    def _fit(self, batch: Batch) -> LocalLosses:
        assert self._unit is not None
        problem, theta = batch.problem, batch.theta.detach().double()
        generator = torch.Generator().manual_seed(self.seed)
        noise = torch.randn(self.samples, 1, *theta.shape[1:], generator=generator, dtype=torch.float64)
        unit = self._unit.to(theta.device)
        points = theta + self.spread * unit * noise.to(theta.device)
        points = clamped(points, self.bounds, problem)
        value = batch.best()[1].double()
        regret = value - problem.objective(problem.decide(points)[0], theta.expand_as(points)).double()
        errors = ((points - theta) / unit).flatten(2)
        return fit_local(
            errors, regret, directed=self.kind in DIRECTED, rank=self.rank if self.kind in QUADRATIC else None,
            ridge=self.ridge, steps=self.steps, generator=generator,
        )  # fmt: skip

    def get_extra_state(self) -> dict[str, Any]:
        """The fitted losses."""
        local = None if self._local is None else {"factors": self._local.factors, "ridge": self._local.ridge}
        return {"unit": self._unit, "keys": self._keys, "local": local}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Go on from `get_extra_state`."""
        self._unit, self._keys = state["unit"], state["keys"]
        self._local = None if state["local"] is None else LocalLosses(**state["local"])

    def extra_repr(self) -> str:
        fitted = 0 if self._keys is None else len(self._keys)
        return f"kind={self.kind!r}, samples={self.samples}, spread={self.spread:g}, fitted={fitted}"


def _keys(batch: Batch) -> Tensor:
    """Keys that identify instances: their positions in the data set and their parameters.

    Positions alone would mistake an instance of a validation set for one of the training set.
    """
    theta = batch.theta.detach().flatten(1)
    index = torch.full((len(theta),), -1.0) if batch.index is None else batch.index
    return row_keys(torch.cat([theta.double(), index.to(theta.device).double().unsqueeze(-1)], -1))
