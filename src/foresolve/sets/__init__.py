"""Set functions, matroids and rounding: what submodular problems are made of."""

from foresolve.sets.functions.coverage import ProbabilisticCoverage
from foresolve.sets.functions.extension import Local
from foresolve.sets.functions.facility import FacilityLocation
from foresolve.sets.functions.function import ClosedForm, SetFunction
from foresolve.sets.functions.influence import InfluenceSpread
from foresolve.sets.functions.selected import Selected
from foresolve.sets.functions.sums import WeightedSum
from foresolve.sets.matroids.graphic import GraphicMatroid
from foresolve.sets.matroids.laminar import LaminarMatroid, PartitionMatroid, UniformMatroid
from foresolve.sets.matroids.matroid import Matroid, MatroidProjection, PolyhedralMatroid
from foresolve.sets.rounding import pipage, randomized_pipage, swap_rounding
from foresolve.solvers.submodular.cuts import Parts
from foresolve.solvers.submodular.increments import Increments

__all__ = [
    "ClosedForm",
    "FacilityLocation",
    "GraphicMatroid",
    "Increments",
    "InfluenceSpread",
    "LaminarMatroid",
    "Local",
    "Matroid",
    "MatroidProjection",
    "PartitionMatroid",
    "Parts",
    "PolyhedralMatroid",
    "ProbabilisticCoverage",
    "Selected",
    "SetFunction",
    "UniformMatroid",
    "WeightedSum",
    "pipage",
    "randomized_pipage",
    "swap_rounding",
]
