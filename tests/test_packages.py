"""What the packages, the citation and the release say of themselves."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

from tools.markdown_links import links
from tools.package import lacking_in_sdist, lacking_in_wheel, source_files
from tools.pypi_description import description

import foresolve

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_version_has_one_source() -> None:
    assert "version" in PROJECT["project"]["dynamic"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/foresolve/__init__.py"
    assert version("foresolve") == foresolve.__version__


def test_the_citation_is_of_this_version() -> None:
    lines = (ROOT / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    said = dict(line.split(": ", 1) for line in lines if re.match(r"[a-z-]+: ", line))
    assert said["cff-version"] == "1.2.0"
    assert said["title"] == PROJECT["project"]["name"]
    assert said["version"] == foresolve.__version__
    assert said["license"] == PROJECT["project"]["license"]
    assert said["url"] == PROJECT["project"]["urls"]["Documentation"]
    assert said["repository-code"] == PROJECT["project"]["urls"]["Source"]


def test_the_page_on_installation_has_every_extra_and_what_it_brings() -> None:
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|$", page, re.MULTILINE))
    for_users = {name: needs for name, needs in PROJECT["project"]["optional-dependencies"].items()
                 if name not in ("dev", "docs")}  # fmt: skip
    assert set(rows) == set(for_users)
    for name, needs in for_users.items():
        packages = {re.match(r"[\w-]+", need)[0] for need in needs} - {"foresolve"}  # type: ignore[index]
        extras = {extra for need in needs for extra in re.findall(r"foresolve\[([\w,]+)\]", need)}
        named = packages | {word for extra in extras for word in extra.split(",")}
        assert set(re.findall(r"[\w-]+", rows[name].replace(", and", ","))) == named, name


def test_an_error_about_an_extra_names_one_that_exists() -> None:
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    named = {extra for group in re.findall(r"foresolve\[([\w,]+)\]", text) for extra in group.split(",")}
    named |= set(re.findall(r'\bneed\("[\w.]+", [^()]*?, "(\w+)"[,)]', text))
    assert {"cvxpy", "ray", "learn"} <= named <= set(PROJECT["project"]["optional-dependencies"])


def test_the_changelog_has_a_section_for_this_version() -> None:
    assert f"## [{foresolve.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_what_the_sdist_names_exists() -> None:
    for path in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]:
        assert (ROOT / path.removeprefix("/")).exists(), path


def test_what_a_package_lacks_is_told() -> None:
    files = set(source_files())
    assert {"foresolve/py.typed", "foresolve/solvers/projection/matching.cu"} <= files
    assert lacking_in_wheel(files) == []
    assert lacking_in_wheel(files - {"foresolve/py.typed"}) == ["foresolve/py.typed"]
    names = {f"src/{name}" for name in files}
    assert {"CONTRIBUTING.md", "SECURITY.md"} <= set(lacking_in_sdist(names))
    assert "src/foresolve/py.typed" in lacking_in_sdist(names - {"src/foresolve/py.typed"})


def test_every_link_and_picture_of_the_description_leads_somewhere_from_pypi() -> None:
    text = description()
    assert "readme" in PROJECT["project"]["dynamic"]
    assert list(links(text)) == []
    site, source = (PROJECT["project"]["urls"][name] for name in ("Documentation", "Source"))
    assert f"]({site}/figures/two_routes.png)" in text
    assert f"]({site}/install.html)" in text
    assert f"]({source}/blob/main/examples/two_routes.py)" in text


def test_a_release_checks_that_its_tag_is_the_version() -> None:
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    pattern = re.search(r"sed -n 's/(.*?)/", workflow)
    assert pattern is not None
    source = (ROOT / "src" / "foresolve" / "__init__.py").read_text(encoding="utf-8")
    python_pattern = pattern[1].replace(r"\(", "(").replace(r"\)", ")")
    assert re.findall(python_pattern, source, re.MULTILINE) == [foresolve.__version__]
