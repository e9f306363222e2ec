from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from foresolve.data import DecisionDataset
from foresolve.layers import QuadraticRelaxation
from foresolve.learning import Policy, evaluate, regret_scorer
from foresolve.learning.named_losses import loss_by_name
from foresolve.losses import MSE, NCE, DecisionLoss, SPOPlus
from foresolve.models import ConstantMean, LinearRegression
from foresolve.problems import Affine, Knapsack, LinearProgram, ShortestPath, SubmodularProblem, TopK
from foresolve.sets import GraphicMatroid, ProbabilisticCoverage, UniformMatroid

sklearn = pytest.importorskip("sklearn")

from sklearn.base import clone  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import estimator_checks_generator  # noqa: E402

from foresolve.learning import DecisionEstimator  # noqa: E402
from mistakes import mistake  # noqa: E402


def table(count: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(count, 3))
    return X, X @ rng.normal(size=(3, 5)) + 0.1 * rng.normal(size=(count, 5))


def checks() -> list[Any]:
    """All of scikit-learn's `check_estimator`; none is expected to fail."""
    return list(estimator_checks_generator(DecisionEstimator(epochs=5), mark=None))


@pytest.mark.parametrize("check", checks(), ids=lambda pair: getattr(pair[1], "func", pair[1]).__name__)
def test_scikit_learn_accepts_it(check: Any) -> None:
    estimator, run = check
    run(estimator)


def test_learns_predicts_and_decides() -> None:
    X, y = table()
    estimator = DecisionEstimator(TopK(5, 2), epochs=30, lr=0.05).fit(X, y)
    assert estimator.predict(X).shape == y.shape
    assert estimator.decide(X).shape == y.shape
    assert set(estimator.decide(X).sum(-1)) == {2.0}
    assert -0.05 < estimator.score(X, y) <= 0
    again = pickle.loads(pickle.dumps(estimator))
    np.testing.assert_array_equal(again.decide(X), estimator.decide(X))


@pytest.mark.parametrize("loss", [MSE, MSE(), NCE(), DecisionLoss(QuadraticRelaxation(gamma=1.0))], ids=str)
def test_losses(loss: Any) -> None:
    X, y = table()
    estimator = DecisionEstimator(TopK(5, 2), loss=loss, epochs=5, hidden=(8,))
    first = clone(estimator).fit(X, y).predict(X)
    np.testing.assert_array_equal(first, estimator.fit(X, y).predict(X))
    np.testing.assert_array_equal(first, estimator.fit(X, y).predict(X))


def test_pipeline_search_and_cross_validation() -> None:
    X, y = table()
    pipeline = make_pipeline(StandardScaler(), DecisionEstimator(TopK(5, 2), epochs=5))
    scores = cross_val_score(pipeline, X, y, cv=3)
    assert scores.shape == (3,)
    assert (scores <= 1e-9).all()
    search = GridSearchCV(pipeline, {"decisionestimator__lr": [1e-6, 0.05]}, cv=2).fit(X, y)
    assert search.best_params_ == {"decisionestimator__lr": 0.05}


def test_predicting_leaves_the_model_as_it_was() -> None:
    """It was once put into evaluation mode and left there, so that a user's further training had no dropout."""
    X, y = table()

    def make(inputs: int, outputs: int) -> nn.Module:
        return nn.Sequential(nn.Dropout(0.9), nn.Linear(inputs, outputs))

    estimator = DecisionEstimator(TopK(5, 2), make, epochs=2).fit(X, y)
    estimator.model_.train()
    np.testing.assert_array_equal(estimator.predict(X), estimator.predict(X))  # without dropout
    assert all(module.training for module in estimator.model_.modules())
    estimator.decide(X)
    estimator.score(X, y)
    assert all(module.training for module in estimator.model_.modules())


