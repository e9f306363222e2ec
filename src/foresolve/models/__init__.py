"""Reference networks, similarities, and the baselines that a learned model must beat."""

from foresolve.models.baselines import ConstantMean, LinearRegression, NearestNeighbors, RandomDecision
from foresolve.models.boosting import BoostedTrees
from foresolve.models.correction import Correction
from foresolve.models.forest import RandomForest
from foresolve.models.last_value import LastValue
from foresolve.models.mlp import MLP
from foresolve.models.pairs import BilinearPairs, PairModel
from foresolve.models.reference import Baseline, Reference
from foresolve.models.scikit_learn import ScikitLearn
from foresolve.models.similarity import CosinePairs, TfIdfSimilarity, most_rated, tfidf
from foresolve.models.standardized import Standardized
from foresolve.models.table import TableBaseline

__all__ = [
    "Baseline",
    "BilinearPairs",
    "BoostedTrees",
    "ConstantMean",
    "Correction",
    "CosinePairs",
    "LastValue",
    "LinearRegression",
    "MLP",
    "NearestNeighbors",
    "PairModel",
    "RandomDecision",
    "RandomForest",
    "Reference",
    "ScikitLearn",
    "Standardized",
    "TableBaseline",
    "TfIdfSimilarity",
    "most_rated",
    "tfidf",
]
