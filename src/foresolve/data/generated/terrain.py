"""Pictures of terrain, through which the cheapest path is sought, like the maps of the Warcraft benchmark."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from foresolve._base import checks
from foresolve._base.randomness import Seed, as_generator
from foresolve.data.dataset import DecisionDataset
from foresolve.problems.shortest_path import ShortestPath

# By height, from the lowest. Costs are the five of the published maps; neighbors in height differ in cost.
TERRAIN = ("water", "sand", "grass", "forest", "rock")
COSTS = (9.2, 1.2, 0.8, 5.3, 7.7)
SHARES = (0.2, 0.15, 0.3, 0.2, 0.15)
COLORS = ((60, 110, 170), (205, 190, 130), (110, 160, 70), (50, 100, 50), (125, 120, 115))
GRAIN = (14, 18, 22, 34, 30)  # how much the pixels of one cell differ
SMOOTH = 1.2  # cells over which heights are alike: the standard deviation of the blur
TINT = 14  # of the color of a cell, and
LIGHT = 0.12  # of the brightness of a map, standard deviations both


def terrain_data(
    count: int, *, height: int = 12, width: int = 12, pixels: int = 8, noise: float = 0.25, seed: Seed = 0
) -> DecisionDataset:
    r"""Find the cheapest way through a map, from its top left to its bottom right, with 8 moves; a picture is given.

    .. math::
        c_{ij} = c(\text{terrain}_{ij}) \, \varepsilon_{ij}, \quad c \in \{0.8, 1.2, 5.3, 7.7, 9.2\}, \;
        \varepsilon_{ij} \sim U[1 - w, 1 + w]

    Heights are smoothed noise, cut into water, sand, grass, forest and rock; each cell shows its terrain's color, with
    grain, a tint of its own, and the light of the day. It is made after the Warcraft maps of Vlastelica et al.
    ("Differentiation of blackbox combinatorial solvers", ICLR 2020), which `load_warcraft` reads; there costs depend on
    the terrain alone, as here with `noise=0`.

    Parameters
    ----------
    count: how many maps, of training and test together.
    height, width: in cells.
    pixels: of a cell's side.
    noise: the half-width `w`, in [0, 1): what the pictures do not show.
    seed: of all randomness, a number or a generator on the CPU.

    Returns
    -------
    A data set with features `(count, 3, height * pixels, width * pixels)`, red, green and blue from 0 to 255 (uint8:
    a model begins with `pictures.float() / 255`), theta `(count, height * width)`, the costs of the cells row by row,
    and `data.labels["terrain"]` `(count, height, width)`, from 0, water, to 4, rock.

    Examples
    --------
    >>> from foresolve.data import terrain_data
    >>> data = terrain_data(5, seed=0)
    >>> data.features.shape, data.theta.shape
    (torch.Size([5, 3, 96, 96]), torch.Size([5, 144]))
    >>> data.problem.nodes(data.decisions).reshape(5, 12, 12).sum((1, 2)).min() >= 12
    tensor(True)
    """
    for name, value in (("count", count), ("height", height), ("width", width), ("pixels", pixels)):
        checks.positive_int(name, value)
    noise = checks.between("noise", noise, "[0, 1)")
    generator = as_generator("seed", seed, cpu=True)
    terrain = _terrain(count, height, width, generator)
    pictures = _pictures(terrain, pixels, generator)
    share = 1.0 + noise * (2.0 * torch.rand(terrain.shape, generator=generator) - 1.0)
    costs = torch.tensor(COSTS)[terrain] * share
    problem = ShortestPath.grid(height, width, moves="8", costs="cells")
    return DecisionDataset(pictures, costs.flatten(1), problem, labels={"terrain": terrain})


def _terrain(count: int, height: int, width: int, generator: torch.Generator) -> Tensor:
    """Which of `TERRAIN` each cell is, `(count, height, width)`: heights, cut such that maps have `SHARES` of it."""
    reach = round(3 * SMOOTH)
    white = torch.randn(count, 1, height + 2 * reach, width + 2 * reach, generator=generator)
    weights = torch.exp(-0.5 * (torch.arange(-reach, reach + 1) / SMOOTH) ** 2)
    weights = weights / weights.square().sum().sqrt()  # of variance 1 again
    across = functional.conv2d(white, weights.reshape(1, 1, 1, -1))
    heights = functional.conv2d(across, weights.reshape(1, 1, -1, 1))[:, 0]
    cuts = torch.distributions.Normal(0.0, 1.0).icdf(torch.tensor(SHARES).cumsum(0)[:-1])
    return torch.bucketize(heights, cuts)


def _pictures(terrain: Tensor, pixels: int, generator: torch.Generator) -> Tensor:
    """`(count, 3, height * pixels, width * pixels)`, uint8."""
    count, height, width = terrain.shape
    cells = torch.tensor(COLORS, dtype=torch.float32)[terrain]
    cells = cells + TINT * torch.randn(cells.shape, generator=generator)
    light = torch.exp(LIGHT * torch.randn(count, 1, 1, 1, generator=generator))

    def spread(values: Tensor) -> Tensor:
        return values.repeat_interleave(pixels, 1).repeat_interleave(pixels, 2)

    grain = spread(torch.tensor(GRAIN, dtype=torch.float32)[terrain])[..., None]
    texture = grain * torch.randn(count, height * pixels, width * pixels, 1, generator=generator)  # of all three colors
    pictures = light * (spread(cells) + texture)
    return pictures.round().clamp(0, 255).to(torch.uint8).permute(0, 3, 1, 2).contiguous()