def test_decisions_are_those_of_a_policy() -> None:
    X, y = table()
    estimator = DecisionEstimator(TopK(5, 2), epochs=2).fit(X, y)
    policy = Policy(estimator.model_, estimator.problem_)
    np.testing.assert_array_equal(estimator.decide(X), policy(torch.tensor(X)).x.numpy())


def test_a_model_of_the_user_and_patience() -> None:
    X, y = table()

    def make(inputs: int, outputs: int) -> nn.Module:
        torch.nn.init.zeros_((layer := nn.Linear(inputs, outputs)).weight)
        return layer

    estimator = DecisionEstimator(TopK(5, 2), make, epochs=200, lr=0.5, patience=2, random_state=3).fit(X, y)
    assert isinstance(estimator.model_, nn.Linear)
    assert estimator.history_.stopped_early


@pytest.mark.parametrize("model", [LinearRegression(), lambda inputs, outputs: LinearRegression()], ids=["one", "made"])
def test_a_baseline(model: Any) -> None:
    X, y = table()
    estimator: Any = clone(DecisionEstimator(TopK(5, 2), model))
    estimator.fit(X, y)
    expected = sklearn.linear_model.LinearRegression().fit(X, y).predict(X)
    np.testing.assert_allclose(estimator.predict(X), expected, atol=1e-9)
    assert -0.05 < estimator.score(X, y) <= 0
    assert len(estimator.history_) == 1
    assert len(cross_val_score(estimator, X, y, cv=3)) == 3


def test_a_baseline_stays_as_it_was() -> None:
    model = ConstantMean()
    DecisionEstimator(TopK(5, 2), model, loss=MSE()).fit(*table())
    assert "fitted" not in model.config()


@pytest.mark.parametrize(
    ("options", "fact"),
    [({"epochs": 7, "lr": 0.5}, "epochs=7, lr=0.5"), ({"patience": 3}, "patience=3"), ({"loss": SPOPlus()}, "SPOPlus")],
)
def test_a_baseline_takes_no_options_of_training(options: dict[str, Any], fact: str) -> None:
    with mistake(next(iter(options)), fact):
        DecisionEstimator(TopK(5, 2), LinearRegression(), **options).fit(*table())


@pytest.mark.parametrize(
    ("problem", "loss"),
    [
        (None, MSE),
        (TopK(5, 2), SPOPlus),
        (SubmodularProblem(ProbabilisticCoverage([1.0]), UniformMatroid(5, 2)), DecisionLoss),
        (SubmodularProblem(ProbabilisticCoverage([1.0]), GraphicMatroid([(0, 1)] * 5)), MSE),
    ],
    ids=str,
)
def test_the_loss_by_default_works_with_the_problem(problem: Any, loss: type) -> None:
    estimator = DecisionEstimator(problem)
    estimator.problem_, estimator.model_ = problem, nn.Identity()
    assert type(estimator._loss()) is loss


@pytest.mark.parametrize(
    ("options", "about"),
    [
        ({"model": "mlp"}, ["model", "'mlp'"]),
        ({"model": nn.Linear(3, 4)}, ["theta_hat", "(32, 5)", "(32, 4)"]),
        ({"loss": "spo++"}, ["loss", "got 'spo++'", "'spo+'?"]),
        ({"loss": nn.MSELoss()}, ["loss", "torch's MSELoss", "`MSE()`"]),
        ({"loss": nn.functional.mse_loss}, ["loss", "`PredictionLoss(f)`"]),
        ({"loss": QuadraticRelaxation()}, ["loss", "`DecisionLoss(layer)`"]),
        ({"loss": QuadraticRelaxation}, ["loss", "`DecisionLoss(QuadraticRelaxation())`"]),
        ({"loss": DecisionLoss}, ["loss", "`DecisionLoss(layer)`"]),
        ({"loss": lambda: 3}, ["loss", "got int"]),
        ({"hidden": 8}, ["hidden", "(64, 64)", "got 8"]),
        ({"lr": "x"}, ["lr", "got 'x'"]),
        ({"patience": 1, "validation_fraction": 2}, ["validation_fraction", "(0, 1)", "got 2"]),
    ],
)
def test_bad_options(options: dict[str, Any], about: list[str]) -> None:
    with mistake(*about):
        DecisionEstimator(TopK(5, 2), **options).fit(*table())


