"""`foresolve reproduce`: from options to tables, figures and a report."""
# No `from __future__ import annotations`: typer reads the annotations of functions that are defined inside another.

import os
import re
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from foresolve._base.progress import reporting
from foresolve.cli.data import DATA
from foresolve.errors import InvalidInputError

if TYPE_CHECKING:
    from typer import Typer

    from foresolve.report.records import Config
    from foresolve.reproduce.runs.engines import Engine

RUNS = Path("foresolve-runs")
ALL = "all"  # the paper's domains
DEFAULT = "the domain's own"


class Protocol(StrEnum):
    """How it is done."""

    EXACT = "exact"
    PAPER = "paper"
    BOTH = "both"


class EngineName(StrEnum):
    """Who does it."""

    LOCAL = "local"
    RAY = "ray"


class Device(StrEnum):
    """Where networks are trained."""

    CPU = "cpu"
    CUDA = "cuda"


def _known(name: str) -> str:
    """The name of a domain, or all of them."""
    import typer

    from foresolve.reproduce.domains.registry import DOMAINS

    if name not in (*DOMAINS, ALL):
        raise typer.BadParameter(f"{name!r} is not one of {', '.join((*DOMAINS, ALL))}")
    return name


def _numbers(text: str | None) -> tuple[int, ...] | None:
    import typer

    try:
        return None if text is None else tuple(int(word) for word in text.split(","))
    except ValueError as error:
        message = f"{text!r} is not a list of whole numbers such as 5,10,20"
        raise typer.BadParameter(message, param_hint=_hint("ks")) from error


def add_reproduce(app: "Typer") -> None:
    """Add the command."""
    import typer

    from foresolve.reproduce.domains.registry import DOMAINS

    @app.command()
    def reproduce(
        domain: Annotated[
            str, typer.Argument(callback=_known, help=f"One of {', '.join(DOMAINS)}; or {ALL}: those of the paper.")
        ],
        splits: Annotated[int | None, typer.Option(min=1, help="Random splits.", show_default="30, quick 3")] = None,
        k: Annotated[str | None, typer.Option(help="Budgets, such as 5,10,20.", show_default=DEFAULT)] = None,
        data: Annotated[
            Path | None,
            typer.Option(help="Folder of real data.", show_default=f"{DATA}, else generated; quick: generated"),
        ] = None,
        protocol: Annotated[
            Protocol, typer.Option(help="Exact methods, the recipe of the paper, or both.")
        ] = Protocol.EXACT,
        quick: Annotated[bool, typer.Option("--quick", help="Small instances, few splits: minutes.")] = False,
        methods: Annotated[
            str | None, typer.Option(help="Names, such as NN1-Decision,Random.", show_default=DEFAULT)
        ] = None,
        engine: Annotated[EngineName, typer.Option(help="Processes of this machine, or Ray.")] = EngineName.LOCAL,
        address: Annotated[
            str | None, typer.Option(help="The address of a Ray cluster.", show_default="Ray on this machine")
        ] = None,
        workers: Annotated[
            int | None, typer.Option(min=1, help="Jobs at a time.", show_default="one per processor; cuda: at most 4")
        ] = None,
        device: Annotated[Device, typer.Option(help="Where networks are trained.")] = Device.CPU,
        seed: Annotated[int, typer.Option(min=0, help="The seed of data, splits and training.")] = 0,
        part: Annotated[str, typer.Option(help="Such as 2/3: the second of three shares of the splits.")] = "1/1",
        merge: Annotated[list[Path] | None, typer.Option(exists=True, help="The same run, done elsewhere.")] = None,
        out: Annotated[
            Path | None,
            typer.Option(file_okay=False, help="Folder of the run; an old run is resumed.", show_default=f"in {RUNS}"),
        ] = None,
    ) -> None:
        """Run the paper's experiments, from data to tables, figures and a report.

        What is finished is kept: the same command resumes where it stopped.
        """
        if address is not None and engine is not EngineName.RAY:
            raise typer.BadParameter("only --engine ray has an --address")
        names = None if methods is None else tuple(word.strip() for word in methods.split(","))
        wanted = {
            "splits": splits, "ks": _numbers(k), "methods": names, "protocol": protocol.value, "quick": quick,
            "seed": seed, "device": device.value, "data": data,
        }  # fmt: skip
        _reproduce(domain, wanted, out, _engine(engine, address, workers, device), _part(part), merge or [])


def _part(text: str) -> tuple[int, int]:
    """`2/3` as (2, 3)."""
    import typer

    numbers = re.fullmatch(r"(\d+)/(\d+)", text)
    if numbers is None or not 1 <= int(numbers[1]) <= int(numbers[2]):
        raise typer.BadParameter(f"{text!r} is not a part such as 2/3", param_hint=_hint("part"))
    return int(numbers[1]), int(numbers[2])


def _engine(name: EngineName, address: str | None, workers: int | None, device: Device) -> "Engine":
    from foresolve.reproduce.runs.engines import LocalEngine, cores

    if name is EngineName.RAY:
        from foresolve.reproduce.runs.ray_engine import RayEngine

        return RayEngine(address, workers)
    if workers is None and device is Device.CUDA:
        workers = min(4, cores())  # they share the memory of one GPU
    return LocalEngine(workers)


