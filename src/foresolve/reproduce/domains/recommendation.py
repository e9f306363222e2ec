"""Diverse recommendation on MovieLens: which movies bring the most different actors."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from torch import nn

from foresolve._base import checks
from foresolve._base.randomness import generator
from foresolve.data.generated.movies import generate_movies
from foresolve.data.real.movielens import load_movielens, most_rated, movie_instances
from foresolve.data.real.registry import locate
from foresolve.layers.multilinear import MultilinearRelaxation
from foresolve.losses.prediction import CrossEntropy, PredictionLoss
from foresolve.models.forest import RandomForest
from foresolve.report.records import Config, DomainInfo
from foresolve.reproduce.domains.coverage import annealing, drawn, network, problems, random_sets, through_layer
from foresolve.reproduce.domains.domain import Domain
from foresolve.reproduce.domains.methods import Best, Chance, Forest, Instances, Method, Network, Rule

INFO = DomainInfo(
    name="recommendation",
    title="Diverse recommendation",
    story=(
        "Movies, their actors, and the ratings of 2,113 users (MovieLens, HetRec 2011). The topics are the 500 actors "
        "with the most movies; each of 101 instances has 100 movies. From the ratings of a movie it is predicted which "
        "of the actors play in it; k movies are chosen, and the value is the number of different actors in them.",
        "`Most rated` takes the movies with the most ratings: it learns nothing. Movies beyond 101 x 100 are left out, "
        "by seed.",
        "Without the published files, instances are generated: popular movies have more of the frequent actors, and "
        "users' tastes go with genres.",
    ),
    ks=(5, 10, 20),
    table2_k=10,
    measures=("cross_entropy", "auc"),
    rows="movies",
    columns="actors",
    figure_methods=("NN2-2Stage", "NN2-Decision"),
    heuristics=("Most rated",),
)
PUBLISHED_RATINGS = 855_598
TOPICS, FEWEST = 500, 1000  # ten instances: fewer leave nothing to split


def files(data: Path) -> list[Path]:
    """The published files in a folder of real data."""
    return locate("movielens", data, "data")


def read(data: Path) -> str:
    table = load_movielens(files(data)[0].parent)
    share = table.ratings.nnz / PUBLISHED_RATINGS
    if len(table.actor_names) < TOPICS or len(table.movies) < FEWEST:
        found = f"{len(table.actor_names)} and {len(table.movies)}"
        raise checks.fail("data", f"files with at least {TOPICS} actors and {FEWEST} movies", found)
    counts = f"{len(table.movies):,} movies, {table.ratings.nnz:,} ratings, {share:.0%} of the published ones"
    return f"the HetRec 2011 MovieLens files ({counts})"


def build(config: Config) -> Instances:
    if config.data is None:
        count, size, topics, users = (40, 50, 100, 300) if config.quick else (101, 100, 500, 2113)
        made = generate_movies(count, size=size, topics=topics, users=users, generator=generator(config.seed, 0))
    else:
        table = load_movielens(files(Path(config.data))[0].parent)
        made = movie_instances(table, seed=config.seed)
    items, topics = made.theta.shape[1:]
    extra = {"quick": config.quick}
    return Instances(made.features, made.theta, problems(items, config.ks), random_sets, (items, topics), extra)


def methods(config: Config) -> dict[str, Method]:
    ends: dict[str, Method] = {
        "RF-2Stage": Forest(forest),
        "Most rated": Rule(lambda data: partial(most_rated, topics=data.theta.shape[-1])),
        "Random": Chance(),
        "OPT": Best(),
    }
    if config.protocol == "paper":
        return {
            "NN1-Decision": drawn(1, None, "plain", draws=400, lr=1e-4),
            "NN2-Decision": drawn(2, None, "plain", draws=400, lr=1e-4),
            "NN1-2Stage": drawn(1, PredictionLoss(nn.BCEWithLogitsLoss(reduction="none")), "plain", draws=2000),
            "NN2-2Stage": drawn(2, CrossEntropy(), "plain", draws=2000),
        } | ends
    epochs = 10 if config.quick else 8
    fit = partial(Network, layer=MultilinearRelaxation, epochs=epochs, batch_size=16, patience=3)
    made: dict[str, Method] = {}
    for layers in (1, 2):
        settings = tuple({"lr": 1e-3, "gamma": gamma} for gamma in (0.3, 1.0))
        made[f"NN{layers}-Decision"] = fit(network(layers), through_layer, settings=settings)
    for layers, rates in ((1, (1e-5, 1e-4)), (2, (1e-4, 1e-3))):
        settings = tuple({"lr": lr} for lr in rates)
        made[f"NN{layers}-2Stage"] = fit(
            network(layers), lambda setting: CrossEntropy(), settings=settings, epochs=2 * epochs
        )
    annealed = fit(network(1), through_layer, settings=({"lr": 1e-3, "gamma": 1.0},), anneal=annealing)
    return made | {"NN1-Annealed": annealed} | ends


def forest(data: Instances, seed: int) -> RandomForest:
    quick = data.extra["quick"]
    return RandomForest(
        20 if quick else 100, max_rows=500 if quick else 1000, seed=seed, options={"max_features": "sqrt"}
    )


DOMAIN = Domain(INFO, files, read, build, methods)
