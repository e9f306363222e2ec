"""Oracles in a module without torch, which worker processes import fast."""

from __future__ import annotations

import os

import numpy as np


def best_three(theta: np.ndarray) -> np.ndarray:
    x = np.zeros(len(theta))
    x[np.argsort(-theta, kind="stable")[:3]] = 1.0
    return x


def cheapest_three(theta: np.ndarray) -> np.ndarray:
    return best_three(-theta)


def best_three_of_many(theta: np.ndarray) -> np.ndarray:
    return np.stack([best_three(row) for row in theta]) if len(theta) else np.zeros_like(theta)


def fragile(theta: np.ndarray) -> np.ndarray:
    if (theta < 0).any():
        raise RuntimeError("no plan for negative prices")
    return best_three(theta)


def fragile_of_many(theta: np.ndarray) -> np.ndarray:
    return np.stack([fragile(row) for row in theta])


def which_process(theta: np.ndarray) -> np.ndarray:
    return np.full(3, float(os.getpid()))


def fatal(theta: np.ndarray) -> np.ndarray:
    os._exit(3)


def reported(theta: np.ndarray) -> tuple[np.ndarray, float]:
    x = best_three(theta)
    return x, float(theta @ x)


class ThreeBySolve:
    def solve(self, theta: np.ndarray) -> np.ndarray:
        return best_three(theta)


class CheapestThree:
    """As `optModel` of PyEPO: a sense, a number of costs, an objective that is set and a model that is solved."""

    modelSense = 1  # EPO.MINIMIZE

    def __init__(self, size: int) -> None:
        self.num_cost = size
        self.costs = np.zeros(size)

    def setObj(self, c: np.ndarray) -> None:
        assert len(c) == self.num_cost
        self.costs = np.array(c)

    def solve(self) -> tuple[np.ndarray, float]:
        x = best_three(-self.modelSense * self.costs)
        return x, float(self.costs @ x)


class MostThree(CheapestThree):
    modelSense = -1  # EPO.MAXIMIZE
