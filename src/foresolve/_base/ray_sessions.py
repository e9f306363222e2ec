"""A Ray to work on: a cluster, or one of this machine that ends with the work."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from foresolve._base.environment import environment
from foresolve.errors import ForesolveError


@contextmanager
def ray_session(ray: Any, address: str | None, processors: int | None = None) -> Iterator[None]:
    """Connected to Ray, and shut down at the end; where the caller is connected already, that connection serves.

    Parameters
    ----------
    ray: the module.
    address: of a running cluster, "auto" for the one this machine belongs to; `None` starts a Ray here.
    processors: of a Ray that starts here; all by default.
    """
    ours = not ray.is_initialized()
    if ours:
        _connect(ray, address, processors)
    try:
        yield
    finally:
        if ours:
            ray.shutdown()


def _connect(ray: Any, address: str | None, processors: int | None) -> None:
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    # What Ray's core would say on our stderr, past Python's logging.
    with environment({"RAY_BACKEND_LOG_LEVEL": "fatal"}):
        if address is None:
            ray.init("local", num_cpus=processors, include_dashboard=False, **quiet)
            return
        try:
            ray.init(address, **quiet)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise ForesolveError(
                f"no Ray cluster at {address!r} ({error})",
                remedy=(
                    "Start one with `ray start --head`, give its --address, or leave --address out to use Ray on "
                    "this machine"
                ),
            ) from error
