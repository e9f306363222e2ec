"""Set functions, matroids and rounding: what submodular problems are made of."""

from foresolve.sets.functions.checker import CounterExample, SetFunctionReport, check_set_function
from foresolve.sets.functions.coverage import ProbabilisticCoverage
from foresolve.sets.functions.extension import Local
from foresolve.sets.functions.facility import FacilityLocation
from foresolve.sets.functions.function import ClosedForm, SetFunction
from foresolve.sets.functions.influence import InfluenceSpread
from foresolve.sets.functions.sums import Selected, WeightedSum
from foresolve.sets.matroids.graphic import GraphicMatroid
from foresolve.sets.matroids.laminar import LaminarMatroid, PartitionMatroid, UniformMatroid
from foresolve.sets.matroids.matroid import Matroid, Projection
from foresolve.sets.rounding import pipage, randomized_pipage, swap_rounding

__all__ = [
    "ClosedForm",
    "CounterExample",
    "FacilityLocation",
    "GraphicMatroid",
    "InfluenceSpread",
    "LaminarMatroid",
    "Local",
    "Matroid",
    "PartitionMatroid",
    "ProbabilisticCoverage",
    "Projection",
    "Selected",
    "SetFunction",
    "SetFunctionReport",
    "UniformMatroid",
    "WeightedSum",
    "check_set_function",
    "pipage",
    "randomized_pipage",
    "swap_rounding",
]
