from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from foresolve.data import DecisionDataset
from foresolve.learning import Policy, evaluate
from foresolve.problems import LinearProgram, TopK

pytest.importorskip("sklearn")
pandas = pytest.importorskip("pandas")

from sklearn.base import clone  # noqa: E402
from sklearn.compose import make_column_transformer  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.linear_model import Ridge  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.pipeline import Pipeline, make_pipeline  # noqa: E402
from sklearn.preprocessing import OneHotEncoder, StandardScaler  # noqa: E402

from foresolve.learning import DecisionEstimator, DecisionPipeline  # noqa: E402

ITEMS = LinearProgram([[1.0] * 5], [2.0], bounds=(0, 1), names=list("vwxyz"))


def table(count: int = 40) -> tuple[Any, np.ndarray]:
    """A frame with its own index, of two numbers and a word."""
    rng = np.random.default_rng(0)
    numbers, word = rng.normal(size=(count, 2)), rng.integers(2, size=count)
    y = numbers @ rng.normal(size=(2, 5)) + word[:, None] * rng.normal(size=5) + 3
    frame = pandas.DataFrame(numbers, columns=["a", "b"], index=[f"day {i}" for i in range(count)])
    return frame.assign(c=np.array(["wet", "dry"], dtype=object)[word]), y


def made(problem: Any = ITEMS, **options: Any) -> DecisionPipeline:
    columns = make_column_transformer((StandardScaler(), ["a", "b"]), (OneHotEncoder(), ["c"]))
    return DecisionPipeline.of(columns, DecisionEstimator(problem, epochs=3, **options))


def test_it_decides_as_its_steps_do() -> None:
    X, y = table()
    pipeline = made().fit(X, y)
    expected = pipeline[-1].decide(pipeline[:-1].transform(X))
    decisions = pipeline.decide(X)
    assert list(decisions.columns) == list("vwxyz")
    assert list(decisions.index) == list(X.index)
    np.testing.assert_array_equal(decisions.to_numpy(), expected)
    plain = made(TopK(5, 2)).fit(X, y)
    assert isinstance(plain.decide(X), np.ndarray)  # the problem has no names
    assert plain.problem_.n == 5
    alone = DecisionPipeline([("only", DecisionEstimator(TopK(5, 2), epochs=1))]).fit(X[["a", "b"]], y)
    assert alone.decide(X[["a", "b"]]).shape == (40, 5)


def test_it_is_a_pipeline() -> None:
    X, y = table()
    pipeline = made()
    twin = clone(pipeline)
    assert type(twin) is DecisionPipeline
    assert type(pipeline[:-1]) is DecisionPipeline
    search = GridSearchCV(pipeline, {"decisionestimator__lr": [1e-6, 0.05]}, cv=2, error_score="raise").fit(X, y)
    assert search.best_estimator_.decide(X).shape == (40, 5)
    assert cross_val_score(pipeline, X, y, cv=2, error_score="raise").shape == (2,)
    weights = np.arange(40.0)
    pipeline.set_output(transform="default").fit(X, y, decisionestimator__sample_weight=weights)
    again = pickle.loads(pickle.dumps(pipeline))
    np.testing.assert_array_equal(again.decide(X), pipeline.decide(X))
    assert again.score(X, y, sample_weight=weights) == pipeline.score(X, y, sample_weight=weights)


def test_frames_between_the_steps() -> None:
    X, y = table()
    X = X[["a", "b"]]
    pipeline = DecisionPipeline.of(StandardScaler(), DecisionEstimator(ITEMS, epochs=2)).set_output(transform="pandas")
    pipeline.fit(X, y)
    assert list(pipeline[-1].feature_names_in_) == ["a", "b"]
    decisions = pipeline.decide(X)
    assert list(decisions.index) == list(X.index)
    np.testing.assert_array_equal(pipeline.policy()(X).x.numpy(), decisions.to_numpy())


def test_a_pipeline_becomes_one_with_its_fitted_steps() -> None:
    X, y = table()
    plain = Pipeline(made().steps).fit(X, y)
    assert not hasattr(plain, "decide")
    assert DecisionPipeline(plain.steps).decide(X).shape == (40, 5)


