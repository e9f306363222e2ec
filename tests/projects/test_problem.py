from __future__ import annotations

from pathlib import Path

import torch

from foresolve.projects.problem import problem_of
from foresolve.projects.settings import Settings

DATA = '\n[data]\nfeatures = "f.csv"\nparameters = "p.csv"\nkey = "day"\n'


def settings(folder: Path, problem: str, **files: str) -> Settings:
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text)
    return Settings.parse("[problem]\n" + problem + DATA, folder / "foresolve.toml", files=False)


def test_paths(tmp_path: Path) -> None:
    """Nodes are numbers, names are not: zeros in front stay."""
    text = 'kind = "shortest-path"\nfile = "a.csv"\ntail = "u"\nhead = "v"\nname = "id"\nsource = 1\ntarget = 3'
    problem = problem_of(settings(tmp_path, text, a="id,u,v\n007,1,2\n008,2,3\n009,1,3\n"))
    assert problem.names == ("007", "008", "009")
    assert problem.words(problem.solve(torch.tensor([1.0, 1.0, 5.0]))) == [1, 2, 3]


def test_flows(tmp_path: Path) -> None:
    arcs = "from,to,room,name\na,b,2,x\nb,c,1,y\na,c,5,z\n"
    text = 'kind = "max-flow"\nfile = "a.csv"\nname = "name"\nsource = "a"\ntarget = "c"\ncapacity = "room"'
    problem = problem_of(settings(tmp_path, text, a=arcs))
    assert problem.solve(torch.ones(3)).tolist() == [1.0, 1.0, 5.0]
    text = 'kind = "min-cost-flow"\nfile = "a.csv"\nname = "name"\nnodes = "n.csv"\ncapacity = "room"'
    problem = problem_of(settings(tmp_path, text, a=arcs, n="node,supply\na,3\nb,0\nc,-3\n"))
    assert problem.solve(torch.tensor([1.0, 1.0, 9.0])).tolist() == [1.0, 1.0, 2.0]


def test_pairs(tmp_path: Path) -> None:
    pairs = "left,right\nann,dig\nann,cook\nbob,dig\nbob,cook\n"
    for kind in ("matching", "assignment"):
        problem = problem_of(settings(tmp_path, f'kind = "{kind}"\nfile = "a.csv"', a=pairs))
        assert problem.theta_axes == (("ann", "bob"), ("cook", "dig"))
    for sense, best in (("max", [("ann", "cook"), ("bob", "dig")]), ("min", [("ann", "dig"), ("bob", "cook")])):
        problem = problem_of(settings(tmp_path, f'kind = "assignment"\nfile = "a.csv"\nsense = "{sense}"', a=pairs))
        assert problem.words(problem.solve(torch.tensor([3.0, 1.0, 3.0, 2.0]))) == best


def test_items(tmp_path: Path) -> None:
    items = "item,weight,room\ntent,3,1\nstove,4,1\nrope,5,9\n"
    problem = problem_of(settings(tmp_path, 'kind = "knapsack"\nfile = "a.csv"\ncapacity = 8', a=items))
    worth = {"tent": 3.0, "stove": 4.0, "rope": 4.5}

    def chosen() -> set[str]:
        return set(problem.chosen(problem.solve(torch.tensor([worth[name] for name in problem.names or ()]))))

    assert chosen() == {"tent", "rope"}
    text = 'kind = "knapsack"\nfile = "a.csv"\nweight = ["weight", "room"]\ncapacity = [8, 2]'
    problem = problem_of(settings(tmp_path, text, a=items))
    assert chosen() == {"tent", "stove"}
    problem = problem_of(settings(tmp_path, 'kind = "top-k"\nfile = "a.csv"\nk = 1', a=items))
    assert chosen() == {"rope"}
    problem = problem_of(settings(tmp_path, 'kind = "top-k"\nfile = "a.csv"\nk = 1\nsense = "min"', a=items))
    assert chosen() == {"tent"}


def test_coverage(tmp_path: Path) -> None:
    text = 'kind = "coverage"\nfile = "a.csv"\nk = 1\ntargets = "t.csv"\nworth = "worth"'
    problem = problem_of(settings(tmp_path, text, a="item\nradio\nmail\n", t="target,worth\nann,1\nbob,9\n"))
    reach = torch.tensor([[0.9, 0.1], [0.1, 0.9]])
    assert problem.chosen(problem.solve(reach)) == ["mail"]


def test_mps(tmp_path: Path) -> None:
    (tmp_path / "m.mps").write_text(
        "NAME m\nROWS\n N cost\n G need\nCOLUMNS\n a cost 1 need 1\n b cost 2 need 1\nRHS\n rhs need 4\nENDATA\n"
    )
    problem = problem_of(settings(tmp_path, 'kind = "mps"\nfile = "m.mps"\npredict = ["b"]\nsense = "min"'))
    assert problem.theta_names == ("b",)
    assert problem.solve(torch.tensor([0.5])).tolist() == [0.0, 4.0]
