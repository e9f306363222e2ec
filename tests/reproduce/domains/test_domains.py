from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from foresolve.data import read_edges
from foresolve.errors import ForesolveError, InvalidInputError
from foresolve.learning.evaluation import evaluate
from foresolve.report.records import Config
from foresolve.reproduce.domains import budget, matching, recommendation
from foresolve.reproduce.domains.methods import Instances, Rule
from foresolve.reproduce.runs import trial

DATA = Path(os.environ.get("FORESOLVE_DATA", ""))


def real(file: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not (DATA / file).is_file(), reason="FORESOLVE_DATA does not point at the data sets")


@pytest.fixture(autouse=True)
def no_old_instances() -> Iterator[None]:
    trial._instances.cache_clear()
    yield
    trial._instances.cache_clear()


def by_chance(data: Instances, k: int | None, draws: int = 20) -> float:
    problem, source = data.problems[k], torch.Generator().manual_seed(0)
    values = [problem.objective(data.random(problem, len(data), source), data.theta) for _ in range(draws)]
    return float(torch.stack(values).mean())


def by_rule(data: Instances, config: Config, name: str, k: int | None) -> float:
    rule = trial.ALL[config.domain].methods(config)[name]
    assert isinstance(rule, Rule)
    return evaluate(rule.model(data), data.dataset(k), metrics=False, bootstrap=0).value


def test_what_is_said_of_domains_fits_together() -> None:
    assert list(trial.DOMAINS) == [*trial.PAPER, "shortest-path", "knapsack", "facility"]
    for name, info in trial.DOMAINS.items():
        assert info.name == name
        assert info.story
        assert all(paragraph.endswith(".") for paragraph in info.story)
        assert info.table2_k is None if not info.ks else info.table2_k in info.ks
        assert list(info.ks) == sorted(info.ks)
        methods = trial.ALL[name].methods(trial.plan(name))
        assert {key for key, method in methods.items() if isinstance(method, Rule)} == set(info.heuristics)
        assert (trial.ALL[name].files is None) == (name not in trial.PAPER)


@pytest.mark.parametrize(
    ("domain", "count", "shape"),
    [
        ("budget", 60, (50, 200)),
        ("matching", 30, (900,)),
        ("recommendation", 40, (50, 100)),
        ("shortest-path", 200, (40,)),
        ("knapsack", 200, (32,)),
        ("facility", 60, (30, 60)),
    ],
)
def test_quick_instances(domain: str, count: int, shape: tuple[int, ...]) -> None:
    config = trial.plan(domain, quick=True)
    data = trial.instances(config)
    assert data.theta.shape == (count, *shape)
    assert data.theta.dtype == torch.float32
    assert set(data.problems) == set(config.ks or (None,))
    assert config.source == "generated"
    assert data.shape is None or data.shape[0] * data.shape[1] == data.theta[0].numel()
    for k in data.problems:
        assert by_chance(data, k, 2) < data.dataset(k).values.mean().item()
    again = trial.ALL[domain].build(config)
    other = trial.ALL[domain].build(trial.plan(domain, quick=True, seed=1))
    assert torch.equal(again.theta, data.theta)
    assert not torch.equal(other.theta, data.theta)


def test_random_decisions_are_feasible() -> None:
    for domain in trial.ALL:
        data = trial.instances(trial.plan(domain, quick=True))
        for problem in data.problems.values():
            x = data.random(problem, 3, torch.Generator().manual_seed(0))
            assert problem.check(x).feasible.all()  # type: ignore[attr-defined]


def test_heuristics_are_between_chance_and_the_best_on_generated_data() -> None:
    for domain, rule in (("budget", "Longest features"), ("matching", "TF-IDF"), ("recommendation", "Most rated")):
        config = trial.plan(domain, quick=True)
        data, k = trial.instances(config), config.ks[0] if config.ks else None
        assert by_chance(data, k) * 1.2 < by_rule(data, config, rule, k) < data.dataset(k).values.mean().item()


def test_instances_are_built_once_for_the_same_config() -> None:
    config = trial.plan("shortest-path", quick=True)
    assert trial.instances(config) is trial.instances(config)
    assert trial.instances(trial.plan("shortest-path", quick=True, seed=1)) is not trial.instances(config)


def test_other_budgets_have_the_same_instances() -> None:
    for domain in ("budget", "facility"):
        one, two = (trial.ALL[domain].build(trial.plan(domain, quick=True, ks=ks)) for ks in ([3], [2, 5]))
        assert torch.equal(one.theta, two.theta)
        assert torch.equal(one.features, two.features)


