from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from proxsuite.torch.qplayer import QPFunction

from benchmarks._harness.layers.inputs import Program, dense


def build(case: Program, **options: float) -> Callable[..., torch.Tensor]:
    # The layer allocates its gradients in torch's default type, which would round them to float32.
    torch.set_default_dtype(torch.float64)
    shared = case.hessian()
    common = None if shared is None else torch.as_tensor(dense(shared))
    G, lower, upper = case.two_sided()
    A, b = case.equalities()
    rows = torch.as_tensor(G.toarray())
    # The documentation's stand-in for "no bound".
    low, high = (torch.as_tensor(np.clip(side, -1e20, 1e20)) for side in (lower, upper))
    A, b = torch.as_tensor(A.toarray()), torch.as_tensor(b)
    # Asked for as the documentation advises; the layer itself takes half of the cores.
    solve = QPFunction(omp_parallel=True, **options)
    return lambda theta, Q=common: solve(Q, -case.sign * theta, A, b, rows, low, high)[0]
