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
from foresolve.data import DecisionDataset
from foresolve.errors import FeatureRangeWarning, ForesolveError
from foresolve.learning import Policy, evaluate
from foresolve.learning.registry import restore_problem
from foresolve.learning.transformed import Transformed
from foresolve.models import (
    MLP,
    Baseline,
    BilinearPairs,
    ConstantMean,
    LinearRegression,
    NearestNeighbors,
    PairModel,
    RandomForest,
    ScikitLearn,
)
from foresolve.problems import (
    Affine,
    Assignment,
    BipartiteMatching,
    Knapsack,
    LinearProgram,
    MaxFlow,
    MinCostFlow,
    OracleProblem,
    Portfolio,
    Problem,
    QuadraticProgram,
    ShortestPath,
    SubmodularProblem,
    TopK,
    Tracking,
    TravellingSalesman,
)
from foresolve.sets import (
    FacilityLocation,
    GraphicMatroid,
    InfluenceSpread,
    LaminarMatroid,
    Matroid,
    PartitionMatroid,
    ProbabilisticCoverage,
    SetFunction,
    UniformMatroid,
)
from learning.instances import top_k_data
from mistakes import caution, file_mistake, mistake

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
    with mistake("problem", "None"):
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
    with file_mistake(estimator):
        Policy.load(tmp_path)
    forest = Policy(ScikitLearn(ensemble.RandomForestRegressor(3)).fit(data), data.problem)
    with mistake("", "RandomForestRegressor", "Tree", "`RandomForest`", kind=ForesolveError):
        forest.save(tmp_path)


def test_untrusted_estimators_are_not_loaded(tmp_path: Path) -> None:
    skops = pytest.importorskip("skops.io")
    linear, ensemble = pytest.importorskip("sklearn.linear_model"), pytest.importorskip("sklearn.ensemble")
    data = top_k_data()
    Policy(ScikitLearn(linear.Ridge()).fit(data), data.problem).save(tmp_path)
    hostile = skops.dumps(ensemble.RandomForestRegressor(3).fit(data.features.numpy(), data.theta.numpy()))
    swap_file(tmp_path, "estimator", hostile)
    with file_mistake(".skops", "sklearn.tree._tree.Tree"):
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
    with mistake("", "RandomForestRegressor", "Tree", "`RandomForest`", kind=ForesolveError):
        Policy(forest, data.problem).save(tmp_path)
    with mistake("model", "Ridge"):
        Policy(linear.Ridge(), data.problem)


def test_a_hostile_transformer_is_not_loaded(tmp_path: Path) -> None:
    skops = pytest.importorskip("skops.io")
    preprocessing, ensemble = pytest.importorskip("sklearn.preprocessing"), pytest.importorskip("sklearn.ensemble")
    X = np.random.default_rng(0).normal(size=(9, 3))
    policy = Policy(Transformed(preprocessing.StandardScaler().fit(X), MLP(3, 6)), TopK(6, 2))
    policy.save(tmp_path)
    assert torch.equal(Policy.load(tmp_path)(X).x, policy(X).x)
    swap_file(tmp_path, "transformer", skops.dumps(ensemble.RandomForestRegressor(3).fit(X, X)))
    with file_mistake(".skops", "sklearn.tree._tree.Tree"):
        Policy.load(tmp_path)
    edit(tmp_path, lambda document: document["files"].pop("transformer"))
    with file_mistake("policy.json", "`transformer`"):
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
    with mistake("features", "'b'"):
        again(frame[["a"]])


