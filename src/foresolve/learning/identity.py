"""What identifies a run: its data, its model, its loss with layer and all settings, its optimizer.

Settings are what a thing was made with, under the names that its class gives them, all the way down. What training
changes (weights, states of generators, what a pool remembers, a smoothing that is annealed) does not count, so that the
objects of a run that was stopped can be used to continue it. Functions count by their code.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from foresolve.data.dataset import DecisionDataset
from foresolve.data.fingerprint import fingerprint
from foresolve.models.reference import Baseline, Reference
from foresolve.problems.base import Problem

DIGITS = 16
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")

Section = dict[str, Any]


def identity_of(
    model: nn.Module, loss: Any, optimizer: torch.optim.Optimizer, data: Section, settings: Section,
    changing: Collection[str] = (),
) -> dict[str, Section]:  # fmt: skip
    """What a run must have in common with the one that it resumes; `changing` are settings that are scheduled."""
    shapes = {name: list(tensor.shape) for name, tensor in model.state_dict().items() if isinstance(tensor, Tensor)}
    groups = [len(group["params"]) for group in optimizer.param_groups]
    return {
        "model": {"class": type(model).__name__, **shapes, "made with": _structure(model)},
        "loss": settings_of(loss, changing),
        "optimizer": {"class": type(optimizer).__name__, "parameters": groups} | _plain(optimizer.defaults),
        "settings": settings,
        "data": data,
    }


def data_identity(train: DecisionDataset, valid: DecisionDataset | None) -> Section:
    """Fingerprints of features, parameters (or decisions on record) and problem."""
    parts = {"training data": train} | ({} if valid is None else {"validation data": valid})
    return {name: _digest(part) for name, part in parts.items()}


def _digest(data: DecisionDataset) -> str:
    truth = data.theta if data.has_theta else data.decisions
    return fingerprint(data.features, truth, data.problem, data.weights)[:DIGITS]


def _structure(model: nn.Module) -> Any:
    """How a model was made: its arguments, or what it shows of its modules."""
    if isinstance(model, Reference) and not isinstance(model, Baseline):
        return {name: value for name, value in model.config().items() if not isinstance(value, Mapping)}
    return fingerprint(_ADDRESS.sub("", repr(model)))[:DIGITS]


def settings_of(thing: Any, changing: Collection[str] = (), *, name: str = "") -> Section:
    """The class of a thing and what it was made with, flat: `{"class": ..., "layer": ..., "layer.gamma": 0.1}`."""
    described = {name or "class": type(thing).__name__}
    for argument, value in _arguments(thing):
        if argument not in changing and not isinstance(value, nn.Parameter | torch.Generator):
            described |= _described(value, f"{name}.{argument}" if name else argument, changing)
    return described


def _arguments(thing: Any) -> list[tuple[str, Any]]:
    """What a thing was made with, as far as it keeps it under the names of its arguments."""
    if is_dataclass(thing):
        return [(entry.name, getattr(thing, entry.name)) for entry in fields(thing) if entry.init]
    names = [name for kind in type(thing).__mro__[:-1] if "__init__" in vars(kind) for name in _parameters(kind)]
    state = {**vars(thing), **(thing._modules if isinstance(thing, nn.Module) else {})}
    kept = []
    for name in dict.fromkeys(names):
        if name in state or isinstance(getattr(type(thing), name, None), property):
            kept.append((name, getattr(thing, name, None)))
        elif f"_{name}" in state:
            kept.append((name, state[f"_{name}"]))
    return kept


def _parameters(kind: type) -> list[str]:
    own = inspect.signature(kind.__init__).parameters.values()
    return [p.name for p in own if p.name not in ("self", "params", "seed") and p.kind not in (p.VAR_KEYWORD,)]


def _described(value: Any, name: str, changing: Collection[str]) -> Section:
    if value is None or isinstance(value, bool | int | float | str):
        return {name: value}
    if isinstance(value, Tensor | np.ndarray | np.generic | Problem | torch.device | torch.dtype):
        return {name: fingerprint(value)[:DIGITS]}
    if isinstance(value, list | tuple | nn.ModuleList):
        parts = [_described(part, f"{name}[{place}]", changing) for place, part in enumerate(value)]
        return {name: len(parts)} | {key: part for described in parts for key, part in described.items()}
    if isinstance(value, Mapping):
        parts = [_described(part, f"{name}[{key!r}]", changing) for key, part in value.items()]
        return {name: sorted(map(str, value))} | {key: part for described in parts for key, part in described.items()}
    if isinstance(value, types.FunctionType | types.MethodType | types.BuiltinFunctionType | partial | type):
        return {name: function_digest(value)}
    return settings_of(value, changing, name=name)


def function_digest(function: Any) -> str:
    """Name and code of a function, and the numbers, tables and texts that it was made with; not what it may change."""
    if isinstance(function, partial):
        return f"{function_digest(function.func)} {fingerprint(_fixed([*function.args, *function.keywords.items()]))}"
    function = getattr(function, "__func__", function)
    name = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', type(function).__name__)}"
    if not isinstance(function, types.FunctionType):
        return name
    cells = [cell.cell_contents for cell in function.__closure__ or () if not _empty(cell)]
    parts = [function.__code__, _fixed(cells), _fixed(function.__defaults__ or ())]
    return f"{name} {fingerprint(*parts)[:DIGITS]}"


def _fixed(values: Any) -> list[Any]:
    kinds = bool | int | float | str | tuple | np.ndarray
    return [v for v in values if v is None or isinstance(v, kinds) or (isinstance(v, Tensor) and not v.requires_grad)]


def _empty(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018 (asks whether there is something)
    except ValueError:
        return True
    return False


def _plain(values: Mapping[str, Any]) -> Section:
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if value is None or isinstance(value, bool | int | float | str | tuple)
    }
