from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from foresolve.report.records import Config
from foresolve.reproduce.domains import budget, matching
from foresolve.reproduce.runs.folder_files import read_picture
from foresolve.reproduce.runs.pictures import LOOKED_AT, decisions, picture


@pytest.mark.parametrize(("domain", "pairs"), [(budget, False), (matching, True)])
def test_pictures_have_decisions_and_what_they_are_worth(domain, pairs: bool, tmp_path: Path) -> None:
    config = Config(domain.INFO.name, quick=True)
    data = domain.data(config)
    data = (data if pairs else domain.DOMAIN.at(data, 5)).subset(torch.arange(10)).solve(progress=False)
    theta_hat = data.theta.flip(1)
    made = picture(domain.DOMAIN, theta_hat, data)
    truth = data.theta if pairs else data.theta.sum(-1)
    assert made["decision"].shape == made["item_truth"].shape == (LOOKED_AT, truth.shape[1])
    np.testing.assert_allclose(made["item_truth"], truth[:LOOKED_AT], rtol=1e-5)
    x = data.problem.decide(theta_hat[:LOOKED_AT])[0]
    np.testing.assert_array_equal(made["decision"], x)
    values = data.problem.objective(torch.from_numpy(made["decision"]), data.theta[:LOOKED_AT])
    np.testing.assert_allclose(made["decision_value"], values, rtol=1e-5)
    assert (made["best_value"] >= made["decision_value"] - 1e-4).all()
    assert (made["best_value"] > made["decision_value"]).any()
    np.savez_compressed(tmp_path / "picture.npz", **made)  # a folder of a run takes all of it
    again = read_picture(tmp_path / "picture.npz")
    assert again.keys() == made.keys()
    assert all((again[name] == made[name]).all() for name in made)


def test_without_a_parameter_for_each_variable_there_are_no_decisions(monkeypatch: pytest.MonkeyPatch) -> None:
    data = matching.data(Config("matching", quick=True)).subset(torch.arange(2))
    monkeypatch.setattr("foresolve.reproduce.runs.pictures.measures", lambda problem, theta: None)
    assert decisions(data.theta, data) == {}
