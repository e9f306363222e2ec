"""The recipe of Wilder, Dilkina and Tambe (AAAI 2019) for one instance at a time, re-implemented in NumPy.

Forward: ten steps of projected ascent on F with momentum, x capped at 0.95, the budget met by bisection. Backward: the
KKT conditions of max F subject to x >= 0, x <= cap, sum x = k, differentiated as in their Equation (2),

    [ -H    G'           ] [ dx      ]   [ d/dtheta grad_x F ]
    [ D G   diag(Gx - h) ] [ dlambda ] = [ 0                 ] dtheta,      D = diag(lambda),  G (2n + 1, n),

with the duals in closed form and a ridge of 0.01. Either the system is solved for all n m columns (as published), or
once, transposed, for the incoming gradient ("adjoint"). H keeps all targets, where the published code keeps the last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

STEPS, RATE, MOMENTUM, CAP, RIDGE = 10, 0.1, 0.9, 0.95, 0.01


def project(y: np.ndarray, k: float) -> np.ndarray:
    low, high = y.min() - 1.0, y.max()
    for _ in range(60):
        middle = 0.5 * (low + high)
        if np.clip(y - middle, 0.0, CAP).sum() > k:
            low = middle
        else:
            high = middle
    return np.clip(y - high, 0.0, CAP)


def slope(x: np.ndarray, theta: np.ndarray) -> np.ndarray:
    q = 1.0 - x[:, None] * theta
    return (theta / q) @ q.prod(0)


def ascend(theta: np.ndarray, k: float) -> np.ndarray:
    x = np.full(len(theta), k / len(theta))
    velocity = np.zeros_like(x)
    for _ in range(STEPS):
        velocity = MOMENTUM * velocity + RATE * slope(x + MOMENTUM * velocity, theta)
        x = project(x + velocity, k)
    return x


def kkt(x: np.ndarray, theta: np.ndarray, k: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The matrix, and `q` and `P` of the formulas."""
    n = len(x)
    q = 1.0 - x[:, None] * theta
    through = q.prod(0)
    r = theta / q
    gradient = r @ through
    hessian = -(r * through) @ r.T
    np.fill_diagonal(hessian, 0.0)
    at_zero, at_cap = x < 1e-9, x > CAP - 1e-9
    free = ~at_zero & ~at_cap
    shared = gradient[free].mean() if free.any() else gradient[at_cap].min()
    duals = np.concatenate(
        [np.where(at_zero, shared - gradient, 0.0), np.where(at_cap, gradient - shared, 0.0), [shared]]
    )
    rows = np.vstack([-np.eye(n), np.eye(n), np.ones((1, n))])
    slack = np.concatenate([-x, x - CAP, [x.sum() - k]])
    matrix = np.block([[-hessian, rows.T], [duals[:, None] * rows, np.diag(slack)]])
    return matrix + RIDGE * np.eye(len(matrix)), q, through


def dense(x: np.ndarray, theta: np.ndarray, k: float, v: np.ndarray) -> np.ndarray:
    n, m = theta.shape
    matrix, q, through = kkt(x, theta, k)
    # cross[i, l, j] = d/dtheta_lj of dF/dx_i
    cross = -((theta / q) * through)[:, None, :] * (x[:, None] / q)[None, :, :]
    cross[np.arange(n), np.arange(n)] = through / q
    right = np.zeros((len(matrix), n * m))
    right[:n] = cross.reshape(n, n * m)
    jacobian = np.linalg.solve(matrix, right)[:n]
    return (v @ jacobian).reshape(n, m)


def single(x: np.ndarray, theta: np.ndarray, k: float, v: np.ndarray) -> np.ndarray:
    n = len(x)
    matrix, q, through = kkt(x, theta, k)
    right = np.zeros(len(matrix))
    right[:n] = v
    w = np.linalg.solve(matrix.T, right)[:n, None]
    terms = w * theta / q
    return through / q * (w - x[:, None] * (terms.sum(0) - terms))


def build(k: int, gamma: float, tol: float, adjoint: bool) -> tuple[Callable[..., Any], Callable[..., Any]]:
    backward_one = single if adjoint else dense

    def forward(theta: np.ndarray) -> tuple[np.ndarray, Any]:
        x = np.stack([ascend(instance, k) for instance in theta])
        return x, (x, theta)

    def backward(state: Any, v: np.ndarray) -> np.ndarray:
        return np.stack([backward_one(x, theta, k, g) for x, theta, g in zip(*state, v)])

    return forward, backward
