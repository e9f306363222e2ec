from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from foresolve.data import check_source, load_warcraft, terrain_data
from foresolve.data.real.registry import locate
from mistakes import mistake


def write(folder: Path, split: str = "train", count: int = 3, size: int = 4, **changed: Any) -> dict[str, np.ndarray]:
    """Files as published, of terrain that we made."""
    folder.mkdir(parents=True, exist_ok=True)
    data = terrain_data(count, height=size, width=size, noise=0.1, seed=0)
    paths = data.problem.nodes(data.decisions).reshape(count, size, size)
    arrays = {
        "maps": data.features.permute(0, 2, 3, 1).numpy(),
        "vertex_weights": data.theta.reshape(count, size, size).numpy().astype(np.float16),
        "shortest_paths": paths.numpy().astype(np.uint8),
    } | changed
    for name, array in arrays.items():
        if array is not None:
            np.save(folder / f"{split}_{name}.npy", array, allow_pickle=True)
    return arrays


@pytest.mark.parametrize("inner", [".", "4x4", "warcraft_shortest_path_oneskin/4x4"])
def test_files_as_published(tmp_path: Path, inner: str) -> None:
    arrays = write(tmp_path / inner)
    data = load_warcraft(tmp_path, size=4)
    assert (data.features.shape, data.features.dtype) == ((3, 3, 32, 32), torch.uint8)
    np.testing.assert_array_equal(data.features.permute(0, 2, 3, 1), arrays["maps"])
    np.testing.assert_array_equal(data.theta.reshape(3, 4, 4), arrays["vertex_weights"].astype(np.float32))
    published = data.problem.from_nodes(data.labels["paths"].flatten(1))
    torch.testing.assert_close(data.problem.objective(published.float(), data.theta), data.values)
    part = data.subset(torch.tensor([1, 2]))
    assert torch.equal(part.labels["paths"], torch.from_numpy(arrays["shortest_paths"][1:]))


def test_pictures_stay_on_disk_and_files_as_they_are(tmp_path: Path) -> None:
    arrays = write(tmp_path)
    data = load_warcraft(tmp_path, size=4)
    data.features[0] = 0  # of memory, not of the file
    np.testing.assert_array_equal(np.load(tmp_path / "train_maps.npy"), arrays["maps"])


def test_parts_are_put_together_by_number(tmp_path: Path) -> None:
    arrays = write(tmp_path, "test", count=12)
    (tmp_path / "test_maps.npy").unlink()
    for i in range(12):
        np.save(tmp_path / f"test_maps_part{i}.npy", arrays["maps"][i : i + 1])
    data = load_warcraft(tmp_path, "test", size=4)
    np.testing.assert_array_equal(data.features.permute(0, 2, 3, 1), arrays["maps"])


@pytest.mark.parametrize(
    ("changed", "about"),
    [
        ({"vertex_weights": None}, ("folder", "train_vertex_weights.npy", "warcraft_maps.tar.gz")),
        ({"shortest_paths": None}, (None, "train_shortest_paths.npy")),
        ({"maps": None}, (None, "train_maps.npy", "train_maps_part0.npy")),
        ({"vertex_weights": np.ones((3, 5, 5))}, (None, "train_vertex_weights.npy", "(N, 4, 4)", "(3, 5, 5)")),
        ({"shortest_paths": np.ones((2, 4, 4))}, (None, "3 in train_maps", "2 in train_shortest_paths")),
        ({"maps": np.zeros((3, 30, 30, 3), np.uint8)}, (None, "(3, 30, 30, 3)")),
        ({"maps": np.zeros((3, 32), np.uint8)}, (None, "(3, 32)")),
        ({"maps": np.zeros((3, 32, 32, 3))}, (None, "train_maps.npy", "uint8", "float64")),
        ({"vertex_weights": np.array([None, print], dtype=object)}, (None, "train_vertex_weights.npy", "pickled")),
        ({"vertex_weights": np.array(["a"])}, (None, "train_vertex_weights.npy", "numbers")),
    ],
)
def test_bad_files_are_named(tmp_path: Path, changed: dict[str, Any], about: tuple[str | None, ...]) -> None:
    write(tmp_path, **changed)
    with mistake(*about):
        load_warcraft(tmp_path, size=4)


def test_what_is_no_array_and_no_folder(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "train_maps.npy").write_text("pictures")
    with mistake(None, "train_maps.npy", "NumPy"):
        load_warcraft(tmp_path, size=4)
    with mistake("folder", "nowhere"):
        load_warcraft(tmp_path / "nowhere")
    with mistake("split", "got 'valid'"):
        load_warcraft(tmp_path, "valid")


def test_the_registry_knows_the_files(tmp_path: Path) -> None:
    write(tmp_path / "warcraft_shortest_path_oneskin" / "12x12", count=1, size=12)
    assert [path.name for path in locate("warcraft", tmp_path)][:1] == ["train_maps.npy"]
    assert all(finding.ok for finding in check_source("warcraft", tmp_path))
    assert len(load_warcraft(tmp_path)) == 1
