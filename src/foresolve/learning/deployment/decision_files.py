"""Decisions as files, so that another machine can verify them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor

from foresolve._base import checks, files, reading
from foresolve._base.container import Container
from foresolve.errors import FileError
from foresolve.learning.deployment.certificate import Certificate
from foresolve.problems.base import Problem
from foresolve.problems.certificates import bounds_of

if TYPE_CHECKING:
    from foresolve.learning.deployment.decisions import Decisions

DECISIONS = Container("a file of decisions", "foresolve decisions", 2, older=(1,))
D = TypeVar("D", bound="Decisions")


def write(path: Path, decisions: Decisions) -> None:
    """One safetensors file; what is no number stands in its header as JSON."""
    certificate = decisions.certificate
    tensors = {
        "x": decisions.x, "theta": decisions.theta, "objective": decisions.objective, "adjusted": decisions.adjusted,
        "bound": certificate.bound, "gap": certificate.gap, "proven": certificate.proven,
    }  # fmt: skip
    if certificate.duals is not None:
        tensors["duals"] = certificate.duals
    document = {
        "problem_class": type(decisions.problem).__name__,
        "names": _names(decisions.problem),
        "ruled": decisions._ruled,
        "relaxed": decisions._relaxed,
        "certificate": certificate.kind,
        "keys": None if decisions._keys is None else _key_columns(decisions._keys),
    }
    DECISIONS.write_tensors(path, document, tensors)


def read(path: Path, problem: Problem, make: type[D]) -> D:
    """What `write` wrote, with the problem that the caller has."""
    tensors, document = DECISIONS.read_tensors(path)
    name = files.field(document, "problem_class", str, path)
    if not isinstance(problem, Problem) or type(problem).__name__ != name:
        raise FileError(path, f"holds decisions of a {name}; `problem` is a {type(problem).__name__}")
    _check_names(document.get("names"), problem, path)
    x, theta = _part(tensors, "x", path), _part(tensors, "theta", path)
    count = len(x) if x.ndim == 2 else -1
    columns = {part: _part(tensors, part, path) for part in ("objective", "adjusted", "bound", "gap", "proven")}
    duals = tensors.get("duals")
    if len(theta) != count or any(column.shape != (count,) for column in columns.values()):
        raise FileError(path, "is damaged: its tables are not of the same instances")
    if duals is not None and (duals.ndim != 2 or len(duals) != count):
        raise FileError(path, "is damaged: `duals` must have a row for each instance")
    _check_tables(problem, x, theta, columns, duals, path)
    keys = document.get("keys")
    ruled, relaxed = (files.field(document, name, bool, path) for name in ("ruled", "relaxed"))
    decisions = make(
        problem, x, theta, keys=None if keys is None else _keys(keys, count, path),
        adjusted=columns["adjusted"].bool(), ruled=ruled, relaxed=relaxed,
    )  # fmt: skip
    decisions.objective = columns["objective"]
    kind = "solver's word" if duals is None else "duals"
    proven = columns["proven"].bool()
    decisions._certificate = Certificate(kind, columns["bound"], columns["gap"], proven, decisions._claim(), duals)
    return decisions


def _names(problem: Problem) -> list[str] | None:
    """What the variables are called: amounts go by position."""
    return None if problem.names is None else list(map(str, problem.names))


def _check_names(saved: Any, problem: Problem, path: Path) -> None:
    """Refuse a problem whose variables are others, or stand in another order: decisions would be of other things."""
    names = _names(problem)
    if saved is None or names is None or saved == names:
        return
    if not isinstance(saved, list) or len(saved) != len(names):
        raise FileError(path, "holds decisions of other variables than those of `problem`")
    place = next(i for i, pair in enumerate(zip(saved, names)) if pair[0] != pair[1])
    raise FileError(
        path,
        (
            f"holds decisions of other variables, or in another order, than `problem`: at position {place} it has "
            f"{saved[place]!r}, `problem` has {names[place]!r}"
        ),
    )


def _check_tables(
    problem: Problem, x: Tensor, theta: Tensor, columns: dict[str, Tensor], duals: Tensor | None, path: Path
) -> None:
    """Refuse tables that are not of this problem, or of no numbers that could be."""
    truths = ("adjusted", "proven")
    numbers = [x, theta, *(column for name, column in columns.items() if name not in truths)]
    if not all(table.is_floating_point() for table in (numbers if duals is None else [*numbers, duals])):
        raise FileError(path, "is damaged: its tables do not hold fractions")
    if any(columns[name].dtype != torch.bool for name in truths):
        raise FileError(path, "is damaged: `adjusted` and `proven` must hold truth values")
    with reading.understood(path):
        problem.check_theta(theta)
        checks.last_dim("x", x, x.shape[-1] if problem.n is None else problem.n)
        if duals is not None and len(x):
            first = problem.select(torch.tensor([0]))
            bounds_of(first, theta[:1], duals[:1])  # its shape is that of the problem's rows


def _part(tensors: dict[str, Tensor], name: str, path: Path) -> Tensor:
    if name not in tensors or tensors[name].ndim == 0:
        raise FileError(path, f"is damaged: it has no table `{name}`")
    return tensors[name]


def _key_columns(keys: Any) -> dict[str, Any]:
    frame = keys.frame()
    return {"names": list(keys.names), "columns": [[str(entry) for entry in frame[name]] for name in keys.names]}


def _keys(section: Any, count: int, path: Path) -> Any:
    from foresolve._base.extras import need
    from foresolve.data.frames.keys import Keys

    names, columns = files.field(section, "names", list, path), files.field(section, "columns", list, path)
    sound = all(isinstance(column, list) and len(column) == count for column in columns)
    if not (sound and len(names) == len(columns) and all(isinstance(name, str) for name in names)):
        raise FileError(path, f"is damaged: its keys are not those of {count} instances")
    frame = need("pandas", "keys of decisions", "learn").DataFrame(dict(zip(names, columns)))
    return Keys.of("keys", frame, names)
