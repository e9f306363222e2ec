"""What the site is made with: Markdown from docstrings, links, pages from elsewhere, names, notebooks."""

from __future__ import annotations

import inspect
import json
import pkgutil
import re
from importlib import import_module
from pathlib import Path

import pytest
from tools import llms
from tools.check_links import broken
from tools.markdown_links import anchors, links, resolved, slug, with_links
from tools.notebooks import notebook, on_the_site
from tools.public_names import FLOORS, PublicName, first_sentence, public_names
from tools.website.docstrings import as_markdown
from tools.website.formulas import Formulas
from tools.website.outside import fetched
from tools.website.packages import KATEX
from tools.website.reference import Reference, documented, inherited, place
from tools.website.repository import Repository

import foresolve
from foresolve import errors, problems

ROOT = Path(__file__).parents[1]
NAMES = [name for floor in FLOORS for name in public_names(floor)]
# Errors and warnings are what goes wrong; the others are what a call gives back, or need files, clusters or hours.
WITHOUT_EXAMPLE = {
    "data": {"CitationGraph", "Encoding", "FrameReader", "Keys", "MarketRule", "MovieTable", "PolynomialDataset",
             "PolynomialRule", "PortfolioDataset", "SOURCES", "cora_data", "fetch_source", "load_cora", "load_warcraft",
             "movielens_data"},
    "layers": {"Combination", "Duals", "MultilinearSolution", "SmoothedLayer", "Solution", "Status"},
    "learning": {"Certificate", "Comparison", "History", "Monitoring", "Report", "Study", "StudyInterrupted",
                 "StudyProgress", "Verdict", "Verification"},
    "models": {"BilinearPairs"},
    "problems": {"Ending", "Feasibility", "Incumbent", "TRAITS", "Trait", "Violation"},
    "projects": {"Decided", "NoDecisionError", "Run", "RunComparison", "Settings", "compare_scores",
                 "decide_file"},
    "report": {"run_page"},
    "sets": {"ClosedForm", "Local", "MatroidProjection", "Parts", "PolyhedralMatroid"},
    "testing": {"ConformanceError", "ConformanceReport", "Finding", "GradientReport", "MachineReport"},
}  # fmt: skip

DOCSTRING = r"""The nearest point, with :math:`x \ge
0`.

.. math::
    \min_x \; |x - y|^2 \quad \text{s.t.} \quad
    A x = b

A text with `theta`.

Parameters
----------
theta, y: what is projected; see :math:`y`.

    - a list
    - in an item
tol: a tolerance,
    of rows.

Works with: anything.

Examples
--------
>>> 1 + 1  # doctest: +SKIP
2

And on.
"""
MARKDOWN = r"""The nearest point, with \(x \ge 0\).

\[
\min_x \; |x - y|^2 \quad \text{s.t.} \quad
A x = b
\]

A text with `theta`.

**Parameters**

`theta`, `y`
:   what is projected; see \(y\).

    - a list
    - in an item

`tol`
:   a tolerance,
    of rows.

Works with: anything.

**Examples**

```pycon
>>> 1 + 1
2
```

And on."""


def test_a_docstring_as_markdown() -> None:
    assert as_markdown(DOCSTRING) == MARKDOWN


def test_a_formula_may_stand_on_the_line_of_its_directive() -> None:
    assert as_markdown("    .. math:: a = b\n\nText") == "    \\[\n    a = b\n    \\]\n\nText"


def test_nothing_of_sphinx_is_left_on_any_page() -> None:
    for name in NAMES:
        members = [getattr(name.thing, member) for member in documented(name.thing)] if name.is_class else []
        for docstring in [name.docstring, *(inspect.cleandoc(member.__doc__) for member in members)]:
            text = as_markdown(docstring)
            assert not re.search(r":math:|\.\. \w+::|^-{3,}$", text, re.MULTILINE), name.address
            assert text.count("```") % 2 == 0, name.address


def test_inherited_members_are_shown_or_linked() -> None:
    public = Reference().by_class
    shown, linked = inherited(problems.LinearProgram, public)
    assert {"from_mps", "parametrized"} <= set(shown)  # of bases that have no page
    assert {base.name for base in linked} == {"Problem"}
    shown, linked = inherited(problems.Knapsack, public)
    assert shown == []
    assert {base.name: "from_mps" in members for base, members in linked.items()} == {
        "LinearProgram": True,
        "Problem": False,
    }


