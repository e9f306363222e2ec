"""Two source trees of foresolve on the same inputs: the work behind `benchmarks/compare.py`."""
