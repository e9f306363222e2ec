from __future__ import annotations

import copy
import pickle

import pytest
import torch

from foresolve import layers, losses
from mistakes import mistake


@pytest.mark.parametrize(
    ("kind", "keyword", "meant"),
    [
        (layers.PerturbedAdditive, "n_samples", "samples"),
        (layers.PerturbedMultiplicative, "num_samples", "samples"),
        (layers.IMLE, "lambd", "lam"),
        (layers.BlackboxInterpolation, "lambd", "lam"),
        (layers.RegularizedFrankWolfe, "lambd", "gamma"),
        (losses.ListwiseRanking, "tau", "temperature"),
        (losses.ScoreFunction, "random_state", "seed"),
        (losses.PairwiseRanking, "margins", "margin"),
    ],
)
def test_names_of_other_packages_and_slips(kind, keyword: str, meant: str) -> None:
    with mistake(None, kind.__name__, f"`{keyword}`", f"`{meant}`"):
        kind(**{keyword: 1})


@pytest.mark.parametrize(
    ("keyword", "elsewhere"), [("optmodel", "DecisionDataset"), ("processes", "workers=2"), ("reduction", "`fit`")]
)
def test_what_is_elsewhere_here(keyword: str, elsewhere: str) -> None:
    for kind in (losses.SPOPlus, losses.NCE, layers.PerturbedAdditive):
        with mistake(None, kind.__name__, f"`{keyword}`", elsewhere):
            kind(**{keyword: None})


def test_others_are_left_to_python() -> None:
    for kind in (losses.SPOPlus, losses.NCE, layers.PerturbedAdditive):
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            kind(zebra=1)


class Own(layers.Layer):
    """A layer of your own that takes what it likes."""

    def __init__(self, **options: int) -> None:
        super().__init__()
        self.options = options

    def forward(self, theta: torch.Tensor, problem: object) -> torch.Tensor:
        return theta


def test_a_class_that_takes_anything_is_left_alone() -> None:
    assert Own(n_samples=3).options == {"n_samples": 3}


def test_copies_and_pickles() -> None:
    layer = layers.PerturbedAdditive(samples=4)
    for twin in (copy.copy(layer), copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert twin.samples == 4