def _reproduce(
    domain: str,
    wanted: dict[str, Any],
    out: Path | None,
    engine: "Engine",
    part: tuple[int, int],
    merge: Sequence[Path],
) -> None:
    """Check everything, work, print the tables and where the report is."""
    import typer
    from rich.console import Console
    from rich.markup import escape

    from foresolve.report.claims import claims_table
    from foresolve.report.pages.answers import cards
    from foresolve.report.tables import difference_table, table1, table2
    from foresolve.report.verdicts import reproduced_table
    from foresolve.reproduce.domains import registry
    from foresolve.reproduce.runs.publish import publish, view
    from foresolve.reproduce.runs.run import RunStopped, run_all

    console = Console()
    names = registry.published() if domain == ALL else (domain,)
    configs = [config for name in names for config in _plans(name, wanted, domain == ALL)]
    places, report_folder = _places(domain, wanted["protocol"], configs, out)
    for config in configs:
        console.print(_summary(config), highlight=False, soft_wrap=True)
    try:
        with reporting(None, "reproducing", unit="jobs", patience=0.0) as progress:
            runs = run_all(list(zip(configs, places)), engine, progress, part=part, merge=merge)
    except RunStopped as stopped:
        typer.echo(f"foresolve: {stopped}", err=True)
        raise typer.Exit(130) from None
    views = [view(run, registry.find_domain(run.config.domain).told(run.config)) for run in runs]
    path = publish(views, places, report_folder)
    for table in (make(views) for make in (table1, table2, reproduced_table, claims_table, difference_table)):
        if table.blocks:
            console.print(table.rich())
    for card in cards(views):
        console.print(
            f"\n[bold]{escape(card.question)}[/] {escape(' '.join(filter(None, (card.answer, card.caution))))}"
        )
    console.print(f"Report: {path}", highlight=False, soft_wrap=True)


def _plans(name: str, wanted: dict[str, Any], one_of_many: bool) -> list["Config"]:
    """The configs of a domain: one, or one for each protocol, with those of the methods asked for that it has."""
    from foresolve._base.checks import fail
    from foresolve.report.records import Config
    from foresolve.reproduce.domains.registry import find_domain

    if wanted["protocol"] != Protocol.BOTH:
        return [_plan(name, wanted, one_of_many)]
    both = [{**wanted, "protocol": protocol.value} for protocol in (Protocol.PAPER, Protocol.EXACT)]
    if wanted["methods"] is None:
        return [_plan(name, each, one_of_many) for each in both]
    tables = [find_domain(name).methods(Config(name, each["protocol"], quick=wanted["quick"])) for each in both]
    known = list(dict.fromkeys(method for table in tables for method in table))
    for method in wanted["methods"]:
        if method not in known:
            raise _usage_error(fail("methods", f"among those of {name}: {', '.join(known)}", repr(method)), wanted)
    shares = [tuple(method for method in wanted["methods"] if method in table) for table in tables]
    return [_plan(name, {**each, "methods": share}, one_of_many) for each, share in zip(both, shares) if share]


def _plan(name: str, wanted: dict[str, Any], one_of_many: bool) -> "Config":
    """The config of a domain; among others, a domain without budgets leaves --k to them."""
    from foresolve.reproduce.domains.registry import find_domain
    from foresolve.reproduce.runs.plan import plan

    given, wanted, domain = wanted, dict(wanted), find_domain(name)
    if wanted["data"] is None and not wanted["quick"] and domain.real is not None:
        wanted["data"] = os.environ.get(DATA) or None
    if one_of_many and not domain.info.ks:
        wanted["ks"] = None
    try:
        return plan(name, **{key: value for key, value in wanted.items() if value is not None})
    except InvalidInputError as error:
        raise _usage_error(error, given) from error


def _hint(argument: str) -> str:
    """The option that sets an argument of `plan`, as typer writes it."""
    return f"'--{'k' if argument == 'ks' else argument}'"


def _usage_error(error: InvalidInputError, given: dict[str, Any]) -> Exception:
    """An error about an option that was given, by the option's own name and with typer's exit status; or as it is."""
    import typer

    if given.get(error.argument) is None:
        return error
    return typer.BadParameter(error.said_as(""), param_hint=_hint(error.argument))


def _places(domain: str, protocol: str, configs: Sequence["Config"], out: Path | None) -> tuple[list[Path], Path]:
    """The folder of each run, and that of the report over them: the same where there is one run only."""
    quick = "-quick" if configs[0].quick else ""
    if domain != ALL and protocol != Protocol.BOTH:
        folder = out or RUNS / f"{domain}-{protocol}{quick}"
        return [folder], folder
    base = out or RUNS
    return [base / f"{c.domain}-{c.protocol}{quick}" for c in configs], base / f"{domain}-{protocol}{quick}"


def _summary(config: "Config") -> str:
    splits = f"{config.splits} split" + ("s" if config.splits > 1 else "")
    ks = f", k = {', '.join(str(k) for k in config.ks)}" if config.ks else ""
    return f"{config.domain}: {config.source}; protocol {config.protocol}, {splits}{ks}, {len(config.methods)} methods"
