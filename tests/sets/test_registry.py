"""Whatever `describe` gives makes the same thing again, and names nothing but the classes of `foresolve.sets`."""

from __future__ import annotations

import json
from typing import Any

import networkx
import pytest
import torch
from torch import Tensor

from foresolve.errors import ForesolveError
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
from foresolve.sets.registry import describe, restore_function, restore_matroid
from mistakes import mistake

EDGES = [(0, 1), (1, 2), (2, 0), (2, 3)]
GRAPH = networkx.Graph([("a", "b"), ("b", "c"), ("c", "a"), ("c", 4)])
MATRIX, ARCS = (4, 3), (4,)
FUNCTIONS: list[tuple[SetFunction, tuple[int, ...]]] = [
    (ProbabilisticCoverage(), MATRIX),
    (ProbabilisticCoverage([1.0, 0.5, 2.0]), MATRIX),
    (ProbabilisticCoverage(torch.arange(6.0).reshape(2, 3)), MATRIX),
    (FacilityLocation(), MATRIX),
    (2.0 * FacilityLocation() + 0.5 * ProbabilisticCoverage([1.0, 0.5, 2.0]), MATRIX),
    (InfluenceSpread(EDGES, samples=5, seed=3, weights=[1.0, 0.0, 2.0, 1.0], targets=2), ARCS),
    (InfluenceSpread(EDGES, weights=torch.zeros(4)), ARCS),
    (InfluenceSpread.from_networkx(GRAPH.to_directed(), samples=4), (8,)),
]
MATROIDS: list[Matroid] = [
    UniformMatroid(5, 2),
    PartitionMatroid([0, 2, 0, 2, 3], [1, 1, 1, 0]),
    LaminarMatroid(6, [[0, 1], range(4)], [1, 3]),
    GraphicMatroid(EDGES, 6),
    GraphicMatroid.from_networkx(GRAPH),
]


def through_file(config: Any) -> Any:
    """What JSON and a file of tensors make of a configuration; anything else is an error."""
    tensors: list[Tensor] = []

    def put(value: Any) -> Any:
        assert isinstance(value, Tensor), f"{type(value).__name__} is neither JSON nor a tensor"
        tensors.append(value)
        return {"tensor": len(tensors) - 1}

    text = json.dumps(config, default=put)
    return json.loads(text, object_hook=lambda entry: tensors[entry["tensor"]] if "tensor" in entry else entry)


@pytest.mark.parametrize(("function", "shape"), FUNCTIONS, ids=lambda f: repr(f)[:40])
def test_functions_come_back(function: SetFunction, shape: tuple[int, ...]) -> None:
    twin = restore_function(through_file(describe(function)))
    assert type(twin) is type(function)
    assert repr(twin) == repr(function)
    assert twin.batch_shape == function.batch_shape
    theta = torch.rand(2, *shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    x = torch.rand(2, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert torch.equal(twin.multilinear(x, theta), function.multilinear(x, theta))
    if isinstance(twin, InfluenceSpread) and isinstance(function, InfluenceSpread):
        assert twin.nodes == function.nodes


@pytest.mark.parametrize("matroid", MATROIDS, ids=repr)
def test_matroids_come_back(matroid: Matroid) -> None:
    twin = restore_matroid(through_file(describe(matroid)))
    assert type(twin) is type(matroid)
    assert repr(twin) == repr(matroid)
    gains = torch.randn(20, matroid.n, generator=torch.Generator().manual_seed(0))
    assert torch.equal(twin.maximize(gains), matroid.maximize(gains))
    if isinstance(twin, GraphicMatroid) and isinstance(matroid, GraphicMatroid):
        assert twin.nodes == matroid.nodes


class Mine(ProbabilisticCoverage):
    pass


class Root(SetFunction):
    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return (mask * theta).sum(-1).sqrt()


@pytest.mark.parametrize(
    ("function", "about"),
    [
        (Mine(), ("", "Mine")),
        (Root(), ("", "Root")),
        (FacilityLocation().of(torch.sqrt), ("", "FacilityLocation()", "`select`")),
        (2.0 * Root() + Root(), ("", "Root")),
        (InfluenceSpread.from_networkx(networkx.DiGraph([("a", frozenset())])), ("", "frozenset", "relabel_nodes")),
    ],
)
def test_what_cannot_be_kept_says_so(function: SetFunction, about: tuple[str, ...]) -> None:
    with mistake(*about, kind=ForesolveError):
        describe(function)


def test_config_of_a_users_function_says_so() -> None:
    with mistake("", "Root", "`config()`", kind=ForesolveError):
        Root().config()


@pytest.mark.parametrize(
    ("config", "about"),
    [
        ({}, ("", "None", "set functions")),
        ({"class": "Problem"}, ("", "'Problem'")),
        ({"class": "SetFunction"}, ("", "'SetFunction'")),
        ({"class": "ClosedForm"}, ("", "'ClosedForm'")),
        ({"class": "check_set_function"}, ("", "'check_set_function'")),
        ({"class": "Selected"}, ("", "Selected", "TypeError")),
        ({"class": "WeightedSum", "terms": [{"class": "os"}], "weights": [1.0]}, ("", "'os'")),
        (describe(FUNCTIONS[-1][0]) | {"samples": -1}, ("", "`samples`", "-1")),
        (describe(FUNCTIONS[-1][0]) | {"nodes": ["a"]}, ("", "`nodes`", "4 names")),
        (describe(FUNCTIONS[-1][0]) | {"nodes": ["a", "b", {}, "c"]}, ("", "InfluenceSpread", "dict")),
        (describe(UniformMatroid(3, 1)), ("", "'UniformMatroid'", "set functions")),
    ],
)
def test_files_name_set_functions_alone(config: dict[str, Any], about: tuple[str, ...]) -> None:
    with mistake(*about, kind=ForesolveError):
        restore_function(config)


@pytest.mark.parametrize(
    ("config", "about"),
    [
        ({"class": "PolyhedralMatroid"}, ("", "'PolyhedralMatroid'")),
        ({"class": "UniformMatroid", "n": 5}, ("", "UniformMatroid", "TypeError")),
        ({"class": "UniformMatroid", "n": -1, "k": 1}, ("", "`n`", "-1")),
        ({"class": "LaminarMatroid", "n": 2.0, "sets": [], "capacities": []}, ("", "`n`", "2.0")),
        ({"class": "PartitionMatroid", "groups": 3, "capacities": 1}, ("", "PartitionMatroid", "TypeError")),
        (describe(MATROIDS[-1]) | {"n_nodes": True}, ("", "`n_nodes`", "True")),
        (describe(MATROIDS[-1]) | {"nodes": [[]] * 4}, ("", "GraphicMatroid", "list")),
        (describe(FacilityLocation()), ("", "'FacilityLocation'", "matroids")),
    ],
)
def test_files_name_matroids_alone(config: dict[str, Any], about: tuple[str, ...]) -> None:
    with mistake(*about, kind=ForesolveError):
        restore_matroid(config)
