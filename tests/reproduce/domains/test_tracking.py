from __future__ import annotations

import torch

from foresolve._base.randomness import generator
from foresolve.data.generated.tracking import tracking_data
from foresolve.reproduce.domains import tracking
from foresolve.reproduce.runs.plan import plan


def test_forecasts_are_of_size_one_and_nothing_is_lost() -> None:
    config = plan("tracking")
    data, raw = tracking.data(config), tracking_data(300, seed=generator(config.seed, 0))
    assert data.theta.shape == (300, 24)
    assert torch.equal(data.theta, raw.theta)
    weather = data.features[:, :72]
    assert weather.mean().abs() < 0.5
    assert 0.5 < weather.std() < 1.5
    torch.testing.assert_close(weather[:, :24] * 10 + 10, raw.features[:, :24])
    assert torch.equal(data.features[:, 72:], raw.features[:, 72:])
