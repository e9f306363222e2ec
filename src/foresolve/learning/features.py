"""Features as a model wants them, from whatever the caller has: tensors, arrays, frames, lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from foresolve._base import checks
from foresolve.data.dataset import DecisionDataset
from foresolve.data.inputs import as_table, label_texts, map_tables, mismatch
from foresolve.models.reference import Reference
from foresolve.models.scikit_learn import fitted_names


def as_input(model: Any, features: Any) -> Any:
    """What a model is called with.

    For a module, arrays, frames and lists of numbers become tensors, as in a `DecisionDataset`; floating ones get the
    dtype and device of its first parameter, others, and those of a model that keeps precision, are only moved. A
    function, and a model that takes frames, get what
    the caller has.
    """
    if not isinstance(model, nn.Module):
        return features
    if isinstance(model, Reference) and model.takes_frames and not isinstance(features, dict | tuple):
        return features
    device, dtype = _place(model)
    if isinstance(model, Reference) and model.keeps_precision:
        dtype = None
    return map_tables(lambda part: _placed(part, device, dtype), features)


def select_columns(features: Any, names: tuple[str, ...] | None) -> Any:
    """The columns of a frame in the order of training, by name; what has no names is left as it is."""
    if names is None or not hasattr(features, "columns"):
        return features
    arrow = hasattr(features, "column_names")
    labels = list(features.column_names if arrow else features.columns)
    given = dict(zip(label_texts(labels), labels, strict=True))
    found = mismatch(list(given), names)
    if found:
        remedy = "" if set(names) - set(given) else "Select them, `frame[list(policy.feature_names)]`"
        raise checks.fail("features", f"a frame with the {len(names)} columns of training", f"one {found}", remedy)
    columns = [given[name] for name in names]
    return features.select(columns) if arrow else features[columns]


def arranged(name: str, data: DecisionDataset, names: tuple[str, ...] | None) -> DecisionDataset:
    """The data set with the columns of its features in the order of `names`; as it is where either has no names."""
    known = data.feature_names
    if names is None or known is None or known == names:
        return data
    found = mismatch(known, names)
    if found:
        expected = f"of the {len(names)} columns that the model was trained on"
        raise checks.fail(name, expected, f"features {found}", "Columns are matched by name")
    return data.with_features(data.features[:, [known.index(part) for part in names]])


def model_names(model: Any) -> tuple[str, ...] | None:
    """The names of the columns that a model was trained on, where it knows them: estimators that were fitted so do."""
    if isinstance(model, nn.Module):
        return model.known_columns() if isinstance(model, Reference) else None
    return fitted_names(model)


def _place(model: nn.Module) -> tuple[torch.device | None, torch.dtype | None]:
    """Where a model's first parameter is, and the dtype that floating features get; `None` where they keep theirs."""
    first = next(model.parameters(), None)
    if first is not None:
        return first.device, first.dtype if first.is_floating_point() else None
    buffer = next(model.buffers(), None)
    return None if buffer is None else buffer.device, None


def _placed(part: Any, device: torch.device | None, dtype: torch.dtype | None) -> Any:
    if isinstance(part, Tensor):
        return part if device is None else part.to(device, dtype if part.is_floating_point() else None)
    if not _holds_numbers(part):
        return part
    return as_table("features", part, device or torch.device("cpu"), dtype=dtype)


def _holds_numbers(part: Any) -> bool:
    """Whether it is a table that torch does not know: NumPy's, pandas', Arrow's, or a list of numbers."""
    if isinstance(part, list):
        try:
            return not any(isinstance(item, Tensor) for item in part) and np.asarray(part).dtype.kind in "fiub"
        except ValueError:  # rows of different lengths: a list of something else, which the model may take
            return False
    return isinstance(part, np.ndarray) or hasattr(part, "to_numpy") or hasattr(part, "column_names")
