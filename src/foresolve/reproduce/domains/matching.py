"""Bipartite matching on Cora: which papers cite which."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from foresolve._base import checks
from foresolve._base.extras import need
from foresolve._base.randomness import generator
from foresolve.data.batch import Batch
from foresolve.data.dataset import DecisionDataset
from foresolve.data.generated.citations import citation_data
from foresolve.data.real.cora import cora_data, load_cora
from foresolve.data.real.registry import locate
from foresolve.layers.gamma_rules import RelativeGamma
from foresolve.layers.quadratic import QuadraticRelaxation
from foresolve.layers.wilder_quadratic import WilderQuadratic
from foresolve.learning.options import Schedule
from foresolve.losses.base import Loss
from foresolve.losses.decision import DecisionLoss
from foresolve.losses.fenchel_young import FenchelYoung
from foresolve.losses.prediction import CrossEntropy
from foresolve.losses.spo import SPOPlus
from foresolve.models.pairs import BilinearPairs, PairModel
from foresolve.models.similarity import CosinePairs, TfIdfSimilarity, tfidf
from foresolve.problems.base import Problem
from foresolve.problems.matching import BipartiteMatching
from foresolve.report.records import Config, DomainInfo, MethodInfo
from foresolve.reproduce.domains.domain import Domain, RealData, Source
from foresolve.reproduce.domains.methods import (
    METHODS,
    YARDSTICKS,
    ForestMethod,
    Method,
    Minibatch,
    NetworkMethod,
    RecipeMethod,
    RuleMethod,
    Setting,
)
from foresolve.reproduce.domains.networks import Calibrated, EvenRows, Squashed
from foresolve.reproduce.domains.pair_forest import PairForest
from foresolve.schedules import geometric

INFO = DomainInfo(
    name="matching",
    title="Bipartite matching",
    story=(),
    ks=(),
    table2_k=None,
    measures=("cross_entropy", "auc"),
    rows="papers",
    columns="papers",
    figure_methods=("NN2-2Stage", "NN2-Decision"),
    methods={
        **METHODS,
        "TF-IDF": MethodInfo("heuristic", words="matches papers whose rare words are alike; learns nothing"),
    },
    fractional=False,
)


GENERATED = "Generated instances do without: leave out the folder of real data, or take --quick"
PAPERS = 2700  # 27 parts of 100
GAMMA = 0.1  # of the published code, whose objective has no 1/2 before its quadratic term
FOLDS = 2  # each trains on half of the few instances, so that all of them validate at the cost of one training


def files(folder: Path) -> list[Path]:
    """The published files in a folder of real data."""
    return locate("cora", folder, "data")


def read(folder: Path) -> Source:
    graph = load_cora(files(folder)[0].parent)
    need("pymetis", "the partition of a citation graph", "reproduce", GENERATED)
    if len(graph.words) < PAPERS:
        raise checks.fail("data", f"files with at least {PAPERS} papers", str(len(graph.words)))
    counts = f"{len(graph.words):,} papers, {graph.words.shape[1]:,} words, {len(graph.edges):,} citations"
    return Source(f"the Cora files ({counts}), cut into 27 parts by METIS")


def sizes(config: Config) -> tuple[int, int, int]:
    """Instances, papers on each side of one, and words."""
    return (30, 30, 400) if config.quick else (27, 50, 1433)


def story(config: Config) -> tuple[str, ...]:
    """For a reader, of this run."""
    count, side, words = sizes(config)
    real = (
        "Papers and their citations (Cora: 2,708 papers, 1,433 words, 5,278 citations). METIS cuts the graph into 27 "
        "parts of 100 papers, and each part is split into two sides of 50 such that many citations cross. The "
        "partition is ours (the paper's own is not published), so random and best matchings differ a little from the "
        "paper's."
    )
    generated = (
        f"Papers and their citations are generated: {count} instances with {side} papers on each of two sides and "
        f"{words:,} words; papers on one idea share words and cite each other."
    )
    return (
        f"{generated if config.data is None else real} From the words of two papers it is predicted whether one cites "
        f"the other, for all {side * side:,} pairs; the decision is a matching, and its value is the number of its "
        "pairs that are citations.",
        "`Bilinear` multiplies learned embeddings of the two papers; `Cosine` is TF-IDF similarity with learned word "
        "weights.",
    )


class CitationDataset(DecisionDataset):
    """Instances of citations, and the words `(papers, W)` of all papers at hand, whether in an instance or not."""

    def __init__(self, data: DecisionDataset, words: Tensor) -> None:
        super().__init__(data.features, data.theta, data.problem, labels=data.labels)
        self.words = words


def data(config: Config) -> CitationDataset:
    """Generated instances, or parts of the published graph in a folder of real data."""
    if config.data is not None:
        graph = load_cora(files(Path(config.data))[0].parent)
        return CitationDataset(cora_data(graph, seed=config.seed), graph.words)
    count, side, words = sizes(config)
    return with_words(citation_data(count, side=side, words=words, seed=generator(config.seed, 0)))


def with_words(data: DecisionDataset) -> CitationDataset:
    """Instances whose papers are all that there are."""
    return CitationDataset(data, torch.cat([data.features["left"], data.features["right"]], 1).flatten(0, 1))


def words_of(data: DecisionDataset) -> Tensor:
    """What the inverse document frequencies are counted in."""
    assert isinstance(data, CitationDataset)
    return data.words


def square(theta: Tensor) -> Tensor:
    """Weights of pairs as a table of left and right papers."""
    side = math.isqrt(theta.shape[-1])
    return theta.unflatten(-1, (side, side))


def permutations(problem: Problem, count: int, source: torch.Generator) -> Tensor:
    """Perfect matchings, each as likely as any other."""
    assert isinstance(problem, BipartiteMatching)
    side = math.isqrt(problem.n)
    order = torch.rand(count, side, generator=source).argsort(-1)
    return nn.functional.one_hot(order, side).flatten(1).float()


def methods(config: Config) -> dict[str, Method]:
    ends: dict[str, Method] = {"TF-IDF": RuleMethod(lambda data: TfIdfSimilarity(words_of(data))), **YARDSTICKS}
    return (_published(config.quick) if config.protocol == "paper" else _exact(config.quick)) | ends


def _exact(quick: bool) -> dict[str, Method]:
    """Settings were narrowed down in trials on another partition of the same graph and on some splits of seed 0."""
    fit = partial(NetworkMethod, layer=QuadraticRelaxation, batch_size=6, folds=FOLDS)
    rates = ({"lr": 3e-4}, {"lr": 1e-3})
    networks: dict[str, Method] = {}
    for layers in (1, 2):
        settings = tuple({**rate, "gamma": 1.0} for rate in rates)
        networks[f"NN{layers}-Decision"] = fit(network(layers), through_layer, settings=settings, epochs=20)
    for layers in (1, 2):
        # Single instances: cross-entropy needs many more steps than the layer, and they cost nothing.
        networks[f"NN{layers}-2Stage"] = fit(network(layers), likelihood, settings=rates[1:], epochs=60, batch_size=1)
    networks["RF-2Stage"] = ForestMethod(forest(quick))
    embedded = bilinear(quick)
    slow, few = {"lr": 3e-4, "decay": 0.1}, (0.1, 0.3)
    weights = tuple({"lr": lr, "decay": 3.0} for lr in (3e-3, 1e-2))
    fit = partial(fit, epochs=25)
    networks |= {
        "Bilinear-Decision": fit(embedded, through_layer, settings=tuple({**slow, "gamma": g} for g in few)),
        "Bilinear-2Stage": fit(embedded, likelihood, settings=tuple({**slow, **rate} for rate in rates)),
        "Bilinear-SPO+": fit(embedded, lambda setting: SPOPlus(), settings=(slow,)),
        "Bilinear-FenchelYoung": fit(embedded, fenchel_young, settings=({**slow, "gamma": 0.1},)),
        "Bilinear-Annealed": fit(embedded, through_layer, settings=({**slow, "gamma": 1.0},), anneal=annealing),
    }
    fit = partial(fit, optimizer=grouped)
    return networks | {
        "Cosine-Decision": fit(cosine, through_layer, settings=tuple({**rate, "gamma": 0.1} for rate in weights)),
        "Cosine-2Stage": fit(cosine, likelihood, settings=weights),
    }


def _published(quick: bool) -> dict[str, Method]:
    """As the code has it: 500 hidden units, the soft backward pass; beside it the exact one with the same settings."""
    fit = partial(NetworkMethod, settings=({"lr": 1e-4},), epochs=12, batch_size=1, validate=False)
    two_stage = partial(
        RecipeMethod, loss=CrossEntropy, layer=partial(QuadraticRelaxation, GAMMA), epochs=2,
        minibatch=Minibatch(100, single_pairs), per_k=False,
    )  # fmt: skip
    wide = network(2, hidden=500)

    def squashed(data: DecisionDataset, source: torch.Generator, mean: float) -> nn.Module:
        return Squashed(network(1)(data, source, mean))

    soft = partial(fit, loss=through_published_layer, layer=partial(WilderQuadratic, GAMMA), anneal=cooling)
    exact = partial(fit, loss=through_exact_layer, layer=partial(QuadraticRelaxation, GAMMA))
    return {
        "NN1-Decision": soft(squashed),
        "NN2-Decision": soft(wide),
        "NN1-Decision (exact layer)": exact(squashed),
        "NN2-Decision (exact layer)": exact(wide),
        "NN1-2Stage": two_stage(squashed),
        "NN2-2Stage": two_stage(wide),
        "RF-2Stage": ForestMethod(forest(quick), logits=True),
    }


def through_published_layer(setting: Setting) -> Loss:
    """The value of the published layer's decision."""
    return DecisionLoss(WilderQuadratic(GAMMA))


