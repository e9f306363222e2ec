"""Errors and warnings. Every error derives from `ForesolveError` and every warning from `ForesolveWarning`.

An error keeps its facts in fields: the argument, the expected value, the value it got, a remedy, the instances. Its
sentence is made of them when it is printed. `said_as` makes the sentence for another place than a Python call, such as
an option of the shell.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = [
    "ConvergenceWarning",
    "FeatureRangeWarning",
    "FileError",
    "ForesolveError",
    "ForesolveWarning",
    "InfeasibleError",
    "InvalidInputError",
    "MissingExtraError",
    "NoGradientWarning",
    "NoImprovementWarning",
    "SolverError",
    "StoppedError",
    "StorageError",
    "UnboundedError",
    "WeakReferenceWarning",
]


@dataclass(frozen=True)
class Setting:
    """An argument that a message mentions, and the value to give it, if any.

    A `Voice` writes it: `` `missing="drop"` `` in Python, `--missing drop` in the shell.
    """

    name: str
    value: Any = None


class Phrase:
    """A part of a message that mentions settings: texts and `Setting`s, in their order."""

    def __init__(self, *parts: str | Setting) -> None:
        self.parts = parts

    def said(self, voice: Voice) -> str:
        return "".join(voice.setting(part) if isinstance(part, Setting) else part for part in self.parts)

    def __str__(self) -> str:
        return self.said(PYTHON)


Words = str | Phrase


@dataclass(frozen=True)
class Voice:
    """A way to write settings: as arguments of Python, options of the shell or keys of a file.

    Parameters
    ----------
    names: what arguments are called here, as it is written. Other arguments keep their names.
    pattern: how an argument with a value is written, a format of `name` and `value`.
    write: how a value is written.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    pattern: str = "`{name}={value}`"
    write: Callable[[Any], str] = json.dumps

    def setting(self, setting: Setting) -> str:
        if setting.value is not None:
            return self.pattern.format(name=setting.name, value=self.write(setting.value))
        return self.names.get(setting.name, f"`{setting.name}`")


PYTHON = Voice()


def sentence(*parts: str) -> str:
    """Sentences in a row, without those that are empty."""
    return ". ".join(part for part in parts if part)


class ForesolveError(Exception):
    """Base class of every error that foresolve raises on purpose.

    Parameters
    ----------
    reason: what went wrong, for an error that is not about one argument.
    argument: the argument that the error is about; empty if there is none.
    expected: what the argument must be, as in "`argument` must be ...".
    got: what it is instead.
    remedy: what to do, a sentence without its full stop.
    instances: positions in the (flattened) batch.

    All parameters are attributes of the error.

    Examples
    --------
    >>> error = InvalidInputError(argument="folder", expected="new", got="'run'", remedy="Choose another one")
    >>> print(error)
    `folder` must be new; got 'run'. Choose another one
    >>> print(error.said_as("--out"))
    --out must be new; got 'run'. Choose another one
    """

    def __init__(
        self,
        reason: Words = "",
        *,
        argument: str = "",
        expected: Words = "",
        got: Words = "",
        remedy: Words = "",
        instances: Sequence[int] = (),
    ) -> None:
        super().__init__(reason)
        self.reason, self.argument, self.expected, self.got, self.remedy = reason, argument, expected, got, remedy
        self.instances = tuple(instances)

    def said_as(self, name: str | None = None, *, remedy: Words | None = None, voice: Voice = PYTHON) -> str:
        """The sentence for another place than a call in Python.

        Parameters
        ----------
        name: what `argument` is called there, as it is written; by default as in `voice`. An empty name leaves the
            subject out, for programs that say it themselves.
        remedy: what to do there, instead of `remedy`.
        voice: how settings are written there.
        """
        subject = voice.setting(Setting(self.argument)) if name is None else name
        what = [subject, self.about(voice)] if self.argument else [self.about(voice)]
        return sentence(" ".join(filter(None, what)), _said(self.remedy if remedy is None else remedy, voice))

    def about(self, voice: Voice = PYTHON) -> str:
        """The sentence without its subject, the argument, and without the remedy."""
        if not self.expected:
            return _said(self.reason, voice)
        return f"must be {_said(self.expected, voice)}; got {_said(self.got, voice)}"

    def __str__(self) -> str:
        return self.said_as()


