"""The sound files: one small one of everything that foresolve stores or reads."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from foresolve import (
    BipartiteMatching,
    DecisionLoss,
    LinearProgram,
    Policy,
    ShortestPath,
    SubmodularProblem,
    TopK,
    UniformMatroid,
    fit,
)
from foresolve.data import DecisionDataset
from foresolve.layers import QuadraticRelaxation
from foresolve.learning.deployment import decision_files
from foresolve.learning.study.budget import Plan
from foresolve.learning.study.contrast import Contrast, MethodRow
from foresolve.learning.study.folder import Store
from foresolve.learning.study.methods import Family, MethodInfo
from foresolve.learning.study.trial import Trial
from foresolve.models import MLP, BoostedTrees, LinearRegression, NearestNeighbors, PairModel, RandomForest, ScikitLearn
from foresolve.projects import init
from foresolve.projects.run import POLICY, RECORD, RUN, SCORES, STUDY, STUDY_RESULT
from foresolve.projects.settings import NAME
from foresolve.report.records import Config, Course, Job, JobResult, Record
from foresolve.reproduce.runs.folder import Run
from foresolve.sets import PartitionMatroid, ProbabilisticCoverage

MPS = """NAME test
ROWS
 N COST
 L LIM1
 G LIM2
 E MYEQN
COLUMNS
    X1        COST         1.0   LIM1         1.0
    X1        LIM2         1.0
    MARKER    'MARKER'     'INTORG'
    X2        COST         2.0   LIM1         1.0
    X2        MYEQN       -1.0
    MARKER    'MARKER'     'INTEND'
    X3        COST        -1.0   MYEQN        1.0
RHS
    RHS       LIM1         4.0   LIM2         1.0
    RHS       MYEQN        7.0
RANGES
    RNG       LIM1         2.5
BOUNDS
 UP BND       X1           4.0
 LO BND       X2          -1.0
 UP BND       X2           1.0
QUADOBJ
    X1        X1           2.0
ENDATA
"""
LP = """min
 obj: 2 x + 3.5 y - z + [ x ^2 + 2 x * y + 3 y ^2 ] / 2
st
 c1: x + y <= 4
 c2: -2 <= x - z <= 5
 c3: x + y + z >= 1
bounds
 x <= 3
 -inf <= z <= 10
general
 y
