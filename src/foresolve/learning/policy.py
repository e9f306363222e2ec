"""From features to decisions: what a user saves, loads and calls."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.data.dataset import DecisionDataset
from foresolve.data.frames.reader import FrameReader
from foresolve.errors import FileError
from foresolve.learning import policy_files
from foresolve.learning.deployment.certificate import relaxes
from foresolve.learning.deployment.decisions import Decisions
from foresolve.learning.deployment.intake import check_ranges, take_in
from foresolve.learning.deployment.training_statistics import TrainingStatistics
from foresolve.learning.features import model_names
from foresolve.learning.prediction import Model, as_model, inference, is_estimator, predict
from foresolve.losses.base import Repair
from foresolve.problems.base import Problem

if TYPE_CHECKING:
    from foresolve.learning.deployment.monitoring import Monitoring

Rule = Callable[[Tensor, Problem], Tensor]


class Policy:
    """From features to decisions: a model, a problem, and the rule by which a prediction decides.

    Parameters
    ----------
    model: from features to `theta`: a module, a baseline, any function, or a fitted estimator or pipeline of
        scikit-learn, of which the policy has a copy.
    problem: what is decided.
    rule: `rule(theta, problem) -> x`, by default `problem.decide`, which warns where it had to adjust a decision.
    feature_names: of the columns that the model was trained on; a frame is then put into their order, and one with
        other columns is refused. An estimator that was fitted with names, which scikit-learn wants to be strings,
        brings them, and so does `train`. Without names, and for arrays, columns count by position.
    train: the data that the model was trained on. The policy keeps how its features are read from a frame (columns,
        encodings, what fills missing entries), their names and ranges, and how predictions were spread.
    valid: data that the model was not trained on, such as a validation set: the policy keeps its errors and its regret
        there, which `monitor` compares with.
    record: how the policy came about (method, settings, dates), as JSON has it.
    repair: where `theta` makes constraints, what is carried out of a decision that is not feasible under the truth:
        `repair(x, problem) -> x`, as for `evaluate`. Decisions stay as they are; on `valid`, in `monitor` and in
        `evaluate`, what the repair makes of them is scored.

    Attributes
    ----------
    reader: how a frame of features is read; `None` where the training data did not come from one.
    statistics: what is kept of `train` and `valid`; `None` without them.

    Examples
    --------
    >>> import tempfile, torch, foresolve
    >>> from foresolve.models import MLP
    >>> from foresolve.learning import Policy
    >>> policy = Policy(MLP(3, 4), foresolve.TopK(4, 2))
    >>> features = torch.randn(5, 3)
    >>> policy(features).x.sum(-1)
    tensor([2., 2., 2., 2., 2.])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     policy.save(folder)
    ...     torch.equal(Policy.load(folder)(features).x, policy(features).x)
    True
    """

    def __init__(
        self,
        model: Model | Any,
        problem: Problem,
        rule: Rule | None = None,
        *,
        feature_names: Sequence[str] | None = None,
        train: DecisionDataset | None = None,
        valid: DecisionDataset | None = None,
        record: Mapping[str, Any] | None = None,
        repair: Repair | None = None,
    ) -> None:
        if not isinstance(problem, Problem):
            raise checks.fail("problem", "a foresolve Problem", type(problem).__name__)
        if rule is not None:
            checks.function("rule", rule, "rule(theta, problem) -> x", "Leave it out for `problem.decide`")
        if repair is not None:
            checks.function("repair", repair, "repair(x, problem) -> x")
        for name, data in (("train", train), ("valid", valid)):
            if data is not None and not isinstance(data, DecisionDataset):
                raise checks.fail(name, "a DecisionDataset", type(data).__name__)
        if valid is not None and train is None:
            raise checks.fail("train", "given where `valid` is", "None", "Ranges and encodings are those of training")
        made = as_model(model)
        if feature_names is None:
            feature_names = model_names(model)
        if feature_names is None and train is not None:
            feature_names = train.feature_names
        # Fitted again, an estimator would change what the policy predicts.
        self.model: Any = copy.deepcopy(made) if is_estimator(model) else made
        self.feature_names = None if feature_names is None else tuple(map(str, feature_names))
        self.rule, self.repair = rule, repair
        self._lacks_repair = False  # of those who loaded it
        self.record = policy_files.checked_record({} if record is None else record)
        self.reader: FrameReader | None = None if train is None else train.reader
        self._problem = self._placed = problem
        self.statistics = None if train is None else TrainingStatistics.of(self, train, valid)

    @property
    def problem(self) -> Problem:
        """The problem."""
        return self._problem

    def __call__(self, features: Any, problem: Problem | None = None) -> Decisions:
        """Decisions for features `(B, ...)`; for other feasible sets than in training, with their own `problem`.

        Features may be frames (pandas, polars, Arrow), paths of files, tensors, arrays or lists of numbers. Frames and
        files are read as in training: by name, in any order of columns, encoded and filled in the same way. Names that
        do not match are refused; values far outside of training are warned of (`FeatureRangeWarning`: beyond its ends
        by more than half of its range). Decisions are in the order of the rows, and in double precision for frames and
        files, whose numbers are; for tensors and arrays in that of the model.
        """
        taken = take_in(features, self.reader, self.feature_names)
        if self.statistics is not None:
            check_ranges(taken.features, taken.keys, self.statistics.features)
        adjusted: Tensor | None = None
        with inference(self.model):
            theta = predict(self.model, taken.features)
            checks.finite("model(features)", theta)
            theta = theta.double() if taken.table else theta
            placed = self._placed_problem(problem, theta)
            if self.rule is None:
                x, adjusted = placed.decide(theta, warn=True)
            else:
                x = self.rule(theta, placed)
        if not isinstance(x, Tensor):
            raise checks.fail("rule(theta, problem)", "a tensor of decisions", type(x).__name__)
        if x.ndim != 2:  # one instance without a batch dimension, or several dimensions
            x, theta = x.reshape(-1, x.shape[-1]), _flat(theta, len(placed.theta_shape))
            adjusted = None if adjusted is None else adjusted.reshape(-1)
        return Decisions(
            placed, x.detach(), theta.detach(), keys=taken.keys, adjusted=adjusted, ruled=self.rule is not None,
            relaxed=relaxes(self.rule),
        )  # fmt: skip

    def _placed_problem(self, problem: Problem | None, theta: Tensor) -> Problem:
        """The policy's own or the caller's, where the predictions are."""
        if problem is None and self._problem.batch_shape:
            expected = "given where the policy's has data for each instance"
            raise checks.fail("problem", expected, "None", "Pass theirs: `policy(features, problem)`")
        if problem is None:
            # Kept: the solvers it has warmed up serve the next call.
            self._placed = self._placed.to(theta.device)
            return self._placed
        if not isinstance(problem, Problem):
            raise checks.fail("problem", "a foresolve Problem", type(problem).__name__)
        return problem.to(theta.device)

    def decide(self, features: Any, problem: Problem | None = None) -> Decisions:
        """Decisions for features: what calling the policy does."""
        return self(features, problem)

    def monitor(self, features: Any, actuals: Any, problem: Problem | None = None, **options: Any) -> Monitoring:
        """What the decisions for these features turned out to be worth, what has drifted since training, and whether to
        train again: `foresolve.learning.Monitoring`.

        Parameters
        ----------
        features: as in a call.
        actuals: the true parameters of the same instances: an array `(B, ...)` in their order, or a frame (or file)
            with the key columns of training, matched by key, and a column for each parameter; in the long form, say
            which column is what: `variable="road", value="minutes"`.
        problem: as in a call.
        options: `variable`, `value`; `missing="drop"` leaves out instances whose truth is not complete; `confidence` of
            intervals (0.95).
        """
        from foresolve.learning.deployment.monitoring import monitor  # which scores policies

        if self._lacks_repair:
            remedy = "Pass it with `Policy.load(..., repair=...)`"
            raise checks.fail("repair", "given, since the policy was saved with one", "none", remedy)
        return monitor(self, features, actuals, problem, **options)

    def plot(self, features: Any, index: int = 0, ax: Any = None, *, problem: Problem | None = None) -> Any:
        """Draw what is decided for one row of features, on its prediction; gives the matplotlib axes back."""
        return self(features, problem).plot(index, ax)

    def _repr_html_(self) -> str:
        """What a notebook shows: what it takes in, what it decides, how it came about."""
        names = self.feature_names or ()
        facts = {"model": repr(self.model), "features": ", ".join(names[:8]) + (", …" if len(names) > 8 else "")}
        facts |= {"rule": "" if self.rule is None else repr(self.rule), "problem": repr(self.problem)}
        facts |= {name: str(value) for name, value in self.record.items()}
        cell = "<td style='text-align: left'><code>{}</code></td>"
        rows = (f"<tr><th>{escape(name)}</th>{cell.format(escape(text))}</tr>" for name, text in facts.items() if text)
        return f"<table><caption>Policy</caption>{''.join(rows)}</table>"

    def __repr__(self) -> str:
        rule = "" if self.rule is None else f", rule={self.rule!r}"
        return f"Policy({type(self.model).__name__}, {self.problem!r}{rule})"

    # -- files -------------------------------------------------------------------------------------------------------

    def save(self, folder: str | Path, *, problem: bool = True) -> None:
        """Write the policy to a folder: "policy.json" and the safetensors it names; an older policy there is replaced.

        "policy.json" comes last: until then, the folder holds the older policy. It has all that a decision needs: the
        model, the problem, names, how frames are read, what is known of training, the record. What a file cannot hold
        is said here: of a model that is not one of foresolve's own the weights alone, of a function, a `rule` or a
        `repair` nothing; a warning says what to give to `load`. What is scikit-learn's is written by skops, where skops
        holds all its types safe to load; otherwise it is an error.

        Parameters
        ----------
        folder: it is made where it is not there.
        problem: whether the problem is written too. One that cannot be (an `OracleProblem`, a class of your own) is an
            error; without it, `load` wants it.
        """
        stored = policy_files.Stored(
            self.model, self.problem, self.rule is not None, self.feature_names, self.reader, self.statistics,
            self.record, self.repair is not None or self._lacks_repair,
        )  # fmt: skip
        policy_files.write(checks.path("folder", folder), stored, with_problem=problem)

    @classmethod
    def load(
        cls,
        folder: str | Path,
        model: Any = None,
        problem: Problem | None = None,
        rule: Rule | None = None,
        repair: Repair | None = None,
    ) -> Self:
        """Read a policy; nothing in the files is run.

        Parameters
        ----------
        folder: what `save` wrote.
        model: a module of the class that was saved, for one that is not foresolve's own; it gets the saved weights.
        problem: instead of the saved one, and where none was saved. Its parameters are those of training, in that
            order: their number is checked, and their names where both problems have some.
        rule: where the policy had one.
        repair: likewise; `monitor` needs it, decisions do not.
        """
        folder = checks.path("folder", folder)
        stored = policy_files.read(folder, model, problem)
        if stored.own_rule and rule is None:
            path = folder / policy_files.NAME
            raise FileError(path, "was saved with a rule of its own: pass it with `Policy.load(..., rule=...)`")
        names, record = stored.feature_names, stored.record
        policy = cls(stored.model, stored.problem, rule, feature_names=names, record=record, repair=repair)
        policy.reader, policy.statistics = stored.reader, stored.statistics
        policy._lacks_repair = stored.own_repair and repair is None
        return policy


def _flat(theta: Tensor, dims: int) -> Tensor:
    """Parameters of `dims` dimensions with one batch dimension in front; a sparse matrix is that of one instance."""
    if theta.layout != torch.strided:
        return theta
    batch = theta.ndim - dims
    return theta[None] if batch == 0 else theta.flatten(0, batch - 1)
