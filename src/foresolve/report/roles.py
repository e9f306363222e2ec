"""Roles of methods, which color them."""

from __future__ import annotations

from foresolve._base.drawing.palette import Role
from foresolve.report.view import RunView


def role_of(run: RunView, method: str) -> Role:
    """The role of a method with records."""
    return run.method(method).role