def through_exact_layer(setting: Setting) -> Loss:
    """The value of the exact layer's decision, with the published smoothing."""
    return DecisionLoss(QuadraticRelaxation(GAMMA))


def cooling(setting: Setting) -> dict[str, Schedule]:
    """The published curvature of the backward pass, times 0.8 after each of the 12 epochs."""
    return {"curvature": geometric(GAMMA, GAMMA * 0.8**11)}


def single_pairs(batch: Batch, positions: Tensor) -> Batch:
    """Pairs of a single instance, each as an instance of its own: a matching of one paper with another."""
    left, right = (batch.features[side][0] for side in ("left", "right"))
    i, j = positions // len(right), positions % len(right)
    features = {"left": left[i.to(left.device)].unsqueeze(1), "right": right[j.to(right.device)].unsqueeze(1)}
    return Batch(features, batch.theta[0, positions.to(batch.theta.device)].unsqueeze(1), BipartiteMatching(1, 1))


def network(layers: int, hidden: int = 200):
    """The paper's network of pairs."""

    def make(data: DecisionDataset, source: torch.Generator, mean: float) -> nn.Module:
        left, right = (data.features[side].shape[-1] for side in ("left", "right"))
        return PairModel(left, right, None if layers == 1 else hidden, seed=source, standardize=False)

    return make


