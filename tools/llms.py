"""llms.txt, the project in a page for language models: `python tools/llms.py` writes it; a test demands it fresh."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:  # a script sees its own folder
    sys.path.insert(0, str(ROOT))

from tools.public_names import FLOORS, about, public_names  # noqa: E402
from tools.website.reference import url  # noqa: E402

PAGE = ROOT / "llms.txt"


def main() -> None:
    PAGE.write_text(text(), encoding="utf-8")


def text() -> str:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    site = project["urls"]["Documentation"]
    how = "`pip install foresolve`, `import foresolve`. Objectives are maximized; tensors are `(*batch, ...)`."
    lines = [f"# {project['name']}", "", f"> {project['description']}", "", how, "", "## Pages", ""]
    for page in sorted((ROOT / "docs").rglob("*.md")):
        place = page.relative_to(ROOT / "docs").with_suffix(".html").as_posix()
        title = page.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
        lines.append(f"- [{title}]({site}/{place})")
    for floor in FLOORS:
        lines += ["", f"## foresolve.{floor}", "", about(floor), ""]
        lines += [f"- [{name.short}]({site}/{url(name)}): {name.summary}" for name in public_names(floor)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