@pytest.mark.parametrize("name", ["spo+", "mse", "decision", "nce"])
def test_a_loss_by_name_is_that_loss(name: str) -> None:
    X, y = table()
    by_name, made = (
        DecisionEstimator(TopK(5, 2), loss=loss, epochs=2).fit(X, y).predict(X)
        for loss in (name, loss_by_name(name, TopK(5, 2)))
    )
    np.testing.assert_array_equal(by_name, made)


def test_a_module_is_trained_as_a_copy_from_its_weights() -> None:
    X, y = table()
    module = nn.Linear(3, 5)
    weight = module.weight.detach().clone()
    estimator = clone(DecisionEstimator(TopK(5, 2), module, epochs=3))
    first = estimator.fit(X, y).predict(X)
    np.testing.assert_array_equal(estimator.fit(X, y).predict(X), first)
    assert torch.equal(module.weight, weight)
    assert module.weight.dtype == torch.float32
    still = DecisionEstimator(TopK(5, 2), module, epochs=0).fit(X, y)
    np.testing.assert_array_equal(still.predict(X), module.double()(torch.tensor(X)).detach().numpy())


@pytest.mark.parametrize("model", [nn.Linear, lambda: nn.Linear(3, 5)], ids=["class", "function"])
def test_the_weights_of_a_class_or_function_are_those_of_the_random_state(model: Any) -> None:
    X, y = table()
    first, again, other = (
        DecisionEstimator(TopK(5, 2), model, epochs=1, random_state=state).fit(X, y).predict(X) for state in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0.01


def test_a_regressor_of_scikit_learn_and_its_parameters() -> None:
    X, y = table()
    estimator = DecisionEstimator(TopK(5, 2), sklearn.linear_model.Ridge())
    expected = sklearn.linear_model.Ridge().fit(X, y).predict(X)
    np.testing.assert_allclose(estimator.fit(X, y).predict(X), expected)
    search = GridSearchCV(estimator, {"model__alpha": [1.0, 1e9]}, cv=2, error_score="raise").fit(X, y)
    assert search.best_params_ == {"model__alpha": 1.0}


def test_a_sample_that_counts_nothing_is_as_if_it_were_not_there() -> None:
    """In batches, and in the split for patience, too."""
    X, y = table()
    weights = np.arange(60.0) % 3
    options: dict[str, Any] = {"epochs": 4, "batch_size": 8, "patience": 2}
    some = DecisionEstimator(TopK(5, 2), **options).fit(X[weights > 0], y[weights > 0], weights[weights > 0])
    np.testing.assert_array_equal(
        DecisionEstimator(TopK(5, 2), **options).fit(X, y, weights).predict(X), some.predict(X)
    )
    plain = DecisionEstimator(TopK(5, 2), **options).fit(X, y)
    assert np.abs(plain.predict(X) - some.predict(X)).max() > 1e-3


@given(weights=st.lists(st.integers(0, 3), min_size=12, max_size=12).filter(any))
def test_in_one_batch_a_weight_is_a_sample_that_comes_so_often(weights: list[int]) -> None:
    X, y = table(12)
    rows = np.repeat(np.arange(12), weights)
    weighted, repeated = DecisionEstimator(TopK(5, 2), epochs=3), DecisionEstimator(TopK(5, 2), epochs=3, batch_size=99)
    expected = repeated.fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.fit(X, y, weights).predict(X), expected.predict(X), atol=1e-6)
    assert weighted.score(X, y, weights) == pytest.approx(expected.score(X[rows], y[rows]), abs=1e-6)


