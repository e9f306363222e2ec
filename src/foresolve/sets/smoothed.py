"""What the ascents climb."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from foresolve.sets.functions.extension import Local
from foresolve.sets.functions.function import SetFunction
from foresolve.sets.matroids.matroid import MatroidProjection, PolyhedralMatroid


@dataclass(frozen=True)
class SmoothedProgram:
    """`max F(x, theta) - gamma |x|^2` over a matroid polytope, for a flat batch.

    Attributes
    ----------
    theta: `(B or 1, *shape)`.
    gamma: `(B,)`.
    base: whether over the bases alone.
    """

    function: SetFunction
    matroid: PolyhedralMatroid
    theta: Tensor
    gamma: Tensor
    base: bool = True

    def local(self, x: Tensor) -> Local:
        """The extension at points `(B, n)`."""
        return self.function.local(x, self.theta)

    def height(self, x: Tensor, value: Tensor) -> Tensor:
        """The objective `(B,)` at points where the extension has this value."""
        return value - self.gamma * x.square().sum(-1)

    def slope(self, x: Tensor, gradient: Tensor) -> Tensor:
        """The gradient `(B, n)` of the objective where the extension has this one."""
        return gradient - 2 * self.gamma.unsqueeze(-1) * x

    def project(self, y: Tensor) -> MatroidProjection:
        """Points `(B, n)` onto the polytope."""
        return self.matroid.project(y, base=self.base, check=False)

    def fixed_point(self, gradient: Tensor) -> MatroidProjection:
        """`Proj(gradient / 2 gamma)`, which is `x` itself at a stationary point."""
        return self.project(gradient / (2 * self.gamma.unsqueeze(-1)))
