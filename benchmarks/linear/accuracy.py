"""Compare what a worker saved with the reference (numpy only)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from benchmarks.linear.catalogue import CASES_DIR


def compare(case: str, batch: int, results: Path) -> dict[str, float | int | None]:
    """Largest distance of x, and the gradient's relative error per checked instance.

    The error of an instance is the largest difference over the directions, relative to the root mean square
    of the reference's directional derivatives, which estimates the gradient's norm.
    """
    with np.load(CASES_DIR / f"{case}.reference.npz") as reference, np.load(results) as saved:
        x, gradient = saved["x"], saved["gradient"]
        distance = np.abs(x - reference["x"][: len(x), :batch]).max()
        pairs = reference["pairs"]
        seen = (pairs[:, 0] < len(x)) & (pairs[:, 1] < batch)
        use = seen & reference["smooth"]
        draws, instances = pairs[use].T
        mine = np.einsum("kn,kdn->kd", gradient[draws, instances], reference["directions"][use])
        truth = reference["derivatives"][use]
    scale = np.maximum(np.sqrt((truth**2).mean(axis=1)), 1e-6)
    errors = np.abs(mine - truth).max(axis=1) / scale
    return {
        "x_error": float(distance),
        "gradient_error_median": float(np.median(errors)) if len(errors) else None,
        "gradient_error_worst": float(errors.max()) if len(errors) else None,
        "gradients_checked": int(use.sum()),
        "gradients_at_kinks": int((seen & ~use).sum()),
        "gradient_errors": [float(error) for error in errors],
    }


if __name__ == "__main__":
    print(json.dumps(compare(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))))