@pytest.mark.parametrize("wrong", [[-1.0] * 60, [1.0], [np.nan] * 60])
def test_weights_that_make_no_sense(wrong: list[float]) -> None:
    X, y = table()
    with pytest.raises(ValueError, match=r"sample_weight|weights"):
        DecisionEstimator(TopK(5, 2)).fit(X, y, wrong)
    with pytest.raises(ValueError, match=r"sample_weight|weights"):
        DecisionEstimator(TopK(5, 2), epochs=1).fit(X, y).score(X, y, wrong)


def test_decisions_are_named_where_features_and_variables_are() -> None:
    pandas = pytest.importorskip("pandas")
    X, y = table()
    frame = pandas.DataFrame(X, columns=["a", "b", "c"], index=range(100, 160))
    named = LinearProgram([[1.0] * 5], [2.0], bounds=(0, 1), names=list("vwxyz"))
    estimator = DecisionEstimator(named, epochs=2).fit(frame, y)
    decisions = estimator.decide(frame)
    assert (list(decisions.columns), list(decisions.index)) == (list("vwxyz"), list(range(100, 160)))
    assert isinstance(estimator.predict(frame), np.ndarray)
    nameless = DecisionEstimator(named, epochs=2).fit(X, y)
    assert isinstance(nameless.decide(X), np.ndarray)
    np.testing.assert_array_equal(nameless.decide(X), decisions.to_numpy())
    assert isinstance(DecisionEstimator(TopK(5, 2), epochs=1).fit(frame, y).decide(frame), np.ndarray)


def test_without_a_fit_it_says_so() -> None:
    X, y = table()
    estimator = DecisionEstimator(TopK(5, 2))
    for ask in (estimator.predict, estimator.decide, lambda X: estimator.score(X, y), lambda _: estimator.policy()):
        with pytest.raises(sklearn.exceptions.NotFittedError):
            ask(X)


