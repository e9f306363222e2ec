"""What is stored, how it is damaged, and what it means to read it soundly.

A kind writes its files into a folder once. An input is a copy of the folder with one file damaged; reading it must end
in an error of foresolve's, or give something sound: what `read` looks at itself. Where a checksum watches over the
file, damaged bytes must give the very thing that was written, or an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzz import readers, stored
from tests.fuzz.damage import bytes_of, no_file, words_of
from tests.fuzz.documents import edit, repair_policy

Damage = Callable[[Path, np.random.Generator], None]
NO_FILE = 0.04  # the share of inputs that are no files at all


@dataclass(frozen=True)
class Kind:
    """One kind of file or folder.

    Attributes
    ----------
    write: into an empty folder, for a number that varies it; returns the files that are damaged.
    read: the folder; an error of foresolve's, or something to compare.
    damages: what is done to a file.
    exact: whether bytes that are damaged must be noticed.
    repair: of what other files say of a damaged one.
    variants: how many folders are written.
    """

    name: str
    write: Callable[[Path, int], list[Path]]
    read: Callable[[Path], Any]
    damages: tuple[Damage, ...]
    exact: bool = False
    repair: Callable[[Path], None] | None = None
    variants: int = 1

    def damage(self, path: Path, rng: np.random.Generator) -> str:
        """Damage a file of a copy; returns how."""
        if rng.random() < NO_FILE:
            no_file(path, rng)
            return "no file"
        chosen = self.damages[int(rng.integers(0, len(self.damages)))]
        chosen(path, rng)
        if self.repair is not None and chosen is edit:
            self.repair(path.parent)
        return chosen.__name__


BYTES, TEXT = (bytes_of,), (bytes_of, words_of, words_of)

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("policy", stored.write_policy, readers.read_policy, (bytes_of, edit, edit, edit), True, repair_policy,
             len(stored.POLICIES)),
        Kind("estimator", stored.write_estimator, readers.read_policy, (bytes_of, edit), True, repair_policy),
        Kind("checkpoint", stored.write_checkpoint, readers.read_checkpoint, (bytes_of, edit, edit), True),
        Kind("cache", stored.write_cache, readers.read_cache, (bytes_of, edit), True),
        Kind("decisions", stored.write_decisions, readers.read_decisions, (bytes_of, edit, edit), True),
        Kind("study folder", stored.write_study, readers.read_study, (bytes_of, edit, edit)),
        Kind("reproduction", stored.write_reproduction, readers.read_reproduction, (bytes_of, edit, edit)),
        Kind("project run", stored.write_run, readers.read_run, (bytes_of, edit, edit)),
        Kind("foresolve.toml", stored.write_settings, readers.read_settings, TEXT),
        Kind("csv", stored.write_csv, readers.read_tables, TEXT),
        Kind("csv.gz", stored.write_csv_gz, readers.read_tables, BYTES),
        Kind("parquet", stored.write_parquet, readers.read_tables, BYTES),
        Kind("arrow", stored.write_arrow, readers.read_tables, BYTES),
        Kind("npz", stored.write_npz, readers.read_tables, (bytes_of, edit)),
        Kind("archive", stored.write_archive, readers.read_archive, BYTES, variants=2),
        Kind("mps", stored.write_mps, readers.read_model, TEXT, variants=2),
        Kind("lp", stored.write_lp, readers.read_model, TEXT, variants=2),
        Kind("edge list", stored.write_edges, readers.read_edge_list, TEXT),
        Kind("cora", stored.write_cora, readers.read_cora, TEXT),
        Kind("movielens", stored.write_movielens, readers.read_movielens, TEXT),
    )
}  # fmt: skip
