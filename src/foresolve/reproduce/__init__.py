"""The paper's experiments, and more of their kind: domains, methods, runs and engines."""

from foresolve.report.records import Config, DomainInfo, Job, JobResult, MethodInfo, Record
from foresolve.reproduce.domains.domain import Domain, RealData, Source, best_for_noise
from foresolve.reproduce.domains.methods import (
    METHODS,
    BestMethod,
    ForestMethod,
    Method,
    Minibatch,
    NetworkMethod,
    RandomMethod,
    RecipeMethod,
    RuleMethod,
    Setting,
)
from foresolve.reproduce.domains.registry import DOMAINS, register
from foresolve.reproduce.runs.engines import Engine, JobError, LocalEngine
from foresolve.reproduce.runs.folder import Run
from foresolve.reproduce.runs.jobs import InstanceCache, list_jobs, work
from foresolve.reproduce.runs.plan import plan
from foresolve.reproduce.runs.publish import publish, view
from foresolve.reproduce.runs.ray_engine import RayEngine
from foresolve.reproduce.runs.run import RunStopped, run, run_all

__all__ = [
    "BestMethod",
    "Config",
    "DOMAINS",
    "Domain",
    "DomainInfo",
    "Engine",
    "ForestMethod",
    "InstanceCache",
    "Job",
    "JobError",
    "LocalEngine",
    "METHODS",
    "Method",
    "MethodInfo",
    "Minibatch",
    "NetworkMethod",
    "JobResult",
    "RandomMethod",
    "RecipeMethod",
    "RayEngine",
    "RealData",
    "Record",
    "RuleMethod",
    "Run",
    "RunStopped",
    "Setting",
    "Source",
    "best_for_noise",
    "list_jobs",
    "plan",
    "publish",
    "register",
    "run",
    "run_all",
    "view",
    "work",
]
