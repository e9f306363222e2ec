"""What variables and parameters are called, and decisions in these words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from torch import Tensor

from foresolve._base import checks
from foresolve.problems.parameters import Parameters

LEAST = 1e-6  # of an entry that is more than a solver's tolerance, as a share of the largest up to 1


def taken(x: Tensor) -> Tensor:
    """Which entries of decisions `(*batch, n)` are not 0 but for rounding, in whatever units.

    >>> import torch
    >>> taken(torch.tensor([[1.0, 1e-9], [2e-9, 1e-9], [0.0, 0.0]])).tolist()
    [[True, False], [True, True], [False, False]]
    """
    sizes = x.detach().abs()
    if not sizes.numel():
        return sizes > 0
    return sizes > LEAST * sizes.amax(-1, keepdim=True).clamp_max(1.0)


class Naming(ABC):
    """Sizes and names of decisions and parameters; a `Problem` has them.

    Attributes
    ----------
    names: of the variables; `None` where they are numbers.
    parameters: what `theta` stands for where a linear problem is `parametrized`; `None` where it is the coefficients.
    """

    names: tuple[str, ...] | None = None
    parameters: Parameters | None = None

    @property
    @abstractmethod
    def n(self) -> int | None:
        """The number of variables; `None` where only the solver knows."""

    @property
    def theta_shape(self) -> tuple[int | None, ...]:
        """The shape of one instance's parameters, whatever `n` is; `None` for a size that the problem leaves open."""
        return (self.n,) if self.parameters is None else (self.parameters.size,)

    @property
    def theta_names(self) -> tuple[str, ...] | None:
        """The names of the parameters; those of the variables where each has one of its own."""
        if self.parameters is not None:
            return self.parameters.names
        return self.names if self.theta_shape == (self.n,) else None

    @property
    def theta_axes(self) -> tuple[tuple[str, ...], ...] | None:
        """The names along each axis of the parameters, two of a matching's pairs; `None` where they have none."""
        return None if self.theta_names is None else (tuple(map(str, self.theta_names)),)

    def chosen(self, x: Tensor) -> list[Any]:
        """The variables that are not 0 in one decision `(n,)`, by name or number; of a batch, a list for each.

        Examples
        --------
        >>> import torch, foresolve
        >>> problem = foresolve.TopK(3, 2, names=["tea", "milk", "rum"])
        >>> problem.chosen(problem.solve(torch.tensor([0.2, 0.1, 0.9])))
        ['tea', 'rum']
        """
        x = checks.as_tensor("x", x)
        if self.n is not None:
            checks.last_dim("x", x, self.n)
        if x.ndim > 1:
            return [self.chosen(row) for row in x]
        places = taken(x).nonzero().flatten().tolist()
        return places if self.names is None else [self.names[place] for place in places]

    def words(self, x: Tensor) -> Any:
        """A decision `(n,)` in the user's words: the nodes of a path, pairs, what is chosen; of a batch, a list."""
        return self.chosen(x)
