"""Instances that Hypothesis draws, and an independent solver for them."""

from __future__ import annotations

from collections.abc import Sequence

import clarabel
import numpy as np
import scipy.sparse
from hypothesis import strategies as st

from instances import Instance, draw


@st.composite
def instances(strategy, smooth: bool = False, spreads: Sequence[float] = (0.0, 0.0, 3.0)) -> Instance:
    """Programs that Hypothesis draws; `smooth` leaves out ties, at which a gradient need not exist.

    `spreads` are those of the rows' scales, in orders of magnitude.
    """
    flag = strategy(st.fixed_dictionaries({name: st.booleans() for name in ("dependent", "fixed", "free")}))
    n = strategy(st.integers(2, 12))
    return draw(
        strategy(st.integers(0, 10_000)),
        n=n,
        m_eq=strategy(st.integers(0, n // 3)),  # leaves room to move: a single point has multipliers without limit
        m_ub=strategy(st.integers(0, 14)),
        ties=False if smooth else strategy(st.booleans()),
        spread=strategy(st.sampled_from(spreads)),
        gamma=10.0 ** strategy(st.integers(-3, 1)),
        **flag,
    )


def reference(instance: Instance, theta: np.ndarray) -> np.ndarray:
    """One instance by Clarabel, at the tightest tolerance it reaches."""
    n = len(theta)
    rows = [instance.A_eq, instance.A_ub]
    sides = [instance.b_eq, instance.b_ub]
    for sign, bound in ((1.0, instance.upper), (-1.0, instance.lower)):
        finite = np.isfinite(bound)
        rows.append(sign * np.eye(n)[finite])
        sides.append(sign * bound[finite])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    for name in ("tol_gap_abs", "tol_gap_rel", "tol_feas"):
        setattr(settings, name, 1e-13)
    cones = [clarabel.ZeroConeT(len(instance.b_eq)), clarabel.NonnegativeConeT(sum(map(len, sides[1:])))]
    solver = clarabel.DefaultSolver(
        scipy.sparse.csc_matrix(2 * instance.gamma * np.eye(n)),
        -theta,
        scipy.sparse.csc_matrix(np.concatenate(rows)),
        np.concatenate(sides),
        cones,
        settings,
    )
    solution = solver.solve()
    assert str(solution.status) in {"Solved", "AlmostSolved", "InsufficientProgress"}, solution.status
    return np.array(solution.x)