def test_only_where_the_last_step_decides_and_is_fitted() -> None:
    assert not hasattr(DecisionPipeline.of(StandardScaler(), Ridge()), "decide")
    assert not hasattr(DecisionPipeline.of(StandardScaler(), Ridge()), "policy")
    X, _ = table()
    with pytest.raises(NotFittedError):
        made().decide(X)
    with pytest.raises(NotFittedError):
        made().policy()


def test_its_policy_decides_alike_on_frames_by_name_and_can_be_saved(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    pytest.importorskip("skops")
    X, y = table()
    pipeline = made().fit(X, y)
    policy, expected = pipeline.policy(), torch.tensor(pipeline.decide(X).to_numpy())
    assert torch.equal(policy(X).x, expected)
    assert torch.equal(policy(X[["c", "a", "b"]]).x, expected)  # order never matters
    policy.save(tmp_path)
    again = Policy.load(tmp_path)
    assert again.feature_names == ("a", "b", "c")
    assert torch.equal(again(X[["c", "a", "b"]]).x, expected)


@pytest.mark.parametrize("last", [DecisionEstimator(TopK(5, 2), epochs=2), Ridge()], ids=["decides", "predicts"])
def test_plain_pipelines_are_models(last: Any) -> None:
    X, y = table()
    X = X[["a", "b"]].to_numpy()
    pipeline = make_pipeline(StandardScaler(), last).fit(X, y)
    data = DecisionDataset(torch.tensor(X), torch.tensor(y), TopK(5, 2))
    report = evaluate(pipeline, data, bootstrap=0)
    expected = evaluate(lambda _: pipeline.predict(X), data, bootstrap=0, batch_size=len(X))
    assert report.regret == pytest.approx(expected.regret)
    decisions = Policy(pipeline, TopK(5, 2))(X).x
    np.testing.assert_array_equal(decisions.numpy(), TopK(5, 2).solve(torch.tensor(pipeline.predict(X))).numpy())


def test_a_policy_is_a_copy() -> None:
    """Fitted anew, a pipeline decides otherwise; its policies do not."""
    X, y = table()
    frame = X[["a", "b"]]
    pipelines: list[Any] = [
        DecisionPipeline.of(StandardScaler(), DecisionEstimator(ITEMS, epochs=3, lr=0.05)),
        make_pipeline(StandardScaler(), Ridge()),
        Ridge(),
    ]
    for pipeline in pipelines:
        policy = Policy(pipeline.fit(frame, y), ITEMS)
        before = policy(frame).x
        pipeline.fit(1000 * frame + 5, -y)
        assert torch.equal(policy(frame).x, before)
        assert not torch.equal(Policy(pipeline, ITEMS)(frame).x, before)


def test_names_are_kept_whatever_the_first_step_does() -> None:
    X, y = table()
    frame = X[["a", "b"]]
    steps = [("first", "passthrough"), ("last", DecisionEstimator(ITEMS, epochs=3))]
    for pipeline in (DecisionPipeline(steps).fit(frame, y), Pipeline(steps).fit(frame, y)):
        policy = Policy(pipeline, ITEMS)
        assert policy.feature_names == ("a", "b")
        assert torch.equal(policy(frame[["b", "a"]]).x, policy(frame).x)
        shuffled = DecisionDataset(frame[["b", "a"]], y, ITEMS)
        assert evaluate(pipeline, shuffled).regret == evaluate(pipeline, DecisionDataset(frame, y, ITEMS)).regret
    again = DecisionPipeline(steps).fit(frame, y).fit(frame.to_numpy(), y)
    assert again.policy().feature_names is None


def test_tables_of_arrow() -> None:
    arrow = pytest.importorskip("pyarrow")
    X, y = table()
    policy = made().fit(X, y).policy()
    shuffled = X[["c", "b", "a"]]
    assert torch.equal(policy(arrow.Table.from_pandas(shuffled, preserve_index=False)).x, policy(X).x)


def test_sparse_encodings() -> None:
    X, y = table()
    pipeline = DecisionPipeline.of(OneHotEncoder(), DecisionEstimator(ITEMS, epochs=3)).fit(X[["c"]], y)
    np.testing.assert_array_equal(pipeline.policy()(X[["c"]]).x.numpy(), pipeline.decide(X[["c"]]).to_numpy())
