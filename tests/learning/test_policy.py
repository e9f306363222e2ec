from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
import torch
from torch import nn

from foresolve.errors import ForesolveError
from foresolve.learning.policy import Policy
from foresolve.models.baselines import ConstantMean, LinearRegression, NearestNeighbors
from foresolve.models.forest import RandomForest, ScikitLearn
from foresolve.models.mlp import MLP
from foresolve.models.pairs import BilinearPairs, PairModel
from foresolve.models.reference import Baseline
from foresolve.problems.base import Problem
from foresolve.problems.knapsack import Knapsack
from foresolve.problems.linear import LinearProgram
from foresolve.problems.matching import Assignment, BipartiteMatching
from foresolve.problems.shortest_path import ShortestPath
from foresolve.problems.submodular import SubmodularProblem
from foresolve.problems.top_k import TopK
from foresolve.sets.functions.coverage import ProbabilisticCoverage
from foresolve.sets.functions.facility import FacilityLocation
from foresolve.sets.matroids.laminar import LaminarMatroid, PartitionMatroid, UniformMatroid
from learning.instances import top_k_data

pytest.importorskip("safetensors")

PROBLEMS: list[Problem] = [
    TopK(6, 2),
    BipartiteMatching(2, 3),
    Assignment(3, 2),
    Knapsack([1, 2, 3, 4, 5, 6], 9),
    Knapsack(torch.rand(2, 6, generator=torch.Generator().manual_seed(0)), [1.0, 1.5]),
    ShortestPath([(0, 1), (1, 3), (0, 2), (2, 3), (1, 2), (2, 1)], 0, 3),
    LinearProgram(
        A_ub=[[1.0] * 6], b_ub=[2.5], A_eq=[[1.0, -1.0, 0, 0, 0, 0]], b_eq=[0.0], bounds=(0, np.inf),
        integrality=[0, 0, 1, 1, 1, 1], sense="min", names=list("abcdef"),
    ),
    LinearProgram(bounds=([-1.0] * 6, [1.0] * 6)),
]  # fmt: skip

SUBMODULAR = [
    SubmodularProblem(ProbabilisticCoverage([1.0, 2.0]), UniformMatroid(3, 2)),
    SubmodularProblem(ProbabilisticCoverage(), PartitionMatroid([0, 1, 0], [1, 1]), "exact", time_limit=7.0),
    SubmodularProblem(FacilityLocation(), LaminarMatroid(3, [[0, 1], [0, 1, 2]], [1, 2])),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=repr)
