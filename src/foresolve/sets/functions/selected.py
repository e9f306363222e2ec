"""Set functions of a part of the parameters, or of anything that is worked out from them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.errors import ForesolveError, InvalidInputError, sentence
from foresolve.sets.functions.extension import Local
from foresolve.sets.functions.function import SetFunction
from foresolve.solvers.submodular.cuts import Parts
from foresolve.solvers.submodular.increments import Increments


class Selected(SetFunction):
    r"""`f(S, select(theta))`; what `f.of(select)` makes.

    Parameters
    ----------
    function: the function of `select(theta)`.
    select: any function that torch differentiates, from `(*batch, *shape)` to `(*batch, *inner)`, instance by instance,
        for any batch shape; a lambda keeps the function from being pickled. Or one that ignores `theta` and returns
        fixed data `(*inner)`.
    theta_dims: how many trailing dimensions of the outer `theta` belong to one instance; those of `function` where
        not given.
    theta_bounds: `(low, high)`, between which each entry of the outer `theta` must lie for `select(theta)` to suit the
        function; what is drawn around a prediction (perturbed layers, `ScoreFunction`) is clamped to them.

    Examples
    --------
    >>> import torch
    >>> from foresolve.sets import FacilityLocation
    >>> near, far = (FacilityLocation().of(lambda t, k=k: t[..., k, :, :], theta_dims=3) for k in (0, 1))
    >>> (near + 0.5 * far).value(torch.tensor([1.0, 0.0]), torch.tensor([[[4.0], [9.0]], [[1.0], [2.0]]]))
    tensor(4.5000)
    """

    def __init__(
        self,
        function: SetFunction,
        select: Callable[[Tensor], Tensor],
        theta_dims: int | None = None,
        theta_bounds: tuple[float, float] = (-math.inf, math.inf),
    ) -> None:
        if not callable(select):
            raise checks.fail("select", "a function of theta", type(select).__name__)
        self.function, self.select_from = function, select
        dims = function.theta_dims if theta_dims is None else theta_dims
        self.theta_dims = checks.positive_int("theta_dims", dims, zero=True)
        if not theta_bounds[0] < theta_bounds[1]:
            raise checks.fail("theta_bounds", "(low, high) with low < high", str(theta_bounds))
        self.theta_bounds = theta_bounds

    def _with(self, function: SetFunction) -> Selected:
        return Selected(function, self.select_from, self.theta_dims, self.theta_bounds)

    @property
    def sampled(self) -> bool:
        return self.function.sampled

    @property
    def batch_shape(self) -> torch.Size:
        """The batch shape of the function."""
        return self.function.batch_shape

    def select(self, index: int | slice | Tensor, batch: torch.Size) -> Selected:
        """The same selection, with the function of some instances of a flattened batch."""
        return self._with(self.function.select(index, batch))

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        """`f(S)` `(*batch,)` for sets given as 0/1 `(*batch, n)`."""
        return self.function.value(mask, self.select_from(theta))

    def multilinear(self, x: Tensor, theta: Tensor) -> Tensor:
        """`F(x, theta)` `(*batch,)`, as differentiable as the function."""
        return self.function.multilinear(x, self.select_from(theta))

    def extension(self, x: Tensor, theta: Tensor) -> Tensor:
        """The same, with derivatives that are checked; gradients reach what `select` holds."""
        return self.function.extension(x, self.select_from(theta))

    def local(self, x: Tensor, theta: Tensor) -> SelectedLocal:
        """The extension around `x` `(B, n)`, for parameters `(B or 1, *shape)`, both float64."""
        return SelectedLocal(self, x, theta)

    def increments(self, theta: Tensor, n: int) -> Increments:
        """Increments of the function of `select(theta)`."""
        return self.function.increments(self._each(theta), n)

    def cuts(self, theta: Tensor, n: int) -> Parts:
        """Cuts of the function of `select(theta)`."""
        return self.function.cuts(self._each(theta), n)

    def _each(self, theta: Tensor) -> Tensor:
        """`select(theta)` of each instance, `(B, *inner)`, without a graph."""
        with torch.no_grad():
            selected = self.select_flat(theta.double())
        return selected.expand(len(theta), *selected.shape[1:])

    def select_flat(self, theta: Tensor) -> Tensor:
        """`select(theta)` of a flat batch `(B, *shape)`, as `(B or 1, *inner)` in float64."""
        selected = self.select_from(theta).double()
        dims = self.function.theta_dims
        if selected.ndim == dims:
            selected = selected.unsqueeze(0)  # data of its own
        if selected.ndim != dims + 1 or len(selected) not in (1, len(theta)):
            expected = f"a function to ({len(theta)}, ...) with {dims} dimensions for each instance"
            raise checks.fail("select", expected, f"one to {tuple(selected.shape)}", "It may not touch the batch")
        return selected

    def with_seed(self, seed: int) -> Selected:
        """The same function with other random draws."""
        return self._with(self.function.with_seed(seed))

    def check_theta(self, theta: Any, n: int) -> Tensor:
        """`theta` as a floating tensor such that `select(theta)` suits `function`, or an error."""
        theta = super().check_theta(theta, n)
        try:
            self.function.check_theta(self.select_from(theta), n)
        except InvalidInputError as error:
            if error.argument != "theta":
                raise
            drawn = "Draws around a prediction stay within `f.of(select, theta_bounds=(low, high))`"
            remedy = sentence(str(error.remedy), drawn)
            raise checks.fail("select(theta)", f"{error.expected} for {self.function!r}", error.got, remedy) from error
        return theta

    def to(self, device: torch.device | str) -> Selected:
        """The same function on another device; data that `select` holds stay where they are."""
        return self._with(self.function.to(device))

    def config(self) -> dict[str, Any]:
        """An error: a Python function cannot be kept in a file of numbers."""
        raise ForesolveError(
            f"{self!r} cannot be written to a file: its `select` is code",
            remedy="Select from `theta` in the model instead, or keep the code that makes the function",
        )

    def __repr__(self) -> str:
        return f"{self.function!r}.of({getattr(self.select_from, '__name__', type(self.select_from).__name__)})"


class SelectedLocal(Local):
    """The derivatives in `theta` are those of the function, pulled back through `select`."""

    def __init__(self, outer: Selected, x: Tensor, theta: Tensor, inner: Local | None = None) -> None:
        self.outer, self.x, self.theta = outer, x, theta
        self.inner = inner or outer.function.local(x, outer.select_flat(theta.detach()).detach())

    @property
    def value(self) -> Tensor:  # type: ignore[override]
        return self.inner.value

    @property
    def gradient(self) -> Tensor:  # type: ignore[override]
        return self.inner.gradient

    def hessian(self, index: Tensor) -> Tensor:
        return self.inner.hessian(index)

    def product(self, v: Tensor) -> Tensor:
        return self.inner.product(v)

    def cross(self, v: Tensor) -> Tensor:
        return self._pull(lambda: self.inner.cross(v))

    def slope(self) -> Tensor:
        return self._pull(self.inner.slope)

    def _pull(self, gradient: Callable[[], Tensor]) -> Tensor:
        leaf = self.theta.detach().expand(len(self.x), *self.theta.shape[1:]).clone().requires_grad_()
        with torch.enable_grad():
            selected = self.outer.select_flat(leaf)
        if not selected.requires_grad:
            return torch.zeros_like(leaf)
        (pulled,) = torch.autograd.grad(selected, leaf, gradient().sum_to_size(selected.shape), allow_unused=True)
        return torch.zeros_like(leaf) if pulled is None else pulled

    def merge(self, which: Tensor, fallback: SelectedLocal) -> SelectedLocal | None:
        inner = self.inner.merge(which, fallback.inner)
        return None if inner is None else SelectedLocal(self.outer, self.x, self.theta, inner)
