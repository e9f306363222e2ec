"""Units whose shapes only data tells: of tables of features, and of targets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from foresolve._base import checks
from foresolve.models.scaling import Scaling, TargetScaling, rows_of, weights_of_rows
from foresolve.models.table import layout_of

PART = "{}."  # the prefix of a table's units in a state dict


class OpenScaling(Scaling):
    """Units that take their shape from what they measure, or from the state dict that they are loaded from."""

    def _set(self, center: Tensor, scale: Tensor) -> None:
        self.center, self.scale = center.to(self.center), scale.to(self.scale)
        self.known.fill_(True)

    def make_room(self, state: Mapping[str, Any], prefix: str) -> None:
        """Take the shapes of the entries of a state dict under a prefix."""
        for name in ("center", "scale"):
            saved, own = state.get(prefix + name), getattr(self, name)
            if isinstance(saved, Tensor) and saved.shape != own.shape:
                setattr(self, name, own.new_ones(saved.shape))

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *others: Any, **named: Any) -> None:
        self.make_room(state_dict, prefix)
        super()._load_from_state_dict(state_dict, prefix, *others, **named)


class OpenTargetScaling(OpenScaling, TargetScaling):
    """`TargetScaling` whose shape is open."""


class TableScaling(nn.ModuleList):
    """Standardized tables of features, each separately: one, or all in a dict or tuple.

    Each floating table `(N, ..., d)` has a unit for each of its `d` columns, over instances and all that lies between.
    Other tables (integers, booleans, one number an instance) pass as they are. Tables of a dict belong to their keys,
    in whatever order they come.

    Parameters
    ----------
    shapes: of the units of each table, `()` where it passes; none before `measure`.
    """

    place: Tensor

    def __init__(self, shapes: Sequence[Sequence[int]] = ()) -> None:
        super().__init__(OpenScaling(*shape) for shape in shapes)
        self.register_buffer(
            "place", torch.zeros(0), persistent=False
        )  # it knows device and precision before the units

    def forward(self, features: Any) -> Any:
        if not len(self):
            return features
        count = sum(1 for _ in tables_of(features))
        if count != len(self):
            raise checks.fail("features", f"{len(self)} tables, as in training", str(count))
        return _each(iter(self), features)

    def measure(self, features: Any, weights: Tensor | None) -> None:
        """Take the units of every table."""
        for table in tables_of(features):
            units = OpenScaling().to(self.place)
            if isinstance(table, Tensor) and table.is_floating_point() and table.ndim > 1:
                rows = rows_of(table, table.shape[-1])
                units.measure(rows, weights_of_rows(weights, len(rows)))
            self.append(units)

    def shapes(self) -> list[list[int]]:
        """The shapes of the units of each table."""
        return [list(units.center.shape) for units in self]  # type: ignore[union-attr]

    def make_room(self, state: Mapping[str, Any], prefix: str) -> None:
        """Have as many units as a state dict has under a prefix."""
        while f"{prefix}{PART.format(len(self))}center" in state:
            units = OpenScaling().to(self.place)
            units.make_room(state, prefix + PART.format(len(self)))
            self.append(units)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *others: Any, **named: Any) -> None:
        self.make_room(state_dict, prefix)
        super()._load_from_state_dict(state_dict, prefix, *others, **named)


def make_room(model: nn.Module, state: Mapping[str, Any]) -> None:
    """Let the open units anywhere in a model have the shapes of a state dict of it."""
    for name, module in list(model.named_modules()):
        if isinstance(module, OpenScaling | TableScaling):
            module.make_room(state, PART.format(name) if name else "")


def tables_of(features: Any) -> Iterator[Any]:
    """The tables in a dict or tuple, those of a dict by their keys in order; or the only one."""
    if isinstance(features, dict):
        features = tuple(features[key] for key in sorted(features, key=str))
    if isinstance(features, tuple):
        for part in features:
            yield from tables_of(part)
    else:
        yield features


def _each(units: Iterator[Any], features: Any) -> Any:
    """Features with each table in its units, in the order of `tables_of`."""
    if isinstance(features, dict):
        parts = {key: _each(units, features[key]) for key in sorted(features, key=str)}
        return {key: parts[key] for key in features}
    if isinstance(features, tuple):
        return tuple(_each(units, part) for part in features)
    scaling = next(units)
    if not scaling.center.ndim:
        return features
    checks.last_dim("features", features, len(scaling.center), "the model")
    return scaling(features)


def target_shape(features: Any, theta: Tensor) -> tuple[int, ...]:
    """The shape of the targets that have units of their own: each entry of `theta`.

    Where a row of the features is an item, or two tables are the sides of pairs, models treat rows alike: then all
    items, and all pairs, share units.
    """
    if isinstance(features, Tensor):
        return layout_of(features, theta)[1]
    sizes = [table.shape[1] if isinstance(table, Tensor) and table.ndim == 3 else 0 for table in tables_of(features)]
    pairs = len(sizes) == 2 and sizes[0] * sizes[1] > 0 and theta.shape[1:] == (sizes[0] * sizes[1],)
    return () if pairs else tuple(theta.shape[1:])


def beside(units: nn.Module, module: nn.Module) -> None:
    """Move units to where a module works, in its precision."""
    first = next(module.parameters(), None)
    if first is not None and first.is_floating_point():
        units.to(first)
