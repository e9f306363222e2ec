from __future__ import annotations

from pathlib import Path

import pytest
import torch

from foresolve.layers import QuadraticRelaxation, WilderQuadratic
from foresolve.losses import DecisionLoss
from foresolve.models import CosinePairs
from foresolve.report.records import Config
from foresolve.reproduce import InstanceCache, NetworkMethod, RecipeMethod, RuleMethod, plan
from foresolve.reproduce.domains import matching
from foresolve.reproduce.domains.networks import Calibrated, EvenRows
from mistakes import file_mistake
from reproduce import tiny
from reproduce.values import DATA, by_chance, by_rule, real


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_damaged_files_are_found_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "cora.content").write_text("1\t0\t1\tTheory\n2\t1\t1\tTheory\n")
    (tmp_path / "cora.cites").write_text("1\t2\n1\n")
    with file_mistake(tmp_path / "cora.cites", "line 2"):
        plan("matching", data=tmp_path)


def test_sizes_of_the_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    generate = matching.citation_data

    def few(count: int, **sizes: int):
        asked.append(count)
        return generate(2, **sizes)

    monkeypatch.setattr(matching, "citation_data", few)
    data = matching.data(plan("matching"))
    assert asked == [27]
    assert data.features["left"].shape == data.features["right"].shape == (2, 50, 1433)
    assert data.words.shape == (200, 1433)


def test_words_go_with_every_part() -> None:
    data = tiny.data("matching")
    words = matching.words_of(data)
    assert words.shape == (11 * 16, 60)
    assert matching.words_of(data.subset([3, 4])) is words


def test_random_matchings_are_perfect_and_each_is_as_likely() -> None:
    data = tiny.data("matching")
    x = matching.permutations(data.problem, 3000, generator()).reshape(-1, 8, 8)
    assert x.sum(1).eq(1).all()
    assert x.sum(2).eq(1).all()
    assert (x.mean(0) - 1 / 8).abs().max().item() < 0.03


def test_networks_of_pairs() -> None:
    data = tiny.data("matching")
    models = {
        "NN1": matching.network(1)(data, generator(), 0.05),
        "NN2": matching.network(2)(data, generator(), 0.05),
        "Bilinear": matching.bilinear(True)(data, generator(), 0.05),
        "Cosine": matching.cosine(data, generator(), 0.05),
    }
    for name, model in models.items():
        theta = model.eval()(data.features)
        assert theta.shape == data.theta.shape, name
        assert 0 <= theta.min().item() <= theta.max().item() <= 1, name
    assert models["NN1"].config()["hidden"] is None  # type: ignore[operator]
    assert models["NN2"].config()["hidden"] == 200  # type: ignore[operator]
    assert isinstance(models["Bilinear"], EvenRows)


def test_the_cosine_model_starts_with_the_decisions_of_tfidf() -> None:
    data = tiny.data("matching")
    rule = matching.methods(Config("matching"))["TF-IDF"]
    assert isinstance(rule, RuleMethod)
    similarity = rule.model(data)(data.features)
    model = matching.cosine(data, generator(), 0.05).eval()
    order, expected = model(data.features).argsort(-1), similarity.argsort(-1)
    gap = similarity.gather(-1, expected) - similarity.gather(-1, order)
    assert gap.abs().max().item() < 1e-4


def test_weight_decay_is_for_the_word_weights_alone() -> None:
    data = tiny.data("matching")
    model = matching.cosine(data, generator(), 0.05)
    groups = matching.grouped(model, {"lr": 1e-2, "decay": 3.0}).param_groups
    assert isinstance(model, Calibrated)
    assert isinstance(model.model, CosinePairs)
    decayed = [p for group in groups if group["weight_decay"] for p in group["params"]]
    assert [id(p) for p in decayed] == [id(model.model.shift)]
    assert {id(p) for group in groups for p in group["params"]} == {id(p) for p in model.parameters()}


@real("cora/cora.content")
def test_the_published_citations() -> None:
    pytest.importorskip("pymetis")
    config = plan("matching", data=DATA)
    assert set(config.files) == {"cora.content", "cora.cites"}
    data = InstanceCache().data(config)
    assert len(data) == 27
    assert "5,278 citations" in config.source
    assert data.features["left"].shape == (27, 50, 1433)
    assert 3400 < data.theta.sum() < 3700
    assert 39.5 < data.values.mean() < 41.5
    assert 17.5 < by_rule(matching.DOMAIN, data, config, "TF-IDF") < 20
    assert 2.3 < by_chance(matching.DOMAIN, data) < 2.9


def test_the_recipe_of_the_paper() -> None:
    table = matching.methods(Config("matching", "paper"))
    for name, kind in (("NN2-Decision", WilderQuadratic), ("NN2-Decision (exact layer)", QuadraticRelaxation)):
        method = table[name]
        assert isinstance(method, NetworkMethod)
        assert (method.epochs, method.batch_size, method.validate) == (12, 1, False)
        assert method.settings == ({"lr": 1e-4},)
        loss = method.loss(method.settings[0])
        assert isinstance(loss, DecisionLoss)
        assert isinstance(loss.layer, kind)
        assert loss.layer.gamma == 0.1
        model = method.model(tiny.data("matching"), generator(), 0.05)
        assert model.config()["hidden"] == 500  # type: ignore[operator]
    soft = table["NN2-Decision"]
    assert isinstance(soft, NetworkMethod)
    assert soft.anneal is not None
    curvature = soft.anneal({})["curvature"]  # type: ignore[index]
    assert [curvature(epoch / 11) for epoch in range(12)] == pytest.approx([0.1 * 0.8**epoch for epoch in range(12)])
    two_stage = table["NN2-2Stage"]
    assert isinstance(two_stage, RecipeMethod)
    assert two_stage.minibatch is not None
    assert (two_stage.epochs, two_stage.draws, two_stage.minibatch.size, two_stage.lr) == (2, None, 100, 1e-3)


def test_pairs_are_instances_of_their_own() -> None:
    data = tiny.data("matching")
    positions = torch.tensor([13, 0, 63])  # of 8 x 8
    batch = matching.single_pairs(data[[2]], positions)
    assert torch.equal(batch.features["left"][:, 0], data.features["left"][2, [1, 0, 7]])
    assert torch.equal(batch.features["right"][:, 0], data.features["right"][2, [5, 0, 7]])
    assert torch.equal(batch.theta[:, 0], data.theta[2, positions])
    model = matching.network(2, hidden=5)(data, generator(), 0.05)
    torch.testing.assert_close(model(batch.features)[:, 0], model(data[[2]].features)[0, positions])
