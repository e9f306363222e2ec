"""One module a contender. `build(k, gamma, tol, **options)` gives `forward(theta) -> (x, kept)` and
`backward(kept, v) -> gradient`, arrays of float64 `(B, n, m)` and `(B, n)` in and out."""
