"""Save a reference, and compare with it what a worker saved (numpy only)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._harness.layers.suite import Suite

# Gradients are kept for the first instances of a batch only.
CHECKED = 32


def save_reference(suite: Suite, case: str, summary: dict[str, Any], **arrays: np.ndarray) -> None:
    """`x` (draws, batch, n); `pairs`, `smooth`, `directions`, `derivatives` of the gradients that are checked.

    `directions_Q`, `derivatives_Q` where there is a gradient for Q.
    """
    suite.summary(case).write_text(json.dumps(summary))
    np.savez_compressed(suite.reference(case), **arrays)  # type: ignore[arg-type]
    print(json.dumps(summary))


def errors_of(gradient: np.ndarray, directions: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The largest difference over the directions, relative to the root mean square of the reference's.

    That mean estimates the gradient's norm.
    """
    mine = np.einsum("kn,kdn->kd", gradient.reshape(len(gradient), -1), directions)
    scale = np.maximum(np.sqrt((truth**2).mean(axis=1)), 1e-6)
    return np.abs(mine - truth).max(axis=1) / scale


def compare(reference_path: Path, batch: int, results: Path) -> dict[str, float | int | list[float] | None]:
    """Largest distance of x, relative to the size of x above 1, and the gradient's relative error per checked instance.

    Leaf 0 is theta, leaf 1, where there is one, Q; the error of an instance is the larger of both.
    """
    with np.load(reference_path) as reference, np.load(results) as saved:
        x = saved["x"]
        answer = reference["x"][: len(x), :batch]
        size = np.maximum(1.0, np.abs(answer).max(axis=-1, keepdims=True))
        distance = (np.abs(x - answer) / size).max()
        pairs = reference["pairs"]
        seen = (pairs[:, 0] < len(x)) & (pairs[:, 1] < batch)
        use = seen & reference["smooth"]
        draws, instances = pairs[use].T
        errors = np.zeros(int(use.sum()))
        for leaf, suffix in enumerate(("", "_Q")):
            if f"directions{suffix}" in reference:
                gradient = saved[f"gradient_{leaf}"][draws, instances]
                truth = reference[f"derivatives{suffix}"][use]
                errors = np.maximum(errors, errors_of(gradient, reference[f"directions{suffix}"][use], truth))
    return {
        "x_error": float(distance),
        "gradient_error_median": float(np.median(errors)) if len(errors) else None,
        "gradient_error_worst": float(errors.max()) if len(errors) else None,
        "gradients_checked": int(use.sum()),
        "gradients_at_kinks": int((seen & ~use).sum()),
        "gradient_errors": [float(error) for error in errors],
    }


if __name__ == "__main__":
    print(json.dumps(compare(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))))
