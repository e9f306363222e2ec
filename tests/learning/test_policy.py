from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
import scipy.sparse
import torch
from torch import Tensor, nn

from foresolve import problems, sets
from foresolve._base.configs import exported
from foresolve._base.container import checksum
from foresolve.data.dataset import DecisionDataset
from foresolve.errors import FeatureRangeWarning, ForesolveError, ForesolveWarning, InvalidInputError
from foresolve.learning.evaluation import evaluate
from foresolve.learning.policy import Policy
from foresolve.learning.registry import restore_problem
from foresolve.learning.transformed import Transformed
from foresolve.models.baselines import ConstantMean, LinearRegression, NearestNeighbors
from foresolve.models.forest import RandomForest
from foresolve.models.mlp import MLP
from foresolve.models.pairs import BilinearPairs, PairModel
from foresolve.models.reference import Baseline
from foresolve.models.scikit_learn import ScikitLearn
from foresolve.problems.affine import Affine
from foresolve.problems.base import Problem
from foresolve.problems.black_box import OracleProblem
from foresolve.problems.flow import MaxFlow, MinCostFlow
from foresolve.problems.knapsack import Knapsack
from foresolve.problems.linear import LinearProgram
from foresolve.problems.matching import Assignment, BipartiteMatching
from foresolve.problems.portfolio import Portfolio
from foresolve.problems.quadratic import QuadraticProgram
from foresolve.problems.shortest_path import ShortestPath
from foresolve.problems.submodular import SubmodularProblem
from foresolve.problems.top_k import TopK
from foresolve.problems.tracking import Tracking
from foresolve.problems.travelling_salesman import TravellingSalesman
from foresolve.sets.functions.coverage import ProbabilisticCoverage
from foresolve.sets.functions.facility import FacilityLocation
from foresolve.sets.functions.function import SetFunction
from foresolve.sets.functions.influence import InfluenceSpread
from foresolve.sets.matroids.graphic import GraphicMatroid
from foresolve.sets.matroids.laminar import LaminarMatroid, PartitionMatroid, UniformMatroid
from foresolve.sets.matroids.matroid import Matroid
from learning.instances import top_k_data

pytest.importorskip("safetensors")

