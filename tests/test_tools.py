"""The tools that count: a small package, and the numbers that it must give."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tools import gallery, results_page, speed_figure
from tools.house_numbers import House

import foresolve
from foresolve._base.drawing.palette import COLORS

FILES = {
    "__init__.py": '"""One\n\ndocstring."""\n\n# and a comment\n__all__ = ["Problem", "fit"]\n',
    "problems/__init__.py": "",
    "problems/base.py": "class Problem: ...\n\nclass Linear(Problem): ...\n\nclass Path(Linear): ...\n",
    "losses/__init__.py": "",
    "losses/spo.py": '''
def value(batch, thing, path: str):
    """Three lines
    of a docstring
    do not count."""
    if isinstance(thing, (int, Path)) or hasattr(batch.problem, "n") or type(batch.problem) is int:
        return thing.problem  # type: ignore[union-attr]
    return isinstance(path, str), type(batch.problem).__name__, "# type: ignore"
''',
    "losses/names.py": "import re\ntitle = re.sub(' +', ' ', name).partition(': ')[0].replace(old, new).split()\n",
    "../../tests/test_a.py": "from package import fit\nimport package.problems\nfrom package.problems import base\n",
    "../../tests/test_b.py": "from package.losses.spo import (\n    title,\n    value,\n)\nraises(E, match='e')\n",
}


@pytest.fixture
def house(tmp_path: Path) -> House:
    for name, text in FILES.items():
        path = tmp_path / "src" / "package" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return House(tmp_path / "src" / "package")


def test_shared_code_counts_once_however_long(house: House) -> None:
    assert house.duplicates() == 0
    lines = "".join(f"    total += weights[{i}] * {i}\n" for i in range(9))
    for name in ("first", "second"):
        text = f"import os\n\n\ndef {name}(weights, total):\n{lines}    return {len(name)}\n"
        (house.root / "losses" / f"{name}.py").write_text(text)
    assert House(house.root).duplicates() == 1


def test_classes_are_followed_through_their_bases(house: House) -> None:
    assert house.problem_classes() == {"Problem", "Layer", "Linear", "Path"}


def test_only_questions_about_problems_and_layers_count(house: House) -> None:
    assert house.looks() == ["losses/spo.py:6"] * 3


def test_the_numbers(house: House) -> None:
    rows = house.rows()
    assert rows["modules"] == "6"
    assert rows["public names at the top"] == "2"
    assert rows["longest function"] == "4 (`losses/spo.py:value`)"
    assert rows["`type: ignore`"] == "1"
    assert rows["places that search or cut a text"] == "2"
    assert rows["`match=` in tests"] == "1"
    assert rows["imports of private modules in tests"] == "2"
    assert house.subpackages() == {
        "all": "21 (10)",
        "losses": "10 (6)",
        "modules at the top": "6 (1)",
        "problems": "5 (3)",
    }


def test_coverage_of_the_floors(tmp_path: Path) -> None:
    def summary(covered: int, total: int) -> dict[str, object]:
        return {"summary": {"covered_lines": covered, "num_statements": total}}

    files = {"src/foresolve/cli.py": summary(1, 2), "src/foresolve/sets/functions/sums.py": summary(3, 3)}
    (tmp_path / "coverage.json").write_text(json.dumps({"files": files}))
    script = Path(__file__).parents[1] / "tools" / "floor_coverage.py"
    command = [sys.executable, str(script), str(tmp_path / "coverage.json")]
    table = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert [line.split() for line in table.splitlines()[1:]] == [
        ["sets", "3", "100.0%"],
        ["top", "2", "50.0%"],
        ["all", "5", "80.0%"],
    ]


def test_the_page_of_results_is_filled_from_a_run(tmp_path: Path) -> None:
    runs, page = tmp_path / "runs", tmp_path / "results.md"
    (runs / "all-both" / "tables").mkdir(parents=True)
    for name in results_page.TABLES:
        (runs / "all-both" / "tables" / f"{name}.md").write_text(
            f"**{name}** {'word ' * 40}\n\n| a |\n| --- |\n| 1 |\n"
        )
        (runs / "all-both" / "tables" / f"{name}.csv").write_text("a\n1\n")
    (runs / "matching-paper" / "figures").mkdir(parents=True)
    (runs / "matching-paper" / "figures" / "values.png").write_bytes(b"png")
    blocks = "\n".join(f"<!-- {name} -->\nold\n<!-- /{name} -->\nbetween" for name in results_page.TABLES)
    page.write_text(f"# Results\n{blocks}\nend\n")
    tool = Path(results_page.__file__)
    for _ in range(2):  # again changes nothing
        subprocess.run([sys.executable, tool, runs, "--page", page], check=True)
        text = page.read_text()
        assert "old" not in text
        assert text.count("| a |\n| --- |\n| 1 |") == len(results_page.TABLES) == text.count("between")
        assert max(map(len, text.splitlines())) <= results_page.WIDTH
    assert (tmp_path / "results" / "claims.csv").read_text() == "a\n1\n"
    assert (tmp_path / "results" / "matching-paper-values.png").read_bytes() == b"png"
    page.write_text("# Results\n")
    assert subprocess.run([sys.executable, tool, runs, "--page", page], capture_output=True).returncode == 1


def test_the_gallery_is_the_same_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["perturbed_additive", "top_k"]
    for folder in ("first", "second"):
        monkeypatch.setattr(sys, "argv", ["gallery.py", str(tmp_path / folder), "--only", *names])
        gallery.main()
    first, second = ({path.name: path.read_bytes() for path in (tmp_path / f).iterdir()} for f in ("first", "second"))
    assert first == second
    assert sorted(first) == [f"{name}.png" for name in names]


def test_the_gallery_has_every_problem_and_layer() -> None:
    source = Path(gallery.__file__).read_text(encoding="utf-8")
    problems = kinds(foresolve.problems, foresolve.Problem)
    assert {name for name in problems if f"{name}(" not in source and f"{name}.grid(" not in source} == set()
    drawn = {type(layer).__name__ for layer in (*gallery.RESPONSES.values(), *gallery.PATHS.values())}
    assert kinds(foresolve.layers, foresolve.Layer) - {"SmoothedLayer"} == drawn
    page = (Path(gallery.__file__).parents[1] / "docs" / "figures.md").read_text(encoding="utf-8")
    assert set(re.findall(r"gallery/(\w+)\.png", page)) <= set(gallery.pictures())


def test_speeds_are_in_the_color_of_the_role_of_foresolve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the figure of the docs and in one that is drawn anew: no orange, which stands for two-stage training."""
    image = pytest.importorskip("matplotlib.image")
    colors = pytest.importorskip("matplotlib.colors")
    monkeypatch.setattr(sys, "argv", ["speed_figure", str(tmp_path / "speed.png")])
    speed_figure.main()
    for path in (tmp_path / "speed.png", Path(speed_figure.__file__).parents[1] / "docs" / "figures" / "speed.png"):
        pixels = image.imread(path)[..., :3].reshape(-1, 3)
        ours = abs(pixels - colors.to_rgb(COLORS["decision-focused"])).max(-1) < 0.01
        assert ours.sum() > 500
        red, _, blue = pixels.T
        assert not (red > blue + 0.3).any()


def kinds(floor: Any, base: type) -> set[str]:
    """The public classes of a floor that derive from another one."""
    things = {name: getattr(floor, name) for name in floor.__all__}
    return {name for name, thing in things.items() if isinstance(thing, type) and issubclass(thing, base)} - {
        base.__name__
    }
