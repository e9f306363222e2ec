"""A project: a `foresolve.toml` and its files, as a problem, data and a study."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from foresolve._base import checks
from foresolve._base.locks import writing_to
from foresolve.data.dataset import DecisionDataset
from foresolve.errors import InvalidInputError, Phrase, Setting, sentence
from foresolve.learning.study.catalog import candidates
from foresolve.learning.study.folder import OtherStudyError
from foresolve.learning.study.running import StudyProgress
from foresolve.learning.study.studying import study
from foresolve.problems.base import Problem
from foresolve.projects.columns import check_columns, table
from foresolve.projects.problem import problem_of
from foresolve.projects.run import TRAINING, Run
from foresolve.projects.settings import Settings
from foresolve.projects.toml import KEYS, SettingsError


class Project:
    """The project that a `foresolve.toml` describes.

    Parameters
    ----------
    settings: of the project, read and checked.

    Examples
    --------
    >>> import tempfile
    >>> from foresolve.projects import Project, init
    >>> folder = tempfile.mkdtemp()
    >>> _ = init("top-k", folder)
    >>> project = Project.load(folder)
    >>> project.problem().n, len(project.data())
    (12, 720)
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._problem: Problem | None = None

    @classmethod
    def load(cls, path: str | Path = "foresolve.toml") -> Self:
        """The project of a file, or of the folder that it is in; errors name the table and the key."""
        settings = Settings.read(path)
        check_columns(settings)
        return cls(settings)

    def problem(self) -> Problem:
        """The problem of the settings; its files are read once."""
        if self._problem is None:
            with self._told("problem", "data"):
                self._problem = problem_of(self.settings)
        return self._problem

    def data(self, features: Any = None, parameters: Any = None) -> DecisionDataset:
        """Features and true parameters: of the project's files, or of others with the same columns."""
        own, problem = self.settings.values.data, self.problem()
        if features is None:
            features = table(self.settings, self.settings.file("data", "features"))
            path = None if own.parameters is None else self.settings.file("data", "parameters")
            parameters = None if path is None else table(self.settings, path)
        missing = {"features": own.missing.features, "theta": own.missing.parameters}
        with self._told("data"):
            return DecisionDataset.from_frames(
                features, parameters, problem, key=own.key, variable=own.variable, value=own.value,
                columns=own.columns, encode=own.encode, missing=missing, weights=own.weights, dates=own.dates,
            )  # fmt: skip

    def study(
        self,
        folder: str | Path = "run",
        *,
        resume: bool = False,
        budget: float | None = None,
        keep: Sequence[str] = (),
        progress: bool | Callable[[StudyProgress], Any] | None = None,
    ) -> Run:
        """Train and compare all methods, and keep what comes of it in a folder.

        Parameters
        ----------
        folder: of the run; a new one, unless `resume`.
        resume: continue a run that was stopped.
        budget: seconds, instead of those in the settings.
        keep: methods whose policies are kept beside that of the chosen one; "all" for every one.
        progress: as for `foresolve.study`.
        """
        folder = checks.path("folder", folder)
        if folder.exists() and not folder.is_dir():
            raise checks.fail("folder", "a folder", f"the file {str(folder)!r}")
        if not resume and folder.exists() and any(folder.iterdir()):
            remedy = Phrase("Continue a stopped run with ", Setting("resume"), ", or choose another folder")
            raise checks.fail("folder", "new or empty", f"{str(folder)!r}, which is not", remedy)
        with writing_to(folder, "choose another folder"):
            return self._study(folder, resume, budget, keep, progress)

    def _study(self, folder: Path, resume: bool, budget: float | None, keep: Sequence[str], progress: Any) -> Run:
        values = self.settings.values
        methods, training = values.methods, values.training
        known = candidates(methods.references, methods.decision, self.problem())
        for name in keep:
            checks.one_of("keep", name, [*known, "all"])
        data = self.data()
        with self._changed(), self._told("training", "methods", "model", "data"):
            result = study(
                data, methods=methods.decision, references=methods.references, split=training.split,
                trials=training.trials, epochs=training.epochs, budget=training.budget if budget is None else budget,
                hidden=values.model.hidden, head=values.model.head, units=values.data.units, block=training.block,
                confidence=training.confidence, worthwhile=training.worthwhile, seed=training.seed,
                folder=folder / TRAINING, resume=resume, progress=progress,
            )  # fmt: skip
        return Run.write(folder, self.settings, result, keep, budget)

    @contextmanager
    def _changed(self) -> Iterator[None]:
        """An error about other data than the run was begun with says which files they come from."""
        try:
            yield
        except OtherStudyError as error:
            remedy = sentence(str(error.remedy), "; ".join(self._origin(part) for part in error.data))
            raise InvalidInputError(
                argument=error.argument, expected=error.expected, got=error.got, remedy=remedy
            ) from error

    def _origin(self, part: str) -> str:
        """The files and settings that features, parameters, weights, dates or the problem come from."""
        table = "problem" if part == "problem" else "data"
        wanted = (
            "parameters" if part == "parameters" and self.settings.values.data.parameters is not None else "features"
        )
        files = [
            self.settings.name(place, key)
            for place, key in self.settings.files()
            if place == table and (table == "problem" or key == wanted)
        ]
        return f"{part} by {' and '.join([*files, f'the settings in [{table}]'])}"

    @contextmanager
    def _told(self, *tables: str) -> Iterator[None]:
        """An error about an argument, as one about the key that set it."""
        try:
            yield
        except SettingsError:
            raise
        except InvalidInputError as error:
            key = KEYS.get(error.argument, error.argument)
            for table in tables:
                if self.settings.has(table, key):
                    raise SettingsError(
                        self.settings.path, error.reason, table=table, key=key, expected=error.expected,
                        got=error.got, remedy=error.remedy,
                    ) from error  # fmt: skip
            raise