PROBLEMS: list[Problem] = [
    TopK(6, 2),
    BipartiteMatching(2, 3),
    Assignment(3, 2),
    Knapsack([1, 2, 3, 4, 5, 6], 9),
    Knapsack(torch.rand(2, 6, generator=torch.Generator().manual_seed(0)), [1.0, 1.5]),
    Knapsack([1, 2, 3, 4, 5, 6], torch.arange(20.0)[:, None]),
    ShortestPath([(0, 1), (1, 3), (0, 2), (2, 3), (1, 2), (2, 1)], 0, 3),
    ShortestPath.from_networkx(networkx.MultiGraph([("a", "b"), ("b", (1, 2.5)), ("a", "b")]), "a", (1, 2.5)),
    MaxFlow([(0, 1), (1, 3), (0, 2), (2, 3), (1, 2), (2, 1)], 0, 3, [1.0, 2.0, 3.0, 4.0, 1.0, 1.0], n_nodes=5),
    MinCostFlow([(0, 1), (1, 3), (0, 2), (2, 3), (1, 2), (2, 1)], [3.0, 0.0, -1.0, -2.0, 0.0], 2.0),
    TravellingSalesman(4),
    LinearProgram(
        A_ub=[[1.0] * 6], b_ub=[2.5], A_eq=[[1.0, -1.0, 0, 0, 0, 0]], b_eq=[0.0], bounds=(0, np.inf),
        integrality=[0, 0, 1, 1, 1, 1], sense="min", names=list("abcdef"),
    ),
    LinearProgram(bounds=([-1.0] * 6, [1.0] * 6)),
    Knapsack([1, 2, 3, 4, 5, 6, 7, 8], 9).parametrized(Affine.part(range(6), known=[0.0] * 6 + [0.3, 0.2])),
    LinearProgram([[1.0] * 8], [2.0], bounds=(0, 1)).parametrized(
        Affine.tied([0, 1, 2, 3, 4, 5, 5, -1], known=[0.0] * 7 + [0.5]), b_ub=Affine([[1.0] * 6], 2.0)
    ),
    LinearProgram(torch.rand(20, 2, 6, generator=torch.Generator().manual_seed(0)), [1.0, 2.0], bounds=(0, 3.0)),
    LinearProgram(
        torch.rand(20, 2, 6, generator=torch.Generator().manual_seed(0)).round().to_sparse(), [1.0, 2.0], bounds=(0, 3)
    ),
    QuadraticProgram(np.diag([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) + 0.5, A_ub=[[1.0] * 6], b_ub=[2.5], names=list("abcdef")),
    QuadraticProgram(scipy.sparse.eye_array(6) + scipy.sparse.eye_array(6, k=1) * 0.1
                     + scipy.sparse.eye_array(6, k=-1) * 0.1, sense="min", bounds=(-1, 1)),
    QuadraticProgram(diagonal=torch.rand(20, 6, generator=torch.Generator().manual_seed(0)) + 0.1,
                     factor=torch.rand(6, 2, generator=torch.Generator().manual_seed(1)), bounds=(0, 2)),
    QuadraticProgram(diagonal=[1.0] * 3, A_eq=[[1.0] * 3], b_eq=[1.0]).parametrized(
        Affine.block(0, 3, size=6), diagonal=Affine.block(3, 3, size=6)),
    Portfolio(np.diag([0.1, 0.2, 0.3, 0.1, 0.2, 0.3]) + 0.05, bounds=(0, 0.5), names=list("abcdef")),
    Portfolio(loadings=[[0.1], [0.2], [0.3]], specific=[0.1, 0.1, 0.2], current=[0.5, 0.5, 0.0], turnover=0.6,
              cost=0.01, predict="covariance", returns=[0.1, 0.2, 0.3], names=list("abc")),
    Tracking([[-1.0, 1.0, 0, 0, 0, 0]], [1.0], names=list("abcdef"), weights=2.0),
    Tracking(bounds=(0, 1), outputs=np.tri(6), effort=0.1),
]  # fmt: skip

PATH = networkx.DiGraph([("a", 2), (2, (1, 2.5)), ((1, 2.5), 0.5)])
FUNCTIONS: list[tuple[SetFunction, tuple[int, ...]]] = [
    (ProbabilisticCoverage([1.0, 2.0]), (4, 2)),
    (ProbabilisticCoverage(), (4, 2)),
    (FacilityLocation(), (4, 2)),
    (2.0 * FacilityLocation() + 0.5 * ProbabilisticCoverage([1.0, 0.5]), (4, 2)),
    (InfluenceSpread([(0, 1), (1, 2), (2, 3)], samples=4, weights=[1.0, 2.0, 0.0, 1.0], targets=2), (3,)),
    (InfluenceSpread.from_networkx(PATH, samples=4, seed=1), (3,)),
]
MATROIDS: list[Matroid] = [
    UniformMatroid(4, 2),
    PartitionMatroid([0, 1, 0, 1], [1, 1]),
    LaminarMatroid(4, [[0, 1], [0, 1, 2]], [1, 2]),
    GraphicMatroid([(0, 1), (1, 2), (2, 0), (2, 3)], 5),
    GraphicMatroid.from_networkx(networkx.Graph([("a", "b"), ("b", (1, 2.5)), ((1, 2.5), "a"), ("a", 0.5)])),
]


@pytest.mark.parametrize("name", exported(problems, Problem))
def test_every_problem_has_an_example_here(name: str) -> None:
    assert name in {"OracleProblem", "SubmodularProblem", *(type(problem).__name__ for problem in PROBLEMS)}


@pytest.mark.parametrize("name", exported(sets, SetFunction, Matroid))
def test_every_set_has_an_example_here(name: str) -> None:
    examples = [*(function for function, _ in FUNCTIONS), *MATROIDS]
    assert name in {"Selected", *(type(example).__name__ for example in examples)}


@pytest.mark.parametrize("problem", PROBLEMS, ids=repr)
def test_problems_come_back(problem: Problem, tmp_path: Path) -> None:
    policy = Policy(MLP(3, 6, seed=0, head="non_negative").double(), problem)
    policy.save(tmp_path)
    again = Policy.load(tmp_path)
    assert type(again.problem) is type(problem)
    assert repr(again.problem) == repr(problem)
    assert again.problem.names == problem.names
    features = torch.randn(20, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    if not problem.batch_shape:
        assert torch.equal(again(features).x, policy(features).x)
        return
    assert torch.equal(again(features, again.problem).x, policy(features, problem).x)
    with pytest.raises(InvalidInputError, match="`problem` must be given where the policy"):
        policy(features)


@pytest.mark.parametrize("matroid", MATROIDS, ids=repr)
@pytest.mark.parametrize(("function", "shape"), FUNCTIONS, ids=lambda part: repr(part)[:40])
def test_submodular_problems_come_back(
    function: SetFunction, shape: tuple[int, ...], matroid: Matroid, tmp_path: Path
) -> None:
    problem = SubmodularProblem(function, matroid, time_limit=7.0)
    policy = Policy(MLP(3, shape, (8,), "probability"), problem)
    policy.save(tmp_path)
    again = Policy.load(tmp_path)
    assert repr(again.problem) == repr(problem)
    assert isinstance(again.problem, SubmodularProblem)
    assert (again.problem.method, again.problem.time_limit) == ("greedy", 7.0)
    if isinstance(function, InfluenceSpread) and isinstance(again.problem.function, InfluenceSpread):
        assert again.problem.function.nodes == function.nodes
    if isinstance(matroid, GraphicMatroid) and isinstance(again.problem.matroid, GraphicMatroid):
        assert again.problem.matroid.nodes == matroid.nodes
    features = torch.randn(20, 3, generator=torch.Generator().manual_seed(1))
    assert torch.equal(again(features).x, policy(features).x)


@pytest.mark.parametrize("model", [PairModel(3, 2, 7), BilinearPairs(3, 2, 4), BilinearPairs(3, 3, 4, siamese=True)])
def test_pair_models_come_back(model: Any, tmp_path: Path) -> None:
    policy = Policy(model, BipartiteMatching(4, 5))
    policy.save(tmp_path)
    width = model.config()["right"]
    features = torch.randn(2, 4, 3), torch.randn(2, 5, width)
    again = Policy.load(tmp_path)
    assert torch.equal(again(features).x, policy(features).x)
    assert isinstance(again.model, nn.Module)
    assert all(p.requires_grad for p in again.model.parameters())


@pytest.mark.parametrize("make", [ConstantMean, LinearRegression, NearestNeighbors, lambda: RandomForest(trees=4)])
def test_baselines_come_back(make: Callable[[], Baseline], tmp_path: Path) -> None:
    if not isinstance(make, type):
        pytest.importorskip("sklearn")
    data = top_k_data()
    policy = Policy(make().fit(data), data.problem)
    policy.save(tmp_path)
    again = Policy.load(tmp_path)
    assert torch.equal(again(data.features).x, policy(data.features).x)
    assert torch.equal(again.model(data.features), policy.model(data.features))


def test_scikit_learn_through_skops_or_a_refusal(tmp_path: Path) -> None:
    pytest.importorskip("skops")
    linear, ensemble = pytest.importorskip("sklearn.linear_model"), pytest.importorskip("sklearn.ensemble")
    data = top_k_data()
    policy = Policy(ScikitLearn(linear.Ridge()).fit(data), data.problem)
    policy.save(tmp_path)
    assert torch.equal(Policy.load(tmp_path)(data.features).x, policy(data.features).x)
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


@pytest.mark.parametrize("scaled", [False, True], ids=["regressor", "pipeline"])
def test_a_fitted_estimator_is_a_model(scaled: bool, tmp_path: Path) -> None:
    pytest.importorskip("skops")
    linear, pipeline = pytest.importorskip("sklearn.linear_model"), pytest.importorskip("sklearn.pipeline")
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    data = top_k_data()
    X, y = data.features.numpy(), data.theta.numpy()
    ridge = pipeline.make_pipeline(preprocessing.StandardScaler(), linear.Ridge()) if scaled else linear.Ridge()
    policy = Policy(ridge.fit(X, y), data.problem)
    expected = data.problem.solve(torch.tensor(ridge.predict(X)))
    policy.save(tmp_path)
    for one in (policy, Policy.load(tmp_path)):
        for features in (X, data.features, X.tolist()):
            assert torch.equal(one(features).x.double(), expected.double())
    forest = pytest.importorskip("sklearn.ensemble").RandomForestRegressor(3).fit(X, y)
    with pytest.raises(ForesolveError, match=r"RandomForestRegressor cannot be saved.*Tree.*`RandomForest` can"):
        Policy(forest, data.problem).save(tmp_path)
    with pytest.raises(InvalidInputError, match="a fitted estimator; got Ridge, which is not fitted"):
        Policy(linear.Ridge(), data.problem)


def test_a_hostile_transformer_is_not_loaded(tmp_path: Path) -> None:
    skops = pytest.importorskip("skops.io")
    preprocessing, ensemble = pytest.importorskip("sklearn.preprocessing"), pytest.importorskip("sklearn.ensemble")
    X = np.random.default_rng(0).normal(size=(9, 3))
    policy = Policy(Transformed(preprocessing.StandardScaler().fit(X), MLP(3, 6)), TopK(6, 2))
    policy.save(tmp_path)
    assert torch.equal(Policy.load(tmp_path)(X).x, policy(X).x)
    swap_file(tmp_path, "transformer", skops.dumps(ensemble.RandomForestRegressor(3).fit(X, X)))
    with pytest.raises(ForesolveError, match="types that are not safe to load"):
        Policy.load(tmp_path)
    edit(tmp_path, lambda document: document["files"].pop("transformer"))
    with pytest.raises(ForesolveError, match="`transformer` must be dict; got nothing"):
        Policy.load(tmp_path)


def test_features_as_users_have_them() -> None:
    pandas = pytest.importorskip("pandas")
    policy = Policy(MLP(3, 6, seed=0), TopK(6, 2))
    X = np.random.default_rng(0).normal(size=(9, 3))
    expected = policy(torch.tensor(X)).x
    for features in (X, X.tolist(), pandas.DataFrame(X), torch.tensor(X).float()):
        assert torch.equal(policy(features).x, expected)
    weights = np.random.default_rng(1).normal(size=(3, 6))
    given = Policy(lambda a: a @ weights, TopK(6, 2))  # from an array to an array
    assert torch.equal(given(X).x, TopK(6, 2).solve(torch.tensor(X @ weights)))


def test_columns_by_name(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    policy = Policy(MLP(2, 6, seed=0), TopK(6, 2), feature_names=["a", "b"])
    frame = pandas.DataFrame(np.random.default_rng(0).normal(size=(9, 2)), columns=["a", "b"])
    policy.save(tmp_path)
    again = Policy.load(tmp_path)
    assert again.feature_names == ("a", "b")
    assert torch.equal(again(frame[["b", "a"]]).x, policy(frame).x)
    with pytest.raises(InvalidInputError, match="a frame with the 2 columns of training; got one without 'b'"):
        again(frame[["a"]])


def test_models_of_the_user(tmp_path: Path) -> None:
    def network(width: int = 8) -> nn.Module:
        return nn.Sequential(nn.Linear(3, width), nn.BatchNorm1d(width), nn.Linear(width, 6))

    policy = Policy(network(), TopK(6, 2))
    with pytest.warns(
        ForesolveWarning, match=r"weights of its Sequential, but not its code.*load\(folder, model=...\)"
    ):
        policy.save(tmp_path)
    features = torch.randn(4, 3)
    with pytest.raises(ForesolveError, match=r"weights of a Sequential.*pass one with `Policy.load\(..., model=...\)`"):
        Policy.load(tmp_path)
    assert torch.equal(Policy.load(tmp_path, model=network())(features).x, policy(features).x)
    with pytest.raises(ForesolveError, match=r"weights of another model.*\(8, 3\) in the file, \(9, 3\)"):
        Policy.load(tmp_path, model=network(9))


def test_a_compiled_model_is_kept_as_what_it_was(tmp_path: Path) -> None:
    features = torch.randn(4, 3)
    policy = Policy(torch.compile(MLP(3, 4), backend="eager"), TopK(4, 2))
    policy.save(tmp_path)
    assert torch.equal(Policy.load(tmp_path)(features).x, policy(features).x)
    own = torch.compile(nn.Sequential(nn.Linear(3, 4)), backend="eager")
    with pytest.warns(ForesolveWarning, match="Sequential, but not its code"):
        Policy(own, TopK(4, 2)).save(tmp_path)
    again = torch.compile(nn.Sequential(nn.Linear(3, 4)), backend="eager")
    assert torch.equal(Policy.load(tmp_path, model=again)(features).theta, own(features))


def test_what_was_known_at_training_comes_back(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    from learning.deployment.tables import made, tables

    policy, frame = made(record={"method": "ridge", "settings": {"alpha": 1.0}, "at": "2026-11-18"}), tables(9).features
    policy.save(tmp_path)
    again = Policy.load(tmp_path)
    assert again.record == policy.record
    assert (
        again.feature_names
        == policy.feature_names
        == ("rain", "weekday = mon", "weekday = tue", "weekday = wed", "wind")
    )
    assert again.reader is not None
    assert again.reader.columns == ("rain", "weekday", "wind")
    assert torch.equal(again(frame).x, policy(frame).x)
    assert again.statistics is not None
    assert policy.statistics is not None
    assert json.dumps(listed(again.statistics.config())) == json.dumps(listed(policy.statistics.config()))
    frame.loc[0, "rain"] = -1e6
    with pytest.warns(FeatureRangeWarning, match="'rain' is -1e"):
        again(frame)


def listed(config: Any) -> Any:
    """Tensors as lists."""
    if isinstance(config, dict):
        return {name: listed(part) for name, part in config.items()}
    return config.tolist() if isinstance(config, Tensor) else config


def test_a_policy_of_the_schema_before(tmp_path: Path) -> None:
    policy, features = Policy(MLP(3, 6, seed=0), TopK(6, 2)), torch.randn(4, 3)
    policy.save(tmp_path)

    def older(document: Any) -> None:
        document["schema"] = 2
        for name in ("reader", "statistics", "record"):
            del document[name]

    edit(tmp_path, older)
    again = Policy.load(tmp_path)
    assert (again.reader, again.statistics, again.record) == (None, None, {})
    assert torch.equal(again(features).x, policy(features).x)


def test_what_is_kept_of_training() -> None:
    data = top_k_data(60)
    train, valid = data.split(40)
    policy = Policy(LinearRegression().fit(train), data.problem, train=train, valid=valid)
    known = policy.statistics
    assert known is not None
    assert known.regret is not None
    assert known.errors is not None
    assert (known.features.count, known.predictions.count, known.held_out) == (40, 20, 20)
    expected = evaluate(policy, valid, bootstrap=0)
    assert float(known.regret.mean[0]) == pytest.approx(expected.regret)
    assert known.normalized_regret == pytest.approx(expected.normalized_regret)
    errors = (policy.model(valid.features) - valid.theta).double()
    np.testing.assert_allclose(known.errors.mean, errors.mean(0), atol=1e-6)
    alone = Policy(policy.model, data.problem, train=train).statistics
    assert alone is not None
    assert (alone.errors, alone.regret, alone.held_out) == (None, None, 0)
    recorded = DecisionDataset(data.features, decisions=data.decisions, problem=data.problem)
    without = Policy(policy.model, data.problem, train=recorded, valid=recorded).statistics
    assert without is not None
    assert without.regret is None


def test_bad_training_data() -> None:
    data = top_k_data(10)
    with pytest.raises(InvalidInputError, match="`train` must be a DecisionDataset; got Tensor"):
        Policy(MLP(3, 5), data.problem, train=data.features)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="`train` must be given where `valid` is"):
        Policy(MLP(3, 5), data.problem, valid=data)
    with pytest.raises(InvalidInputError, match=r"`record` must be of numbers, text, lists and dicts.*not JSON"):
        Policy(MLP(3, 5), data.problem, record={"model": object()})
    with pytest.raises(InvalidInputError, match="`record` must be a dict; got list"):
        Policy(MLP(3, 5), data.problem, record=[1])  # type: ignore[arg-type]


def test_a_function_cannot_be_kept(tmp_path: Path) -> None:
    policy = Policy(lambda features: features, TopK(3, 1), lambda theta, problem: problem.solve(theta))
    with pytest.warns(
        ForesolveWarning, match=r"nothing of its model.*and nothing of its `rule`.*model=..., rule=...\)"
    ):
        policy.save(tmp_path)
    again = Policy.load(tmp_path, model=policy.model, rule=policy.rule)
    assert torch.equal(again(torch.eye(3)).x, torch.eye(3))


def test_a_large_sparse_problem(tmp_path: Path) -> None:
    n, m = 50_000, 2_000
    entries = np.arange(n)
    rows = scipy.sparse.csr_array((np.ones(n), (entries % m, entries)), (m, n))
    problem = LinearProgram(rows, np.full(m, 3.0), bounds=(0, 1), names=[f"x{j}" for j in entries])
    policy = Policy(MLP(1, n, seed=0), problem)
    policy.save(tmp_path)
    again = Policy.load(tmp_path)
    decisions, features = policy(torch.ones(2, 1)), torch.ones(2, 1)
    assert torch.equal(again(features).x, decisions.x)
    assert again(features).chosen()[0][0].startswith("x")
    assert bool(decisions.certificate.proven.all())
    assert decisions.verify()


class Tagged:
    """A node that JSON has no word for."""


class OwnProgram(LinearProgram):
    """One of the user's."""


def own_graph() -> ShortestPath:
    end = Tagged()
    return ShortestPath.from_networkx(networkx.DiGraph([("a", "b"), ("b", end), ("a", end)]), "a", end)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: OracleProblem(np.sign, n=3), r"OracleProblem cannot be saved: .* gives no `config\(\)`"),
        (lambda: OwnProgram(n=3, bounds=(0, 1)), "OwnProgram cannot be saved: .* none of foresolve's own classes"),
        (own_graph, r"ShortestPath cannot be saved: .*Tagged object.*of type Tagged.*networkx.relabel_nodes"),
    ],
)
def test_what_cannot_be_kept_is_told_when_it_is_saved(make: Callable[[], Problem], reason: str, tmp_path: Path) -> None:
    policy = Policy(MLP(3, 3, head="non_negative"), make())
    with pytest.raises(ForesolveError, match=reason + r".*`policy.save\(folder, problem=False\)`.*problem=..."):
        policy.save(tmp_path / "policy")
    assert not (tmp_path / "policy").exists()
    policy.save(tmp_path / "policy", problem=False)
    with pytest.raises(ForesolveError, match=rf"without its {type(policy.problem).__name__}.*problem=..."):
        Policy.load(tmp_path / "policy")
    features = torch.randn(4, 3)
    again = Policy.load(tmp_path / "policy", problem=policy.problem)
    assert torch.equal(again(features).x, policy(features).x)


