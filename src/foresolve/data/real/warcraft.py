"""The Warcraft maps of Vlastelica et al.: pictures of terrain, what its cells cost, and the shortest paths.

"Differentiation of blackbox combinatorial solvers" (ICLR 2020); published as `warcraft_maps.tar.gz` in the Edmond
repository of the Max Planck Society, https://doi.org/10.17617/3.YJCQ5S. Maps have 12 x 12, 18 x 18, 24 x 24 or 30 x 30
cells of 8 x 8 pixels; 10,000 are for training, 1,000 for validation and 1,000 for testing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import torch

from foresolve._base import checks, reading
from foresolve.data.dataset import DecisionDataset
from foresolve.errors import ForesolveError, InvalidInputError
from foresolve.problems.shortest_path import ShortestPath

Split = Literal["train", "val", "test"]

# Folders of the archive, newest first.
FOLDERS = ("warcraft_shortest_path_oneskin", "warcraft_shortest_path", "warcraft_maps")


def load_warcraft(folder: str | Path, split: Split = "train", size: int = 12) -> DecisionDataset:
    """The published maps as a data set: from a picture to the cheapest path, 8 moves, costs on cells.

    Pictures stay on disk until they are used (memory-mapped): keep the files where they are.

    Parameters
    ----------
    folder: holds `train_maps.npy` `(N, 8 size, 8 size, 3)`, `train_vertex_weights.npy` `(N, size, size)` and
        `train_shortest_paths.npy` `(N, size, size)`, or has a subfolder `12x12` or
        `warcraft_shortest_path_oneskin/12x12` that does. Large pictures may come in parts, `train_maps_part0.npy`, ...
    split: "train", "val" or "test", with which the files' names begin.
    size: the number of cells of a side.

    Returns
    -------
    A data set with features `(N, 3, 8 size, 8 size)`, uint8 (a model begins with `pictures.float() / 255`), theta
    `(N, size * size)`, the costs of the cells row by row, and `data.labels["paths"]` `(N, size, size)`, 1 on the
    published path. As decisions these are `data.problem.from_nodes(data.labels["paths"].flatten(1))`; `data.decisions`
    are ours, which may differ where two paths cost the same.
    """
    checks.one_of("split", split, ("train", "val", "test"))
    size = checks.positive_int("size", size)
    place = _place(checks.path("folder", folder, "a folder"), split, size)
    weights = _array(place / f"{split}_vertex_weights.npy", (size, size))
    paths = _array(place / f"{split}_shortest_paths.npy", (size, size))
    pictures = _pictures(place, split)
    side = pictures.shape[1] if pictures.ndim == 4 else 0
    if side == 0 or pictures.shape[2:] != (side, 3) or side % size:
        expected = f"of shape (N, side, side, 3), side a multiple of {size}"
        raise InvalidInputError(f"the maps in {place} must be {expected}; got {tuple(pictures.shape)}")
    lengths = {"maps": len(pictures), "vertex_weights": len(weights), "shortest_paths": len(paths)}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{count} in {split}_{name}" for name, count in lengths.items())
        raise InvalidInputError(f"the files in {place} must have a row for each map; got {told}")
    problem = ShortestPath.grid(size, size, moves="8", costs="cells")
    costs = torch.from_numpy(np.asarray(weights, dtype=np.float32)).flatten(1)
    labels = {"paths": torch.from_numpy(np.asarray(paths, dtype=np.uint8))}
    return DecisionDataset(pictures.permute(0, 3, 1, 2), costs, problem, labels=labels)


def _place(folder: Path, split: str, size: int) -> Path:
    """The folder with the files of a split: `folder` itself, or one of those that the archive has in it."""
    sized = f"{size}x{size}"
    places = [folder, folder / sized, *(folder / name / sized for name in FOLDERS)]
    needed = f"{split}_vertex_weights.npy"
    for place in places:
        if (place / needed).is_file():
            return place
    raise checks.fail(
        "folder",
        f"a folder with {needed}, or with a subfolder {sized} or {FOLDERS[0]}/{sized} that has it",
        f"{str(folder)!r}, " + ("without it" if folder.is_dir() else "which is not a folder"),
        "Unpack warcraft_maps.tar.gz (https://doi.org/10.17617/3.YJCQ5S) there",
    )


def _pictures(place: Path, split: str) -> torch.Tensor:
    whole = place / f"{split}_maps.npy"
    parts = [whole] if whole.is_file() else sorted(place.glob(f"{split}_maps_part*.npy"), key=_number)
    if not parts:
        raise InvalidInputError(f"{place} must have {whole.name}, or {split}_maps_part0.npy and so on; it has neither")
    arrays = [_array(path) for path in parts]
    for path, array in zip(parts, arrays, strict=True):
        if array.dtype != np.uint8:
            raise InvalidInputError(f"{path} must hold pictures of uint8; it holds {array.dtype}")
    return torch.from_numpy(arrays[0]) if len(arrays) == 1 else torch.cat([torch.from_numpy(part) for part in arrays])


def _number(path: Path) -> tuple[int, str]:
    """Part 10 comes after part 9."""
    digits = path.stem.rpartition("part")[2]
    return (int(digits) if digits.isdecimal() else 0, path.name)


def _array(path: Path, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """A NumPy file, memory-mapped (changes stay in memory); a file that asks for pickle is refused."""
    try:
        reading.check_file(path)
    except ForesolveError as error:
        raise InvalidInputError(str(error)) from error
    try:
        array = np.load(path, mmap_mode="c", allow_pickle=False)
    except Exception as error:  # whatever NumPy stumbles over: it parses what the file says
        raise InvalidInputError(
            f"{path} must be an array in NumPy's format, without pickled objects: {error}"
        ) from error
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiub":
        raise InvalidInputError(f"{path} must hold an array of numbers")
    if shape is not None and array.shape[1:] != shape:
        wanted = ", ".join(map(str, shape))
        raise InvalidInputError(f"{path} must hold an array (N, {wanted}); it is {array.shape}")
    return array
