"""Write the settings of foresolve.toml, from their models, into docs/shell.md and into the comments of the samples.

Run `python tools/settings_page.py`, as a test demands. The values of the samples stay as they are: every other key
stands there as a comment, with its default or an example.
"""

from __future__ import annotations

import argparse
import textwrap
import tomllib
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from foresolve.projects import schema
from foresolve.projects.toml import NAME, toml, toml_key

try:
    from tools.results_page import filled
except ModuleNotFoundError:  # a script sees its own folder
    from results_page import filled

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "shell.md"
SAMPLES = sorted((ROOT / "src" / "foresolve" / "projects" / "samples").rglob(NAME))
WIDTH = 100  # of comments


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--page", type=Path, default=PAGE)
    page = parser.parse_args().page
    page.write_text(page_with_settings(page.read_text(encoding="utf-8")), encoding="utf-8")
    for sample in SAMPLES:
        sample.write_text(commented(sample.read_text(encoding="utf-8")), encoding="utf-8")


# -- the page ----------------------------------------------------------------------------------------------------------


def page_with_settings(text: str) -> str:
    """The page with a table for each table of the file."""
    lines = []
    first = {"problem": schema.Problem, "data": schema.Data, "data.missing": schema.Missing}
    for table, model in {**first, **schema.tables()}.items():
        rows = _problem_rows() if table == "problem" else [_row(*field) for field in model.model_fields.items()]
        lines += [f"### `[{table}]`", "", _about(model), "", "| key | meaning | value |", "|---|---|---|", *rows, ""]
    return filled(text, "settings", "\n".join(lines[:-1]))


def _problem_rows() -> list[str]:
    """A row for each key, with the kinds of problem that have it."""
    owners: dict[tuple[str, str], list[str]] = {}
    fields: dict[tuple[str, str], FieldInfo] = {}
    for kind, model in schema.PROBLEMS.items():
        for key, field in model.model_fields.items():
            if key != "kind":
                fields[key, str(field.description)] = field
                owners.setdefault((key, str(field.description)), []).append(kind)
    kinds = schema.one_of(list(schema.PROBLEMS)).words
    rows = [_row(key, field, f"{', '.join(owners[key, words])}: ") for (key, words), field in fields.items()]
    return [f"| `kind` | the kind of problem (required) | {kinds} |", *rows]


def _row(key: str, field: FieldInfo, where: str = "") -> str:
    default = "required" if field.is_required() else "" if field.default in (None, "") else toml(field.default)
    meaning = f"{where}{field.description}" + (f" ({default})" if default else "")
    return f"| `{key}` | {meaning} | {schema.kind_of(field).words} |"


# -- the samples -------------------------------------------------------------------------------------------------------


def commented(text: str) -> str:
    """The settings of a file, with all other keys as comments."""
    values = tomllib.loads(text)
    kind = values["problem"]["kind"]
    models = schema.tables(kind)
    about = (
        f"A foresolve project, {kind}. {_about(models['problem'])} Lines that begin with # are comments; those with a "
        "key show what else can be said, with its default or an example."
    )
    files = "`foresolve train` reads this file; files are sought in the folder of this one."
    lines = [*_comment(about), *_comment(files)]
    for table, model in models.items():
        own = values.get(table, {})
        lines += ["", f"[{table}]", *_comment(_about(schema.tables()[table]))]
        lines += [_line(key, field, own.get(key)) for key, field in model.model_fields.items() if key != "encode"]
        if table == "data":
            lines += _encodings(own.get("encode", {}))
    return "\n".join(lines) + "\n"


def _line(key: str, field: FieldInfo, value: Any) -> str:
    if value is None:
        shown = field.default if field.default not in (None, "") else (field.examples or [""])[0]
        return f"{f'# {key} = {toml(shown)}':<34}  # {field.description}"
    return f"{f'{key} = {toml(value)}':<34}  # {field.description}"


def _encodings(columns: dict[str, str]) -> list[str]:
    lines = [
        "",
        "[data.encode]",
        *_comment(f"How columns become numbers, if it does not follow from their type; {schema.ENCODINGS.words}."),
    ]
    return lines + (
        [f"{toml_key(name)} = {toml(value)}" for name, value in columns.items()] or ['# weekday = "category"']
    )


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)


def _about(model: type) -> str:
    return (model.__doc__ or "").strip()


if __name__ == "__main__":
    main()