class OwnFunction(SetFunction):
    """One of the user's."""

    theta_dims = 2

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return (mask.unsqueeze(-1) * theta).sum((-1, -2))


class OwnCoverage(ProbabilisticCoverage):
    """One of foresolve's, changed."""


class OwnMatroid(UniformMatroid):
    """Another one."""


@pytest.mark.parametrize(
    ("function", "matroid", "what"),
    [
        (OwnFunction(), UniformMatroid(3, 2), "OwnFunction"),
        (OwnCoverage(), UniformMatroid(3, 2), "OwnCoverage"),
        (FacilityLocation(), OwnMatroid(3, 2), "OwnMatroid"),
        (FacilityLocation() + OwnFunction(), UniformMatroid(3, 2), "OwnFunction"),
        (FacilityLocation().of(lambda theta: 2 * theta), UniformMatroid(3, 2), r"FacilityLocation\(\).of\(<lambda>\)"),
    ],
)
def test_sets_of_the_user_are_told_when_they_are_saved(
    function: SetFunction, matroid: Matroid, what: str, tmp_path: Path
) -> None:
    policy = Policy(MLP(3, (3, 2), (8,), "probability"), SubmodularProblem(function, matroid))
    with pytest.raises(ForesolveError, match=f"SubmodularProblem cannot be saved: {what} .*problem=False"):
        policy.save(tmp_path)
    assert not list(tmp_path.iterdir())
    policy.save(tmp_path, problem=False)
    features = torch.randn(4, 3)
    assert torch.equal(Policy.load(tmp_path, problem=policy.problem)(features).x, policy(features).x)