def _said(words: Words, voice: Voice) -> str:
    return words.said(voice) if isinstance(words, Phrase) else words


class InvalidInputError(ForesolveError, ValueError):
    """An argument has the wrong shape, type, device or value."""


class MissingExtraError(ForesolveError, ImportError):
    """An optional dependency is not installed; the message names the extra to install."""


class FileError(ForesolveError):
    """A file that is there cannot be used: it is damaged, too large, of another kind, or belongs to something else.

    Parameters
    ----------
    path: of the file.
    reason: what is wrong with it, as in "`path` is damaged".
    remedy: what to do.
    """

    def __init__(self, path: str | Path, reason: Words = "", remedy: Words = "") -> None:
        super().__init__(reason, remedy=remedy)
        self.args, self.path = (path, reason, remedy), path

    def about(self, voice: Voice = PYTHON) -> str:
        return f"{self.path} {super().about(voice)}"


class StorageError(ForesolveError, OSError):
    """A file could not be written or locked.

    Parameters
    ----------
    number: the error number of the system.
    reason: what went wrong.
    path: of the file.
    remedy: what to do.
    """

    def __init__(self, number: int | None = None, reason: str = "", path: str | Path = "", remedy: Words = "") -> None:
        ForesolveError.__init__(self, reason, remedy=remedy)
        self.args = (number, reason, str(path), remedy)
        self.errno, self.strerror, self.filename = number, reason, str(path)

    def about(self, voice: Voice = PYTHON) -> str:
        return f"{self.filename}: {self.reason}" if self.filename else _said(self.reason, voice)


class SolverError(ForesolveError):
    """A solver could not give an answer.

    Parameters
    ----------
    reason: what went wrong; `{instances}` in it stands for their names.
    instances: positions in the (flattened) batch.
    names: of the instances, for the message.
    place: where it happened, in front of the reason; `{instances}` in it stands for their names.
    remedy: what to do.

    Examples
    --------
    >>> error = SolverError("no path leads through {instances}", [0], "instance 0")
    >>> print(error)
    no path leads through instance 0
    >>> print(error.renamed("training {instances}", [17], "instance 17"))
    training instance 17: no path leads through the instance
    """

    def __init__(
        self,
        reason: str,
        instances: Sequence[int] = (),
        names: str = "the instance",
        *,
        place: str = "",
        remedy: str = "",
    ) -> None:
        super().__init__(reason, remedy=remedy, instances=instances)
        self.names, self.place = names, place

    def about(self, voice: Voice = PYTHON) -> str:
        return self._of(self.names)

    def _of(self, names: str) -> str:
        if not self.place:
            return f"{self.reason}".replace("{instances}", names)
        return f"{self.place.replace('{instances}', names)}: {self.reason}"

    def renamed(self, place: str, instances: Sequence[int], names: str, remedy: str = "") -> SolverError:
        """The same error, with the positions of its instances elsewhere: in the data set that the batch came from.

        `place` says where. If its class is not foresolve's own, which may take other arguments, the result is a
        `SolverError`.
        """
        kind = type(self) if type(self) in (InfeasibleError, StoppedError, UnboundedError) else SolverError
        reason = self._of("these instances" if len(self.instances) > 1 else "the instance")
        return kind(reason, instances, names, place=place, remedy=sentence(str(self.remedy), remedy))


class InfeasibleError(SolverError):
    """No decision satisfies the constraints."""


class UnboundedError(SolverError):
    """The objective grows without limit over the feasible set."""


class StoppedError(SolverError):
    """A search met its limit before it could prove that its decision is the best."""


class ForesolveWarning(UserWarning):
    """Base class of every warning that foresolve issues."""


class ConvergenceWarning(ForesolveWarning):
    """A solve stopped before it reached its tolerance; the result is finite but less accurate."""


class FeatureRangeWarning(ForesolveWarning):
    """Features lie far outside of those that a policy was trained on."""


class NoGradientWarning(ForesolveWarning):
    """All decisions of a batch are at vertices, so the layer's gradient is zero."""


class NoImprovementWarning(ForesolveWarning):
    """Training validated no better than the initial weights, which are restored."""


class WeakReferenceWarning(ForesolveWarning):
    """A model that others are compared to decides worse than the mean of the parameters, beyond noise."""
