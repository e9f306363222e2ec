"""The best decisions of a whole data set: in chunks, with progress, kept on disk if asked."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks, files
from foresolve._base.arrays import read_arrays
from foresolve._base.container import checksum, version
from foresolve._base.progress import Progress
from foresolve.errors import FileError, ForesolveError, ForesolveWarning, SolverError, StoppedError
from foresolve.problems.base import Problem

# Chunks grow from the first to the second size (in numbers) while they take less than the time: progress is seen, and
# memory stays bounded. Multiples of 8, within which HiGHS goes from basis to basis: so the cuts change no decision.
FIRST_CHUNK, MOST_NUMBERS, CHUNK_SECONDS = 32, 2**22, 0.5
KIND, OLD_KIND = "foresolve decisions 2", "foresolve decisions 1"  # the first had no checksum
FLOATS = (np.float16, np.float32, np.float64)  # what is written; torch knows no other order of bytes
LOOSE = 1e-2  # of values: they are of the precision of the data, bfloat16 perhaps


def solve_all(
    problem: Problem, theta: Tensor, report: Progress, *, predicted: bool = False
) -> tuple[Tensor, dict[int, SolverError]]:
    """Decisions `(N, n)`, zero where there is none, and the errors of the instances that failed.

    Where `theta` is `predicted`, decisions are those of `problem.decide`.
    """
    count, most = len(theta), max(8, MOST_NUMBERS // max(theta[0].numel(), 1) // 8 * 8)
    parts: list[Tensor] = []
    failed: dict[int, SolverError] = {}
    size, start = min(FIRST_CHUNK, most), 0
    while start < count:
        began = time.monotonic()
        index = torch.arange(start, min(start + size, count), device=theta.device)
        part, errors = _solve_some(problem, theta, index, predicted)
        parts += [part]
        failed |= errors
        start += len(index)
        report(start, count)
        if time.monotonic() - began < CHUNK_SECONDS:
            size = min(2 * size, most)
    width = max((part.shape[-1] for part in parts), default=0)
    parts = [part if part.shape[-1] == width else part.new_zeros(len(part), width) for part in parts]
    return torch.cat(parts), failed


def _solve_some(
    problem: Problem, theta: Tensor, index: Tensor, predicted: bool
) -> tuple[Tensor, dict[int, SolverError]]:
    """Decisions of some instances; those that the solver names are left out, and the rest is solved again."""
    try:
        chosen, some = problem.select(index), theta[index]
        return (chosen.decide(some)[0] if predicted else chosen.solve(some)).detach(), {}
    except SolverError as error:
        if len(index) == 1:
            return theta.new_zeros(1, problem.n or 0), {int(index[0]): error}
        named, reason = sorted({i for i in error.instances if i < len(index)}), error
    failing = torch.zeros(len(index), dtype=torch.bool, device=index.device)
    failing[named] = True
    # One that fails in company may still be solved alone, unless it had a search of its own that met its limit; and a
    # solver that names nobody is asked about each.
    alone = index[failing] if named else index
    pieces: dict[int, tuple[Tensor, dict[int, SolverError]]]
    if isinstance(reason, StoppedError) and named:
        pieces = {int(i): (theta.new_zeros(1, problem.n or 0), {int(i): reason}) for i in alone}
    else:
        pieces = {int(i): _solve_some(problem, theta, i[None], predicted) for i in alone}
    if named and not bool(failing.all()):
        rest, errors = _solve_some(problem, theta, index[~failing], predicted)
        pieces |= {int(i): (row[None], {}) for i, row in zip(index[~failing], rest)}
        pieces[-1] = (rest[:0], errors)
    failed = {i: error for _, errors in pieces.values() for i, error in errors.items()}
    width = max(part.shape[-1] for part, _ in pieces.values())
    decisions = theta.new_zeros(len(index), width)
    for row, i in enumerate(index.tolist()):
        if i not in failed:
            decisions[row] = pieces[i][0][0]
    return decisions, failed


def failure(failed: dict[int, SolverError], count: int) -> SolverError:
    """One error that names the instances of the data set, and the reason of the first."""
    where = sorted(failed)
    return failed[where[0]].renamed(
        "no best decision under the truth for {instances} of the data set",
        where,
        checks.instance_names(where, (count,)),
        'With `data.solve(on_failure="skip")` such instances are left out and counted',
    )


# -- on disk -----------------------------------------------------------------------------------------------------------


def load_decisions(path: Path, key: str, problem: Problem, theta: Tensor) -> tuple[Tensor, Tensor] | None:
    """What is kept for `key`, or `None`; a file that is not ours, or damaged, is refused rather than overwritten.

    What was kept is verified: by its checksum, by shapes, that it is finite, that the decisions are feasible, and that
    they are worth what is stated.
    """
    if not path.exists():
        return None
    try:
        stored = read_arrays(path)
        kind = str(stored.get("kind"))
        if kind not in (KIND, OLD_KIND) or "key" not in stored:
            raise FileError(path, f"is not a cache of decisions (its kind is {kind[:40]!r})")
        if str(stored["key"]) != key:
            checks.warn(
                f"{path} holds the decisions of other data or of another problem: they are computed again, and "
                "the file is replaced. Give each data set a file of its own",
                ForesolveWarning,
            )
            return None
        missing = {"decisions", "values"} - set(stored)
        if missing:
            raise FileError(path, f"is damaged: it lacks {', '.join(sorted(missing))}")
        if any(stored[name].dtype not in FLOATS for name in ("decisions", "values")):
            raise FileError(path, "is damaged: decisions and values must be fractions")
        if kind == KIND and str(stored.get("sha256")) != _checksum(stored):
            raise FileError(path, "is damaged: it is not what was written (its checksum differs)")
        decisions, values = (torch.from_numpy(stored[name]) for name in ("decisions", "values"))
        return _verified(decisions, values, path, problem, theta)
    except ForesolveError as error:
        raise checks.fail(
            "cache", "a new file, or one that foresolve wrote", str(error), "Delete it, or choose another path"
        ) from error


def _verified(decisions: Tensor, values: Tensor, path: Path, problem: Problem, theta: Tensor) -> tuple[Tensor, Tensor]:
    count = len(theta)
    width = () if problem.n is None else (problem.n,)
    sound = decisions.ndim == 2 and len(decisions) == count and tuple(decisions.shape[1:])[: len(width)] == width
    if not sound or values.shape != (count,):
        shapes = f"{tuple(decisions.shape)} and {tuple(values.shape)}"
        raise FileError(path, f"is damaged: decisions and values are {shapes} for {count} instances")
    if not all(bool(torch.isfinite(table).all()) for table in (decisions, values)):
        raise FileError(path, "is damaged: it holds numbers that are not finite")
    decisions, values = decisions.to(theta), values.to(theta)
    with torch.no_grad():
        feasible = problem.at(theta.double()).check(decisions).feasible
        stated = problem.objective(decisions, theta)
    if not bool(feasible.all()):
        where = checks.instance_names((~feasible.reshape(count)).nonzero().flatten().tolist(), (count,))
        raise FileError(path, f"is damaged: its decisions for {where} are not feasible")
    if not bool(torch.isclose(stated, values, rtol=LOOSE, atol=LOOSE).all()):
        raise FileError(path, "is damaged: its decisions are not worth what it says")
    return decisions, stated


def save_decisions(path: Path, key: str, decisions: Tensor, values: Tensor) -> None:
    """Written whole or not at all."""
    arrays = {"kind": np.array(KIND), "key": np.array(key), "writer": np.array(version())}
    arrays |= {"decisions": _storable(decisions), "values": _storable(values)}
    with files.replacing(path) as file:
        np.savez(file, allow_pickle=False, **arrays, sha256=np.array(_checksum(arrays)))


def _checksum(stored: Mapping[str, np.ndarray]) -> str:
    """That of everything but itself."""
    words = {name: str(stored.get(name)) for name in ("kind", "key", "writer")}
    return checksum(words, {name: torch.from_numpy(stored[name]) for name in ("decisions", "values")})


def _storable(tensor: Tensor) -> np.ndarray:
    """As NumPy, which has no bfloat16."""
    tensor = tensor.detach().cpu()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()