def test_problems_come_back(problem: Problem, tmp_path: Path) -> None:
    policy = Policy(MLP(3, 6, seed=0, head="non_negative").double(), problem)
    policy.save(tmp_path)
    again = Policy.load(tmp_path)
    assert type(again.problem) is type(problem)
    assert repr(again.problem) == repr(problem)
    features = torch.randn(20, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert torch.equal(again(features), policy(features))


@pytest.mark.parametrize("problem", SUBMODULAR, ids=repr)
def test_submodular_problems_come_back(problem: SubmodularProblem, tmp_path: Path) -> None:
    policy = Policy(MLP(3, (3, 2), (8,), "probability"), problem)
    policy.save(tmp_path)
    again = Policy.load(tmp_path)
    assert repr(again.problem) == repr(problem)
    assert again.problem.time_limit == problem.time_limit  # type: ignore[attr-defined]
    features = torch.randn(20, 3, generator=torch.Generator().manual_seed(1))
    assert torch.equal(again(features), policy(features))


@pytest.mark.parametrize("model", [PairModel(3, 2, 7), BilinearPairs(3, 2, 4), BilinearPairs(3, 3, 4, siamese=True)])
def test_pair_models_come_back(model: Any, tmp_path: Path) -> None:
    policy = Policy(model, BipartiteMatching(4, 5))
    policy.save(tmp_path)
    width = model.config()["right"]
    features = torch.randn(2, 4, 3), torch.randn(2, 5, width)
    again = Policy.load(tmp_path)
    assert torch.equal(again(features), policy(features))
    assert all(p.requires_grad for p in again.model.parameters())  # type: ignore[attr-defined]


@pytest.mark.parametrize("make", [ConstantMean, LinearRegression, NearestNeighbors, lambda: RandomForest(trees=4)])
def test_baselines_come_back(make: Callable[[], Baseline], tmp_path: Path) -> None:
    if not isinstance(make, type):
        pytest.importorskip("sklearn")
    data = top_k_data()
    policy = Policy(make().fit(data), data.problem)
    policy.save(tmp_path)
    again = Policy.load(tmp_path)
    assert torch.equal(again(data.features), policy(data.features))
    assert torch.equal(again.model(data.features), policy.model(data.features))


def test_scikit_learn_through_skops_or_a_refusal(tmp_path: Path) -> None:
    pytest.importorskip("skops")
    linear, ensemble = pytest.importorskip("sklearn.linear_model"), pytest.importorskip("sklearn.ensemble")
    data = top_k_data()
    policy = Policy(ScikitLearn(linear.Ridge()).fit(data), data.problem)
    policy.save(tmp_path)
    assert torch.equal(Policy.load(tmp_path)(data.features), policy(data.features))
    estimator = next(tmp_path.glob("*.skops"))
    estimator.write_bytes(estimator.read_bytes()[:-100])
    with pytest.raises(ForesolveError, match="is damaged"):
        Policy.load(tmp_path)
    forest = Policy(ScikitLearn(ensemble.RandomForestRegressor(3)).fit(data), data.problem)
    with pytest.raises(ForesolveError, match=r"RandomForestRegressor cannot be saved.*Tree.*`RandomForest` can"):
        forest.save(tmp_path)


def test_untrusted_estimators_are_not_loaded(tmp_path: Path) -> None:
    skops = pytest.importorskip("skops.io")
    linear, ensemble = pytest.importorskip("sklearn.linear_model"), pytest.importorskip("sklearn.ensemble")
    data = top_k_data()
    Policy(ScikitLearn(linear.Ridge()).fit(data), data.problem).save(tmp_path)
    hostile = skops.dumps(ensemble.RandomForestRegressor(3).fit(data.features.numpy(), data.theta.numpy()))
    swap_file(tmp_path, "estimator", hostile)
    with pytest.raises(ForesolveError, match="types that are not safe to load"):
        Policy.load(tmp_path)


def test_models_of_the_user(tmp_path: Path) -> None:
    def own(width: int = 8) -> nn.Module:
        return nn.Sequential(nn.Linear(3, width), nn.BatchNorm1d(width), nn.Linear(width, 6))

    policy = Policy(own(), TopK(6, 2))
    policy.save(tmp_path)
    features = torch.randn(4, 3)
    with pytest.raises(ForesolveError, match=r"weights of a Sequential.*pass one with `Policy.load\(..., model=...\)`"):
        Policy.load(tmp_path)
    assert torch.equal(Policy.load(tmp_path, model=own())(features), policy(features))
    with pytest.raises(ForesolveError, match=r"weights of another model.*\(8, 3\) in the file, \(9, 3\)"):
        Policy.load(tmp_path, model=own(9))


def test_rules_and_problems_of_the_user(tmp_path: Path) -> None:
    graph = networkx.DiGraph([("a", "b"), ("b", "c"), ("a", "c")])
    problem = ShortestPath.from_networkx(graph, "a", "c")
    policy = Policy(MLP(3, 3, head="non_negative"), problem, lambda theta, problem: problem.solve(1 - theta))
    policy.save(tmp_path)
    with pytest.raises(ForesolveError, match=r"no description of its ShortestPath.*problem=..."):
        Policy.load(tmp_path)
    with pytest.raises(ForesolveError, match=r"a rule of its own.*decide=..."):
        Policy.load(tmp_path, problem=problem)
    features = torch.randn(4, 3)
    again = Policy.load(tmp_path, problem=problem, decide=policy.rule)
    assert torch.equal(again(features), policy(features))


def test_calls_without_gradients_and_in_evaluation_mode() -> None:
    net = nn.Sequential(nn.Dropout(0.5), nn.Linear(3, 6))
    policy = Policy(net, TopK(6, 2))
    features = torch.randn(50, 3)
    assert torch.equal(policy(features), policy(features))
    assert net.training
    assert not policy(features).requires_grad
    other = policy(features, problem=TopK(6, 3))
    assert bool((other.sum(-1) == 3).all())


def test_saving_again_replaces_the_policy(tmp_path: Path) -> None:
    for seed in range(2):
        Policy(MLP(3, 6, seed=seed), TopK(6, 2)).save(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    policy = Policy(MLP(3, 6), TopK(6, 3))
    policy.save(tmp_path)
    names = {path.name.split("-")[0] for path in tmp_path.iterdir()}
    assert names == {"policy.json", "weights", "notes.txt"}
    assert len(list(tmp_path.iterdir())) == 3
    features = torch.randn(4, 3)
    assert torch.equal(Policy.load(tmp_path)(features), policy(features))


# -- damaged and hostile files -----------------------------------------------------------------------------------------


def edit(folder: Path, change: Callable[[Any], Any]) -> None:
    path = folder / "policy.json"
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def swap_file(folder: Path, name: str, content: bytes) -> None:
    """Another file, with the digest to go with it."""
    import hashlib

    digest = hashlib.sha256(content).hexdigest()
    document = json.loads((folder / "policy.json").read_text())
    suffix = document["files"][name]["name"].rpartition(".")[2]
    (folder / f"{name}-{digest[:16]}.{suffix}").write_bytes(content)
    edit(folder, lambda d: d["files"].update({name: {"name": f"{name}-{digest[:16]}.{suffix}", "sha256": digest}}))


def put(*path: str, value: Any) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        for part in path[:-1]:
            document = document[part]
        document[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("kind", value="other"), "is no policy"),
        (put("schema", value=2), "has the schema 2"),
        (put("schema", value=[]), "has the schema"),
        (put("model", value=3), "`model` must be dict; got int"),
        (put("model", "class", value="os.system"), "'os.system' is none of the reference models"),
        (put("model", "class", value="Sequential"), "none of the reference models"),
        (put("model", "config", value=[1]), "`config` must be dict"),
        (put("model", "config", value={"inputs": "a", "outputs": 6}), "do not make a model"),
        (put("model", "config", value={"inputs": 3, "outputs": 6, "evil": 1}), "do not make a model"),
        (put("model", "config", "inputs", value=10**12), "weights of another model"),
        (put("model", "config", "inputs", value=10**30), "do not make a model"),
        (put("model", "state", value=[]), "`state` must be dict"),
        (put("model", "state", value={}), "weights of another model"),
        (put("model", "state", "layers.0.weight", value={"__tensor__": "x"}), "names a tensor 'x'"),
        (put("model", "state", "layers.0.weight", value=5), "weights of another model"),
        (put("problem", value=[]), "`problem` must be dict or NoneType"),
        (put("problem", "class", value="subprocess.Popen"), "none of the problems"),
        (put("problem", "class", value=["TopK"]), "none of the problems"),
        (put("problem", "n", value="six"), "do not make a TopK"),
        (put("problem", "n", value=10**15), "do not make a TopK"),
        (put("problem", "k", value=True), "do not make a TopK"),
        (put("problem", value={"class": "TopK"}), "do not make a TopK: KeyError"),
        (put("problem", value={"class": "LinearProgram", "n": 3, "sense": "up"}), "do not make a LinearProgram"),
        (put("problem", value={"class": "SubmodularProblem", "function": 3, "matroid": 4}), "do not make a Submodular"),
        (put("decide", value=None), "`decide` must be str"),
        (put("files", value={}), "`weights` must be dict; got nothing"),
        (put("files", "weights", "name", value="/etc/passwd"), "damaged or hostile"),
        (put("files", "weights", "name", value="../weights-0123456789abcdef.safetensors"), "damaged or hostile"),
        (put("files", "weights", "name", value="weights-0123456789abcdef.safetensors"), "cannot be read"),
        (put("files", "weights", "name", value="weights-0123456789abcdef.safetensors\n"), "damaged or hostile"),
        (put("files", "weights", "sha256", value="0" * 64), "is damaged"),
        (put("files", "weights", "sha256", value=0), "`sha256` must be str"),
    ],
)
def test_damaged_descriptions(change: Callable[[Any], None], message: str, tmp_path: Path) -> None:
    Policy(MLP(3, 6), TopK(6, 2)).save(tmp_path)
    edit(tmp_path, change)
    with pytest.raises(ForesolveError, match=message):
        Policy.load(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"x"', "[" * 100_000, "\udcff"])
def test_descriptions_that_are_none(text: str, tmp_path: Path) -> None:
    Policy(MLP(3, 6), TopK(6, 2)).save(tmp_path)
    (tmp_path / "policy.json").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ForesolveError):
        Policy.load(tmp_path)


