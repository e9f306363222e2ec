"""Pages of the site that lie elsewhere in the project than in docs: README, changelog, examples, figures of benchmarks.

They come along where a page links to them, so that links lead to the same things on the site as in the repository.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from tools.markdown_links import links, resolved, with_links

ROOT = Path(__file__).parents[2]
MOVED = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
ROOTS = (*MOVED, "examples/README.md", "benchmarks/README.md")
BARE = re.compile(r"\[([\w./]+\.md)\]\(([^)#:\s]+\.md)\)")
TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
UNSEARCHED = "---\nsearch:\n  exclude: true\n---\n\n"  # a search for a name is to find its page
LANGUAGES = {".py": "python", ".toml": "toml", ".cu": "cuda", ".yml": "yaml"}


class Repository:
    """Which files of the project are on the site, and where."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self.places: dict[str, str] = {}
        pages = [path.relative_to(root).as_posix() for path in sorted((root / "docs").rglob("*.md"))]
        waiting = [*ROOTS, *pages]
        while waiting:
            path = waiting.pop()
            if path not in self.places and (self.root / path).exists():
                self.places[path] = self._place(path)
                waiting += self._targets(path)
        self.sources = {place: path for path, place in self.places.items()}

    def added(self) -> dict[str, str]:
        """Places on the site and paths in the project of what does not lie in docs."""
        return {place: path for path, place in self.places.items() if place != path.removeprefix("docs/")}

    def page(self, path: str) -> str:
        """Markdown for a file that is no picture: a page as it is, code in a fence, a folder as a list."""
        here = self.root / path
        if here.is_dir():
            files = sorted(file.name for file in here.iterdir() if file.is_file() and not file.name.startswith("."))
            return "\n".join([f"# {path}", "", *(f"- [{name}]({name})" for name in files)]) + "\n"
        text = here.read_text(encoding="utf-8")
        if here.suffix in LANGUAGES:
            return f"{UNSEARCHED}# {here.name}\n\n`{path}`\n\n````{LANGUAGES[here.suffix]}\n{text.rstrip()}\n````\n"
        return text

    def relinked(self, place: str, text: str) -> str:
        """A page with its links as they are on the site."""
        source = self.sources.get(place)
        if source is None:
            return text
        base = f"{source}/index.md" if (self.root / source).is_dir() else source
        text = BARE.sub(lambda match: self._titled(source, match), text)
        return with_links(text, lambda target: self._target(base, place, target))

    def _titled(self, source: str, match: re.Match[str]) -> str:
        """A link whose words are the name of a file, by the title of the page."""
        path, _ = resolved(source, match[2])
        name = posixpath.basename(path)
        if name != posixpath.basename(match[1]) or name == "README.md" or not (self.root / path).is_file():
            return match[0]
        title = TITLE.search((self.root / path).read_text(encoding="utf-8"))
        return f"[{title[1]}]({match[2]})" if title else match[0]

    def _target(self, source: str, place: str, target: str) -> str:
        path, anchor = resolved(source, target)
        there = self.places.get(path)
        if there is None or target.startswith("#"):
            return target
        relative = posixpath.relpath(there, posixpath.dirname(place) or ".")
        return f"{relative}#{anchor}" if anchor else relative

    def _targets(self, path: str) -> list[str]:
        here = self.root / path
        if here.is_dir():
            return [f"{path}/{file.name}" for file in here.iterdir() if file.is_file() and file.name[0] != "."]
        if here.suffix != ".md":
            return []
        return [resolved(path, target)[0] for _, target in links(here.read_text(encoding="utf-8"))]

    def _place(self, path: str) -> str:
        if path in MOVED:
            return MOVED[path]
        here = self.root / path
        if here.is_dir():
            return f"repository/{path}/index.md"
        if here.suffix in LANGUAGES:
            return f"repository/{path.removesuffix(here.suffix)}.md"
        return path.removeprefix("docs/") if path.startswith("docs/") else f"repository/{path}"
