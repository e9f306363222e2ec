"""`study`: does training on decisions pay?"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from foresolve._base import checks
from foresolve._base.locks import writing_to
from foresolve._base.progress import reporting
from foresolve._base.randomness import Seed, as_seed
from foresolve.data.dataset import DecisionDataset
from foresolve.data.fingerprint import fingerprint
from foresolve.errors import ForesolveError
from foresolve.learning.blocks import Blocks
from foresolve.learning.comparison import report_gains
from foresolve.learning.evaluation import evaluate
from foresolve.learning.identity import settings_of
from foresolve.learning.study.budget import TREES, Plan, warm_up
from foresolve.learning.study.catalog import focused, two_stage
from foresolve.learning.study.cautions import cautions
from foresolve.learning.study.contrast import contrast, reach
from foresolve.learning.study.dates import neighbors, study_block
from foresolve.learning.study.facts import Facts
from foresolve.learning.study.folder import DATA, Store
from foresolve.learning.study.methods import Context, Method, quiet
from foresolve.learning.study.parts import Parts
from foresolve.learning.study.result import Study
from foresolve.learning.study.running import Rounds, StudyProgress, best_trial, interruptible
from foresolve.learning.study.trial import Trial
from foresolve.learning.study.verdict import judge
from foresolve.losses.base import Loss
from foresolve.models.heads import Head

STEPS = 1000  # of the bar


def study(
    data: DecisionDataset | None = None,
    *,
    methods: Sequence[str | Loss] | str | Loss | None = None,
    references: Sequence[str] | str | None = None,
    split: Sequence[float] = (0.6, 0.2, 0.2),
    parts: Sequence[DecisionDataset] | None = None,
    trials: int = 4,
    budget: float | None = 600.0,
    epochs: int = 100,
    hidden: Sequence[int] | Literal["auto"] = "auto",
    head: Head | Literal["auto"] = "auto",
    units: str = "",
    block: Blocks | Literal["auto"] = "auto",
    confidence: float = 0.95,
    worthwhile: float = 0.05,
    seed: Seed = 0,
    folder: str | Path | None = None,
    resume: bool = False,
    progress: bool | Callable[[StudyProgress], Any] | None = None,
) -> Study:
    """Say whether training on decisions pays on this data, against the best two-stage model.

    References and decision-focused methods are trained with the same care: the same number of settings each, the best
    of them chosen on validation data. So is the best two-stage model. Test data is used once, at the end, and
    chooses nothing. docs/study.md has the rules and formulas.

    Parameters
    ----------
    data: with true parameters, of a problem whose feasible set they do not move.
    methods: decision-focused ones: names of losses ("spo+", "decision", "fenchel_young", ...) or losses, which start,
        as the two-stage network does, from one that has learned to predict; "boosted spo+" and the like for boosted
        trees. By default "spo+", "decision" and "boosted spo+" for linear problems, "decision" and "boosted decision"
        for others.
    references: of "mean", "last value" (dated rows), "ridge", "log ridge" (positive parameters), "forest", "boosted
        trees" and "network"; by default all that suit the data.
    split: shares or counts of training, validation and test data, in the order of time where rows are dated, at random
        otherwise.
    parts: `(train, valid, test)` instead of `data` and `split`.
    trials: settings that each method may try (the mean has none).
    budget: seconds for everything, or `None`. All methods have a first round of trainings, again with more epochs (and
        trees) until those asked for are reached or the round takes half of the time that is left; then further trials,
        in whole rounds, as time allows. `study.plan` says so. Given the plan, results depend on `seed` alone.
    epochs: of a network, until it predicts, and as many again with its own loss; forests have 100 trees, boosted trees
        twice as many, or fewer where the budget reduces epochs.
    hidden: the hidden layers of networks; by default none and one of 64 are tried.
    head: the range of their predictions; by default what the training parameters have in common.
    units: of the objective, for sentences: "minutes".
    block: what counts as one in intervals and tests: "auto", a length, or a label for each test instance. By default
        instances, and of dated rows `ceil(T^(1/3))` times in a row, at least 7 of daily and 24 of hourly ones, and
        longer where the differences of neighbors are alike.
    confidence: of the verdict, for all decision-focused methods together.
    worthwhile: the share of the reference's regret below which an improvement does not count.
    seed: of all randomness.
    folder: keeps every finished trial; `resume=True` continues from there.
    progress: a bar where stderr is a terminal; True or False; or a function that gets a `StudyProgress`.

    A method that fails is reported with its reason. Ctrl-C raises `StudyInterrupted`, which says how to continue.

    Examples
    --------
    >>> import foresolve
    >>> from foresolve.data import shortest_path_data
    >>> data = shortest_path_data(200, degree=1, noise=0.5, seed=0)
    >>> study = foresolve.study(data, references=["mean", "ridge"], methods="spo+", trials=1, epochs=3, budget=None)
    >>> study.reference, study.verdict.answer in ("pays", "does not pay", "too little data")
    ('ridge', True)
    """
    began = time.perf_counter()
    checks.between("confidence", confidence, "(0, 1)", "95 % is 0.95")
    checks.between("worthwhile", worthwhile, "[0, 1]")
    trials, epochs = checks.positive_int("trials", trials), checks.positive_int("epochs", epochs)
    budget = None if budget is None else checks.positive("budget", budget, "Seconds, or `None` for no limit")
    number = as_seed("seed", seed)
    question = _Question(
        parts=Parts.of(data, split, parts, number), split=split if parts is None else (), seed=number, methods=methods,
        references=references, head=head, hidden=hidden,
    )  # fmt: skip
    resampled = study_block(block, question.parts.test)
    place = None if folder is None else checks.path("folder", folder)
    with writing_to(place, "choose another folder"), _telling(progress) as told:
        store = Store.open(place, question.identity | {"trials": trials, "epochs": epochs}, resume)
        with interruptible(store):
            context = question.context(epochs, told)
            if store.plan is None:
                store.begin(Plan.begin(budget, epochs, trials))
            if store.plan is not None and not store.plan.settled:
                warm_up(question.methods, context, _preparing(told))
            Rounds(context, question.methods, store, epochs, budget, time.perf_counter() - began, told).run()
            resampled = block if isinstance(block, str) else resampled
            return _answered(
                question, store, block=resampled, confidence=confidence, worthwhile=worthwhile, units=units,
                asked=epochs, began=began,
            )  # fmt: skip


class _Question:
    """Data and methods of a study."""

    def __init__(
        self, *, parts: Parts, split: Sequence[float], seed: int, methods: Any, references: Any, head: Any, hidden: Any
    ) -> None:
        self.parts, self.split, self.seed = parts, [float(share) for share in split], seed
        self.facts = Facts.of(parts.train, head, hidden)
        predicting, unsuited = two_stage(references, parts, self.facts)
        deciding, refused = focused(methods, parts.train.problem)
        self.methods: list[Method] = [*predicting, *deciding]
        self.failures = unsuited | refused

    @property
    def identity(self) -> dict[str, Any]:
        """The facts that identify a study, by name: settings first, since another seed or split gives other data."""
        named = {"training": self.parts.train, "validation": self.parts.valid, "test": self.parts.test}
        return {
            "seed": self.seed,
            "split": self.split,
            "methods": [method.name for method in self.methods],
            "networks": f"{self.facts.head}, {[list(layers) for layers in self.facts.hidden]}",
            **{f"settings of {method.name}": self._settings(method) for method in self.methods},
            **{f"{name}{DATA}": _digests(part) for name, part in named.items()},
        }

    def _settings(self, method: Method) -> dict[str, Any]:
        """The settings that a method tries, and its loss."""
        return settings_of(method) | {"tries": [dict(settings) for settings in method.settings(self.facts)]}

    def context(self, epochs: int, told: Callable[[StudyProgress], Any]) -> Context:
        """Best decisions are worked out here, once for all."""
        told(StudyProgress(0, 0, 0.0, "best decisions under the truth"))
        train, valid = self.parts.train.solve(), self.parts.valid.solve()
        self.parts.test.solve()
        return Context(train, valid, self.facts, self.seed, epochs, TREES)


def _digests(part: DecisionDataset) -> dict[str, str]:
    """Digests of the parts of a data set, by name."""
    contents = {
        "features": part.features, "parameters": part.theta, "problem": part.problem, "weights": part.weights,
        "dates": _nanoseconds(part),
    }  # fmt: skip
    return {name: fingerprint(content)[:16] for name, content in contents.items()}


def _nanoseconds(part: DecisionDataset) -> Any:
    """The times of instances, as numbers: the last value depends on them."""
    return None if part.times is None else part.times.astype("int64")


def _answered(
    question: _Question, store: Store, *, block: Any, confidence: float, worthwhile: float, units: str, asked: int,
    began: float,
) -> Study:  # fmt: skip
    """The one look at test data, and its answer."""
    best, failures = {}, dict(question.failures)
    for method in question.methods:
        trial = best_trial(store.trials.values(), method.name)
        if trial is None:
            reasons = [known.failure for known in store.trials.values() if known.method == method.name]
            failures[method.name] = reasons[0] if reasons else "it was not trained"
        else:
            best[method] = trial
    for wanted, words in ((False, "reference"), (True, "decision-focused")):
        if not any(method.info.focused is wanted for method in best):
            told = "; ".join(f"{name}: {reason}" for name, reason in failures.items())
            raise ForesolveError(f"no {words} method could be trained: {told}")
    validated = {method.name: float(trial.regret or 0.0) for method, trial in best.items()}
    reference = min((m.name for m in best if not m.info.focused), key=lambda name: validated[name])
    reports = {}
    with quiet():
        for method, trial in best.items():
            seen = method.seen(question.parts.test, trial.settings)
            options = {"metrics": False, "bootstrap": 0, "confidence": confidence, "seed": question.seed}
            reports[method.name] = evaluate(store.model(trial), seen, **options)
    blocks = ""
    if isinstance(block, str):  # as long as the differences ask for
        differences = [report_gains(report, reports[reference]) for report in reports.values()]
        block = study_block(block, question.parts.test, differences)
        blocks = neighbors(block, question.parts.test)
    reports = {name: report.resampled(block, seed=question.seed) for name, report in reports.items()}
    methods, sense = {method.name: method.info for method in best}, question.parts.train.problem.sense
    comparison = contrast(
        reports, methods, reference, sense, block=block, confidence=confidence, seed=question.seed, blocks=blocks
    )
    assert store.plan is not None
    verdict = judge(
        comparison, validated, worthwhile=worthwhile, units=units,
        hurried=_hurried(store.plan.epochs, asked, best.values()),
        reach=reach(reports[reference], block, confidence=confidence, seed=question.seed),
    )  # fmt: skip
    warnings = (*store.plan.notes, *cautions(comparison, verdict, question.parts, question.facts, reports))
    chosen = verdict.method if verdict.answer == "pays" else reference
    seconds = max(time.perf_counter() - began, sum(trial.seconds for trial in store.trials.values()))
    return Study(
        verdict=verdict, comparison=comparison, reference=reference, chosen=chosen,
        trials=tuple(store.trials.values()), failures=failures, reports=reports, warnings=warnings, plan=store.plan,
        parts=question.parts, seconds=seconds, units=units, _load=store.model,
    )  # fmt: skip


def _hurried(epochs: int, asked: int, trials: Iterable[Trial]) -> str:
    """The epochs that time allowed and the methods that needed more; nothing if all was done, or enough."""
    improving = [trial.method for trial in trials if trial.improving]
    if epochs >= asked or not improving:
        return ""
    verb = "was" if len(improving) == 1 else "were"
    return f"{epochs} of {asked} epochs, at the end of which {' and '.join(improving)} {verb} still improving"


@contextmanager
def _telling(progress: Any) -> Any:
    """A function to call with a `StudyProgress`: the caller's, a bar's, or none."""
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise checks.fail("progress", "True, False, None or a function of StudyProgress", repr(progress))
    if callable(progress):
        yield progress
        return
    with reporting(progress, "study") as report:
        yield lambda told: report(math.floor(STEPS * told.share), STEPS, told.label)


def _preparing(told: Callable[[StudyProgress], Any]) -> Callable[[str], Any]:
    return lambda name: told(StudyProgress(0, 0, 0.0, f"preparing {name}"))
