"""Losses: decision losses, surrogates of the regret, prediction losses."""

from foresolve.losses.base import Loss, why_not
from foresolve.losses.cave import CaVE
from foresolve.losses.contrastive import MAP, NCE
from foresolve.losses.decision import DecisionLoss
from foresolve.losses.directional import PerturbationGradient
from foresolve.losses.fenchel_young import FenchelYoung
from foresolve.losses.imitation import Imitation
from foresolve.losses.lodl import LODL
from foresolve.losses.pool import SolutionPool
from foresolve.losses.prediction import MSE, CrossEntropy, LogMSE, PredictionLoss
from foresolve.losses.ranking import ListwiseRanking, PairwiseRanking, PointwiseRanking
from foresolve.losses.score_function import ScoreFunction
from foresolve.losses.spo import SPOPlus

__all__ = [
    "CaVE",
    "CrossEntropy",
    "DecisionLoss",
    "FenchelYoung",
    "Imitation",
    "LODL",
    "ListwiseRanking",
    "LogMSE",
    "Loss",
    "MAP",
    "MSE",
    "NCE",
    "PairwiseRanking",
    "PerturbationGradient",
    "PointwiseRanking",
    "PredictionLoss",
    "SPOPlus",
    "ScoreFunction",
    "SolutionPool",
    "why_not",
]
