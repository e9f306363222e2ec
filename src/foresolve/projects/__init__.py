"""Projects: a `foresolve.toml` and the user's files, trained, kept in a folder, put to work; what the shell calls."""

from foresolve.projects.deciding import Decided, NoDecisionError, decide_file
from foresolve.projects.project import Project
from foresolve.projects.ray_deciding import decide_on_ray
from foresolve.projects.run import Run
from foresolve.projects.samples.registry import init
from foresolve.projects.scores import RunComparison, compare_scores
from foresolve.projects.settings import Settings
from foresolve.projects.toml import SettingsError

__all__ = [
    "Decided",
    "NoDecisionError",
    "Project",
    "Run",
    "RunComparison",
    "Settings",
    "SettingsError",
    "compare_scores",
    "decide_file",
    "decide_on_ray",
    "init",
]
