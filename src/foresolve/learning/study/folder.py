"""The finished trials of a study, in memory and on disk: JSON lines and weights, nothing that runs when it is read."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from torch import nn

from foresolve._base import checks, files, reading
from foresolve._base.container import Container, entry_of, line_of, shown
from foresolve._base.extras import need
from foresolve.errors import ForesolveError, InvalidInputError
from foresolve.learning.registry import build, describe_model
from foresolve.learning.saved_weights import fill
from foresolve.learning.study.budget import Plan
from foresolve.learning.study.trial import Trial

STUDY = Container(
    "a study", "foresolve study", 5, remedy="Choose another folder, or continue with the version that wrote it"
)
MODEL = Container("a model of a study", "foresolve study model", 1)
DATA = " data"  # how the names of parts end, whose entries are digests
SETTINGS, TRIALS, WEIGHTS = "study.json", "trials.jsonl", "models"


class OtherStudyError(InvalidInputError):
    """A folder has a study of other data; `data` are the kinds that differ: features, parameters, problem ..."""

    def __init__(self, *, data: Collection[str], **facts: Any) -> None:
        super().__init__(**facts)
        self.data = tuple(data)


class Store:
    """Finished trials, and the models that are still needed.

    Parameters
    ----------
    folder: where they are kept; `None` for memory alone.
    identity: what identifies a study, by name.
    """

    def __init__(self, folder: Path | None, identity: dict[str, Any]) -> None:
        self.folder, self.identity = folder, identity
        self.plan: Plan | None = None
        self.trials: dict[tuple[str, int], Trial] = {}
        self._models: dict[tuple[str, int], nn.Module] = {}

    @classmethod
    def open(cls, folder: Any, identity: dict[str, Any], resume: bool) -> Store:
        """A new one, or the one that is there; that of another study is refused, by what differs."""
        if folder is None:
            if resume:
                raise checks.fail("folder", "given where `resume` is", "None", "It says where to continue")
            return cls(None, identity)
        need("safetensors", "a study with a folder", "learn")
        store = cls(checks.path("folder", folder), identity)
        if (store._path(SETTINGS)).exists():
            if not resume:
                remedy = "Pass `resume=True` to continue it, or choose another folder"
                raise checks.fail("folder", "a new one", f"{store.folder}, which holds a study", remedy)
            store._read()
        elif store._path(TRIALS).exists():
            remedy = f"Put {SETTINGS} back, or choose another folder"
            raise checks.fail("folder", "a new one, or that of a study", f"{store.folder}, without {SETTINGS}", remedy)
        return store

    def _path(self, *names: str) -> Path:
        assert self.folder is not None
        return self.folder.joinpath(*names)

    def _read(self) -> None:
        path = self._path(SETTINGS)
        document = STUDY.read(path)
        self._compare(files.field(document, "identity", dict, path))
        self.plan = Plan.from_dict(files.field(document, "plan", dict, path), path)
        lines = self._path(TRIALS)
        if lines.exists():
            for number, line in enumerate(reading.read_bytes(lines).splitlines(), 1):
                try:
                    trial = Trial.from_dict(entry_of(line))
                except (ValueError, ForesolveError) as error:
                    raise ForesolveError(f"{lines}, line {number}: not a trial ({error})") from error
                self.trials[trial.method, trial.number] = trial

    def _compare(self, saved: dict[str, Any]) -> None:
        """Refuse a study of other data, methods or settings, by the first that differs."""
        for name, current in self.identity.items():
            before = saved.get(name)
            if before == current:
                continue
            remedy = "Choose another folder, or pass what it was begun with"
            if isinstance(current, dict) and isinstance(before, dict) and name.endswith(DATA):
                parts = [key for key in current if current[key] != before.get(key)]
                got = f"{self.folder}, begun with other {' and '.join(parts)}"
                expected = f"of a study with the same {name}"
                raise OtherStudyError(argument="folder", expected=expected, got=got, remedy=remedy, data=parts)
            if isinstance(current, dict) and isinstance(before, dict):
                part = next(key for key in [*current, *before] if current.get(key) != before.get(key))
                name, current, before = f"{name}: {part}", current.get(part), before.get(part)
            expected = f"of a study with the same {name} ({shown(current)})"
            raise checks.fail("folder", expected, f"{self.folder}, which has {shown(before)}", remedy)

    def begin(self, plan: Plan) -> None:
        """Write down what is going to be done."""
        self.plan = plan
        if self.folder is not None:
            STUDY.write(self._path(SETTINGS), {"identity": self.identity, "plan": plan.to_dict()})

    def add(self, trial: Trial, model: nn.Module | None, keep: bool) -> None:
        """A finished trial, and its model if it is to be kept: weights first, so that a line says they are there."""
        if model is not None and keep:
            self._models[trial.method, trial.number] = model
            if self.folder is not None:
                document = {"class": type(model).__name__, "config": describe_model(model)}
                MODEL.write_tensors(self._weights(trial), document, dict(model.state_dict()))
        self.trials[trial.method, trial.number] = trial
        self._write_trials()

    def _write_trials(self) -> None:
        if self.folder is not None:
            lines = "".join(line_of(known.to_dict()) for known in self.trials.values())
            files.write_text(self._path(TRIALS), lines)

    def forget(self, number: int, methods: Collection[str] | None = None) -> None:
        """Leave out the trials of a round and of those after it: models first, so that none is left without a line.

        Of some methods alone, where they are given.
        """
        late = [
            trial for trial in self.trials.values()
            if trial.number >= number and (methods is None or trial.method in methods)
        ]  # fmt: skip
        for trial in late:
            self.drop(trial)
            del self.trials[trial.method, trial.number]
        if late:
            self._write_trials()

    def drop(self, trial: Trial) -> None:
        """Forget a model that is not needed any more."""
        self._models.pop((trial.method, trial.number), None)
        if self.folder is not None:
            self._weights(trial).unlink(missing_ok=True)

    def model(self, trial: Trial) -> nn.Module:
        """The model of a trial that was kept."""
        key = trial.method, trial.number
        if key not in self._models:
            self._models[key] = self._loaded(trial)
        return self._models[key]

    def _loaded(self, trial: Trial) -> nn.Module:
        path = self._weights(trial)
        tensors, document = MODEL.read_tensors(path)
        name = files.field(document, "class", str, path)
        with reading.understood(path):
            model = build(name, files.field(document, "config", dict, path), device="meta")
            fill(model, tensors, name, path, assign=True)
        return model.eval()

    def _weights(self, trial: Trial) -> Path:
        name = re.sub(r"\W+", "-", trial.method.replace("+", "plus")).strip("-")
        return self._path(WEIGHTS, f"{name}-{trial.number}.safetensors")
