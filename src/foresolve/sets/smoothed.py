"""Smoothed functions that the ascents climb."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
        r"""Points `(B, n)` onto the polytope; points that an ascent comes by, and `fixed_point`, have `y >= 0`.

        Without bases to fill, an item `i` that adds nothing (`theta_i = 0`, say) has `y_i = 0`, and sits at `x_i = 0`
        with a multiplier of zero: a kink of the projection, which is flat for `y_i < 0` and follows `y_i > 0`. But `F`
        is monotone, `y_i` is never negative whatever `theta` is, and only the second side is ever seen: if there is
        room for `i` in all sets that hold it, `x_i(theta) = y_i(theta)` for all `theta` near by that are allowed. So
        `i` counts as free, and the derivative is the one-sided one into the domain of `theta`.

        It takes nothing from the other items. For `x_l < 1`, `grad_i F` is 0 at `x` and not negative at `x + t e_l`, so
        that `H_il >= 0`; as `F` is submodular, `H_il <= 0`. Hence `H_il = 0` for all free `l`, and `2 gamma I - C H C`
        gets `2 gamma` on the diagonal for `i`, and nothing else.
        """
        projection = self.matroid.project(y, base=self.base, check=False)
        if self.base:
            return projection
        idle = (y >= 0) & (projection.x <= 0) & (projection.group < 0)
        if not bool(idle.any()):
            return projection
        return replace(projection, free=projection.free | (idle & ~self.matroid.full(projection.x)))

    def fixed_point(self, gradient: Tensor) -> MatroidProjection:
        """`Proj(gradient / 2 gamma)`, which is `x` itself at a stationary point."""
        return self.project(gradient / (2 * self.gamma.unsqueeze(-1)))
