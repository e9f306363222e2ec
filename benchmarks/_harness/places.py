"""Where the files of the benchmarks lie. Standard library only."""

from __future__ import annotations

from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parents[1]
REPOSITORY = BENCHMARKS.parent
ENVIRONMENTS = BENCHMARKS / ".envs"


def cases(benchmark: str) -> Path:
    """Saved inputs and references."""
    return BENCHMARKS / ".cases" / benchmark


def results(benchmark: str) -> Path:
    """Published tables; kept in the repository."""
    return BENCHMARKS / "results" / benchmark


def runs(benchmark: str) -> Path:
    """Tables of runs without the peers; not kept."""
    return BENCHMARKS / ".runs" / benchmark
