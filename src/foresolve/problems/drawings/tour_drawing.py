"""Tours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from foresolve._base import checks
from foresolve._base.drawing import layouts
from foresolve._base.drawing.networks import Network, draw_network
from foresolve.problems.drawings.drawing import Drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST_CITIES = 8  # all edges between more of them would be a blot


class TourDrawing(Drawing):
    """Cities where the user says they are, or as far apart as `theta` says."""

    cities: int
    _ends: np.ndarray

    def draw(self, x: Any, theta: Any = None, ax: Any = None, *, positions: Any = None) -> Axes:
        """Draw one tour, on matplotlib axes that can be drawn on further.

        Parameters
        ----------
        x: the decision `(n_edges,)`; of a layer too, whose entries may be fractions.
        theta: the lengths it is shown under, true or predicted: the title says how long it is under them.
        ax: axes to draw on; by default those of a new figure.
        positions: of the cities, `(cities, 2)`; by default as far apart as `theta` says, as well as a plane allows.
        """
        return self._drawn(x, theta, ax, positions=positions)

    def _draw(self, ax: Axes, x: np.ndarray, theta: Tensor | None, *, positions: Any = None) -> None:
        tails, heads = self._ends.T
        if positions is not None:
            places = checks.as_tensor("positions", positions).double().numpy()
            if places.shape != (self.cities, 2):
                raise checks.fail("positions", f"({self.cities}, 2)", str(tuple(places.shape)))
        elif theta is None or theta.shape != x.shape:
            places = layouts.on_circle(self.cities)
        else:
            distances = np.zeros((self.cities, self.cities))
            distances[tails, heads] = distances[heads, tails] = np.maximum(theta.numpy(), 0.0)
            places = layouts.by_distances(distances)
        names = [str(city) for city in range(self.cities)]
        used = x > 1e-6
        kept = used | (self.cities <= MOST_CITIES)
        network = Network(tails[kept], heads[kept], places, names, x[kept], directed=False)
        draw_network(ax, network, taken="tour", left="not taken")
