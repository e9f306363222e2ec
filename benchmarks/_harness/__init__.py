"""What the benchmarks share: environments, worker processes, timing, tables, runs on a GPU.

`places`, `environments`, `processes`, `driver` and `tables` need the standard library only, since a driver runs on any
Python; `worker`, `timing` and `memory` also run in the environments of peers; `cuda` needs torch.
"""
