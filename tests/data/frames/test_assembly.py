"""Data sets from users' tables: matched by key and name, in any order, and refused where they do not match."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import foresolve
from foresolve import DecisionDataset
from mistakes import mistake
from tests.data.frames.tables import days, long, read, road_problem


def equal(a: DecisionDataset, b: DecisionDataset) -> bool:
    assert a.keys is not None
    assert b.keys is not None
    same = a.keys.frame().equals(b.keys.frame()) and a.feature_names == b.feature_names
    return same and torch.equal(a.features, b.features) and torch.equal(a.theta, b.theta)


@given(st.integers(0, 2**32 - 1))
def test_any_order_of_rows_and_columns_is_the_same_data_bit_for_bit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    features, minutes = days()

    def mixed(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.iloc[rng.permutation(len(frame)), rng.permutation(frame.shape[1])]

    whole = read(features, minutes)
    assert equal(whole, read(mixed(features), mixed(minutes)))
    assert equal(whole, read(mixed(features), mixed(long(minutes)), variable="road", value="minutes"))
    assert equal(whole, read(mixed(features.merge(minutes, on="date")), None))


def test_columns_go_to_their_arcs_and_not_to_their_places() -> None:
    features, minutes = days()
    data = read(features, minutes[minutes.columns[::-1]])
    np.testing.assert_allclose(data.theta.numpy(), minutes[["r1", "r2", "r3", "r4", "r5"]].to_numpy(), rtol=1e-6)
    assert data.times is not None
    assert str(data.times[0]).startswith("2023-01-01")


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".feather", ".npz"])
def test_files_of_every_kind_give_the_same(tmp_path: Path, suffix: str) -> None:
    features, minutes = days()
    paths = [tmp_path / f"{name}{suffix}" for name in ("features", "minutes")]
    for path, frame in zip(paths, (features, minutes), strict=True):
        if ".csv" in suffix:
            frame.to_csv(path, index=False)
        elif suffix == ".npz":
            columns = {
                name: np.asarray(frame[name], dtype=str if frame[name].dtype == "str" else None) for name in frame
            }
            np.savez(path, **columns)
        else:
            getattr(frame, {".parquet": "to_parquet", ".feather": "to_feather"}[suffix])(path)
    assert equal(read(*paths), read(features, minutes))


def test_keys_match_whatever_type_a_file_gives_them() -> None:
    features, minutes = days()
    dates = features.assign(date=pd.to_datetime(features["date"]))
    assert equal(read(features, minutes), read(dates, minutes))
    numbered = features.assign(date=range(len(features))), minutes.assign(date=[float(i) for i in range(len(minutes))])
    as_text = minutes.assign(date=[str(i) for i in range(len(minutes))])
    assert equal(read(*numbered), read(numbered[0], numbered[1]))
    assert torch.equal(read(*numbered).theta, read(numbered[0], as_text).theta)


def test_keys_are_text(tmp_path: Path) -> None:
    """7, 7.0 and "7" are one key; "007" and "7.0" are others."""
    features, minutes = days(12)
    whole = read(features.assign(date=range(12)), minutes.assign(date=[float(i) for i in range(12)]))
    assert whole.keys is not None
    assert [whole.keys[place] for place in (0, 2, 11)] == ["0", "2", "11"]  # by size
    assert whole.keys.frame()["date"].tolist() == [str(place) for place in range(12)]
    for name, form in (("same", "{}"), ("padded", "{:03d}"), ("decimal", "{}.0")):
        path = tmp_path / f"{name}.csv"
        minutes.assign(date=[form.format(place) for place in range(12)]).to_csv(path, index=False)
    same = read(features.assign(date=range(12)), tmp_path / "same.csv")
    assert equal(same, whole)
    for name, key in (("padded", "000"), ("decimal", "0.0")):
        with mistake("theta", "'0', '1'"):
            read(features.assign(date=range(12)), tmp_path / f"{name}.csv")
        data = read(
            features.assign(
                date=same.keys.frame()["date"].map(
                    {str(i): f"{i:03d}" if key == "000" else f"{i}.0" for i in range(12)}
                )
            ),
            tmp_path / f"{name}.csv",
        )
        assert data.keys is not None
        assert data.keys[0] == key


def test_keys_may_stand_in_the_index(tmp_path: Path) -> None:
    features, minutes = days()
    expected = read(features, minutes)
    indexed = [table.set_index("date") for table in (features, minutes)]
    assert torch.equal(read(*indexed).features, expected.features)
    paths = [tmp_path / f"{name}.parquet" for name in ("features", "minutes")]
    for table, path in zip(indexed, paths):
        table.to_parquet(path)
    again = read(*paths)
    assert torch.equal(again.theta, expected.theta)
    assert again.keys[0] == expected.keys[0]


def test_several_columns_may_be_the_key() -> None:
    features, minutes = days(8)
    keys = {"depot": [name for name in "xy" for _ in range(4)], "date": features["date"][:4].tolist() * 2}
    data = read(features.assign(**keys).sample(frac=1, random_state=0), minutes.assign(**keys), key=["depot", "date"])
    assert data.keys is not None
    assert data.keys[0] == ("x", "2023-01-01")
    assert data.keys[1] == ("y", "2023-01-01")  # dated rows are in the order of time
    assert data.times is not None


def broken(name: str) -> Callable[[pd.DataFrame, pd.DataFrame], tuple[Any, Any, dict[str, Any]]]:
    def drop_day(f: pd.DataFrame, m: pd.DataFrame) -> tuple[Any, Any, dict[str, Any]]:
        return f, m.iloc[2:], {}

    cases: dict[str, Any] = {
        "a day without truth": drop_day,
        "a day without features": lambda f, m: (f.iloc[1:], m, {}),
        "a column that is none": lambda f, m: (f, m.rename(columns={"r2": "R2"}), {}),
        "a column too many": lambda f, m: (f, m.assign(note=1), {}),
        "a day twice": lambda f, m: (f, pd.concat([m, m.iloc[:1]]), {}),
        "a road twice": lambda f, m: (f, pd.concat([long(m), long(m)[:1]]), {"variable": "road", "value": "minutes"}),
        "a strange road": lambda f, m: (
            f,
            long(m).replace({"road": {"r1": "r9"}}),
            {"variable": "road", "value": "minutes"},
        ),
        "no key": lambda f, m: (f.rename(columns={"date": "Date"}), m, {}),
        "a missing key": lambda f, m: (f.assign(date=[None, *f["date"][1:]]), m, {}),
        "text in numbers": lambda f, m: (f, m.assign(r1=["x", *m["r1"].astype(str)[1:]]), {}),
        "no such column": lambda f, m: (f, m, {"columns": ["ran"]}),
        "a value without a variable": lambda f, m: (f, long(m), {"value": "minutes"}),
        "numbers with an exception": lambda f, m: (f.assign(rain=["n/e", *f["rain"].astype(str)[1:]]), m, {}),
    }
    return cases[name]


@pytest.mark.parametrize(
    ("name", "argument", "facts"),
    [
        ("a day without truth", "theta", ["'2023-01-01', '2023-01-02'"]),
        ("a day without features", "features", ["'2023-01-01'"]),
        ("a column that is none", "theta", ["'r2'", "'R2'"]),
        ("a column too many", "theta", ["'note'"]),
        ("a day twice", "theta", ["'2023-01-01'"]),
        ("a road twice", "theta", ["'r1' of '2023-01-01'"]),
        ("a strange road", "theta", ["'r9'", "'r1'"]),
        ("no key", "key", ["'date'", "'Date'"]),
        ("a missing key", "features", ["'date'", "row 0"]),
        ("text in numbers", "theta", ["'r1'", "'x' in row 0"]),
        ("no such column", "columns", ["'ran'", "'rain'"]),
        ("a value without a variable", "value", ["`variable`"]),
        ("numbers with an exception", "features", ["'rain'", "'n/e'"]),
    ],
)
def test_what_does_not_match_is_refused_and_named(name: str, argument: str, facts: list[str]) -> None:
    features, theta, options = broken(name)(*days())
    with mistake(argument, *facts):
        read(features, theta, **options)


def test_a_problem_without_names_is_refused() -> None:
    features, minutes = days()
    with mistake("problem"):
        DecisionDataset.from_frames(features, minutes, foresolve.TopK(5, 2), key="date")


def test_long_features_belong_to_their_variables() -> None:
    rng = np.random.default_rng(0)
    sales = pd.DataFrame(
        [(day, item, rng.random(), rng.random(), weight) for day in range(6) for item, weight in (("b", 2), ("a", 3))],
        columns=["day", "item", "price", "profit", "weight"],
    )
    problem = foresolve.Knapsack.from_frame(sales, 3)
    assert problem.names == ("a", "b")
    options: dict[str, Any] = {"key": "day", "variable": "item", "value": "profit", "columns": ["price"]}
    data = DecisionDataset.from_frames(sales, problem=problem, **options)
    assert data.features.shape == (6, 2, 1)
    row = sales[(sales["day"] == 4) & (sales["item"] == "a")].iloc[0]
    assert float(data.features[4, 0, 0]) == pytest.approx(row["price"])
    assert float(data.theta[4, 0]) == pytest.approx(row["profit"])
    assert equal(data, DecisionDataset.from_frames(sales.sample(frac=1, random_state=1), problem=problem, **options))
    with mistake("columns"):
        DecisionDataset.from_frames(sales, problem=problem, **{**options, "columns": ["profit"]})


def test_pairs_have_two_columns_of_names_and_sets_two_axes() -> None:
    rng = np.random.default_rng(0)
    rows = [(day, who, job, *rng.random(2)) for day in range(3) for who in ("bob", "ann") for job in ("dig", "cook")]
    pairs = pd.DataFrame(rows, columns=["day", "who", "job", "skill", "worth"])
    matching = foresolve.BipartiteMatching.from_frame(pairs, left="who", right="job")
    options: dict[str, Any] = {"key": "day", "variable": ["who", "job"], "value": "worth"}
    data = DecisionDataset.from_frames(pairs, problem=matching, **options)
    assert data.features.shape == (3, 4, 1)
    row = pairs[(pairs["day"] == 2) & (pairs["who"] == "bob") & (pairs["job"] == "cook")].iloc[0]
    place = matching.names.index("bob | cook") if matching.names else -1
    assert float(data.theta[2, place]) == pytest.approx(row["worth"])
    assert float(data.features[2, place, 0]) == pytest.approx(row["skill"])
    cover = foresolve.SubmodularProblem(
        foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(2, 1), names=["ann", "bob"], targets=["cook", "dig"]
    )
    data = DecisionDataset.from_frames(pairs, problem=cover, **options)
    assert data.features.shape == (3, 2, 2, 1)
    assert float(data.theta[2, 1, 0]) == pytest.approx(row["worth"])
    channels = pairs.groupby(["day", "who"], as_index=False)["skill"].mean()
    data = DecisionDataset.from_frames(channels, pairs[["day", "who", "job", "worth"]], cover, **options)
    assert data.features.shape == (3, 2, 1)


def test_weights_and_dates_are_columns_too() -> None:
    features, minutes = days(6)
    renamed = features.rename(columns={"date": "day"}).assign(date=range(6), size=[1.0, 2, 3, 4, 5, 6])
    data = read(renamed, minutes.assign(date=range(6)), weights="size", dates="day")
    assert data.weights is not None
    assert data.weights.tolist() == [1, 2, 3, 4, 5, 6]
    assert data.feature_names is not None
    assert not [name for name in data.feature_names if "size" in name]
    assert data.times is not None
    assert read(features, minutes, dates=False).times is None
    with mistake("dates"):
        read(renamed, minutes.assign(date=range(6)), dates="weekday")


class TestMissing:
    """By a rule that the user chooses, counted."""

    def tables(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        features, minutes = days(10)
        features.loc[[2, 7], "rain"] = None
        features.loc[3, "weekday"] = None
        minutes.loc[[2, 5], "r2"] = np.nan
        return features, minutes

    def test_refused_by_default_with_columns_and_keys(self) -> None:
        features, minutes = self.tables()
        with mistake("features", "'rain'", "'2023-01-03'"):
            read(features, minutes)
        with mistake("theta", "'r2'"):
            read(features.ffill(), minutes)

    def test_instances_are_dropped_and_counted(self) -> None:
        features, minutes = self.tables()
        data = read(features, minutes.iloc[:-1], missing="drop")
        assert data.origin is not None
        assert data.origin.missing is not None
        assert len(data) == 5
        assert data.origin.missing[:3] == (3, 2, 5)
        assert "5 instances are left out" in str(data.origin.missing)
        assert data.imputed is None

    def test_the_previous_value_in_time(self) -> None:
        features, minutes = self.tables()
        data = read(features.sample(frac=1, random_state=0), minutes, missing="previous")
        assert float(data.features[2, 0]) == float(data.features[1, 0])
        assert float(data.theta[5, 1]) == float(data.theta[4, 1])
        assert data.imputed is not None
        assert data.imputed.nonzero().flatten().tolist() == [2, 5]
        with mistake("missing"):
            read(features, minutes, missing="previous", dates=False)
        with mistake("features", "'rain'", "'2023-01-03'"):
            read(features.iloc[2:], minutes.iloc[2:].ffill().bfill(), missing="previous")

    @pytest.mark.parametrize("rule", ["mean", "median"])
    def test_statistics_are_those_of_the_first_part(self, rule: str) -> None:
        features, minutes = self.tables()
        data = read(features, minutes, missing=rule)
        train, test = data.split(0.6)
        statistic = getattr(np, f"nan{rule}")
        expected = statistic(features["rain"][:6])
        assert float(train.features[2, 0]) == pytest.approx(expected)
        assert float(test.features[1, 0]) == pytest.approx(expected)
        assert float(train.theta[2, 1]) == pytest.approx(statistic(minutes["r2"][:6]))
        assert float(data.features[2, 0]) == pytest.approx(statistic(features["rain"]))
        assert test.reader is not None
        tomorrow = test.reader.read(features.iloc[[7]])
        assert float(tomorrow.features[0, 0]) == pytest.approx(expected)
        for pair in data.folds(3):
            assert len({float(part.reader.fill[0]) for part in pair if part.reader and part.reader.fill}) == 1

    def test_a_category_is_the_most_frequent_one(self) -> None:
        features, minutes = days(10)
        features["weekday"] = ["wet"] * 6 + ["dry"] * 3 + [None]
        data = read(features, minutes, missing="mean")
        assert data.feature_names == ("rain", "weekday = dry", "weekday = wet")
        assert data.features[-1, 1:].tolist() == [0.0, 1.0]

    def test_best_decisions_follow_what_is_filled_in(self) -> None:
        features, minutes = self.tables()
        data = read(features, minutes, missing="mean").solve()
        train, _ = data.split(0.6)
        assert torch.equal(train.decisions, road_problem().solve(train.theta))

    def test_unknown_rules(self) -> None:
        with mistake("missing"):
            read(*days(), missing="guess")
        with mistake("missing", "'features'", "'theta'"):
            read(*days(), missing={"thta": "drop"})


def test_tables_without_rows_are_refused() -> None:
    features, minutes = days()
    with mistake("features"):
        read(features[:0], minutes)
    with mistake("theta"):
        read(features, minutes[:0])


@pytest.mark.parametrize("far", ["9999-12-31", "1500-01-01"])
def test_dates_that_nanoseconds_cannot_hold_are_refused(far: str) -> None:
    """They would come out as other dates, and be sorted there."""
    features, minutes = days()
    features.loc[3, "date"] = minutes.loc[3, "date"] = far
    with mistake("dates", far, "'date'"):
        read(features, minutes)


@pytest.mark.parametrize("rule", ["mean", "median"])
def test_a_parameter_that_nobody_knows_is_not_filled(rule: str) -> None:
    features, minutes = days()
    minutes["r3"] = np.nan
    with mistake("theta", rule, "'r3'"):
        read(features, minutes, missing=rule)
    minutes.loc[25:, "r3"] = 4.0
    data = read(features, minutes, missing=rule)
    with mistake("parts"):
        data.split(0.5, 0.5)


def test_columns_are_named_once() -> None:
    with mistake("key", "'date'"):
        read(*days(), key=["date", "date"])


def test_a_key_that_is_called_as_a_parameter_is_refused() -> None:
    """Or its numbers would be taken for those to predict."""
    problem = foresolve.LinearProgram([[1.0, 1.0]], [1.0], bounds=(0, 1), names=["week", "tea"])
    features = pd.DataFrame({"week": range(5), "rain": [1.0, 2.0, 3.0, 4.0, 5.0]})
    worth = pd.DataFrame({"week": range(5), "tea": [2.0, 3.0, 4.0, 5.0, 6.0]})
    with mistake("key", "'week'"):
        DecisionDataset.from_frames(features, worth, problem, key="week")


def test_two_columns_of_names_for_one_axis_are_told_how_to_join() -> None:
    names = [f"{who} | {ward}" for who in "ab" for ward in "cd"]
    problem = foresolve.LinearProgram([[1.0] * 4], [1.0], bounds=(0, 1), names=names)
    features = pd.DataFrame({"day": range(3), "flu": [1.0, 2.0, 3.0]})
    rows = [(day, *name.split(" | "), 1.0 + day) for day in range(3) for name in names]
    table = pd.DataFrame(rows, columns=["day", "who", "ward", "stay"])
    with mistake("variable", "'a | c'", "`table['name'] = table['who'] + ' | ' + table['ward']`"):
        DecisionDataset.from_frames(features, table, problem, key="day", variable=("who", "ward"), value="stay")
    table["name"] = table["who"] + " | " + table["ward"]
    table = table.drop(columns=["who", "ward"])
    data = DecisionDataset.from_frames(features, table, problem, key="day", variable="name", value="stay")
    assert data.theta[:, 0].tolist() == [1.0, 2.0, 3.0]


def test_an_origin_is_shown_in_a_line() -> None:
    data = read(*days())
    assert repr(data.origin) == "Origin(keys date, dated, nothing is missing)"
