"""Diverse recommendation on MovieLens: which movies bring the most different actors."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from torch import nn

from foresolve._base import checks
from foresolve._base.randomness import generator
from foresolve.data.dataset import DecisionDataset
from foresolve.data.generated.movies import movie_data
from foresolve.data.real.movielens import load_movielens, movielens_data
from foresolve.data.real.registry import locate
from foresolve.layers.multilinear import MultilinearRelaxation
from foresolve.layers.wilder_multilinear import WilderMultilinear
from foresolve.losses.prediction import CrossEntropy, PredictionLoss
from foresolve.models.similarity import most_rated
from foresolve.report.records import Config, DomainInfo, MethodInfo
from foresolve.reproduce.domains.coverage import (
    TEN_STEPS,
    annealing,
    budgeted,
    by_recipe,
    forest,
    items,
    network,
    random_sets,
    through_layer,
)
from foresolve.reproduce.domains.domain import Domain, RealData, Source
from foresolve.reproduce.domains.methods import (
    METHODS,
    YARDSTICKS,
    ForestMethod,
    Method,
    Minibatch,
    NetworkMethod,
    RuleMethod,
)

INFO = DomainInfo(
    name="recommendation",
    title="Diverse recommendation",
    story=(),
    ks=(5, 10, 20),
    table2_k=10,
    measures=("cross_entropy", "auc"),
    rows="movies",
    columns="actors",
    figure_methods=("NN2-2Stage", "NN2-Decision"),
    methods={
        **METHODS,
        "Most rated": MethodInfo("heuristic", words="takes the movies with the most ratings; learns nothing"),
    },
)
PUBLISHED_RATINGS = 855_598
TOPICS, FEWEST = 500, 1000  # ten instances: fewer leave nothing to split
QUICK_MOVIES = 50
SIZES, QUICK_SIZES = (101, 100, TOPICS, 2113), (40, QUICK_MOVIES, 100, 300)


def files(folder: Path) -> list[Path]:
    """The published files in a folder of real data."""
    return locate("movielens", folder, "data")


def read(folder: Path) -> Source:
    table = load_movielens(files(folder)[0].parent)
    share = table.ratings.nnz / PUBLISHED_RATINGS
    if len(table.actor_names) < TOPICS or len(table.movies) < FEWEST:
        sizes = f"{len(table.actor_names)} and {len(table.movies)}"
        raise checks.fail("data", f"files with at least {TOPICS} actors and {FEWEST} movies", sizes)
    counts = f"{len(table.movies):,} movies, {table.ratings.nnz:,} ratings, {share:.0%} of the published ones"
    return Source(f"the HetRec 2011 MovieLens files ({counts})", share)


def sizes(config: Config) -> tuple[int, int, int, int]:
    """Instances, movies of each, actors and users."""
    return QUICK_SIZES if config.quick else SIZES


def story(config: Config) -> tuple[str, ...]:
    """For a reader, of this run."""
    count, size, topics, users = sizes(config)
    real = (
        f"Movies, their actors, and the ratings of users (MovieLens, HetRec 2011). The topics are the {TOPICS} actors "
        f"with the most movies; each instance has {size} movies, up to {count} instances, drawn by seed."
    )
    generated = (
        f"Movies, their actors, and ratings are generated: {count} instances of {size} movies, {topics} actors, "
        f"{users:,} users. Popular movies have more of the frequent actors, and users' tastes go with genres."
    )
    return (
        f"{generated if config.data is None else real} From the ratings of a movie it is predicted which of the actors "
        "play in it; k movies are chosen, and the value is the number of different actors in them.",
        "`Most rated` takes the movies with the most ratings: it learns nothing.",
    )


def data(config: Config) -> DecisionDataset:
    """Generated instances, or those of the published files in a folder of real data."""
    if config.data is not None:
        return movielens_data(files(Path(config.data))[0].parent, seed=config.seed)
    count, size, topics, users = sizes(config)
    return movie_data(count, size=size, topics=topics, users=users, seed=generator(config.seed, 0))


def methods(config: Config) -> dict[str, Method]:
    heuristic: dict[str, Method] = {
        "Most rated": RuleMethod(lambda data: partial(most_rated, topics=data.theta.shape[-1]))
    }
    if config.protocol == "paper":
        return _published(config.quick) | heuristic | TEN_STEPS
    ends = {"RF-2Stage": ForestMethod(forest(config.quick)), **heuristic, **YARDSTICKS}
    epochs = 10 if config.quick else 8
    fit = partial(NetworkMethod, layer=MultilinearRelaxation, epochs=epochs, batch_size=16, patience=3)
    networks: dict[str, Method] = {}
    for layers in (1, 2):
        settings = tuple({"lr": 1e-3, "gamma": gamma} for gamma in (0.3, 1.0))
        networks[f"NN{layers}-Decision"] = fit(network(layers), through_layer, settings=settings)
    for layers, rates in ((1, (1e-5, 1e-4)), (2, (1e-4, 1e-3))):
        settings = tuple({"lr": lr} for lr in rates)
        networks[f"NN{layers}-2Stage"] = fit(
            network(layers), lambda setting: CrossEntropy(), settings=settings, epochs=2 * epochs, per_k=False
        )
    annealed = fit(network(1), through_layer, settings=({"lr": 1e-3, "gamma": 1.0},), anneal=annealing)
    return networks | {"NN1-Annealed": annealed} | ends


def _published(quick: bool) -> dict[str, Method]:
    """The text's learning rate is 1e-3, which is what is judged; the code's is 1e-4 in decision-focused training."""
    decision = partial(by_recipe, head="plain", draws=400, logits=True)
    two_stage = partial(by_recipe, head="plain", draws=2000, minibatch=Minibatch(10, items), logits=True)
    # The code's 1-layer network ends with a sigmoid, and its loss puts another one around that.
    twice = PredictionLoss(nn.BCEWithLogitsLoss(reduction="none"))
    return {
        "NN1-Decision": decision(1),
        "NN2-Decision": decision(2),
        "NN1-Decision (code rate)": decision(1, lr=1e-4),
        "NN2-Decision (code rate)": decision(2, lr=1e-4),
        "NN1-2Stage": two_stage(1, loss=twice),
        "NN2-2Stage": two_stage(2, loss=CrossEntropy()),
        "RF-2Stage": ForestMethod(forest(quick), WilderMultilinear, logits=True),
    }


DOMAIN = Domain(
    INFO,
    data,
    methods,
    budgeted,
    random=random_sets,
    real=RealData(files, read),
    largest_k=QUICK_MOVIES,
    story=story,
    published=True,
)
