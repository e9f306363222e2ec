from __future__ import annotations

import pytest
import torch

from foresolve.data import terrain_data
from foresolve.data.generated.terrain import COLORS, COSTS, SHARES
from mistakes import mistake


def test_shapes_and_costs() -> None:
    data = terrain_data(6, height=5, width=7, pixels=4, noise=0.0, seed=1)
    assert data.features.shape == (6, 3, 20, 28)
    assert data.features.dtype == torch.uint8
    assert data.theta.shape == (6, 35)
    terrain = data.labels["terrain"]
    assert terrain.shape == (6, 5, 7)
    assert torch.equal(data.theta, torch.tensor(COSTS)[terrain].flatten(1))


def test_paths_go_from_corner_to_corner() -> None:
    data = terrain_data(4, height=6, width=8, pixels=1)
    assert data.problem.check(data.decisions)
    visited = data.problem.nodes(data.decisions).reshape(4, 6, 8)
    assert (visited[:, 0, 0] == 1).all()
    assert (visited[:, -1, -1] == 1).all()
    torch.testing.assert_close(-(visited.flatten(1) * data.theta).sum(1), data.values)


def test_noise_is_what_the_terrain_does_not_tell() -> None:
    data = terrain_data(20, pixels=1, noise=0.5, seed=3)
    ratio = data.theta / torch.tensor(COSTS)[data.labels["terrain"]].flatten(1)
    assert 0.5 <= float(ratio.min()) < 0.51
    assert 1.49 < float(ratio.max()) <= 1.5


def test_terrain_is_smooth_and_has_its_shares() -> None:
    terrain = terrain_data(300, pixels=1, seed=0).labels["terrain"]
    shares = torch.bincount(terrain.flatten(), minlength=5) / terrain.numel()
    torch.testing.assert_close(shares, torch.tensor(SHARES), atol=0.02, rtol=0)
    beside = (terrain[:, :, 1:] == terrain[:, :, :-1]).float().mean()
    apart = (terrain[:, :, 6:] == terrain[:, :, :-6]).float().mean()
    assert beside > apart + 0.2


def test_pictures_show_the_terrain() -> None:
    data = terrain_data(30, pixels=6, seed=0)
    cells = torch.nn.functional.avg_pool2d(data.features.float(), 6).permute(0, 2, 3, 1)
    nearest = torch.cdist(cells.reshape(-1, 3), torch.tensor(COLORS).float()).argmin(1)
    agree = (nearest == data.labels["terrain"].flatten()).float().mean()
    assert 0.7 < agree < 0.97  # the color tells much, and not all


def test_seeds() -> None:
    first, again, other = (terrain_data(2, pixels=2, seed=seed) for seed in (0, 0, 1))
    assert torch.equal(first.features, again.features)
    assert torch.equal(first.theta, again.theta)
    assert not torch.equal(first.theta, other.theta)


@pytest.mark.parametrize(
    ("arguments", "about"),
    [
        ({"count": 0}, ("count", ">= 1")),
        ({"pixels": 0}, ("pixels", ">= 1")),
        ({"noise": 1.0}, ("noise", "[0, 1)")),
        ({"height": 1, "width": 1}, ("height", "1 x 1")),
    ],
)
def test_bad_input(arguments: dict[str, float], about: tuple[str, ...]) -> None:
    with mistake(*about):
        terrain_data(**({"count": 2} | arguments))
