"""Reference networks, similarities, and the baselines that a learned model must beat."""

from foresolve.models.baselines import Baseline, ConstantMean, LinearRegression, NearestNeighbors, RandomDecision
from foresolve.models.forest import RandomForest, ScikitLearn
from foresolve.models.networks import MLP, BilinearPairs, PairModel
from foresolve.models.similarity import CosinePairs, TfIdfSimilarity, most_rated, tfidf

__all__ = [
    "Baseline",
    "BilinearPairs",
    "ConstantMean",
    "CosinePairs",
    "LinearRegression",
    "MLP",
    "NearestNeighbors",
    "PairModel",
    "RandomDecision",
    "RandomForest",
    "ScikitLearn",
    "TfIdfSimilarity",
    "most_rated",
    "tfidf",
]
