"""The instances, generated once and saved: `python -m benchmarks.learning.cases SEED OUT.npz`."""

from __future__ import annotations

import sys

import numpy as np

from benchmarks.learning.catalogue import DEGREE, FEATURES, GRID, NOISE, TEST, TRAIN
from foresolve.data import shortest_path_data


def main(seed: int, path: str) -> None:
    data = shortest_path_data(TRAIN + TEST, grid=GRID, features=FEATURES, degree=DEGREE, noise=NOISE, seed=seed)
    arcs = np.array(data.problem.arcs)  # type: ignore[attr-defined]
    mean = data.rule.expected(data.features).numpy()
    np.savez(path, features=data.features.numpy(), costs=data.theta.numpy(), mean=mean, arcs=arcs)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
