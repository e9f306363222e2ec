"""From options to a config: everything filled in, everything checked before any work."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

from torch import nn

from foresolve._base import checks
from foresolve._base.devices import find_device
from foresolve._base.extras import need
from foresolve.data.real.sources import sha256
from foresolve.errors import ForesolveError
from foresolve.report.records import Config, Protocol
from foresolve.reproduce.domains.domain import Domain, Source
from foresolve.reproduce.domains.methods import ForestMethod
from foresolve.reproduce.domains.registry import find_domain


def plan(
    domain: str,
    *,
    protocol: Protocol = "exact",
    splits: int | None = None,
    ks: Sequence[int] | None = None,
    methods: Sequence[str] | None = None,
    seed: int = 0,
    quick: bool = False,
    data: str | Path | None = None,
    device: str = "cpu",
) -> Config:
    """A config with everything filled in; wrong arguments and missing or damaged files are errors here, not later."""
    chosen = find_domain(domain)
    if protocol not in get_args(Protocol):
        raise checks.fail("protocol", f"one of {', '.join(get_args(Protocol))}", repr(protocol))
    if protocol == "paper" and not chosen.published:
        raise checks.fail("protocol", f'"exact" for {domain}, which is not in the paper', repr(protocol))
    if data is not None and chosen.real is None:
        raise checks.fail("data", f"not given for {domain}, which is generated", str(data))
    place, files, source = _real_data(chosen, data)
    find_device(device, nn.Identity())
    config = Config(
        domain, protocol, splits=checks.positive_int("splits", (3 if quick else 30) if splits is None else splits),
        ks=_budgets(chosen, ks, quick), seed=checks.positive_int("seed", seed, zero=True), quick=bool(quick),
        data=place, source=source.words, share=source.share, files=files, device=device,
    )  # fmt: skip
    return replace(config, methods=_methods(chosen, config, methods))


def _methods(domain: Domain, config: Config, wanted: Sequence[str] | None) -> tuple[str, ...]:
    """The names of the methods that are asked for, in the order of the table."""
    table = domain.methods(config)
    names = list(table) if wanted is None else list(wanted)
    if not names:
        raise checks.fail("methods", f"some of {', '.join(table)}", "none")
    for name in names:
        if name not in table:
            raise checks.fail("methods", f"among those of {config.domain}: {', '.join(table)}", repr(name))
    if any(isinstance(table[name], ForestMethod) for name in names):
        need("sklearn.ensemble", "RF-2Stage", "learn")
    return tuple(name for name in table if name in names)


def _budgets(domain: Domain, ks: Sequence[int] | None, quick: bool) -> tuple[int, ...]:
    info = domain.info
    if not info.ks:
        if ks:
            raise checks.fail("ks", f"not given for {info.name}, which has no budget", ", ".join(map(str, ks)))
        return ()
    default = (info.table2_k,) if quick and info.table2_k is not None else info.ks
    budgets = tuple(sorted({checks.positive_int("ks", k) for k in (ks or default)}))
    if domain.largest_k is not None and budgets[-1] > domain.largest_k:
        raise checks.fail("ks", f"at most {domain.largest_k}", str(budgets[-1]))
    return budgets


def _real_data(domain: Domain, data: str | Path | None) -> tuple[str | None, dict[str, str], Source]:
    """The folder, the checksums of its files, and what they are: all is read once, to see that it can be."""
    if data is None or domain.real is None:
        return None, {}, Source("generated")
    place = Path(os.path.realpath(checks.path("data", data)))
    try:
        paths = domain.real.files(place)
    except ForesolveError:
        if domain.real.optional and place.is_dir():
            return None, {}, Source("generated, for the data folder has no file for it")
        raise
    return str(place), {path.name: sha256(path) for path in paths}, domain.real.read(place)
