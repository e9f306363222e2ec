"""One module per peer. `build(case, **options)` sets up, and returns theta (B, n) -> x (B, n) on autograd.

Constants (matrices, bounds) do not require grad, so that no peer pays for gradients nobody asked for, unless
it computes them regardless.
"""