@pytest.mark.skipif(not KATEX.exists(), reason="KaTeX is not installed; `make docs` installs it")
def test_formulas_are_rendered_and_wrong_ones_told() -> None:
    formulas = Formulas()
    page = r'<p><span class="arithmatex">\(a &lt; b\)</span>, <div class="arithmatex">\[ \wrong{ \]</div></p>'
    filled = formulas.fill(page)
    formulas.close()
    assert filled.startswith('<p><span class="arithmatex"><span class="katex">')
    assert ",</span> " in filled  # the comma stays with its formula
    assert filled.endswith(r'<div class="arithmatex">\[ \wrong{ \]</div></p>')
    assert [r"\wrong{" in error for error in formulas.errors] == [True]


def test_what_a_page_would_fetch_from_elsewhere() -> None:
    page = '<a href="https://a.b">x</a><img src="c.png"><link rel="canonical" href="https://d.e"><script src="x.js">'
    assert fetched(page) == []
    page += '<img alt="x" src="https://f.g/h?i&amp;j"><link href="//k.l/m.css" rel="stylesheet">'
    assert fetched(page) == ["https://f.g/h?i&j", "//k.l/m.css"]


def test_links_and_anchors_as_github_reads_them() -> None:
    page = '# A `b`: c\n\n[x](y.md#z) `[no](code)` <img src="i.png"> [net](https://a.b)\n\n```\n[no](fence)\n```\n'
    page += "## A\n## A\n"
    assert list(links(page)) == [(3, "y.md#z"), (3, "i.png")]
    assert anchors(page) == {"a-b-c", "a", "a-1"}
    assert slug("What `paper` follows, and what [differs](x.md)") == "what-paper-follows-and-what-differs"
    assert '[x](Y.MD#Z) `[no](code)` <img src="I.PNG">' in with_links(page, str.upper)
    assert resolved("docs/a.md", "../README.md#x") == ("README.md", "x")
    with pytest.raises(ValueError, match="leads out of the project"):
        resolved("docs/a.md", "../../x")


def test_the_links_of_the_project_lead_somewhere() -> None:
    assert list(broken(ROOT)) == []


