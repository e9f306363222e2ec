"""Checks of your own problems, layers, losses and set functions.

Each check puts the promises of a base class to the test, one by one, as our own classes are tested, and gives a report:
truthy where all are kept, and a table in words where it is printed.
"""

from foresolve.testing.check import check_layer, check_loss, check_problem, check_set_function
from foresolve.testing.gradient import GradientReport, check_gradient
from foresolve.testing.machine import MachineReport, check_machine
from foresolve.testing.report import ConformanceError, ConformanceReport, Finding

__all__ = [
    "ConformanceError",
    "ConformanceReport",
    "Finding",
    "GradientReport",
    "MachineReport",
    "check_gradient",
    "check_layer",
    "check_loss",
    "check_machine",
    "check_problem",
    "check_set_function",
]