def test_a_program_from_a_file_comes_back_with_its_objective(tmp_path: Path) -> None:
    source = tmp_path / "small.lp"
    source.write_text("max\n obj: 2 x + y + 3\nst\n c: x + y <= 4\nbounds\n x <= 3\nend\n")
    problem = LinearProgram.from_mps(source)
    Policy(MLP(3, 2), problem).save(tmp_path / "policy")
    again = Policy.load(tmp_path / "policy").problem
    assert isinstance(again, LinearProgram)
    assert again.names == ("x", "y")
    assert again.nominal is not None
    assert again.nominal.tolist() == [2.0, 1.0]
    x = again.solve(again.nominal)
    assert x.tolist() == [3.0, 1.0]
    assert again.objective(x, again.nominal) == problem.objective(x, again.nominal) == 10.0  # with the constant, 3


def test_rules_of_the_user(tmp_path: Path) -> None:
    policy = Policy(MLP(3, 3), TopK(3, 1), lambda theta, problem: problem.solve(-theta))
    with pytest.warns(ForesolveWarning, match=r"nothing of its `rule`.*`Policy.load\(folder, rule=...\)"):
        policy.save(tmp_path)
    with pytest.raises(ForesolveError, match=r"a rule of its own.*rule=..."):
        Policy.load(tmp_path)
    features = torch.randn(4, 3)
    again = Policy.load(tmp_path, rule=policy.rule)
    assert torch.equal(again(features).x, policy(features).x)
    assert torch.equal(policy.decide(features).x, policy(features).x)
    assert "rule=" in repr(policy)


