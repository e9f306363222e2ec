"""Portfolios: expected returns against risk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from foresolve._base import checks, configs
from foresolve.problems.affine import Affine
from foresolve.problems.blocks import as_names
from foresolve.problems.bounds import as_bound, split_bounds
from foresolve.problems.drawings.weight_drawing import PortfolioDrawing
from foresolve.problems.quadratic import QuadraticProgram

Predicted = Literal["returns", "covariance", "both"]

# Of the mean variance: the quadratic cost of trades unless given, which makes trades unique.
IMPACT = 1e-3


class Portfolio(PortfolioDrawing, QuadraticProgram):
    r"""The weights of assets with the best return for their risk.

    .. math::
        \max_w \; \mu^\top w - \tfrac{\lambda}{2} w^\top \Sigma w
        - \sum_i \bigl( \kappa |t_i| + \tfrac{\eta}{2} t_i^2 \bigr) \quad \text{s.t.} \quad
        \mathbf{1}^\top w = \text{budget}, \; \ell \le w \le u, \; \|t\|_1 \le \text{turnover}, \; t = w - w_0

    The trades :math:`t` are there where a `current` position is given: then `x` `(*batch, 3 n)` holds the weights, what
    is bought and what is sold, and `weights(x)` gives the weights alone. Without it, `x` are the weights.

    Parameters
    ----------
    covariance: :math:`\Sigma` `(n, n)`; or, for a factor model,
    loadings: :math:`B` `(n, k)` and
    specific: the variances `(n,)` that factors leave: :math:`\Sigma = B F B^\top + \mathrm{diag}(\text{specific})`.
    factor_covariance: :math:`F` `(k, k)`; the identity unless given.
    risk_aversion: :math:`\lambda`.
    budget: the sum of all weights.
    bounds: of each weight, as for `LinearProgram`; `(0, inf)`, long only, unless given.
    current: the weights :math:`w_0` `(n,)` that are held, or `(*batch, n)` where instances differ in them.
    turnover: at most this much is traded, bought and sold together; needs `current`.
    cost: :math:`\kappa`, of trading a unit, a number or `(n,)`.
    impact: :math:`\eta`, of trading much at once; by default 0.001 of the mean variance, times :math:`\lambda`.
    predict: what `theta` is: the returns :math:`\mu` `(n,)`; the covariance, `(n * n,)` row by row, or of a factor
        model the specific variances and then the loadings, `(n + n * k,)` row by row; or both, the returns first.
    returns: :math:`\mu` `(n,)`, where only the covariance is predicted; 0 unless given.
    names: of the assets.

    Examples
    --------
    >>> import torch
    >>> from foresolve.problems import Portfolio
    >>> problem = Portfolio([[0.04, 0.01], [0.01, 0.09]], names=["bonds", "stocks"])
    >>> problem.solve(torch.tensor([[0.02, 0.06], [0.02, 0.02]]))
    tensor([[0.3636, 0.6364],
            [0.7273, 0.2727]])
    >>> held = Portfolio([[0.04, 0.01], [0.01, 0.09]], current=[1.0, 0.0], turnover=0.5, impact=0.0)
    >>> held.weights(held.solve(torch.tensor([0.02, 0.06])))
    tensor([0.7500, 0.2500])
    """

    def __init__(
        self,
        covariance: Any = None,
        *,
        loadings: Any = None,
        specific: Any = None,
        factor_covariance: Any = None,
        risk_aversion: float = 1.0,
        budget: float = 1.0,
        bounds: Any = None,
        current: Any = None,
        turnover: float | None = None,
        cost: Any = 0.0,
        impact: float | None = None,
        predict: Predicted = "returns",
        returns: Any = None,
        names: Sequence[str] | None = None,
    ) -> None:
        if predict not in ("returns", "covariance", "both"):
            raise checks.fail("predict", '"returns", "covariance" or "both"', repr(predict))
        self.predict: Predicted = predict
        self.risk_aversion = checks.positive("risk_aversion", risk_aversion)
        total = checks.as_tensor("budget", budget)
        if total.ndim:
            raise checks.fail("budget", "a number", f"shape {tuple(total.shape)}")
        self.budget = float(total)
        parts = _risk(covariance, loadings, specific, factor_covariance)
        self._root = parts.pop("root", None)
        self.assets = n = parts["diagonal"].shape[-1] if "diagonal" in parts else parts["Q"].shape[-1]
        self.current = None if current is None else _vector("current", current, n, batched=True)
        self.cost = _vector("cost", cost, n)
        if bool((self.cost < 0).any()):
            raise checks.fail("cost", ">= 0", f"{float(self.cost.min()):g}")
        if turnover is not None:
            checks.positive("turnover", turnover)
        if self.current is None and (turnover is not None or bool(self.cost.any()) or impact is not None):
            raise checks.fail("current", "given where trades have costs or limits", "None")
        self.turnover = turnover
        variance = parts["diagonal"] + parts["factor"].square().sum(-1) if "factor" in parts else parts["Q"].diagonal()
        default = IMPACT * self.risk_aversion * float(variance.mean())
        self.impact = default if impact is None else checks.between("impact", impact, "[0, inf)")
        self.returns = _vector("returns", 0.0 if returns is None else returns, n)
        if returns is not None and predict != "covariance":
            raise checks.fail("returns", 'given where predict="covariance"', f"predict={predict!r}")
        called = as_names(names, n)
        super().__init__(**self._form(parts), **self._rows(bounds), names=self._all_names(called))
        self._parts = parts
        self._predict()

    # -- the program -------------------------------------------------------------------------------------------------

    @property
    def _trades(self) -> int:
        """How many variables stand behind the weights."""
        return 0 if self.current is None else 2 * self.assets

    def _form(self, parts: dict[str, Tensor]) -> dict[str, Any]:
        """The quadratic part over weights and trades."""
        size, of_trades = self.risk_aversion, torch.full((self._trades,), self.impact, dtype=torch.float64)
        if "Q" in parts:
            return {"Q": torch.block_diag(size * parts["Q"], torch.diag(of_trades))}
        zeros = torch.zeros(self._trades, parts["factor"].shape[-1], dtype=torch.float64)
        return {
            "diagonal": torch.cat([size * parts["diagonal"], of_trades]),
            "factor": torch.cat([size**0.5 * parts["factor"], zeros]),
        }

    def _rows(self, bounds: Any) -> dict[str, Any]:
        n, trades, cpu = self.assets, self._trades, torch.device("cpu")
        lower, upper = (
            as_bound(name, side, n, cpu).double() for name, side in zip(("lower", "upper"), split_bounds(bounds))
        )
        total = scipy.sparse.csr_array(np.ones((1, n)))
        if self.current is None:
            return {"A_eq": total.toarray(), "b_eq": [self.budget], "bounds": (lower, upper)}
        eye = scipy.sparse.eye_array(n)
        rows = scipy.sparse.block_array([[total, None, None], [eye, -eye, eye]])
        program: dict[str, Any] = {
            "A_eq": scipy.sparse.csr_array(rows),
            "b_eq": torch.cat([self.current.new_full((*self.current.shape[:-1], 1), self.budget), self.current], -1),
            "bounds": (
                torch.cat([lower, torch.zeros(trades, dtype=torch.float64)]),
                torch.cat([upper, torch.full((trades,), torch.inf, dtype=torch.float64)]),
            ),
        }
        if self.turnover is not None:
            limit = np.concatenate([np.zeros(n), np.ones(trades)])[None]
            program |= {"A_ub": scipy.sparse.csr_array(limit), "b_ub": [self.turnover]}
        return program

    def _all_names(self, names: tuple[Any, ...] | None) -> list[str] | None:
        if names is None or self.current is None:
            return None if names is None else list(names)
        return [*names, *(f"buy {name}" for name in names), *(f"sell {name}" for name in names)]

    def _predict(self) -> None:
        """What `theta` makes; plain returns of a portfolio without trades are the coefficients themselves."""
        if self.predict == "returns" and self.current is None:
            return
        n, trades = self.assets, self._trades
        known = torch.cat([self.returns, -self.cost, -self.cost])[: n + trades]
        start = 0 if self.predict == "covariance" else n
        sizes = {} if self.predict == "returns" else {name: part.numel() for name, part in self._parts.items()}
        size, width = start + sum(sizes.values()), n + trades
        maps: dict[str, Any] = {}
        for name, count in sizes.items():
            scale = self.risk_aversion**0.5 if name == "factor" else self.risk_aversion
            places = _places(name, self._parts[name].shape, width)
            whole = self._form(self._parts)[name].flatten().clone()
            whole[torch.from_numpy(places)] = 0.0
            local = scipy.sparse.eye_array(count)
            if name == "factor" and self._root is not None:  # V = B root: loadings are predicted, not V
                local = scipy.sparse.kron(scipy.sparse.eye_array(n), self._root.T.numpy())
            local = scipy.sparse.coo_array(local)
            rows, columns = local.coords
            entries = (scale * local.data, (places[rows], start + columns))
            maps[name] = Affine(scipy.sparse.coo_array(entries, shape=(len(whole), size)), whole)
            start += count
        coefficients: Any = known
        if self.predict != "covariance":
            known[:n] = 0.0
            entries = (np.ones(n), (np.arange(n), np.arange(n)))
            coefficients = Affine(scipy.sparse.coo_array(entries, shape=(width, size)), known)
        twin = self.parametrized(coefficients, **maps, names=self._parameter_names(sizes))
        self.parameters, self.batch_shape = twin.parameters, twin.batch_shape

    def _parameter_names(self, sizes: Mapping[str, int]) -> list[str] | None:
        if self.names is None:
            return None
        assets = [str(name) for name in self.names[: self.assets]]
        names = [] if self.predict == "covariance" else list(assets)
        for part, count in sizes.items():
            columns = assets if part == "Q" else [f"factor {j}" for j in range(count // self.assets)]
            pairs = [f"{row}, {column}" for row in assets for column in columns]
            names += [f"variance of {name}" for name in assets] if part == "diagonal" else pairs
        return names

    # -- in the user's words -----------------------------------------------------------------------------------------

    def weights(self, x: Tensor) -> Tensor:
        """The weights `(*batch, n)` of decisions."""
        checks.last_dim("x", x, self.n)
        return x[..., : self.assets]

    def trades(self, x: Tensor) -> Tensor:
        """What is bought, less what is sold, `(*batch, n)`; zero without a current position."""
        if self.current is None:
            return torch.zeros_like(self.weights(x))
        return self.weights(x) - self.current.to(x)

    def _select_parts(self, index: Tensor) -> None:
        super()._select_parts(index)
        if self.current is not None and self.current.ndim > 1:
            self.current = self.current[index]

    def _move_parts(self, device: torch.device) -> None:
        super()._move_parts(device)
        self.current = None if self.current is None else self.current.to(device)
        self.cost, self.returns = self.cost.to(device), self.returns.to(device)

    def _settings(self) -> configs.Config:
        own = {name: getattr(self, name) for name in
               ("risk_aversion", "budget", "current", "turnover", "impact", "predict")}  # fmt: skip
        own["impact"] = None if self.current is None else self.impact
        parts = {"covariance": self._parts["Q"]} if "Q" in self._parts else {
            "specific": self._parts["diagonal"], "loadings": self._parts["factor"]}  # fmt: skip
        n = self.assets
        return own | parts | {
            "cost": self.cost, "returns": self.returns if self.predict == "covariance" else None,
            "lower": self.lower[..., :n], "upper": self.upper[..., :n],
        }  # fmt: skip

    @classmethod
    def _from_settings(cls, settings: Mapping[str, Any]) -> Self:
        entries = dict(settings)
        bounds = (configs.tensor(entries, "lower"), configs.tensor(entries, "upper"))
        names = entries.pop("names")
        del entries["lower"], entries["upper"]
        n = bounds[0].shape[-1]
        return cls(**entries, bounds=bounds, names=None if names is None else names[:n])


def _risk(covariance: Any, loadings: Any, specific: Any, factor_covariance: Any) -> dict[str, Tensor]:
    """`Q`, or `diagonal` and `factor`, for a risk aversion of 1."""
    if (covariance is None) == (loadings is None):
        raise checks.fail("covariance", "given, or `loadings` and `specific` of a factor model", "both or neither")
    if covariance is not None:
        if specific is not None or factor_covariance is not None:
            raise checks.fail("specific", "given with `loadings` only", "with a covariance")
        return {"Q": _matrix("covariance", covariance)}
    factor = _matrix("loadings", loadings, square=False)
    if specific is None:
        raise checks.fail("specific", "given with `loadings`: the variances that factors leave", "None")
    if factor_covariance is not None:
        inner = _matrix("factor_covariance", factor_covariance)
        if inner.shape[0] != factor.shape[1]:
            raise checks.fail("factor_covariance", f"({factor.shape[1]}, {factor.shape[1]})", str(tuple(inner.shape)))
        if not torch.allclose(inner, inner.T, rtol=1e-8, atol=0):
            raise checks.fail("factor_covariance", "symmetric", "a matrix that is not")
        values, vectors = torch.linalg.eigh(inner)
        if bool(values[0] < -1e-10 * values[-1]):
            raise checks.fail(
                "factor_covariance", "positive semidefinite", f"smallest eigenvalue {float(values[0]):.6g}"
            )
        root = vectors * values.clamp_min(0).sqrt()
        return {"diagonal": _vector("specific", specific, len(factor)), "factor": factor @ root, "root": root}
    return {"diagonal": _vector("specific", specific, len(factor)), "factor": factor}


def _matrix(name: str, value: Any, *, square: bool = True) -> Tensor:
    tensor = checks.as_tensor(name, value).double()
    if tensor.ndim != 2 or (square and tensor.shape[0] != tensor.shape[1]):
        raise checks.fail(name, "(n, n)" if square else "(n, k)", str(tuple(tensor.shape)))
    checks.finite(name, tensor)
    return tensor


def _vector(name: str, value: Any, n: int, *, batched: bool = False) -> Tensor:
    tensor = checks.as_tensor(name, value).double()
    tensor = tensor.expand(n) if tensor.ndim == 0 else tensor
    if tensor.shape[-1] != n or (tensor.ndim > 1 and not batched):
        expected = f"(*batch, {n})" if batched else f"({n},)"
        raise checks.fail(name, f"a number or {expected}", str(tuple(tensor.shape)))
    checks.finite(name, tensor)
    return tensor


def _places(name: str, shape: torch.Size, width: int) -> np.ndarray:
    """Where the entries of the weights' part stand among those of all variables."""
    if name != "Q":
        return np.arange(shape.numel())  # rows of trades come last
    row, column = np.divmod(np.arange(shape.numel()), shape[1])
    return row * width + column