def test_models_of_the_user(tmp_path: Path) -> None:
    def network(width: int = 8) -> nn.Module:
        return nn.Sequential(nn.Linear(3, width), nn.BatchNorm1d(width), nn.Linear(width, 6))

    policy = Policy(network(), TopK(6, 2))
    with caution(str(tmp_path), "Sequential", "load(folder, model=...)"):
        policy.save(tmp_path)
    features = torch.randn(4, 3)
    with file_mistake("policy.json", "Sequential", "`Policy.load(..., model=...)`"):
        Policy.load(tmp_path)
    assert torch.equal(Policy.load(tmp_path, model=network())(features).x, policy(features).x)
    with file_mistake("policy.json", "(8, 3)", "(9, 3)"):
        Policy.load(tmp_path, model=network(9))


def test_a_compiled_model_is_kept_as_what_it_was(tmp_path: Path) -> None:
    features = torch.randn(4, 3)
    policy = Policy(torch.compile(MLP(3, 4), backend="eager"), TopK(4, 2))
    policy.save(tmp_path)
    assert torch.equal(Policy.load(tmp_path)(features).x, policy(features).x)
    own = torch.compile(nn.Sequential(nn.Linear(3, 4)), backend="eager")
    with caution(str(tmp_path), "Sequential"):
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
    with caution("'rain'", "-1e", kind=FeatureRangeWarning):
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
    with mistake("train", "DecisionDataset", "Tensor"):
        Policy(MLP(3, 5), data.problem, train=data.features)  # type: ignore[arg-type]
    with mistake("train", "valid"):
        Policy(MLP(3, 5), data.problem, valid=data)
    with mistake("record", "JSON"):
        Policy(MLP(3, 5), data.problem, record={"model": object()})
    with mistake("record", "dict", "list"):
        Policy(MLP(3, 5), data.problem, record=[1])  # type: ignore[arg-type]


