"""The paper's experiments: domains, methods, runs and engines."""

from foresolve.reproduce.domains.domain import Domain
from foresolve.reproduce.domains.methods import Best, Chance, Forest, Instances, Network, Rule
from foresolve.reproduce.runs.engines import Engine, JobError, LocalEngine
from foresolve.reproduce.runs.ray_engine import RayEngine
from foresolve.reproduce.runs.run import RunStopped, run, run_all

__all__ = [
    "Best",
    "Chance",
    "Domain",
    "Engine",
    "Forest",
    "Instances",
    "JobError",
    "LocalEngine",
    "Network",
    "RayEngine",
    "Rule",
    "RunStopped",
    "run",
    "run_all",
]
