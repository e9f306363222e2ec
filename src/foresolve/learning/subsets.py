"""Data as `fit` and `evaluate` take it."""

from __future__ import annotations

from typing import Any

from torch.utils.data import Subset

from foresolve._base import checks
from foresolve.data.dataset import DecisionDataset
from foresolve.data.inputs import check_some_weight


def as_dataset(name: str, data: Any) -> DecisionDataset:
    """A data set as itself, and torch's `Subset` of one, of a `Subset` too, as the data set of its instances.

    The part of a `Subset` is made anew with every call, with what is known of decisions until then; `data.subset` gives
    one that keeps what it works out.
    """
    if isinstance(data, Subset):
        whole = as_dataset(f"{name}.dataset", data.dataset)
        if whole.cache is not None:  # as before `split`: parts have no file to keep what they work out
            whole.solve()
        data = whole.subset(list(data.indices))
    if isinstance(data, DecisionDataset):
        check_some_weight(name, data.weights)
        return data
    remedy = "Make one with `DecisionDataset(features, theta, problem)`"
    raise checks.fail(name, "a DecisionDataset, or a `Subset` of one", type(data).__name__, remedy)
