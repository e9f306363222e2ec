"""Budget allocation on a CUDA device in float64: `python3 -m benchmarks.submodular.gpu OUT.json`.

Takes foresolve from the checkout's `src`: a machine with torch, numpy and scipy needs no installation. Times are
medians of CUDA-event times of forward plus backward, on theta already on the device and not just seen.
"""

from __future__ import annotations

from typing import Any

import torch

from benchmarks._harness import cuda
from benchmarks.submodular.catalogue import CHANNELS, CUSTOMERS, GAMMA, TOL, K
from benchmarks.submodular.peers.unrolled_ascent import residual

DRAWS = 3


def record_of(batch: int, repeats: int) -> dict[str, Any]:
    import foresolve
    from benchmarks.submodular.instances import budget

    generator = torch.Generator().manual_seed(batch)
    theta = budget(DRAWS * batch, CHANNELS, CUSTOMERS, generator)
    thetas = theta.double().reshape(DRAWS, batch, CHANNELS, CUSTOMERS)
    v = torch.randn(batch, CHANNELS, dtype=torch.float64, generator=generator)
    problem = foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(CHANNELS, K))
    layer = foresolve.MultilinearRelaxation(gamma=GAMMA, tol=TOL)
    measured = cuda.measure(cuda.Step(layer, problem, thetas, v), repeats)
    there, record = measured.there, measured.record
    reached = max(float(residual(there(k)[0], there.thetas[k], K, GAMMA).max()) for k in range(DRAWS))
    gap = measured.gradient_gap / measured.gradient_cpu.flatten(1).abs().amax(1)
    return {
        **record,
        "residual": reached,
        "copies_of_theta_above_inputs": (record["peak_bytes"] - measured.resident) / thetas[0].nbytes,
        "gradient_difference": float(gap.max()),
        # An x next to a kink may land on either side of it: how many instances that concerns.
        "gradient_instances_above_1e-4": int((gap > 1e-4).sum()),
    }


def main() -> None:
    args = cuda.parser(__doc__, [1, 32, 256], repeats=20).parse_args()
    cuda.run(args, lambda batch: record_of(batch, args.repeats))


if __name__ == "__main__":
    main()
