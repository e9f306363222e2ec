"""What every problem can draw: a decision, what it is worth, and whether it is feasible."""

from __future__ import annotations

from abc import abstractmethod
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.drawing import legends
from foresolve._base.drawing.bars import MOST, draw_bars, largest, mark_bars
from foresolve._base.drawing.canvas import as_axes
from foresolve._base.drawing.palette import CHOSEN, GIVEN
from foresolve._base.numbers import significant
from foresolve.problems.feasibility import Feasibility
from foresolve.problems.naming import Naming

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from foresolve.problems.parameters import Parameters


class Drawing(Naming):
    """Pictures of decisions; a `Problem` has them. A class of your own may override `_draw`."""

    exact: bool
    sense: Literal["max", "min"]
    batch_shape: torch.Size
    _picture_size = (6.0, 4.2)  # of new axes, in inches

    if TYPE_CHECKING:

        @property
        def fixed(self) -> bool: ...

        parameters: Parameters | None

        def _coefficients(self, theta: Tensor) -> Tensor: ...
        def objective(self, x: Tensor, theta: Tensor) -> Tensor: ...
        def signed(self, values: Tensor) -> Tensor: ...
        def solve(self, theta: Tensor) -> Tensor: ...
        def at(self, theta: Tensor) -> Any: ...
        def check_theta(self, theta: Any) -> Tensor: ...

    @abstractmethod
    def check(self, x: Tensor, tol: float = 1e-6, *, relaxed: bool = False) -> Feasibility:
        """Whether decisions are feasible."""

    def draw(self, x: Any, theta: Any = None, ax: Any = None) -> Axes:
        """Draw one decision on its instance, on matplotlib axes that can be drawn on further.

        Parameters
        ----------
        x: the decision `(n,)`; of a layer too, whose entries may be fractions.
        theta: the parameters it is shown under, true or predicted: the title says what it is worth under them.
        ax: axes to draw on; by default those of a new figure.

        Examples
        --------
        >>> import torch, foresolve
        >>> problem = foresolve.TopK(3, 2, names=["tea", "milk", "rum"])
        >>> theta = torch.tensor([0.25, 0.5, 1.0])
        >>> problem.draw(problem.solve(theta), theta).get_title()
        'worth 1.5'
        """
        return self._drawn(x, theta, ax)

    def plot(self, theta: Any, ax: Any = None) -> Axes:
        """Draw the best decision for some parameters."""
        return self.draw(self.solve(self._one_instance("theta", checks.as_tensor("theta", theta))), theta, ax)

    def _drawn(self, x: Any, theta: Any, ax: Any, **options: Any) -> Axes:
        if self.batch_shape.numel() != 1:
            remedy = "Take one: `problem.select(torch.tensor([i])).draw(...)`"
            raise checks.fail("problem", "of one instance", f"a batch {tuple(self.batch_shape)}", remedy)
        x = self._one_instance("x", checks.as_tensor("x", x).detach())
        if self.n is not None:
            checks.last_dim("x", x, self.n)
        theta = None if theta is None else self._one_instance("theta", self.check_theta(theta).detach())
        title = self._picture_title(x, theta)
        ax = as_axes(ax, self._new_size(x.cpu().numpy()))
        dense = None if theta is None else theta if theta.layout == torch.strided else theta.to_dense()
        self._draw(ax, x.cpu().double().numpy(), None if dense is None else dense.cpu().double(), **options)
        ax.set_title(title, fontsize=10)
        return ax

    def _new_size(self, x: np.ndarray) -> tuple[float, float]:
        """Of the picture of a decision, on axes of its own."""
        return self._picture_size

    def _draw(self, ax: Axes, x: np.ndarray, theta: Tensor | None) -> None:
        """By default a bar for each variable, and its coefficient beside it; of many, the largest."""
        shown = largest(np.abs(x), MOST)
        names = [str(i) if self.names is None else str(self.names[i]) for i in shown]
        few = "" if len(shown) == len(x) else f", the {len(shown)} largest of {len(x)}"
        draw_bars(ax, names, x[shown], [CHOSEN] * len(shown), f"x{few}")
        entries = [legends.patch("decision x", CHOSEN)]
        beside, called = theta, "theta"
        if theta is not None and self.parameters is not None and self.parameters.coefficients is not None:
            beside, called = self.signed(self._coefficients(theta)), "coefficient"  # parameters are no variables
        if beside is not None and beside.shape == (len(x),):
            mark_bars(ax, beside.numpy()[shown], called)
            entries.append(legends.mark(f"{called} (upper axis)", GIVEN, "D"))
        legends.under(ax, entries)

    def _one_instance(self, name: str, tensor: Tensor) -> Tensor:
        """One instance, without its batch dimension."""
        dims = 1 if name == "x" else len(self.theta_shape)
        while tensor.ndim > dims and tensor.shape[0] == 1:
            tensor = tensor[0]
        if tensor.ndim != dims:
            shape = "(n,)" if name == "x" else str(self.theta_shape)
            remedy = "Draw one of them: `problem.draw(x[i], theta[i])`"
            raise checks.fail(name, f"that of one instance, {shape}", f"shape {tuple(tensor.shape)}", remedy)
        return tensor

    def _picture_title(self, x: Tensor, theta: Tensor | None) -> str:
        """What it is worth, and whether it may be."""
        words = []
        if theta is not None:
            value = float(self.signed(self.objective(x.to(theta), theta)).reshape(()))
            words.append(f"{'costs' if self.sense == 'min' else 'worth'} {significant(round(value, 12), 5)}")
        problem = self if theta is None or self.fixed else self.at(theta)
        known = theta is not None or self.fixed
        if known and not problem.check(x, relaxed=True):
            words.append("not feasible")
        return ", ".join(words)

    def _repr_html_(self) -> str:
        """What a notebook shows: the facts."""
        size = ", ".join("?" if d is None else str(d) for d in self.theta_shape)
        facts = {
            "decides": "? variables" if self.n is None else f"{self.n} variables",
            "theta": f"({size})", "sense": self.sense, "solved": "exactly" if self.exact else "by a heuristic",
        }  # fmt: skip
        if self.batch_shape:
            facts["instances with data of their own"] = str(tuple(self.batch_shape))
        if self.names is not None:
            facts["names"] = ", ".join(map(str, self.names[:5])) + (", …" if len(self.names) > 5 else "")
        rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in facts.items())
        return f"<table><caption><code>{escape(repr(self))}</code></caption>{rows}</table>"