def test_its_policy_matches_frames_by_name(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("safetensors")
    X, y = table()
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    estimator = DecisionEstimator(TopK(5, 2), epochs=5).fit(frame, y)
    policy, expected = estimator.policy(), torch.tensor(estimator.decide(frame))
    policy.save(tmp_path)
    for one in (policy, Policy.load(tmp_path), Policy(estimator, TopK(5, 2))):
        assert one.feature_names == ("a", "b", "c")
        assert torch.equal(one(frame[["c", "a", "b"]]).x, expected)
        assert torch.equal(one(X).x, expected)
    with mistake("features", "'b'"):
        policy(frame[["a", "c"]])
    assert DecisionEstimator(TopK(5, 2), epochs=1).fit(X, y).policy().feature_names is None


def test_parameters_of_two_dimensions_are_rows() -> None:
    """Probabilities of items and targets: the default model gives probabilities of that shape."""
    X, _ = table(30)
    weights = np.random.default_rng(1).normal(size=(3, 8))
    y = 1 / (1 + np.exp(-X @ weights))
    problem = SubmodularProblem(ProbabilisticCoverage(), UniformMatroid(4, 2))
    estimator = DecisionEstimator(problem, epochs=3).fit(X, y)
    predicted = estimator.predict(X)
    assert predicted.shape == (30, 8)
    assert ((predicted > 0) & (predicted < 1)).all()
    assert estimator.decide(X).shape == (30, 4)
    assert -1 < estimator.score(X, y) <= 0
    data = DecisionDataset(torch.tensor(X), torch.tensor(y).reshape(30, 4, 2), problem)
    assert -estimator.score(X, y) == pytest.approx(evaluate(estimator, data, bootstrap=0).normalized_regret)


def test_the_loss_by_default_works_on_roads_with_two_ways() -> None:
    rng = np.random.default_rng(0)
    arcs = [(0, 1), (1, 0), (1, 2), (2, 1), (0, 2), (2, 0), (2, 3), (3, 2), (1, 3), (3, 1)]
    X = rng.normal(size=(20, 3))
    y = 1 + np.abs(X @ rng.normal(size=(3, len(arcs))))
    estimator = DecisionEstimator(ShortestPath(arcs, 0, 3), epochs=3).fit(X, y)
    assert -2 < estimator.score(X, y) <= 0


def test_a_problem_of_which_a_part_is_predicted() -> None:
    """Two worths of five are known: three are predicted, five things are decided on."""
    X, y = table()
    items = Knapsack([3.0, 4.0, 2.0, 1.0, 3.0], 6.0, names=list("vwxyz"))
    problem = items.parametrized(Affine.part([0, 1, 3], known=[0.0, 0.0, 1.5, 0.0, 0.5]))
    estimator = DecisionEstimator(problem, epochs=3).fit(X, y[:, :3])
    assert estimator.predict(X).shape == (60, 3)
    assert estimator.decide(X).shape == (60, 5)
    assert -1 < estimator.score(X, y[:, :3]) <= 0


def test_columns_of_targets_are_matched_by_name() -> None:
    pandas = pytest.importorskip("pandas")
    X, y = table()
    names = list("vwxyz")
    frame = pandas.DataFrame(y, columns=names)
    shuffled = frame[["z", "v", "y", "w", "x"]]
    named = LinearProgram([[1.0] * 5], [2.0], bounds=(0, 1), names=names)
    first, second = (DecisionEstimator(named, epochs=5).fit(X, targets) for targets in (frame, shuffled))
    np.testing.assert_array_equal(first.predict(X), second.predict(X))
    assert first.score(X, shuffled) == first.score(X, frame) == first.score(X, y)
    assert regret_scorer()(first, X, shuffled) == first.score(X, y)
    assert regret_scorer(named)(first, X, shuffled) == first.score(X, y)
    with mistake("y", "'v'", "'u'"):
        DecisionEstimator(named, epochs=1).fit(X, frame.rename(columns={"v": "u"}))
    unnamed = DecisionEstimator(TopK(5, 2), epochs=1).fit(X, shuffled)
    assert unnamed.target_names_ == tuple(shuffled.columns)
    assert unnamed.score(X, frame) == unnamed.score(X, shuffled) == regret_scorer()(unnamed, X, frame)
    with mistake("y", "'v'", "'u'"):
        unnamed.score(X, frame.rename(columns={"v": "u"}))
    assert DecisionEstimator(TopK(5, 2), epochs=1).fit(X, y).target_names_ is None


@pytest.mark.parametrize(
    ("problem", "facts"), [(TopK, ["class TopK", "`TopK(...)`"]), ("topk", ["'topk'", "`foresolve.TopK(5, 2)`"])]
)
def test_what_is_no_problem(problem: Any, facts: list[str]) -> None:
    with mistake("problem", *facts):
        DecisionEstimator(problem).fit(*table())


def test_widths_are_those_of_the_default_model_alone() -> None:
    X, y = table()
    with mistake("hidden", "model", "(3,)"):
        DecisionEstimator(TopK(5, 2), nn.Linear(3, 5), hidden=(3,)).fit(X, y)


def test_a_network_for_parameters_of_two_dimensions() -> None:
    coverage = SubmodularProblem(ProbabilisticCoverage(), UniformMatroid(4, 2))
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), rng.random((20, 12))

    class Network(nn.Sequential):
        def __init__(self, inputs: int, outputs: int) -> None:
            super().__init__(nn.Linear(inputs, outputs), nn.Sigmoid())

    estimator = DecisionEstimator(coverage, Network, epochs=2).fit(X, y)
    assert estimator.predict(X).shape == (20, 12)
    assert estimator.score(X, y) <= 0


def test_sparse_features() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    X, y = table()
    dense, filled = (DecisionEstimator(TopK(5, 2), epochs=2).fit(A, y) for A in (X, sparse.csr_array(X)))
    np.testing.assert_array_equal(dense.predict(X), filled.predict(sparse.coo_array(X)))
