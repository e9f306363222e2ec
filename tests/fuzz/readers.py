"""Reading, and looking at what came of it: an `Unsound` where it should not have been let in."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch

from foresolve import LinearProgram, Policy, TopK
from foresolve.data import TableFile, read_edges
from foresolve.data.real.archives import extract
from foresolve.data.real.cora import load_cora
from foresolve.data.real.movielens import load_movielens
from foresolve.errors import ForesolveError
from foresolve.learning.deployment import decision_files
from foresolve.learning.deployment.decisions import Decisions
from foresolve.learning.study.folder import Store
from foresolve.projects.run import Run as ProjectRun
from foresolve.projects.settings import Settings
from foresolve.projects.tables import records, study_table
from foresolve.reproduce.runs.folder import Run
from tests.fuzz import stored

SHAPES = ((12, 3), (2, 3, 3, 2))  # of the features that policies take


class Unsound(AssertionError):
    """Something was let in that should not have been."""


def check(sound: bool, what: str) -> None:
    if not sound:
        raise Unsound(what)


def read_policy(folder: Path) -> Any:
    policy = Policy.load(folder)
    answers = []
    for shape in SHAPES:
        try:
            decisions = policy(torch.rand(*shape, generator=torch.Generator().manual_seed(0)))
        except ForesolveError:
            continue
        check(bool(torch.isfinite(decisions.x).all()), "a decision is not finite")
        answers.append(decisions.x.tolist())
    return answers


def read_checkpoint(folder: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = stored.training(folder, 2, True)
        except ForesolveError as error:  # numbers that are sound in form, and too large to train on: `fit` says where
            if str(folder) in str(error) or not ("epoch" in str(error) or "finite" in str(error)):
                raise
            return None
    return [parameter.tolist() for parameter in model.parameters()]


def read_cache(folder: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = stored.data(folder / "best.npz").solve()
    best = stored.data().solve()
    check(
        data.decisions.shape == best.decisions.shape and bool(torch.allclose(data.values, best.values)), "not the best"
    )
    return data.decisions.tolist()


def read_decisions(folder: Path) -> Any:
    decisions = decision_files.read(folder / "decisions.safetensors", TopK(5, 2), Decisions)
    verified = decisions.verify()
    return [decisions.x.tolist(), decisions.keys.names, bool(verified)]


def read_study(folder: Path) -> Any:
    store = Store.open(folder, stored.IDENTITY, resume=True)
    for trial in store.trials.values():
        model = store.model(trial)
        with torch.no_grad():
            try:
                model(stored.features())
            except ForesolveError:
                continue
    check(store.plan is None or store.plan.epochs > 0, "no plan")
    check(store.plan is not None or not store.trials, "trials without a plan")
    return None


def read_reproduction(folder: Path) -> Any:
    run = Run.read(folder)
    _ = run.seconds, run.codes
    for record in run.records:
        check(np.isfinite(record.value) and np.isfinite(record.optimum), "a record is no number")
    for picture in run.pictures().values():
        check(all(np.isfinite(table).all() for table in picture.values()), "a picture is no table of numbers")
    with Run.open(folder, stored.CONFIG) as opened:
        return [record.key for record in opened.records]


def read_run(folder: Path) -> Any:
    run = ProjectRun.open(folder)
    scores = run.scores()
    check(len(scores) > 0, "no scores")
    study_table(run).markdown()
    return [records(run), run.verdict()]


def read_settings(folder: Path) -> Any:
    settings = Settings.read(folder)
    check(bool(settings.problem), "no problem")
    return None


def read_tables(folder: Path) -> Any:
    path = next(folder.iterdir(), folder / "table.csv")
    frame = TableFile(path).frame()
    check(len(set(frame.columns)) == len(frame.columns), "a column twice")
    for chunk in TableFile(path).chunks(7):
        check(len(chunk.columns) == len(frame.columns), "chunks of other columns")
    return None


def read_archive(folder: Path) -> Any:
    with tempfile.TemporaryDirectory() as target:
        extract(folder / "pack.bin", ["cora.cites", "cora.content"], Path(target), str(folder / "pack.bin"))
        names = {path.name for path in Path(target).rglob("*")}
    check(names <= {"cora.cites", "cora.content"}, f"{names} were written")
    return None


def read_model(folder: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = LinearProgram.from_mps(folder / "model")
    check(0 < program.n < 1000, "a program of another size")
    return None


def read_edge_list(folder: Path) -> Any:
    pairs = read_edges(folder / "edges.csv")
    check(all(len(pair) == 2 and all(pair) for pair in pairs), "a pair that is none")
    return None


def read_cora(folder: Path) -> Any:
    graph = load_cora(folder)
    check(bool(((graph.words == 0) | (graph.words == 1)).all()), "a word that is neither there nor not")
    check(bool((graph.edges < len(graph.ids)).all()), "a citation of no paper")
    return None


def read_movielens(folder: Path) -> Any:
    table = load_movielens(folder)
    check(bool(np.isfinite(table.ratings.data).all()), "a rating is no number")
    return None