def test_a_function_cannot_be_kept(tmp_path: Path) -> None:
    policy = Policy(lambda features: features, TopK(3, 1), lambda theta, problem: problem.solve(theta))
    with caution(str(tmp_path), "`rule`", "model=..., rule=...)"):
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
    ("make", "facts"),
    [
        (lambda: OracleProblem(np.sign, n=3), ["`config()`"]),
        (lambda: OwnProgram(n=3, bounds=(0, 1)), []),
        (own_graph, ["Tagged", "networkx.relabel_nodes"]),
    ],
)
def test_what_cannot_be_kept_is_told_when_it_is_saved(
    make: Callable[[], Problem], facts: list[str], tmp_path: Path
) -> None:
    policy = Policy(MLP(3, 3, head="non_negative"), make())
    kind, instead = type(policy.problem).__name__, ["`policy.save(folder, problem=False)`", "problem=..."]
    with mistake("", kind, *facts, *instead, kind=ForesolveError):
        policy.save(tmp_path / "policy")
    assert not (tmp_path / "policy").exists()
    policy.save(tmp_path / "policy", problem=False)
    with file_mistake("policy.json", kind, "problem=..."):
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
        (FacilityLocation().of(lambda theta: 2 * theta), UniformMatroid(3, 2), "FacilityLocation().of(<lambda>)"),
    ],
)
def test_sets_of_the_user_are_told_when_they_are_saved(
    function: SetFunction, matroid: Matroid, what: str, tmp_path: Path
) -> None:
    policy = Policy(MLP(3, (3, 2), (8,), "probability"), SubmodularProblem(function, matroid))
    with mistake("", "SubmodularProblem", what, "problem=False", kind=ForesolveError):
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
    with caution(str(tmp_path), "`Policy.load(folder, rule=...)`"):
        policy.save(tmp_path)
    with file_mistake("policy.json", "rule=..."):
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
    ("change", "fact"),
    [
        (put("kind", value="other"), "a policy"),
        (put("schema", value=5), "schema 5"),
        (put("schema", value=[]), "schema []"),
        (put("model", value=3), "`model`"),
        (put("model", "class", value="os.system"), "'os.system'"),
        (put("model", "class", value="Sequential"), "'Sequential'"),
        (put("model", "config", value=[1]), "`config`"),
        (put("model", "config", value={"inputs": "a", "outputs": 6}), "MLP"),
        (put("model", "config", value={"inputs": 3, "outputs": 6, "evil": 1}), "'evil'"),
        (put("model", "config", "inputs", value=10**12), "(MLP)"),
        (put("model", "config", "inputs", value=10**30), "MLP"),
        (put("model", "state", value=[]), "`state`"),
        (put("model", "state", value={}), "(MLP)"),
        (put("model", "state", "layers.0.weight", value={"__tensor__": "x"}), "'x'"),
        (put("model", "state", "layers.0.weight", value=5), "(MLP)"),
        (put("problem", value=[]), "`problem`"),
        (put("problem", "class", value="subprocess.Popen"), "problems"),
        (put("problem", "class", value=["TopK"]), "problems"),
        (put("problem", "n", value="six"), "TopK"),
        (put("problem", "k", value=True), "TopK"),
        (put("problem", value={"class": "TopK"}), "TopK: KeyError"),
        (put("problem", value={"class": "LinearProgram", "n": 3, "sense": "up"}), "LinearProgram"),
        (put("problem", value={"class": "SubmodularProblem", "function": 3, "matroid": 4}), "SubmodularProblem"),
        (put("problem", value={"class": "Problem"}), "problems"),
        (put("problem", value={"class": "Feasibility"}), "problems"),
        (put("problem", value={"class": "OracleProblem", "solve": "os.system"}), "OracleProblem"),
        (put("problem", value={"class": "TopK", "n": 1e12, "k": 1, "names": None}), "TopK"),
        (put("problem", value={"class": "TopK", "n": 6, "k": 2, "names": 6}), "TopK"),
        (put("problem", value={"class": "TopK", "n": 6, "k": 2, "constraints": None}), "TopK: TypeError"),
        (put("files", "weights", "bytes", value=3), ".safetensors"),
        (put("rule", value=None), "`rule`"),
        (put("reader", value=3), "`reader`"),
        (put("reader", value={"key": []}), "KeyError"),
        (put("statistics", value={"features": {}}), "KeyError"),
        (put("statistics", value={"features": None, "predictions": None}), "is damaged: TypeError"),
        (put("record", value=[]), "`record` must be dict"),
        (put("feature_names", value="ab"), "`feature_names`"),
        (put("feature_names", value=[1]), "`feature_names`"),
        (put("model", "class", value="Transformed"), "'Transformed'"),
        (put("model", "model", value=3), "`model`"),
        (put("files", value={}), "`weights`"),
        (put("files", "weights", "name", value="/etc/passwd"), "names the file"),
        (put("files", "weights", "name", value="../weights-0123456789abcdef.safetensors"), "names the file"),
        (
            put("files", "weights", "name", value="weights-0123456789abcdef.safetensors"),
            "weights-0123456789abcdef.safetensors",
        ),
        (put("files", "weights", "name", value="weights-0123456789abcdef.safetensors\n"), "names the file"),
        (put("files", "weights", "sha256", value="0" * 64), ".safetensors"),
        (put("files", "weights", "sha256", value=0), "`sha256`"),
    ],
)
def test_damaged_descriptions(change: Callable[[Any], None], fact: str, tmp_path: Path) -> None:
    Policy(MLP(3, 6), TopK(6, 2)).save(tmp_path)
    edit(tmp_path, change)
    with file_mistake(tmp_path, fact):
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
    with file_mistake(tmp_path, ".safetensors"):
        Policy.load(tmp_path)


