"""Formulas are rendered when the site is built: pages need no script for them, and a wrong one fails the build."""

from __future__ import annotations

import html
import json
import re
import subprocess
from typing import Any

from tools.website.packages import HERE, node

MARKED = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>([,.;:)]*)', re.DOTALL)


class Formulas:
    """A process of Node that has KaTeX loaded, and what it has rendered."""

    def __init__(self) -> None:
        self.rendered: dict[tuple[str, bool], str] = {}
        self.errors: list[str] = []
        self.process: subprocess.Popen[str] | None = None

    def fill(self, page: str) -> str:
        """An HTML page with its formulas rendered; what KaTeX refuses is left, and told in `errors`."""
        return MARKED.sub(lambda match: self._filled(match), page)

    def _filled(self, match: re.Match[str]) -> str:
        tex, display = html.unescape(match[3]).strip(), match[2] == "["
        if (tex, display) not in self.rendered:
            answer = self._ask({"tex": tex, "display": display})
            if "error" in answer:
                self.errors.append(f"{answer['error']}, in the formula {tex}")
                return match[0]
            self.rendered[tex, display] = answer["html"]
        # No line starts with the comma after a formula.
        return f'<{match[1]} class="arithmatex">{self.rendered[tex, display]}{match[4]}</{match[1]}>'

    def _ask(self, formula: dict[str, Any]) -> dict[str, str]:
        if self.process is None:
            self.process = subprocess.Popen(
                [node(), str(HERE / "katex.js")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                encoding="utf-8",
            )  # fmt: skip
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(formula) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        if self.process is not None:
            self.process.communicate()
            self.process = None
