"""Models that a file may name: these and no others."""

from __future__ import annotations

import contextlib
from typing import Any

import torch

from foresolve.errors import ForesolveError
from foresolve.learning.baselines import ConstantMean, LinearRegression, NearestNeighbours
from foresolve.learning.forest import RandomForest
from foresolve.learning.models import MLP, BilinearPairs, PairModel, Reference
from foresolve.learning.similarity import CosinePairs

REFERENCE: dict[str, type[Reference]] = {
    kind.__name__: kind
    for kind in (
        *(MLP, PairModel, BilinearPairs, CosinePairs),
        *(ConstantMean, LinearRegression, NearestNeighbours, RandomForest),
    )
}


def build(name: str, config: dict[str, Any], *, device: torch.device | str | None = None) -> Reference:
    """A reference model by name, with arguments as `model.config()` gave them.

    On the device "meta" nothing is allocated: that is how a file's claims are looked at before they are believed.

    Examples
    --------
    >>> from foresolve.learning.models import MLP
    >>> from foresolve.learning.registry import build
    >>> build("MLP", MLP(5, 40).config()).config()
    {'inputs': 5, 'outputs': 40, 'hidden': [], 'head': 'free'}
    """
    if name not in REFERENCE:
        raise ForesolveError(f"{name!r} is none of the reference models ({', '.join(REFERENCE)})")
    try:
        with contextlib.nullcontext() if device is None else torch.device(device):
            return REFERENCE[name](**config)
    except (TypeError, ValueError, RuntimeError, OverflowError, MemoryError) as error:
        raise ForesolveError(f"the settings of {name} do not make a model: {error}") from error
