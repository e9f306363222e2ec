"""Set functions and matroids as plain values, and back: a file can name the classes of `foresolve.sets` alone."""

from __future__ import annotations

from typing import Any

from foresolve._base import configs
from foresolve.sets.functions.function import SetFunction
from foresolve.sets.matroids.matroid import Matroid


def describe(thing: SetFunction | Matroid) -> configs.Config:
    """`{"class": ..., **config()}`; classes of your own are refused: whoever reads the file could not know them."""
    return configs.describe(thing, _allowed(SetFunction, Matroid))


def restore_function(config: Any) -> SetFunction:
    """A set function that `describe` described; an error for anything else."""
    return configs.restore(config, _allowed(SetFunction), "set functions")


def restore_matroid(config: Any) -> Matroid:
    """A matroid that `describe` described; an error for anything else."""
    return configs.restore(config, _allowed(Matroid), "matroids")


def _allowed(*kinds: type) -> dict[str, Any]:
    from foresolve import sets  # its functions import this file

    return configs.exported(sets, *kinds)
