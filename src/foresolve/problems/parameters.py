"""What `theta` stands for in a linear problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import torch
from torch import Tensor

from foresolve._base import checks, configs
from foresolve.problems.affine import Affine
from foresolve.problems.blocks import as_names

QUADRATIC = ("matrix", "diagonal", "factor")


@dataclass(frozen=True, eq=False)
class Parameters:
    """What `theta` `(*batch, size)` stands for: which numbers of a linear problem it makes.

    Attributes
    ----------
    size: the number of parameters.
    coefficients: of `x` in the objective; `None` where they are `theta` itself.
    constant: the term of the objective without `x`, one number; `None` for 0.
    rhs, lower, upper: of rows and bounds; `None` where they stay as they are.
    matrix, diagonal, factor: the entries of the quadratic part, likewise.
    names: of the parameters.
    """

    size: int
    coefficients: Affine | None = None
    constant: Affine | None = None
    rhs: Affine | None = None
    lower: Affine | None = None
    upper: Affine | None = None
    matrix: Affine | None = None
    diagonal: Affine | None = None
    factor: Affine | None = None
    names: tuple[str, ...] | None = None

    @property
    def _maps(self) -> dict[str, Affine]:
        names = ("coefficients", "constant", "rhs", "lower", "upper", *QUADRATIC)
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    @cached_property
    def moving(self) -> Affine | None:
        """What makes the coefficients, if any of them is predicted and is not `theta` itself."""
        return self.coefficients if self.coefficients is not None and bool(self.coefficients.moved.any()) else None

    @property
    def quadratic(self) -> dict[str, Affine]:
        """What makes the quadratic part."""
        return {name: getattr(self, name) for name in QUADRATIC if getattr(self, name) is not None}

    @property
    def fixed(self) -> bool:
        """Whether the feasible set stays where it is."""
        return self.rhs is None and self.lower is None and self.upper is None

    @cached_property
    def batch_shape(self) -> torch.Size:
        """Of what is known of each instance."""
        return checks.broadcast_batch({f"`{name}`": part.batch_shape for name, part in self._maps.items()})

    @property
    def constant_alone(self) -> Tensor | None:
        """The objective's constant, where all that is said is its number: programs from files have one."""
        if (
            not self.fixed
            or self.quadratic
            or self.coefficients is not None
            or self.constant is None
            or bool(self.constant.moved.any())
        ):
            return None
        return self.constant.known[..., 0]

    def expand(self, batch: torch.Size) -> Parameters:
        """With what is known for each instance of a batch."""
        return replace(self, **{name: part.expand(batch) for name, part in self._maps.items()})

    def objective_only(self) -> Parameters:
        """Once the feasible set is worked out."""
        return replace(self, rhs=None, lower=None, upper=None)

    def linear_only(self) -> Parameters:
        """Once the quadratic part is worked out, too."""
        return replace(self, **dict.fromkeys(QUADRATIC))

    def select(self, index: Tensor) -> Parameters:
        """Those of some instances."""
        return replace(self, **{name: part.select(index) for name, part in self._maps.items()})

    def to(self, device: torch.device) -> Parameters:
        """The same on another device."""
        return replace(self, **{name: part.to(device) for name, part in self._maps.items()})

    def config(self) -> configs.Config:
        """As JSON and tensors."""
        maps = {name: part.config() for name, part in self._maps.items()}
        return {"size": self.size, "names": None if self.names is None else list(self.names), **maps}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """What `config()` describes."""
        maps = {name: Affine.from_config(part) for name, part in config.items() if name not in ("size", "names")}
        size, names = configs.size(config, "size"), config["names"]
        if any(part.shape[1] != size for part in maps.values()):
            raise ValueError(f"every map must have {size} parameters")
        return cls(size=size, names=None if names is None else tuple(map(str, names)), **maps)

    @classmethod
    def of(
        cls,
        n: int,
        variables: Sequence[str] | None,
        coefficients: Any,
        constant: Any,
        names: Sequence[str] | None,
        constraints: Mapping[str, Affine | None],
    ) -> Self:
        """From the arguments of `Problem.parametrized`, for `n` variables of the names `variables`."""
        given = {name: part for name, part in constraints.items() if part is not None}
        objective = coefficients if isinstance(coefficients, Affine) else None
        if objective is not None:
            given["coefficients"] = as_map("coefficients", objective, n, "variables")
        if isinstance(constant, Affine):
            given["constant"] = as_map("constant", constant, 1, "constant")
        sizes = {name: part.shape[1] for name, part in given.items()}
        if coefficients is None:
            sizes["coefficients"] = n
            moved = [name for name in constraints if name in given]
            if moved:
                remedy = "Coefficients that are all known are an array `(n,)` of them"
                raise checks.fail("coefficients", "given where `theta` makes constraints or Q", "None", remedy)
        if len(set(sizes.values())) != 1:
            told = ", ".join(f"{size} in `{name}`" for name, size in sizes.items()) or "none: nothing is predicted"
            remedy = "" if sizes else "A matrix of parameters goes into an `Affine(matrix)`"
            raise checks.fail("theta", "of one number of parameters in all parts", told, remedy)
        size = next(iter(sizes.values()))
        if objective is None and coefficients is not None:
            given["coefficients"] = Affine(torch.zeros(n, size), coefficients)
        if constant is not None and "constant" not in given:
            given["constant"] = Affine(torch.zeros(1, size), checks.as_tensor("constant", constant).unsqueeze(-1))
        called = as_names(names, size) if names is not None else _names_of(given.get("coefficients"), variables)
        return cls(size, **given, names=called)


def as_map(name: str, value: Any, n: int, what: str) -> Affine:
    """An `Affine` of `n` numbers."""
    if not isinstance(value, Affine):
        raise checks.fail(name, "an `Affine`", type(value).__name__, "For example `Affine(matrix, known)`")
    if value.shape[0] != n:
        raise checks.fail(name, f"an `Affine` of {n} numbers, the {what}", f"one of {value.shape[0]}")
    return value


def _names_of(coefficients: Affine | None, variables: Sequence[str] | None) -> tuple[str, ...] | None:
    """Parameters that are the coefficients of one variable each have its name."""
    if variables is None or coefficients is None:
        return None if variables is None else tuple(map(str, variables))
    owners = coefficients.row[coefficients.column.argsort()].tolist()
    single = sorted(coefficients.column.tolist()) == list(range(coefficients.shape[1]))
    return tuple(str(variables[owner]) for owner in owners) if single else None