@pytest.mark.parametrize(
    ("problem", "warm"), [(LinearProgram([[1.0] * 6], [2.0]), "_pool"), (TravellingSalesman(4), "_tours")]
)
def test_the_solver_stays_warm_between_calls(problem: LinearProgram, warm: str) -> None:
    policy = Policy(MLP(3, 6, head="non_negative"), problem)
    policy(torch.randn(4, 3))
    solver = vars(problem)[warm]
    policy(torch.randn(4, 3))
    assert policy.problem is problem
    assert vars(problem)[warm] is solver
    for twin in (copy.copy(problem), copy.deepcopy(problem), pickle.loads(pickle.dumps(problem))):
        assert warm not in vars(twin)


def test_calls_without_gradients_and_in_evaluation_mode() -> None:
    net = nn.Sequential(nn.Dropout(0.5), nn.Linear(3, 6))
    policy = Policy(net, TopK(6, 2))
    features = torch.randn(50, 3)
    assert torch.equal(policy(features).x, policy(features).x)
    assert net.training
    assert not policy(features).x.requires_grad
    wider = policy(features, problem=TopK(6, 3)).x
    assert bool((wider.sum(-1) == 3).all())


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
    assert torch.equal(Policy.load(tmp_path)(features).x, policy(features).x)


# -- damaged and hostile files -----------------------------------------------------------------------------------------