def test_broken_links_are_told(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("# Top\n[a](docs/a.md#there) [b](docs/b.md) [c](#top)\n")
    (tmp_path / "docs" / "a.md").write_text("# There\n[up](../README.md#nope)\n")
    assert list(broken(tmp_path)) == [
        "README.md:2: docs/b.md does not exist",
        "docs/a.md:2: ../README.md#nope: no heading of that name",
    ]


def test_pages_from_elsewhere_come_along_where_they_are_linked(tmp_path: Path) -> None:
    files = {
        "README.md": "# Front\n[a](docs/a.md) [tool](examples/tool.py) [folder](docs/results)\n",
        "docs/a.md": "# Page A\n[a.md](a.md) [up](../README.md#front) [numbers](../bench/n.csv)\n",
        "docs/results/t.csv": "1\n", "examples/tool.py": "print()\n", "examples/other.py": "", "bench/n.csv": "2\n",
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    repository = Repository(tmp_path)
    assert repository.added() == {
        "index.md": "README.md",
        "repository/examples/tool.md": "examples/tool.py",
        "repository/docs/results/index.md": "docs/results",
        "repository/bench/n.csv": "bench/n.csv",
    }
    front = repository.relinked("index.md", files["README.md"])
    assert "[a](a.md) [tool](repository/examples/tool.md) [folder](repository/docs/results/index.md)" in front
    page = repository.relinked("a.md", files["docs/a.md"])
    assert "[Page A](a.md) [up](index.md#front) [numbers](repository/bench/n.csv)" in page
    folder = repository.relinked("repository/docs/results/index.md", repository.page("docs/results"))
    assert "[t.csv](../../../results/t.csv)" in folder
    assert "````python\nprint()\n````" in repository.page("examples/tool.py")


def test_the_navigation_names_every_page() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2].partition("\nvalidation:")[0]
    named = re.findall(r"(?:- |: )([\w/]+\.md)$", text, re.MULTILINE)
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    elsewhere = {place for place in Repository().added() if place.endswith(".md")}
    assert len(named) == len(set(named))
    assert pages - set(named) == set(), "mkdocs.yml does not list these pages of docs"
    assert set(named) - pages <= elsewhere


def test_the_reference_has_every_floor_with_public_names() -> None:
    modules = (module.name for module in pkgutil.iter_modules(foresolve.__path__) if module.name[0] != "_")
    public = {name for name in modules if getattr(import_module(f"foresolve.{name}"), "__all__", ())}
    assert public - {"cli"} == set(FLOORS)  # the shell has a page of its own
    assert set(foresolve.__all__) <= {name.name for name in NAMES}


def test_the_reference_has_a_page_for_each_name() -> None:
    reference = Reference()
    pages = dict(reference.pages())
    assert len(pages) == 1 + len(FLOORS) + len(NAMES)
    assert len({page.lower() for page in pages}) == len(pages)  # also where file names know no case
    for name in NAMES:
        assert f"::: {name.address}\n" in pages[place(name)]
        assert f"[`{name.name}`]" in pages[f"api/{name.floor}/index.md"]
    text = "<code>Knapsack</code> <code>fit</code> <a><code>TopK</code></a> docs/linear.md"
    assert reference.linked(text, "../") == (
        '<a href="../api/problems/Knapsack.html"><code>Knapsack</code></a> <code>fit</code> <a><code>TopK</code></a> '
        '<a href="../linear.html">docs/linear.md</a>'
    )
    html = reference.with_import("<h1>fit</h1>rest", "api/learning/fit-function.md")
    assert html == "<h1>fit</h1><p><code>from foresolve import fit</code></p>rest"


@pytest.mark.parametrize("name", NAMES, ids=lambda name: name.address)
def test_each_public_name_has_a_summary(name: PublicName) -> None:
    assert name.summary, f"{name.address} has no docstring"
    assert len(name.summary) <= 240, name.summary


@pytest.mark.parametrize("floor", [floor for floor in FLOORS if floor not in ("errors", "reproduce")])
def test_public_names_show_an_example(floor: str) -> None:
    """`foresolve.reproduce` is described by its own page: its names work on runs of hours."""
    lacking = {
        name.name for name in public_names(floor) if ">>>" not in name.docstring and name.name not in errors.__all__
    }
    assert lacking == WITHOUT_EXAMPLE.get(floor, set())


def test_first_sentences() -> None:
    assert first_sentence("Items :math:`x` that fit; `theta` are worths.\n\nMore.") == "Items `x` that fit"
    assert first_sentence("As in Wilder (AAAI\n2019): steps. **Then** more. And.") == "As in Wilder (AAAI 2019): steps."


def test_the_page_for_language_models_is_fresh() -> None:
    assert llms.PAGE.read_text(encoding="utf-8") == llms.text(), "run `make llms`"


def test_a_notebook_from_a_page() -> None:
    page = "# Title\n\nText.\n\n```python\nx = 1\nprint(x)\n```\n\nMore\n\n## Two\n\n```python no-run\nlong()\n```\n"
    page += "\n```python needs ray\nimport ray\n```\n"
    cells = json.loads(notebook(page))["cells"]
    assert [(cell["cell_type"], "".join(cell["source"])) for cell in cells] == [
        ("markdown", "# Title\n\nText."),
        ("code", "x = 1\nprint(x)"),
        ("markdown", "More"),
        ("markdown", "## Two\n\n```python no-run\nlong()\n```"),
        ("code", "import ray"),
    ]
    assert len({cell["id"] for cell in cells}) == len(cells)
    assert notebook(page) == notebook(page)


def test_links_of_a_notebook_lead_to_the_site() -> None:
    assert re.fullmatch(r"https://\S+/linear\.html#rows", on_the_site("docs/tutorials/a.md", "../linear.md#rows"))
    assert on_the_site("docs/tutorials/a.md", "../../examples/matching.py").endswith("/blob/main/examples/matching.py")
