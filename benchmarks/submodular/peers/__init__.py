"""One module a contender. `build(k, gamma, tol, **options)` gives `forward(theta) -> (x, state)` and
`backward(state, v) -> gradient`, arrays of float64 `(B, n, m)` and `(B, n)` in and out."""