def test_a_data_set_may_be_given_by_its_own_folder(tmp_path: Path) -> None:
    for folder, names, domain in (
        ("cora", ("cora.content", "cora.cites"), matching),
        ("hetrec2011-movielens-2k", ("user_ratedmovies.dat", "movie_actors.dat"), recommendation),
        ("edges", ("edges.txt",), budget),
    ):
        place = tmp_path / folder
        place.mkdir()
        for name in names:
            (place / name).touch()
        assert domain.files(tmp_path) == domain.files(place) == [place / name for name in names]


def test_budgets_are_generated_where_the_folder_has_no_edges(tmp_path: Path) -> None:
    config = trial.plan("budget", quick=True, data=tmp_path)
    assert config.data is None
    assert config.source.startswith("generated")
    with pytest.raises(InvalidInputError, match="data"):
        trial.plan("budget", quick=True, data=tmp_path / "nowhere")


def test_damaged_files_are_found_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "cora.content").write_text("1\t0\t1\tTheory\n2\t1\t1\tTheory\n")
    (tmp_path / "cora.cites").write_text("1\t2\n1\n")
    with pytest.raises(ForesolveError, match=r"cora\.cites"):
        trial.plan("matching", data=tmp_path)


def test_yahoo_begins_with_the_time(tmp_path: Path) -> None:
    path = tmp_path / budget.YAHOO
    path.write_text("".join(f"06/15/2002 00:00:00\tp{a}\tu{b}\t0.5\t0\n" for a in range(60) for b in range(210)))
    assert read_edges(path, budget.columns(path))[0] == ("p0", "u0")
    assert budget.columns(tmp_path / "edges.txt") == (0, 1)


def test_budgets_from_an_edge_list(tmp_path: Path) -> None:
    drawn = torch.randint(600, (9000, 2), generator=torch.Generator().manual_seed(0))
    (tmp_path / "edges.txt").write_text("".join(f"c{a % 120} u{b}\n" for a, b in drawn.tolist()))
    config = trial.plan("budget", quick=True, data=tmp_path)
    data = trial.instances(config)
    assert config.source.endswith("edges of edges.txt")
    assert data.theta.shape == (60, 50, 200)
    assert 0 <= data.theta.min() < data.theta.max() <= 0.2


@pytest.mark.parametrize(
    ("module", "function", "expected"),
    [
        (budget, "generate_budget", {"count": 1000, "channels": 100, "customers": 500}),
        (matching, "generate_citations", {"count": 27, "side": 50, "words": 1433}),
        (recommendation, "generate_movies", {"count": 101, "size": 100, "topics": 500, "users": 2113}),
    ],
)
def test_sizes_of_the_paper(
    module: Any, function: str, expected: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, int] = {}
    generate = getattr(module, function)

    def spy(count: int, *, generator: torch.Generator, **sizes: int) -> Any:
        asked.update(sizes, count=count)
        return generate(2, generator=generator, **sizes)

    monkeypatch.setattr(module, function, spy)
    data = module.build(trial.plan(module.INFO.name))
    assert asked == expected
    assert data.shape is not None
    assert data.theta[0].numel() == data.shape[0] * data.shape[1]


# -- real data -----------------------------------------------------------------------------------------------------


@real("cora/cora.content")
def test_the_published_citations() -> None:
    pytest.importorskip("pymetis")
    config = trial.plan("matching", data=DATA)
    assert set(config.files) == {"cora.content", "cora.cites"}
    data = trial.instances(config)
    assert len(data) == 27
    assert "5,278 citations" in config.source
    assert data.features["left"].shape == (27, 50, 1433)
    assert 3400 < data.theta.sum() < 3700
    assert 39.5 < data.dataset(None).values.mean() < 41.5
    assert 17.5 < by_rule(data, config, "TF-IDF", None) < 20
    assert 2.3 < by_chance(data, None) < 2.9


@real("hetrec2011-movielens-2k/movie_actors.dat")
def test_the_published_movies() -> None:
    config = trial.plan("recommendation", data=DATA)
    assert set(config.files) == {"user_ratedmovies.dat", "movie_actors.dat"}
    data = trial.instances(config)
    assert data.theta.shape == (101, 100, 500)
    assert "44% of the published ones" in config.source
    found: dict[str, Tensor] = {
        "best": torch.tensor([data.dataset(k).values.mean().item() for k in config.ks]),
        "most rated": torch.tensor([by_rule(data, config, "Most rated", k) for k in config.ks]),
        "random": torch.tensor([by_chance(data, k) for k in config.ks]),
    }
    expected = {"best": [35.0, 58.0, 90.0], "most rated": [17.2, 31.4, 53.1], "random": [8.2, 16.2, 32.1]}
    for name, values in expected.items():
        torch.testing.assert_close(found[name], torch.tensor(values), rtol=0.06, atol=0, msg=f"{name}: {found[name]}")