def bilinear(quick: bool):
    """Products of learned embeddings; a quick model has smaller ones."""

    def make(data: DecisionDataset, source: torch.Generator, mean: float) -> nn.Module:
        width = data.features["left"].shape[-1]
        rank = 64 if quick else 256
        pairs = BilinearPairs(width, width, rank, siamese=True, seed=source, dropout=0.5, standardize=False)
        return EvenRows(pairs)

    return make


def cosine(data: DecisionDataset, source: torch.Generator, mean: float) -> nn.Module:
    """TF-IDF similarity with learned word weights, as a probability: the sigmoid makes high similarities count more."""
    return Calibrated(CosinePairs(data.features["left"].shape[-1], tfidf(words_of(data)), dropout=0.5), mean)


def grouped(model: nn.Module, setting: Setting) -> torch.optim.Optimizer:
    """Weight decay on the word weights alone."""
    assert isinstance(model, Calibrated)
    assert isinstance(model.model, CosinePairs)
    scale: dict[str, Any] = {"params": [model.slope, model.offset], "lr": 3 * setting["lr"], "weight_decay": 0.0}
    return torch.optim.AdamW([scale, *model.model.groups(setting["lr"], setting["decay"])])


def through_layer(setting: Setting) -> Loss:
    """The value of the layer's decision."""
    return DecisionLoss(QuadraticRelaxation(RelativeGamma(setting["gamma"])))


def fenchel_young(setting: Setting) -> Loss:
    """The Fenchel-Young loss of the layer."""
    return FenchelYoung(QuadraticRelaxation(RelativeGamma(setting["gamma"])))


def likelihood(setting: Setting) -> Loss:
    """Cross-entropy."""
    return CrossEntropy()


def annealing(setting: Setting) -> Schedule:
    """From strong to weak smoothing."""
    ratio = geometric(setting["gamma"], setting["gamma"] / 20)
    return lambda progress: RelativeGamma(ratio(progress))  # type: ignore[return-value]


def forest(quick: bool):
    """A forest for pairs; a quick one is small."""
    return lambda data, seed: PairForest(trees=20 if quick else 100, absent=2, seed=seed)


REAL = RealData(files, read)
DOMAIN = Domain(INFO, data, methods, random=permutations, table=square, real=REAL, story=story, published=True)
