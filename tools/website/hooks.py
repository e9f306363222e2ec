"""What mkdocs calls while it builds the site."""

from __future__ import annotations

import logging
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from tools.notebooks import from_page, tutorials, urls
from tools.website.formulas import Formulas
from tools.website.outside import fetched
from tools.website.packages import assets, install
from tools.website.reference import Reference
from tools.website.repository import ROOT, Repository

import foresolve

log = logging.getLogger("mkdocs.hooks.foresolve")
reference, repository, formulas = Reference(), Repository(), Formulas()


def on_config(config: Any) -> Any:
    install()
    config.site_name = f"foresolve {foresolve.__version__}"
    config.copyright = f"foresolve {foresolve.__version__}, MIT license"
    config.site_url = urls()["Documentation"] + "/"
    config.extra["social"] = [{"icon": "fontawesome/brands/github", "link": urls()["Source"], "name": "Source"}]
    config.nav = [{"API": reference.nav()} if entry == {"API": "api/"} else entry for entry in config.nav]
    return config


def on_files(files: Files, config: Any) -> Files:
    for place, text in reference.pages():
        files.append(File.generated(config, place, content=text))
    for place, path in repository.added().items():
        if place.endswith(".md"):
            files.append(File.generated(config, place, content=repository.page(path)))
        else:
            files.append(File.generated(config, place, abs_src_path=str(ROOT / path)))
    extra = assets() | {"assets/site.css": Path(__file__).with_name("site.css"), "llms.txt": ROOT / "llms.txt"}
    for place, path in extra.items():
        files.append(File.generated(config, place, abs_src_path=str(path)))
    for page in tutorials():
        files.append(File.generated(config, f"tutorials/{page.stem}.ipynb", content=from_page(page)))
    return files


def on_page_markdown(markdown: str, page: Page, config: Any, files: Files) -> str:
    place = page.file.src_uri
    if f"docs/{place}" in {tutorial.relative_to(ROOT).as_posix() for tutorial in tutorials()}:
        markdown += f"\n[This page as a notebook]({Path(place).stem}.ipynb)\n"
    plain = re.sub(r"^```python (no-run|needs \w+)$", "```python", markdown, flags=re.MULTILINE)  # marks for our tests
    return repository.relinked(place, plain)


def on_page_content(html: str, page: Page, config: Any, files: Files) -> str:
    above = posixpath.relpath(".", posixpath.dirname(page.file.dest_uri) or ".")
    return reference.linked(reference.with_import(html, page.file.src_uri), f"{above}/")


def on_post_page(output: str, page: Page, config: Any) -> str:
    """Only now, so that the search knows formulas as they are written."""
    filled = formulas.fill(output)
    while formulas.errors:
        log.warning("%s: %s", page.file.src_uri, formulas.errors.pop())
    for address in fetched(filled):
        log.warning("%s: %s would be fetched from elsewhere by whoever reads the page", page.file.src_uri, address)
    return filled


def on_post_build(config: Any) -> None:
    formulas.close()
