"""Which constraints a decision breaks, and by how much."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from foresolve._base import checks


@dataclass(frozen=True)
class Violation:
    """One broken constraint of one instance: `kind` is A_ub, A_eq, sets, base, lower, upper or integrality."""

    instance: tuple[int, ...]
    kind: str
    index: int
    amount: float
    name: str = ""

    @property
    def constraint(self) -> str:
        """The constraint and by how much it is broken, without the instance."""
        noun = {"A_ub": "row", "A_eq": "row", "sets": "number", "base": "row"}.get(self.kind, "variable")
        named = f" ({self.name})" if self.name else ""
        return f"{self.kind} {noun} {self.index}{named} is broken by {self.amount:.3g}"

    def __str__(self) -> str:
        place = ", ".join(map(str, self.instance))
        return f"instance {place}: {self.constraint}" if self.instance else self.constraint


@dataclass(frozen=True)
class Feasibility:
    """Truthy where every instance is feasible; prints the worst violations, largest first."""

    feasible: Tensor
    worst: Tensor
    violations: list[Violation] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.feasible.all())

    def __str__(self) -> str:
        if self:
            return "feasible"
        bad = [int(i) for i in (~self.feasible).flatten().nonzero()]
        head = f"infeasible: {checks.instance_names(bad, self.feasible.shape)}"
        return "\n".join([head, *(f"  {violation}" for violation in self.violations)])


def beyond(rounding: Tensor, excess: Tensor) -> Tensor:
    """By how much constraints are exceeded, but for rounding; what is infinite or NaN is no rounding."""
    return torch.where((excess <= rounding) & rounding.isfinite(), excess.clamp_max(0), excess)


def inspect(
    excesses: dict[str, Tensor], tol: float, batch: torch.Size, name: Callable[[str, int], str], most: int = 20
) -> Feasibility:
    """Sort the amounts `(*batch, count)` by which each kind of constraint is exceeded into a report."""
    tol = checks.between("tol", tol, "[0, inf)")
    worst = torch.zeros(batch, dtype=torch.float64)
    violations: list[Violation] = []
    for kind, excess in excesses.items():
        if excess.shape[-1] == 0:
            continue
        excess = excess.detach().cpu().double().nan_to_num(nan=torch.inf).expand(*batch, -1)
        worst = torch.maximum(worst, excess.amax(-1).clamp_min(0).to(worst))
        for position in (excess > tol).nonzero()[: 50 * most].tolist():
            amount = float(excess[tuple(position)])
            violations.append(Violation(tuple(position[:-1]), kind, position[-1], amount, name(kind, position[-1])))
    violations.sort(key=lambda violation: -violation.amount)
    return Feasibility(worst <= tol, worst, violations[:most])
