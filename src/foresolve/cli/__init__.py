"""The command line: parse, call, print."""

from foresolve.cli.app import build, main

__all__ = ["build", "main"]
