"""NumPy's archives (`.npz`); nothing in them is run."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from foresolve._base import reading
from foresolve.errors import FileError, ForesolveError


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an archive by name."""
    try:
        with reading.opened(path) as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except ForesolveError:
        raise
    except Exception as error:  # whatever zipfile and NumPy stumble over: both parse what the file says
        raise FileError(path, f"is damaged or no archive of arrays: {reading.one_line(error)}") from error
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):  # NumPy gives other members of the archive as bytes
            raise FileError(path, f"is damaged: {name[:80]!r} is no array")
    return arrays