@pytest.mark.parametrize("honest", [False, True], ids=["bytes", "with a digest to match"])
@pytest.mark.parametrize("cut", ["half", "empty", "long header", "garbage"])
def test_damaged_weights(cut: str, honest: bool, tmp_path: Path) -> None:
    Policy(MLP(3, 6), TopK(6, 2)).save(tmp_path)
    path = next(tmp_path.glob("*.safetensors"))
    whole = path.read_bytes()
    content = {
        "half": whole[: len(whole) // 2],
        "empty": b"",
        "long header": (2**62).to_bytes(8, "little") + whole[8:],
        "garbage": bytes(range(256)) * 4,
    }[cut]
    if honest:
        swap_file(tmp_path, "weights", content)
    else:
        path.write_bytes(content)
    with pytest.raises(ForesolveError, match="damaged"):
        Policy.load(tmp_path)


def test_a_forest_that_goes_round_in_circles(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    data = top_k_data()
    forest = RandomForest(trees=2).fit(data)
    forest.left[0] = 10**6
    Policy(forest, data.problem).save(tmp_path)
    with pytest.raises(ForesolveError, match="do not make trees"):
        Policy.load(tmp_path)
    forest.left[5] = forest.left[0] = 0
    Policy(forest, data.problem).save(tmp_path)
    with pytest.raises(ForesolveError, match="do not make trees"):
        Policy.load(tmp_path)


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(ForesolveError, match="is not there"):
        Policy.load(tmp_path / "nowhere")
