"""Quadratic programs."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Never, Self

from torch import Tensor

from foresolve._base import checks, configs
from foresolve.problems.affine import Affine
from foresolve.problems.base import Sense
from foresolve.problems.blocks import refuse_keywords
from foresolve.problems.constraints import Constraints
from foresolve.problems.convexity import check_convex
from foresolve.problems.curved import CurvedProgram
from foresolve.problems.parameters import as_map
from foresolve.problems.quadratic_term import QuadraticTerm

_PARTS = {"Q": "matrix", "diagonal": "diagonal", "factor": "factor"}


class QuadraticProgram(CurvedProgram):
    r"""`max theta'x - x'Qx / 2` (or `min theta'x + x'Qx / 2`, see `sense`) over a polytope.

    .. math::
        \max_x \; \theta^\top x - \tfrac{1}{2} x^\top Q x \quad \text{s.t.} \quad A_{eq} x = b_{eq},\;
        A_{ub} x \le b_{ub},\; \ell \le x \le u, \qquad Q \succeq 0

    The constraints are those of `LinearProgram`, and written alike. `QuadraticRelaxation(gamma=0)` is the program
    itself where `Q` is definite on the null space of `A_eq`, with gradients for `theta`, the constraints and `Q`;
    with `gamma > 0` it takes every `Q`. Structure is used: a diagonal costs nothing, a few factors little, a sparse `Q`
    is factorized as such. Every tensor may be shared by all instances or carry leading batch dimensions.

    Parameters
    ----------
    Q: `(*batch, n, n)`, symmetric and positive semidefinite, whatever `sense`: NumPy, SciPy sparse, torch.
    A_ub, b_ub, A_eq, b_eq, bounds, sense, n, names, constraints: as for `LinearProgram`; bounds are `(0, inf)` unless
        given.
    integrality: refused where a variable is integer: mixed-integer quadratic programs are not solved.
    diagonal: `(*batch, n)`, `>= 0`, and
    factor: `(*batch, n, k)`: together, or one of them, in place of `Q`, which is then
        :math:`\mathrm{diag}(\text{diagonal}) + \text{factor} \, \text{factor}^\top` (a factor model).

    Examples
    --------
    Two assets, the second of which is riskier; a quarter of the second is best.

    >>> import torch, foresolve
    >>> problem = foresolve.QuadraticProgram([[1.0, 0.0], [0.0, 3.0]], A_eq=[[1.0, 1.0]], b_eq=[1.0])
    >>> theta = torch.tensor([1.0, 1.0], requires_grad=True)
    >>> problem.solve(theta)
    tensor([0.7500, 0.2500])
    >>> x = foresolve.QuadraticRelaxation(gamma=0.0)(theta, problem)  # the same, with a gradient
    >>> x[1].backward()
    >>> theta.grad
    tensor([-0.2500,  0.2500])
    """

    def __init__(
        self,
        Q: Any = None,
        A_ub: Any = None,
        b_ub: Any = None,
        A_eq: Any = None,
        b_eq: Any = None,
        bounds: Any = None,
        integrality: Any = None,
        sense: Sense = "max",
        *,
        diagonal: Any = None,
        factor: Any = None,
        n: int | None = None,
        names: Sequence[str] | None = None,
        constraints: Constraints | None = None,
        **unknown: Never,
    ) -> None:
        refuse_keywords(QuadraticProgram, unknown)
        term = Q if isinstance(Q, QuadraticTerm) else QuadraticTerm.parse(Q, diagonal, factor)
        if n is not None and n != term.n:
            raise checks.fail("n", f"{term.n}, the variables of the quadratic part", str(n))
        self.term = term
        size = term.n if constraints is None else None
        super().__init__(
            A_ub, b_ub, A_eq, b_eq, bounds, integrality, sense, n=size, names=names, constraints=constraints
        )
        if self.n != term.n:
            raise checks.fail("Q", f"of {self.n} variables, as the constraints", f"{term.n}")
        if bool(self.integrality.any()):
            remedy = "Give integrality=None for the continuous program, or a LinearProgram, whose objective is linear"
            raise checks.fail("integrality", "0: mixed-integer quadratic programs are not solved", "integer variables",
                              remedy)  # fmt: skip
        check_convex(term)

    # -- what is predicted ---------------------------------------------------------------------------------------------

    def parametrized(
        self,
        coefficients: Any = None,
        *,
        constant: Any = None,
        Q: Affine | None = None,
        diagonal: Affine | None = None,
        factor: Affine | None = None,
        b_ub: Affine | None = None,
        b_eq: Affine | None = None,
        lower: Affine | None = None,
        upper: Affine | None = None,
        names: Sequence[str] | None = None,
    ) -> Self:
        r"""As for `LinearProgram`; `theta` may make the quadratic part as well, or alone.

        Parameters
        ----------
        coefficients, constant, b_ub, b_eq, lower, upper, names: as for `LinearProgram.parametrized`.
        Q: an `Affine` of the `n * n` entries, row by row, of a program that was made with a dense `Q`; what it gives
            must be positive semidefinite for every prediction, or it is an error that names the eigenvalue.
        diagonal: an `Affine` of `n` numbers, of a program with a `diagonal`.
        factor: an `Affine` of `n * k` numbers, row by row, of a program with a `factor`: whatever is predicted,
            :math:`V V^\top` is positive semidefinite.

        Examples
        --------
        One prediction holds two returns and the risks of both.

        >>> import torch, foresolve
        >>> from foresolve.problems import Affine
        >>> plain = foresolve.QuadraticProgram(diagonal=[1.0, 1.0], A_eq=[[1.0, 1.0]], b_eq=[1.0])
        >>> problem = plain.parametrized(Affine.block(0, 2, size=4), diagonal=Affine.block(2, 2, size=4))
        >>> problem.solve(torch.tensor([[1.0, 1.0, 1.0, 3.0], [1.0, 1.0, 3.0, 1.0]]))
        tensor([[0.7500, 0.2500],
                [0.2500, 0.7500]])
        """
        given = {
            name: part for name, part in {"Q": Q, "diagonal": diagonal, "factor": factor}.items() if part is not None
        }
        parts: dict[str, Affine | None] = self._constraint_maps(b_ub, b_eq, lower, upper)
        for name, part in given.items():
            own = getattr(self.term, _PARTS[name])
            if own is None:
                wanted = "dense `Q`" if name == "Q" else f"`{name}`"
                raise checks.fail(name, f"predicted only where the program was made with a {wanted}", repr(self))
            parts[_PARTS[name]] = as_map(name, part, self._quadratic_sizes()[_PARTS[name]], "entries")
        return self._parametrized(coefficients, constant, names, parts)

    def at(self, theta: Tensor) -> Self:
        """The program for given `theta`, attached to its graph; itself unless `theta` makes constraints or `Q`."""
        program = super().at(theta)
        if self.parameters is None or not self.parameters.quadratic:
            return program
        theta = self.check_theta(theta)
        twin = copy.copy(program)
        assert program.parameters is not None
        twin.term, twin.parameters = self._term_at(theta), program.parameters.linear_only()
        twin._constrain(program.constraints)
        check_convex(twin.term)
        return twin

    def _expected_value(self, theta: Tensor, x: Tensor) -> Tensor:
        return super()._expected_value(theta, x) - self._term_at(theta).value(x)

    def _quadratic_sizes(self) -> dict[str, int]:
        return {name: size for name, size in self.term.sizes.items() if name in _PARTS.values()}

    def _check_parametrizable(self) -> None:
        """A quadratic program can be, whatever is not linear about it."""

    # -- files --------------------------------------------------------------------------------------------------------

    def _settings(self) -> configs.Config:
        return super()._settings() | {"quadratic": self.term.config()}

    @classmethod
    def _from_settings(cls, settings: Mapping[str, Any]) -> Self:
        term = QuadraticTerm.from_config(settings["quadratic"])
        constraints = Constraints.from_config(settings)
        return cls(term, constraints=constraints, sense=settings["sense"], names=settings["names"])
