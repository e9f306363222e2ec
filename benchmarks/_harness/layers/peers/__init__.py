"""One module per peer. `build(case, **options)` sets up, and returns theta (B, n) -> x (B, n) on autograd.

Where every instance has its own Q (`case.hessian()` is None), the layer takes it as well: theta, Q (B, n, n) -> x.
Other constants (matrices, bounds) do not require grad, so that no peer pays for gradients nobody asked for, unless
it computes them regardless.
"""
