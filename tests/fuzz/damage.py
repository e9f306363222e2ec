"""Damage that knows nothing of a format: bytes, lines and words of a file, and what is not a file at all."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

WORDS = ("nan", "inf", "-inf", "1e400", "-1e308", "1" * 400, "99999999999999999999", "-1", "0", "", "x", "\x00",
         "\ufeff", '"', "'", ",", "\t", "é", "RANGES", "BOUNDS", "ROWS", "[", "{", "#", "0x10", "1_000", "true",
         "null", "1.5D+03")  # fmt: skip


def bytes_of(path: Path, rng: np.random.Generator) -> None:
    """Flips, cuts, insertions, repetitions and runs of zeros."""
    content = bytearray(path.read_bytes())
    for _ in range(int(rng.integers(1, 4))):
        at, length = int(rng.integers(0, len(content) + 1)), int(rng.integers(1, 65))
        match int(rng.integers(0, 6)):
            case 0:
                for place in rng.integers(0, max(1, len(content)), min(length, 8)):
                    content[place : place + 1] = bytes([int(rng.integers(0, 256))])
            case 1:
                del content[at:]
            case 2:
                content[at:at] = rng.bytes(length)
            case 3:
                content[at:at] = content[at // 2 : at // 2 + length]
            case 4:
                content[at : at + length] = bytes(length)
            case _:
                del content[at : at + length]
    path.write_bytes(bytes(content))


def words_of(path: Path, rng: np.random.Generator) -> None:
    """A text with other words, and lines that are missing, doubled, swapped or glued together."""
    lines = path.read_text(encoding="latin-1").split("\n")
    for _ in range(int(rng.integers(1, 4))):
        i, j = (int(k) for k in rng.integers(0, len(lines), 2))
        match int(rng.integers(0, 6)):
            case 0:
                del lines[i]
            case 1:
                lines.insert(j, lines[i])
            case 2:
                lines[i], lines[j] = lines[j], lines[i]
            case 3:
                lines[i : i + 2] = ["".join(lines[i : i + 2])]
            case _:
                parts = re.split(r"([\s,;=:]+)", lines[i])
                parts[int(rng.integers(0, len(parts)))] = str(rng.choice(WORDS))
                lines[i] = "".join(parts)
        lines = lines or [""]
    path.write_text("\n".join(lines), encoding="utf-8" if rng.random() < 0.8 else "utf-16")


def _link(target: str) -> Callable[[Path], None]:
    def place(path: Path) -> None:
        path.symlink_to(target)

    return place


NO_FILES: tuple[Callable[[Path], object], ...] = (
    _link("/dev/zero"), _link("/dev/urandom"), _link("/dev/null"), _link("nowhere"), _link("/proc/self/mem"),
    lambda path: path.symlink_to(path.name), os.mkfifo, Path.mkdir, Path.touch, lambda path: None,
)  # fmt: skip


def no_file(path: Path, rng: np.random.Generator) -> None:
    """A device, a pipe, a folder, a link to itself, or nothing in the file's place."""
    path.unlink()
    NO_FILES[int(rng.integers(0, len(NO_FILES)))](path)


def restore(original: Path, copy: Path) -> None:
    """The folder as it was."""
    if copy.exists():
        shutil.rmtree(copy)
    shutil.copytree(original, copy)
