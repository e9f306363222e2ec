from __future__ import annotations

import torch

from foresolve.data.generated.weather import HOLIDAYS, Calendar, daily, hourly, persistent, temperature


def test_an_autoregression_has_variance_one_and_its_memory() -> None:
    path = persistent(torch.randn(200_000, generator=torch.Generator().manual_seed(0), dtype=torch.float64), 0.8)
    assert abs(float(path.var()) - 1.0) < 0.05
    assert abs(float((path[1:] * path[:-1]).mean()) - 0.8) < 0.03
    shocks = torch.tensor([2.0, 0.5], dtype=torch.float64)
    torch.testing.assert_close(persistent(shocks, 0.6), torch.tensor([2.0, 0.6 * 2.0 + 0.8 * 0.5], dtype=torch.float64))


def test_hours_follow_each_other_across_midnight() -> None:
    series = hourly(torch.Generator().manual_seed(0), 400, 0.99)
    assert series.shape == (400, 24)
    assert float((series[1:, 0] - series[:-1, -1]).abs().mean()) < 0.3
    assert daily(torch.Generator().manual_seed(0), 5, 0.5).shape == (5, 1)


def test_a_calendar_of_years_of_365_days() -> None:
    calendar = Calendar.of(2 * 365)
    assert int(calendar.holiday.sum()) == 2 * len(HOLIDAYS)
    table = calendar.features()
    assert table.shape == (730, 10)
    assert table[:, :7].sum(-1).eq(1).all()
    assert torch.equal(table[:, :7].argmax(-1), torch.arange(730) % 7)
    torch.testing.assert_close(table[:365, 8:], table[365:, 8:])


def test_summers_are_warm_and_forecasts_nearly_right() -> None:
    calendar = Calendar.of(365)
    truth, forecast = temperature(calendar, torch.Generator().manual_seed(0))
    assert float(truth[180:210].mean() - truth[:30].mean()) > 12.0
    assert 0.5 < float((forecast - truth).std()) < 2.0