def edit(folder: Path, change: Callable[[Any], Any]) -> None:
    path = folder / "policy.json"
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document | {"sha256": checksum(document, {})}))


def swap_file(folder: Path, name: str, content: bytes) -> None:
    """Another file, with the digest to go with it."""
    import hashlib

    digest = hashlib.sha256(content).hexdigest()
    document = json.loads((folder / "policy.json").read_text())
    suffix = document["files"][name]["name"].rpartition(".")[2]
    (folder / f"{name}-{digest[:16]}.{suffix}").write_bytes(content)
    edit(
        folder,
        lambda d: d["files"].update(
            {name: {"name": f"{name}-{digest[:16]}.{suffix}", "sha256": digest, "bytes": len(content)}}
        ),
    )


def put(*path: str, value: Any) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        for part in path[:-1]:
            document = document[part]
        document[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("kind", value="other"), "is not a policy"),
        (
            put("schema", value=5),
            "has the schema 5, written by a version of foresolve .0.1.0.; this one, .* reads 2 and 3 and 4",
        ),
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
        (put("problem", "k", value=True), "do not make a TopK"),
        (put("problem", value={"class": "TopK"}), "do not make a TopK: KeyError"),
        (put("problem", value={"class": "LinearProgram", "n": 3, "sense": "up"}), "do not make a LinearProgram"),
        (put("problem", value={"class": "SubmodularProblem", "function": 3, "matroid": 4}), "do not make a Submodular"),
        (put("problem", value={"class": "Problem"}), "none of the problems"),
        (put("problem", value={"class": "Feasibility"}), "none of the problems"),
        (put("problem", value={"class": "OracleProblem", "solve": "os.system"}), "do not make a OracleProblem"),
        (put("problem", value={"class": "TopK", "n": 1e12, "k": 1, "names": None}), "do not make a TopK"),
        (put("problem", value={"class": "TopK", "n": 6, "k": 2, "names": 6}), "do not make a TopK"),
        (put("problem", value={"class": "TopK", "n": 6, "k": 2, "constraints": None}), "do not make a TopK: TypeError"),
        (put("files", "weights", "bytes", value=3), "is damaged: it is not what"),
        (put("rule", value=None), "`rule` must be str"),
        (put("reader", value=3), "`reader` must be dict or NoneType"),
        (put("reader", value={"key": []}), "is damaged: KeyError"),
        (put("statistics", value={"features": {}}), "is damaged: KeyError"),
        (put("statistics", value={"features": None, "predictions": None}), "is damaged: TypeError"),
        (put("record", value=[]), "`record` must be dict"),
        (put("feature_names", value="ab"), "`feature_names` must be a list of names"),
        (put("feature_names", value=[1]), "`feature_names` must be a list of names"),
        (put("model", "class", value="Transformed"), "'Transformed' is none of the reference models"),
        (put("model", "model", value=3), "`model` must be dict; got int"),
        (put("files", value={}), "`weights` must be dict; got nothing"),
        (put("files", "weights", "name", value="/etc/passwd"), "damaged or hostile"),
        (put("files", "weights", "name", value="../weights-0123456789abcdef.safetensors"), "damaged or hostile"),
        (put("files", "weights", "name", value="weights-0123456789abcdef.safetensors"), "is not there"),
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
    saved = path.read_bytes()
    content = {
        "half": saved[: len(saved) // 2],
        "empty": b"",
        "long header": (2**62).to_bytes(8, "little") + saved[8:],
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"index": torch.tensor([[0], [7]])}, "`index` must lie within"),
        ({"index": torch.tensor([[-1], [0]])}, "`index` must lie within"),
        ({"index": torch.tensor([0, 1])}, r"`index` must be \(2, entries\)"),
        ({"index": None}, "`values` must be"),
        ({"values": torch.tensor([1.0, 2.0])}, "`values` must be"),
        ({"values": torch.tensor([torch.nan])}, "`values` must be finite"),
        ({"matrix_batch": [-1]}, "`matrix_batch` must be an integer"),
        ({"matrix_batch": [3]}, "`values` must be"),
        ({"rhs": torch.tensor(1.0)}, "must have a dimension"),
        ({"rhs": [1.0]}, "`rhs` must be a tensor"),
        ({"lower": torch.ones(3)}, "lower <= upper"),
        ({"lower": torch.zeros(2)}, "`values`|upper|index"),
        ({"equality": torch.ones(2)}, "`equality`"),
        ({"nominal": torch.ones(4)}, "`nominal` must be"),
        ({"parameters": {"size": 3}}, "KeyError"),
        ({"parameters": "much"}, "AttributeError"),
        ({"names": ["a"]}, "`names` must be"),
        ({"sense": "up"}, "`sense` must be"),
    ],
)
def test_programs_that_files_make_up(change: dict[str, Any], message: str) -> None:
    config = {
        "class": "LinearProgram", "index": torch.tensor([[0], [2]]), "values": torch.tensor([1.0]), "matrix_batch": [],
        "rhs": torch.tensor([1.0]), "equality": torch.tensor([False]), "lower": torch.zeros(3),
        "upper": torch.full((3,), 0.5), "integrality": torch.zeros(3), "implied_upper": False, "sense": "max",
        "names": None, "parameters": None,
    }  # fmt: skip
    assert isinstance(restore_problem(config), LinearProgram)
    with pytest.raises(ForesolveError, match="do not make a LinearProgram: .*" + message):
        restore_problem(config | change)


