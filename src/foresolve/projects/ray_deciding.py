"""Decisions for a file on Ray Data: the blocks of `decide_file`, by workers that load the policy once."""

from __future__ import annotations

import logging
import pickle
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from foresolve._base import checks
from foresolve._base.environment import THREADS
from foresolve._base.extras import need
from foresolve._base.ray_sessions import ray_session
from foresolve._base.table_files import CHUNK, TableFile
from foresolve._base.text import line_of
from foresolve.errors import ForesolveError
from foresolve.learning.policy import Policy
from foresolve.projects.deciding import (
    Decided,
    Form,
    Outcome,
    block_size,
    decided,
    output,
    policy_folder,
    write_outcomes,
)
from foresolve.projects.source import Source

PART = "part"  # the one column of the data sets: a block, or what became of it, as bytes
# What tells of the start, the plan and the end of every execution.
LOGGERS = ("ray.data._internal.execution.streaming_executor", "ray.data._internal.progress")


def decide_on_ray(
    policy: str | Path,
    data: str | Path | TableFile,
    out: str | Path,
    *,
    form: Form = "long",
    certify: bool = False,
    chunk: int = CHUNK,
    address: str | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> Decided:
    """Decide every instance of a file as `decide_file` does, by the workers of a Ray cluster.

    The file is read once, in one place and as anywhere in foresolve, so that the same entries have the same meaning and
    no instance is cut in two. Its blocks of instances are the rows of a Ray data set; each worker loads the policy once
    and decides block after block; decisions are written here, in the order of the file. Ray Data holds back the reading
    when workers or the disk do not keep up, so that memory does not grow with the file.

    Parameters
    ----------
    policy: the folder of a saved policy, or of a run. It and `data` must lie at the same path on every machine, and
        foresolve be installed there in the same version.
    data, out, form, certify, chunk, progress: as for `decide_file`.
    address: of a running cluster, "auto" for the one this machine belongs to; `None` starts a Ray here and ends it.

    Examples
    --------
    >>> from foresolve.projects import decide_on_ray
    >>> decide_on_ray("town/policy", "later.parquet", "out.parquet", address="auto").instances  # doctest: +SKIP
    1000000
    """
    began = time.monotonic()
    ray = need("ray", "deciding on a cluster", "ray")
    library = need("ray.data", "deciding on a cluster", "ray")
    folder, path = policy_folder(policy).absolute(), checks.path("data", data).absolute()
    data = replace(data, path=path) if isinstance(data, TableFile) else path
    out = output(out, path)
    checks.one_of("form", form, ("long", "wide"))
    kept = Policy.load(folder)
    source = Source.of(kept, data, checks.positive_int("chunk", chunk))
    with ray_session(ray, address), _quiet(ray):
        workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
        # Closed, also after an error, while Ray is still there: an execution that outlives it ends in a traceback.
        with closing(_outcomes(library, source, block_size(kept), workers, (folder, form, certify))) as outcomes:
            rows = write_outcomes(outcomes, out, source, progress)
    return Decided(out, *rows, time.monotonic() - began)


def _outcomes(
    library: Any, source: Source, size: int, workers: int, how: tuple[Path, Form, bool]
) -> Generator[Outcome, None, None]:
    """The result of each block, in the order of the file."""
    # Reading asks for no processor: where there is one, it would wait for the worker, and that for it.
    blocks = library.read_datasource(_block_source(source, size), num_cpus=0, override_num_blocks=1)
    blocks.context.execution_options.preserve_order = True
    blocks.context.target_max_block_size = 1  # byte: what Ray moves is never more than one of our blocks
    outcomes = blocks.map(
        BlockWorker, fn_constructor_args=how, num_cpus=1,
        compute=library.ActorPoolStrategy(min_size=1, max_size=workers),
        runtime_env={"env_vars": dict.fromkeys(THREADS, "1")},
    )  # fmt: skip
    with closing(iter(outcomes.iter_rows())) as rows:
        for row in rows:
            outcome = pickle.loads(row[PART])
            if isinstance(outcome, ForesolveError):
                raise outcome
            yield outcome


class BlockWorker:
    """A worker of Ray: the policy, and how blocks are decided."""

    def __init__(self, folder: Path, form: Form, certify: bool) -> None:
        self.policy, self.certify = Policy.load(folder), certify
        self.form: Form = form

    def __call__(self, row: dict[str, bytes]) -> dict[str, bytes]:
        """The result of a block; an error of foresolve's goes the same way, to be raised where the caller is."""
        block = pickle.loads(row[PART])
        if isinstance(block, ForesolveError):
            return row
        try:
            return {PART: pickle.dumps(decided(self.policy, block, self.form, self.certify))}
        except ForesolveError as error:
            return {PART: pickle.dumps(error)}


def _block_source(source: Source, size: int) -> Any:
    """A file as a source of Ray Data, with a row for each block."""
    library = need("ray.data.datasource", "deciding on a cluster", "ray")
    blocks = need("ray.data.block", "deciding on a cluster", "ray")
    arrow = need("pyarrow", "deciding on a cluster", "ray")

    def read() -> Iterator[Any]:
        try:
            for block in source.blocks(size):
                yield arrow.table({PART: [pickle.dumps(block)]})
        except ForesolveError as error:
            yield arrow.table({PART: [pickle.dumps(error)]})

    class BlockSource(library.Datasource):
        def estimate_inmemory_data_size(self) -> int | None:
            return None

        def get_read_tasks(self, parallelism: int, *_: Any, **__: Any) -> list[Any]:
            unknown = blocks.BlockMetadata(num_rows=None, size_bytes=None, input_files=None, exec_stats=None)
            return [library.ReadTask(read, unknown)]

    return BlockSource()


@contextmanager
def _quiet(ray: Any) -> Iterator[None]:
    """Nothing of Ray's on stderr, and its losses as errors of ours."""
    levels = {name: logging.getLogger(name).level for name in LOGGERS}
    for name in LOGGERS:
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        yield
    except ray.exceptions.RayError as error:
        raise ForesolveError(
            f"Ray lost its work ({type(error).__name__}: {line_of(error, -1)}). Nothing was written"
        ) from error
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
