"""Are a problem, a layer, a loss or a set function of one's own what foresolve takes them for?"""

from foresolve.testing.gradient import GradientReport, check_gradient
from foresolve.testing.report import ConformanceError, ConformanceReport, Finding

__all__ = ["ConformanceError", "ConformanceReport", "Finding", "GradientReport", "check_gradient"]