@pytest.mark.parametrize(
    "change",
    [
        {"arcs": torch.tensor([[0, 9]])}, {"arcs": torch.tensor([[0, -1]])}, {"arcs": [[0, 1]]}, {"n_nodes": 10**12},
        {"nodes": ["a"]}, {"nodes": ["a", ["b"]]}, {"nodes": ["a", None]}, {"nodes": 3}, {"keys": []},
    ],
)  # fmt: skip
def test_graphs_that_files_make_up(change: dict[str, Any]) -> None:
    graph = {"arcs": torch.tensor([[0, 1]]), "n_nodes": 2, "nodes": ["a", "b"], "keys": None}
    config = {"class": "ShortestPath", "graph": graph, "source": 0, "target": 1, "names": None}
    assert restore_problem(config).names == ("a -> b",)
    for broken in (config | {"graph": graph | change}, config | {"source": 2}, config | {"source": "a"}):
        with pytest.raises(ForesolveError, match="do not make a ShortestPath"):
            restore_problem(broken)


def test_bad_input() -> None:
    model, problem, features = MLP(2, 3), TopK(3, 1), torch.zeros(1, 2)
    with pytest.raises(InvalidInputError, match=r"`rule` must be a function .*; got 'solve'\. Leave it out"):
        Policy(model, problem, "solve")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="`problem` must be a foresolve Problem; got int"):
        Policy(model, problem)(features, problem=5)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=r"`rule\(theta, problem\)` must be a tensor of decisions; got None"):
        Policy(model, problem, lambda theta, problem: None)(features)  # type: ignore[arg-type,return-value]
    for use in (Policy(model, problem).save, Policy.load):
        with pytest.raises(InvalidInputError, match="`folder` must be a path, as a string or a `Path`; got None"):
            use(None)  # type: ignore[arg-type]


