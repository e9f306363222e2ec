from __future__ import annotations

import numpy as np
import pytest
import torch

import foresolve
from foresolve.data.dataset import DecisionDataset
from foresolve.learning.study.parts import Parts
from foresolve.problems.affine import Affine
from learning.study.instances import dated, paths
from mistakes import mistake


def test_splits_are_random_or_in_time() -> None:
    parts = Parts.of(paths(100), (0.6, 0.2, 0.2), None, 0)
    assert [len(part) for part in (parts.train, parts.valid, parts.test)] == [60, 20, 20]
    assert bool((parts.train.positions.diff() < 0).any())
    parts = Parts.of(dated(100), (60, 20, 20), None, 0)
    assert parts.test.positions.tolist() == list(range(80, 100))


def test_given_parts_have_the_columns_of_training() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": np.arange(4.0), "b": np.arange(4.0) + 10})
    theta, problem = np.random.default_rng(0).random((4, 3)), foresolve.TopK(3, 1)
    train = DecisionDataset(frame, theta, problem)
    other, last = DecisionDataset(frame[["b", "a"]], theta, problem), DecisionDataset(frame + 1, theta, problem)
    parts = Parts.of(None, (), (train, other, last), 0)
    assert parts.valid.features.tolist() == train.features.tolist()


def test_test_data_must_be_new() -> None:
    train, valid, test = paths(100).split(0.6, 0.2, 0.2)
    for old in (train, valid, train.subset(range(5))):
        with mistake("parts (test)"):
            Parts.of(None, (), (train, valid, old), 0)
    features, theta = torch.cat([test.features, train.features[:3]]), torch.cat([test.theta, train.theta[:3]])
    parts = Parts.of(None, (), (train, valid, DecisionDataset(features, theta, train.problem)), 0)
    assert parts.repeated == 3
    assert Parts.of(None, (), (train, valid, test), 0).repeated == 0


def test_parts_have_the_parameters_of_training_in_their_order() -> None:
    features, theta = np.random.default_rng(0).random((9, 2)), np.random.default_rng(1).random((9, 2))
    sets = [
        DecisionDataset(features[rows], theta[rows], foresolve.TopK(2, 1, names=list(names)))
        for rows, names in ((slice(0, 3), "ab"), (slice(3, 6), "ab"), (slice(6, 9), "ba"))
    ]
    with mistake("parts (test)", "'b'", "'a'"):
        Parts.of(None, (), sets, 0)


def test_constraints_that_theta_makes_are_refused() -> None:
    plain = foresolve.LinearProgram(A_ub=[[1.0, 1.0]], b_ub=[1.0], bounds=(0, 1))
    problem = plain.parametrized([1.0, 2.0], b_ub=Affine.part([0], known=[0.0]))
    data = DecisionDataset(np.zeros((6, 1)), np.ones((6, 1)), problem)
    with mistake("data", "LinearProgram"):
        Parts.of(data, (2, 2, 2), None, 0)