def test_a_forest_that_goes_round_in_circles(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    data = top_k_data()
    forest = RandomForest(trees=2).fit(data)
    forest.left[0] = 10**6
    Policy(forest, data.problem).save(tmp_path)
    with file_mistake("policy.json", "RandomForest"):
        Policy.load(tmp_path)
    forest.left[5] = forest.left[0] = 0
    Policy(forest, data.problem).save(tmp_path)
    with file_mistake("policy.json", "RandomForest"):
        Policy.load(tmp_path)


def test_nothing_there(tmp_path: Path) -> None:
    with file_mistake(tmp_path / "nowhere" / "policy.json"):
        Policy.load(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("change", "fact"),
    [
        ({"index": torch.tensor([[0], [7]])}, "`index`"),
        ({"index": torch.tensor([[-1], [0]])}, "`index`"),
        ({"index": torch.tensor([0, 1])}, "`index`"),
        ({"index": None}, "`values`"),
        ({"values": torch.tensor([1.0, 2.0])}, "`values`"),
        ({"values": torch.tensor([torch.nan])}, "`values`"),
        ({"matrix_batch": [-1]}, "`matrix_batch`"),
        ({"matrix_batch": [3]}, "`values`"),
        ({"rhs": torch.tensor(1.0)}, "dimension"),
        ({"rhs": [1.0]}, "`rhs`"),
        ({"lower": torch.ones(3)}, "lower"),
        ({"lower": torch.zeros(2)}, "index"),
        ({"equality": torch.ones(2)}, "`equality`"),
        ({"nominal": torch.ones(4)}, "`nominal`"),
        ({"parameters": {"size": 3}}, "KeyError"),
        ({"parameters": "much"}, "AttributeError"),
        ({"names": ["a"]}, "`names`"),
        ({"sense": "up"}, "`sense`"),
    ],
)
def test_programs_that_files_make_up(change: dict[str, Any], fact: str) -> None:
    config = {
        "class": "LinearProgram", "index": torch.tensor([[0], [2]]), "values": torch.tensor([1.0]), "matrix_batch": [],
        "rhs": torch.tensor([1.0]), "equality": torch.tensor([False]), "lower": torch.zeros(3),
        "upper": torch.full((3,), 0.5), "integrality": torch.zeros(3), "implied_upper": False, "sense": "max",
        "names": None, "parameters": None,
    }  # fmt: skip
    assert isinstance(restore_problem(config), LinearProgram)
    with mistake("", "LinearProgram", fact, kind=ForesolveError):
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
        with mistake("", "ShortestPath", kind=ForesolveError):
            restore_problem(broken)


def test_bad_input() -> None:
    model, problem, features = MLP(2, 3), TopK(3, 1), torch.zeros(1, 2)
    with mistake("rule", "'solve'"):
        Policy(model, problem, "solve")  # type: ignore[arg-type]
    with mistake("problem", "int"):
        Policy(model, problem)(features, problem=5)  # type: ignore[arg-type]
    with mistake("rule(theta, problem)", "None"):
        Policy(model, problem, lambda theta, problem: None)(features)  # type: ignore[arg-type,return-value]
    for use in (Policy(model, problem).save, Policy.load):
        with mistake("folder", "Path", "None"):
            use(None)  # type: ignore[arg-type]


def test_a_model_of_the_users_may_be_called_as_ours_and_keeps_its_precision(tmp_path: Path) -> None:
    class Transformed(nn.Linear):
        pass

    policy = Policy(Transformed(3, 6).double(), TopK(6, 2))
    with caution("Transformed"):
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
    with mistake("problem", "'tea'", "'rum'"):
        Policy.load(tmp_path, problem=TopK(3, 1, names=names[::-1]))
    with mistake("problem", "'rum'", "'gin'"):
        Policy.load(tmp_path, problem=TopK(3, 1, names=["tea", "milk", "gin"]))
    with mistake("problem", "(3,)", "(4,)"):
        Policy.load(tmp_path, problem=TopK(4, 1))
    pairs = BipartiteMatching(["ann", "bob"], ["dig", "cook"])
    Policy(MLP(2, 4), pairs).save(tmp_path)
    with mistake("problem", "'dig'", "'cook'"):
        Policy.load(tmp_path, problem=BipartiteMatching(["ann", "bob"], ["cook", "dig"]))
