"""Right-hand sides by the names of rows, against HiGHS with these sides."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foresolve.layers import QuadraticRelaxation
from foresolve.problems import LinearProgram
from foresolve.testing import check_gradient
from mistakes import mistake
from problems.readers.highs_models import drawn, optimum

HIGHS = 1e-6
seeds = st.integers(0, 2**20)
often = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
# `need` is a row of type G, which stands among the inequalities with the other sign, behind those of type L.
STORE = """NAME store
ROWS
 N cost
 G need
 L room
 E staff
 G slot
 L both
COLUMNS
 buy cost 2 need 1
 buy room 1 slot 1
 buy both 1
 rent cost 5 need 1
 rent room 2 staff 1
 rent both 1
RHS
 r need 6 room 9
 r staff 1 slot 1
 r both 50
RANGES
 r both 50
ENDATA
"""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store.mps"
    path.write_text(STORE)
    return path


class TestPredictedRows:
    @often
    @given(seed=seeds)
    def test_are_those_of_the_model(self, seed: int) -> None:
        rng, model = np.random.default_rng(seed), drawn(seed, boxed=True)
        lower, upper = (np.array(getattr(model.getLp(), f"row_{side}_")) for side in ("lower", "upper"))
        one_sided = np.flatnonzero((lower == upper) | (np.isfinite(lower) != np.isfinite(upper)))
        if len(one_sided) == 0:
            return
        for row in range(len(lower)):
            model.passRowName(row, f"row {row}")
        chosen = rng.permutation(one_sided)[: rng.integers(1, len(one_sided) + 1)]
        problem = LinearProgram.from_highs(model, predict=[], predict_rows=[f"row {row}" for row in chosen])
        assert problem.theta_names == tuple(f"row {row}" for row in chosen)
        sides = np.where(np.isfinite(upper), upper, lower)[chosen]
        assert problem.nominal is not None
        assert problem.nominal.tolist() == sides.tolist()
        looser = rng.integers(0, 4, len(chosen)) * np.select([lower == upper, np.isfinite(upper)], [0, 1], -1)[chosen]
        for row, side in zip(chosen, sides + looser):
            low, high = (float(side if np.isfinite(limit[row]) else limit[row]) for limit in (lower, upper))
            model.changeRowBounds(int(row), low, high)
        theta = torch.from_numpy(sides + looser)
        value = float(problem.objective(problem.solve(theta), theta))
        assert problem.signed(torch.tensor(value)).item() == pytest.approx(optimum(model), abs=HIGHS)

    def test_follow_predicted_coefficients(self, store: Path) -> None:
        problem = LinearProgram.from_mps(store, predict=["rent"], predict_rows=["need", "staff"])
        assert problem.theta_names == ("rent", "need", "staff")
        assert problem.nominal is not None
        assert problem.nominal.tolist() == [5.0, 6.0, 1.0]
        theta = torch.tensor([[5.0, 6.0, 1.0], [5.0, 8.0, 0.5], [9.0, 10.0, 4.0]], dtype=torch.float64)
        assert problem.solve(theta[:2]).tolist() == [[5.0, 1.0], [7.5, 0.5]]
        assert problem.at(theta).b_eq.flatten().tolist() == [1.0, 0.5, 4.0]

    def test_the_side_of_a_row_of_type_g_is_that_of_the_file(self, store: Path) -> None:
        problem = LinearProgram.from_mps(store, predict=[], predict_rows=["slot", "need"])
        theta = torch.tensor([[1.0, 6.0], [1.0, 3.0], [4.0, 3.0]], dtype=torch.float64)
        assert problem.solve(theta).tolist() == [[5.0, 1.0], [2.0, 1.0], [4.0, 1.0]]

    def test_of_an_lp_file(self, tmp_path: Path) -> None:
        path = tmp_path / "plan.lp"
        path.write_text("max\n value: 3 a + 2 b\nst\n a + b <= 9\n flour: a + 2 b <= 8\n least: b >= 1\nend\n")
        problem = LinearProgram.from_mps(path, predict=["a"], predict_rows=["least", "flour"])
        x = problem.solve(torch.tensor([[3.0, 1.0, 8.0], [3.0, 2.0, 8.0], [3.0, 1.0, 6.0]], dtype=torch.float64))
        assert x.tolist() == [[6.0, 1.0], [4.0, 2.0], [4.0, 1.0]]

    def test_pass_gradients(self, store: Path) -> None:
        problem = LinearProgram.from_mps(store, predict=["buy", "rent"], predict_rows=["need", "staff", "room"])
        assert problem.nominal is not None
        theta = problem.nominal + torch.tensor([[0.0, 0.0, 0.0, 0.0, 4.0], [0.1, 0.2, 2.0, 0.3, 3.0]])
        assert check_gradient(QuadraticRelaxation(0.5), problem, theta)

    def test_are_saved(self, store: Path) -> None:
        problem = LinearProgram.from_mps(store, predict=["buy"], predict_rows=["need"])
        again = LinearProgram.from_config(problem.config())
        theta = torch.tensor([2.0, 7.0], dtype=torch.float64)
        assert again.theta_names == ("buy", "need")
        assert torch.equal(again.solve(theta), problem.solve(theta))

    @pytest.mark.parametrize(("predict", "rows", "about"), [
        (["buy"], ["neeed"], ("predict_rows", "'neeed'", "'need'?")),
        (["buy"], [], ("predict_rows", "none")),
        (["buy"], ["need", "need"], ("predict_rows", "'need' twice")),
        (["buy"], "both", ("predict_rows", "'both'", "two rows")),
        (["rennt"], ["need"], ("predict", "'rennt'", "'rent'?")),
    ])  # fmt: skip
    def test_others_are_refused(self, store: Path, predict: list[str], rows: list[str], about: tuple[str, ...]) -> None:
        with mistake(*about):
            LinearProgram.from_mps(store, predict=predict, predict_rows=rows)

    def test_a_row_called_as_a_predicted_variable_is_refused(self, store: Path) -> None:
        store.write_text(STORE.replace("need", "buy"))
        with mistake("predict_rows", "'buy'"):
            LinearProgram.from_mps(store, predict_rows=["buy"])
        assert LinearProgram.from_mps(store, predict=["rent"], predict_rows=["buy"]).theta_names == ("rent", "buy")
