"""foresolve and its peers on the same saved inputs, in one go: `python -m benchmarks.linear.run`."""

from __future__ import annotations

from benchmarks._harness.layers.run import main
from benchmarks.linear.catalogue import SUITE

if __name__ == "__main__":
    main(SUITE, __doc__)
