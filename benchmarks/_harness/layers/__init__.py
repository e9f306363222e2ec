"""What `linear/` and `quadratic/` share: differentiable layers beside their peers, on the same saved inputs.

`suite`, `run` and `tables` need the standard library only, `inputs` and `accuracy` numpy and scipy; `solvers` and
`plot` run in the reference environment, `worker` and `peers` in those of the peers.
"""