end
"""


def features(count: int = 12, width: int = 3, seed: int = 0) -> torch.Tensor:
    return torch.rand(count, width, generator=torch.Generator().manual_seed(seed))


def data(cache: Path | None = None) -> DecisionDataset:
    return DecisionDataset(features(), features(width=5, seed=1) + 0.1, TopK(5, 2), cache=cache)


def _flow_like() -> LinearProgram:
    return LinearProgram(A_ub=torch.ones(1, 5), b_ub=torch.tensor([2.0]), bounds=(0.0, 1.0))


POLICIES: tuple[Callable[[], Policy], ...] = (
    lambda: Policy(MLP(3, 5, hidden=(4,), seed=0), TopK(5, 2), feature_names=["a", "b", "c"]),
    lambda: Policy(PairModel(2, 2, hidden=4, seed=0), BipartiteMatching(3, 3)),
    lambda: Policy(LinearRegression().fit(data()), _flow_like()),
    lambda: Policy(RandomForest(3, seed=0).fit(data()), TopK(5, 2)),
    lambda: Policy(BoostedTrees(3).fit(data()), TopK(5, 2)),
    lambda: Policy(NearestNeighbors(2).fit(data()), TopK(5, 2)),
    lambda: Policy(MLP(3, ShortestPath.grid(2, 3).n, seed=0), ShortestPath.grid(2, 3)),
    lambda: Policy(
        MLP(3, (5, 4), head="probability", seed=0),
        SubmodularProblem(ProbabilisticCoverage(torch.ones(4)), UniformMatroid(5, 2)),
    ),
    lambda: Policy(
        MLP(3, (4, 2), head="probability", seed=0),
        SubmodularProblem(ProbabilisticCoverage(), PartitionMatroid([0, 0, 1, 1], 1)),
    ),
)


def write_policy(folder: Path, number: int) -> list[Path]:
    POLICIES[number]().save(folder)
    return sorted(folder.iterdir())


def write_estimator(folder: Path, number: int) -> list[Path]:
    from sklearn.linear_model import Ridge

    Policy(ScikitLearn(Ridge()).fit(data()), TopK(5, 2)).save(folder)
    return sorted(folder.glob("*.skops"))


def training(folder: Path, epochs: int, resume: bool) -> torch.nn.Module:
    """A short one, with a checkpoint."""
    model = MLP(3, 5, seed=0)
    loss = DecisionLoss(QuadraticRelaxation(gamma=0.5))
    fit(model, loss, data(), data(), epochs=epochs, checkpoint=folder, resume=resume, lr=0.01, patience=None)
    return model


def write_checkpoint(folder: Path, number: int) -> list[Path]:
    training(folder, 1, False)
    return list(folder.glob("*.safetensors"))


def write_cache(folder: Path, number: int) -> list[Path]:
    data(folder / "best.npz").solve()
    return [folder / "best.npz"]


def write_decisions(folder: Path, number: int) -> list[Path]:
    decisions = POLICIES[0]()(features())
    _ = decisions.certificate
    decision_files.write(folder / "decisions.safetensors", decisions)
    return [folder / "decisions.safetensors"]


IDENTITY = {"seed": 0, "settings of ridge": {"class": "Ridge", "tries": [{"factor": 1.0}]}}


def write_study(folder: Path, number: int) -> list[Path]:
    store = Store.open(folder, IDENTITY, resume=False)
    store.begin(Plan(3, 10, 2, {"ridge": 0.1}, ("a note",)))
    for trial in range(2):
        model = LinearRegression().fit(data()) if trial else MLP(3, 5, seed=0)
        done = Trial("ridge", Family.TWO_STAGE, trial, {"factor": 1.0}, 0.5, 0.1)
        store.add(done, model, keep=True)
    return sorted(path for path in folder.rglob("*") if path.is_file())


COURSE: Course = {"regret": [None, 0.5], "mse": [1.0, 2.0]}
CONFIG = Config("budget", splits=2, ks=(5, 10), methods=("NN1-Decision", "OPT"), quick=True)


class Nobody:
    """An engine that does nothing."""

    about = {"engine": "nobody", "workers": 1}  # noqa: RUF012

    def map(self, work: object, tasks: object) -> object:
        return iter(())


def write_reproduction(folder: Path, number: int) -> list[Path]:
    with Run.open(folder, CONFIG) as run:
        run.begin_session(Nobody())  # pyright: ignore[reportArgumentType]
        for split in range(2):
            for method in CONFIG.methods:
                records = tuple(
                    Record("budget", split, method, k, 0.5 * k, None, float(k), mse=0.1, course=COURSE)
                    for k in CONFIG.ks
                )
                tables = {name: np.random.default_rng(0).random((2, 3)) for name in ("theta", "theta_hat")}
                run.add(Job("budget", split, method, CONFIG.ks), JobResult(records, tables if split == 0 else {}), 1.0)
    return sorted(path for path in folder.rglob("*") if path.suffix in (".json", ".jsonl", ".npz"))


def write_run(folder: Path, number: int) -> list[Path]:
    init("top-k", folder)
    for path in folder.iterdir():
        if path.name != NAME:
            path.unlink()
    info = MethodInfo("ridge", Family.TWO_STAGE, "linear regression")
    row = MethodRow(name="ridge", reference="ridge", method=info, value=1.0, regret=0.1)
    comparison = Contrast(
        reference="ridge", confidence=0.95, instances=2, units=2, blocks="", sense="max", rows=(row,)
    ).to_dict()
    STUDY_RESULT.write(folder / STUDY, {"verdict": {"answer": "pays", "sentence": "It pays."}, "units": "",
                                        "comparison": comparison, "reference": "ridge", "chosen": "ridge"})  # fmt: skip
    (folder / SCORES).write_text("method,instance,value,regret\nridge,0,1.0,0.1\nridge,1,2.0,0.0\n")
    POLICIES[0]().save(folder / POLICY)
    RUN.write(folder / RECORD, {"finished": "2026-01-01", "problem": "top-k", "policy": "ridge", "note": "",
                                "policies": [], "files": {}})  # fmt: skip
    return [folder / RECORD, folder / STUDY]


def write_settings(folder: Path, number: int) -> list[Path]:
    init("shortest-path", folder)
    return [folder / NAME]


def _frame():
    import pandas

    rng = np.random.default_rng(0)
    return pandas.DataFrame({"day": [f"2026-01-{i:02}" for i in range(1, 21)], "item": list("abcde") * 4,
                             "price": rng.random(20).round(3), "count": rng.integers(0, 99, 20)})  # fmt: skip


def write_csv(folder: Path, number: int) -> list[Path]:
    (folder / "table.csv").write_text(_frame().to_csv(index=False))
    return [folder / "table.csv"]


def write_csv_gz(folder: Path, number: int) -> list[Path]:
    (folder / "table.csv.gz").write_bytes(gzip.compress(_frame().to_csv(index=False).encode()))
    return [folder / "table.csv.gz"]


def write_parquet(folder: Path, number: int) -> list[Path]:
    _frame().to_parquet(folder / "table.parquet")
    return [folder / "table.parquet"]


def write_arrow(folder: Path, number: int) -> list[Path]:
    _frame().to_feather(folder / "table.arrow")
    return [folder / "table.arrow"]


def write_npz(folder: Path, number: int) -> list[Path]:
    rng = np.random.default_rng(0)
    np.savez_compressed(folder / "table.npz", day=np.arange(20), prices=rng.random((20, 3)))
    return [folder / "table.npz"]


def write_archive(folder: Path, number: int) -> list[Path]:
    content = {"pack/cora.cites": b"1 2\n2 3\n" * 20, "pack/cora.content": b"1\t0\t1\tA\n" * 20}
    target = io.BytesIO()
    if number == 0:
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in content.items():
                archive.writestr(name, text)
    else:
        with tarfile.open(fileobj=target, mode="w:gz") as tar:
            for name, text in content.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(text)
                tar.addfile(entry, io.BytesIO(text))
    (folder / "pack.bin").write_bytes(target.getvalue())
    return [folder / "pack.bin"]


def write_mps(folder: Path, number: int) -> list[Path]:
    text = MPS if number else MPS.replace("QUADOBJ\n    X1        X1           2.0\n", "")
    (folder / "model").write_text(
        text if not number else "\n".join(line for line in text.split("\n") if "MARKER" not in line)
    )
    return [folder / "model"]


def write_lp(folder: Path, number: int) -> list[Path]:
    text = LP.replace(" + [ x ^2 + 2 x * y + 3 y ^2 ] / 2", "") if number else LP.replace("general\n y\n", "")
    (folder / "model").write_text(text)
    return [folder / "model"]


def write_edges(folder: Path, number: int) -> list[Path]:
    (folder / "edges.csv").write_text("channel,customer\n" + "".join(f"{i % 7},{i}\n" for i in range(40)))
    return [folder / "edges.csv"]


def write_cora(folder: Path, number: int) -> list[Path]:
    lines = [f"{i}\t{i % 2}\t{(i // 2) % 2}\t1\tsubject{i % 3}\n" for i in range(30)]
    (folder / "cora.content").write_text("".join(lines))
    (folder / "cora.cites").write_text("".join(f"{i}\t{(7 * i + 1) % 30}\n" for i in range(30)))
    return [folder / "cora.content", folder / "cora.cites"]


def write_movielens(folder: Path, number: int) -> list[Path]:
    ratings = "".join(f"{i % 5}\t{i}\t{1 + i % 5}\n" for i in range(30))
    (folder / "user_ratedmovies.dat").write_text(f"userID\tmovieID\trating\n{ratings}")
    (folder / "movie_actors.dat").write_text("movieID\tactorID\n" + "".join(f"{i}\tann{i % 4}\n" for i in range(30)))
    return [folder / "user_ratedmovies.dat", folder / "movie_actors.dat"]