def test_a_model_of_the_users_may_be_called_as_ours_and_keeps_its_precision(tmp_path: Path) -> None:
    class Transformed(nn.Linear):
        pass

    policy = Policy(Transformed(3, 6).double(), TopK(6, 2))
    with pytest.warns(ForesolveWarning, match="weights of its Transformed"):
        policy.save(tmp_path)
    again = Policy.load(tmp_path, model=Transformed(3, 6))
    assert next(again.model.parameters()).dtype == torch.float64
    features = torch.randn(50, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert torch.equal(again(features).x, policy(features).x)


def test_a_problem_that_is_passed_has_the_names_of_the_one_that_was_saved(tmp_path: Path) -> None:
    """Predictions go by position: in another order every decision would be wrong, without a word."""
    names = ["tea", "milk", "rum"]
    Policy(MLP(2, 3), TopK(3, 1, names=names)).save(tmp_path, problem=False)
    again = Policy.load(tmp_path, problem=TopK(3, 2, names=names))  # another budget is the caller's business
    assert again.problem.names == tuple(names)
    Policy.load(tmp_path, problem=TopK(3, 1))  # nothing to compare with
    with pytest.raises(InvalidInputError, match="in this order: 'tea' at position 0; got 'rum'"):
        Policy.load(tmp_path, problem=TopK(3, 1, names=names[::-1]))
    with pytest.raises(InvalidInputError, match="saved with: 'rum' at position 2; got 'gin'"):
        Policy.load(tmp_path, problem=TopK(3, 1, names=["tea", "milk", "gin"]))
    with pytest.raises(InvalidInputError, match=r"with parameters \(3,\), as the one .*; got \(4,\)"):
        Policy.load(tmp_path, problem=TopK(4, 1))
    pairs = BipartiteMatching(["ann", "bob"], ["dig", "cook"])
    Policy(MLP(2, 4), pairs).save(tmp_path)
    with pytest.raises(InvalidInputError, match="'dig' at position 0; got 'cook'"):
        Policy.load(tmp_path, problem=BipartiteMatching(["ann", "bob"], ["cook", "dig"]))
