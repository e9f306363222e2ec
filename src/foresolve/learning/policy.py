"""From features to decisions: what a user saves, loads and calls."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

from torch import Tensor

from foresolve._base import checks
from foresolve.errors import ForesolveError
from foresolve.learning import policy_files
from foresolve.learning.features import model_names, select_columns
from foresolve.learning.prediction import Model, as_model, inference, is_estimator, predict
from foresolve.problems.base import Problem

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
        brings them; for a module that was trained on a frame, give `train.feature_names`. Without names, and for
        arrays, columns count by position.

    Examples
    --------
    >>> import tempfile, torch, foresolve
    >>> from foresolve.models import MLP
    >>> from foresolve.learning import Policy
    >>> policy = Policy(MLP(3, 4), foresolve.TopK(4, 2))
    >>> features = torch.randn(5, 3)
    >>> policy(features).sum(-1)
    tensor([2., 2., 2., 2., 2.])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     policy.save(folder)
    ...     torch.equal(Policy.load(folder)(features), policy(features))
    True
    """

    def __init__(
        self,
        model: Model | Any,
        problem: Problem,
        rule: Rule | None = None,
        *,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        if not isinstance(problem, Problem):
            raise checks.fail("problem", "a foresolve Problem", type(problem).__name__)
        if rule is not None:
            checks.function("rule", rule, "rule(theta, problem) -> x", "Leave it out for `problem.decide`")
        made = as_model(model)
        if feature_names is None:
            feature_names = model_names(model)
        # Fitted again, an estimator would change what the policy predicts.
        self.model: Any = copy.deepcopy(made) if is_estimator(model) else made
        self.feature_names = None if feature_names is None else tuple(map(str, feature_names))
        self.rule = rule
        self._problem = self._placed = problem

    @property
    def problem(self) -> Problem:
        """What is decided."""
        return self._problem

    def __call__(self, features: Any, problem: Problem | None = None) -> Tensor:
        """Decisions for features `(B, ...)`; for other feasible sets than in training, with their own `problem`.

        Features may be tensors, arrays, frames or lists of numbers. Decisions are tensors.
        """
        with inference(self.model):
            theta = predict(self.model, select_columns(features, self.feature_names))
            checks.finite("model(features)", theta)
            if problem is None and self._problem.batch_shape:
                expected = "given where the policy's has data for each instance"
                raise checks.fail("problem", expected, "None", "Pass theirs: `policy(features, problem)`")
            if problem is None:
                # Where the model is, and kept: the solvers it has warmed up serve the next call.
                problem = self._placed = self._placed.to(theta.device)
            elif isinstance(problem, Problem):
                problem = problem.to(theta.device)
            else:
                raise checks.fail("problem", "a foresolve Problem", type(problem).__name__)
            if self.rule is None:
                return problem.decide(theta, warn=True)[0]
            x = self.rule(theta, problem)
        if not isinstance(x, Tensor):
            raise checks.fail("rule(theta, problem)", "a tensor of decisions", type(x).__name__)
        return x.detach()

    def decide(self, features: Any, problem: Problem | None = None) -> Tensor:
        """Decisions for features: what calling the policy does."""
        return self(features, problem)

    def __repr__(self) -> str:
        rule = "" if self.rule is None else f", rule={self.rule!r}"
        return f"Policy({type(self.model).__name__}, {self.problem!r}{rule})"

    # -- files -------------------------------------------------------------------------------------------------------

    def save(self, folder: str | Path, *, problem: bool = True) -> None:
        """Write the policy to a folder: "policy.json" and the safetensors it names; an older policy there is replaced.

        "policy.json" comes last: until then, the folder holds the older policy. A model that is not one of foresolve's
        own has its weights saved, and is given to `load`; so is a `rule`. What is scikit-learn's is written by skops,
        where skops holds all its types safe to load; otherwise it is an error.

        Parameters
        ----------
        folder: it is made where it is not there.
        problem: whether the problem is written too. One that cannot be (an `OracleProblem`, a class of one's own) is an
            error; without it, `load` wants it.
        """
        stored = policy_files.Stored(self.model, self.problem, self.rule is not None, self.feature_names)
        policy_files.write(checks.path("folder", folder), stored, with_problem=problem)

    @classmethod
    def load(
        cls,
        folder: str | Path,
        model: Any = None,
        problem: Problem | None = None,
        rule: Rule | None = None,
    ) -> Self:
        """Read a policy; nothing in the files is run.

        Parameters
        ----------
        folder: what `save` wrote.
        model: a module of the class that was saved, for one that is not foresolve's own; it gets the saved weights.
        problem: instead of the saved one, and where none was saved.
        rule: where the policy had one.
        """
        folder = checks.path("folder", folder)
        stored = policy_files.read(folder, model, problem)
        if stored.own_rule and rule is None:
            path = folder / policy_files.NAME
            raise ForesolveError(f"{path} was saved with a rule of its own: pass it with `Policy.load(..., rule=...)`")
        return cls(stored.model, stored.problem, rule, feature_names=stored.feature_names)
