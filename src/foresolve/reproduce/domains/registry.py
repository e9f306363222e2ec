"""Which domains there are: what `plan`, the runs and the command line know."""

from __future__ import annotations

from foresolve._base import checks
from foresolve.reproduce.domains import budget, generated, matching, portfolio, recommendation, tracking
from foresolve.reproduce.domains.domain import Domain

DOMAINS: dict[str, Domain] = {
    domain.info.name: domain
    for domain in (
        budget.DOMAIN,
        matching.DOMAIN,
        recommendation.DOMAIN,
        *generated.DOMAINS,
        portfolio.DOMAIN,
        tracking.DOMAIN,
    )
}
"""The domains that can be reproduced, by name; `register` adds one."""


def register(domain: Domain) -> Domain:
    """Make a domain known by the name in its `info`, in place of another one of that name.

    A script that runs a domain of its own registers it at the top level, so that worker processes do so too.
    """
    info = domain.info
    if info.name == "all":
        raise checks.fail("domain", 'of another name than "all", which stands for those of the paper', repr(info.name))
    if info.ks and domain.problem is None:
        raise checks.fail("domain", "given a `problem(data, k)`, for it has budgets", f"none for {info.name}")
    DOMAINS[info.name] = domain
    return domain


def find_domain(name: str) -> Domain:
    """A domain by its name."""
    if name not in DOMAINS:
        raise checks.fail("domain", f"one of {', '.join(DOMAINS)}", repr(name))
    return DOMAINS[name]


def published() -> tuple[str, ...]:
    """The names of the paper's domains."""
    return tuple(name for name, domain in DOMAINS.items() if domain.published)
