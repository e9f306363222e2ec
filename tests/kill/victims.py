"""What is killed: work on a folder that a further process takes up where an earlier one was stopped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.kill import fits, shell
from tests.kill.bits import Bits, bits_of


@dataclass(frozen=True)
class Victim:
    """Work that may be killed.

    Attributes
    ----------
    group: what it is counted under.
    work: the same call for the first process and those that go on; a function that processes can be given.
    bits: of the folder in the end: all that must be as if nothing had happened.
    sound: what holds of the folder after every kill, in words where it does not.
    crew: whether it has worker processes, which are killed too.
    given: what of a finished folder the undisturbed run is given, by path; all that depends on the clock.
    """

    group: str
    work: Callable[[Path], None]
    bits: Callable[[Path], Bits] = bits_of
    sound: Callable[[Path, Bits], str] | None = None
    crew: bool = False
    given: tuple[str, ...] = ()


VICTIMS: Mapping[str, Victim] = {
    **{f"fit: {name}": Victim("fit", fits.Fit(name)) for name in fits.CASES},
    "reproduce all --quick": Victim("reproduce", shell.reproduce, crew=True),
    "train": Victim("train", shell.train),
    "train, short of time": Victim("train", shell.train_in_a_hurry, given=("run/training/study.json",)),
    "decide, CSV": Victim("decide", shell.Decide("decisions.csv"), sound=shell.whole_or_absent),
    "decide, Parquet": Victim("decide", shell.Decide("decisions.parquet"), sound=shell.whole_or_absent),
}
GROUPS = tuple(dict.fromkeys(victim.group for victim in VICTIMS.values()))
