"""From features to decisions: what a user saves, loads and calls."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from torch import Tensor, nn

from foresolve._base import checks, files
from foresolve._base.extras import need
from foresolve.errors import ForesolveError
from foresolve.learning.distributed import unwrap
from foresolve.learning.prediction import Model, inference, predict
from foresolve.learning.registry import REFERENCE, build, describe_problem, restore_problem
from foresolve.models.forest import ScikitLearn
from foresolve.problems.base import Problem

KIND, SCHEMA, NAME = "foresolve policy", 2, "policy.json"
Rule = Callable[[Tensor, Problem], Tensor]
_FILE = re.compile(r"(weights-[0-9a-f]{16}\.safetensors|estimator-[0-9a-f]{16}\.skops)")


class Policy:
    """From features to decisions: a model, a problem, and the rule by which a prediction decides.

    Parameters
    ----------
    model: from features to `theta`: a module, a baseline, or any function.
    problem: what is decided.
    rule: `rule(theta, problem) -> x`, by default `problem.solve`.

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

    def __init__(self, model: Model, problem: Problem, rule: Rule | None = None) -> None:
        if not callable(model):
            raise checks.fail("model", "callable on features", type(model).__name__)
        if not isinstance(problem, Problem):
            raise checks.fail("problem", "a foresolve Problem", type(problem).__name__)
        if rule is not None:
            checks.function("rule", rule, "rule(theta, problem) -> x", "Leave it out for `problem.solve`")
        self.model = unwrap(model) if isinstance(model, nn.Module) else model
        self.rule = rule
        self._problem = self._placed = problem

    @property
    def problem(self) -> Problem:
        """What is decided."""
        return self._problem

    def __call__(self, features: Any, problem: Problem | None = None) -> Tensor:
        """Decisions for features `(B, ...)`; for other feasible sets than in training, with their own `problem`."""
        with inference(self.model):
            theta = predict(self.model, features)
            checks.finite("model(features)", theta)
            if problem is None:
                # Where the model is, and kept: the solvers it has warmed up serve the next call.
                problem = self._placed = self._placed.to(theta.device)
            elif isinstance(problem, Problem):
                problem = problem.to(theta.device)
            else:
                raise checks.fail("problem", "a foresolve Problem", type(problem).__name__)
            if self.rule is None:
                return problem.solve(theta)
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
        own has its weights saved, and is given to `load`; so is a `rule`.

        Parameters
        ----------
        folder: it is made where it is not there.
        problem: whether the problem is written too. One that cannot be (an `OracleProblem`, a class of one's own) is an
            error; without it, `load` wants it.
        """
        folder = checks.path("folder", folder)
        tensors: dict[str, Tensor] = {}
        config = self._describe_problem() if problem else None
        document: dict[str, Any] = {
            "kind": KIND,
            "schema": SCHEMA,
            "model": self._describe_model(tensors),
            "problem": None if config is None else files.pack(config, tensors, "problem"),
            "problem_class": type(self.problem).__name__,
            "rule": "solve" if self.rule is None else "custom",
        }
        contents = {"weights": (files.tensor_bytes(tensors), "safetensors")}
        if isinstance(self.model, ScikitLearn):
            contents["estimator"] = (_skops(self.model), "skops")
        document["files"] = {}
        for name, (content, suffix) in contents.items():
            digest = hashlib.sha256(content).hexdigest()
            entry = {"name": f"{name}-{digest[:16]}.{suffix}", "sha256": digest}
            files.write_bytes(folder / entry["name"], content)
            document["files"][name] = entry
        files.write_bytes(folder / NAME, json.dumps(document, indent=1).encode())
        current = {entry["name"] for entry in document["files"].values()}
        for path in folder.iterdir():
            if _FILE.fullmatch(path.name) and path.name not in current:
                path.unlink(missing_ok=True)

    def _describe_problem(self) -> dict[str, Any]:
        try:
            return describe_problem(self.problem)
        except ForesolveError as error:
            raise ForesolveError(
                f"the policy's {type(self.problem).__name__} cannot be saved: {error}. Save the policy without it, "
                "`policy.save(folder, problem=False)`, and pass it again, `Policy.load(folder, problem=...)`"
            ) from error

    def _describe_model(self, tensors: dict[str, Tensor]) -> dict[str, Any]:
        model = self.model
        name, known = type(model).__name__, REFERENCE.get(type(model).__name__)
        state = dict(model.state_dict()) if isinstance(model, nn.Module) else {}
        described: dict[str, Any] = {"class": name, "state": files.pack(state, tensors, "model")}
        if known is not None and type(model) is known:
            return described | {"reference": True, "config": model.config()}  # type: ignore[union-attr]
        fitted = model._fitted if isinstance(model, ScikitLearn) else None
        return described | {"reference": False, "config": fitted}

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
        path = folder / NAME
        document = files.read_json(path)
        if not isinstance(document, dict) or document.get("kind") != KIND:
            raise ForesolveError(f"{path} is not a policy of foresolve")
        if document.get("schema") != SCHEMA:
            schema = document.get("schema")
            raise ForesolveError(f"{path} has the schema {schema!r}; this version of foresolve reads {SCHEMA}")
        try:
            tensors, _ = files.read_tensors(_file(document, "weights", folder, path))
            if problem is None:
                problem = _load_problem(document, tensors, path)
            model = _load_model(document, tensors, model, folder, path)
        except RecursionError as error:
            raise ForesolveError(f"{path} is damaged: it is nested too deeply") from error
        if files.field(document, "rule", str, path) != "solve" and rule is None:
            raise ForesolveError(f"{path} was saved with a rule of its own: pass it with `Policy.load(..., rule=...)`")
        return cls(model, problem, rule)


def _file(document: Any, name: str, folder: Path, path: Path) -> Path:
    """A file that the document names, if it is what it was."""
    entry = files.field(files.field(document, "files", dict, path), name, dict, path)
    filename = files.field(entry, "name", str, path)
    if not _FILE.fullmatch(filename):
        raise ForesolveError(f"{path} is damaged or hostile: it names the file {filename[:80]!r}")
    try:
        content = (folder / filename).read_bytes()
    except OSError as error:
        raise ForesolveError(f"{folder / filename}, which {path} names, cannot be read: {error}") from error
    if hashlib.sha256(content).hexdigest() != files.field(entry, "sha256", str, path):
        raise ForesolveError(f"{folder / filename} is damaged: it is not what {path} says")
    return folder / filename


def _load_problem(document: Any, tensors: dict[str, Tensor], path: Path) -> Problem:
    if files.field(document, "problem", (dict, type(None)), path) is None:
        name = files.field(document, "problem_class", str, path)
        raise ForesolveError(f"{path} was saved without its {name}: pass it with `Policy.load(..., problem=...)`")
    config = files.unpack(document["problem"], tensors, path)
    if not isinstance(config, dict):
        raise ForesolveError(f"{path} is damaged: `problem` must be a dict")
    try:
        return restore_problem(config)
    except ForesolveError as error:
        raise ForesolveError(f"{path}: {error}") from error


def _load_model(document: Any, tensors: dict[str, Tensor], model: Any, folder: Path, path: Path) -> Any:
    section = files.field(document, "model", dict, path)
    name = files.field(section, "class", str, path)
    state = files.unpack(files.field(section, "state", dict, path), tensors, path)
    if model is None and "estimator" in files.field(document, "files", dict, path):
        return _load_estimator(section, folder, document, path)
    ours = model is None
    if ours:
        if not files.field(section, "reference", bool, path):
            raise ForesolveError(
                f"{path} holds the weights of a {name}, which is none of foresolve's models: pass one with "
                "`Policy.load(..., model=...)`"
            )
        model = build(name, files.field(section, "config", dict, path), device="meta")
    if not isinstance(model, nn.Module):
        return model
    _fill(model, state, name, path, assign=ours)
    return model


def _fill(model: nn.Module, state: Any, name: str, path: Path, assign: bool) -> None:
    """The saved weights, if they are of the same names and shapes; in a model on "meta" they take their places."""

    def shapes(state: Any) -> dict[str, Any]:
        return {key: tuple(value.shape) for key, value in state.items() if isinstance(value, Tensor)}

    expected, saved = shapes(model.state_dict()), shapes(state)
    for key in [*expected, *saved]:
        if expected.get(key) != saved.get(key):
            sizes = f"{key} is {saved.get(key, 'missing')} in the file, {expected.get(key, 'missing')} in the model"
            raise ForesolveError(f"{path} holds the weights of another model ({name}): {sizes}")
    try:
        model.load_state_dict(state, assign=assign)
        if hasattr(model, "validate"):
            model.validate()  # type: ignore[operator]
    except (RuntimeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ForesolveError(f"{path} does not hold the weights of a {name}: {error}") from error


def _skops(model: ScikitLearn) -> bytes:
    """The estimator, if skops holds everything in it safe to load."""
    if model._fitted is None:
        raise ForesolveError("the ScikitLearn baseline has not been fitted: there is nothing to save")
    library = need("skops.io", "saving a scikit-learn model", "learn")
    content = library.dumps(model.fitted)
    unsafe = library.get_untrusted_types(data=content)
    if unsafe:
        raise ForesolveError(
            f"{type(model.fitted).__name__} cannot be saved so that it is safe to load: skops does not trust "
            f"{', '.join(unsafe)}. For forests, `RandomForest` can"
        )
    return content


def _load_estimator(section: Any, folder: Path, document: Any, path: Path) -> ScikitLearn:
    source = _file(document, "estimator", folder, path)
    library = need("skops.io", "loading a scikit-learn model", "learn")
    fitted = files.field(section, "config", dict, path)
    layout = files.field(fitted, "layout", str, path)
    shape = files.field(fitted, "shape", list, path)
    if not all(isinstance(size, int) for size in shape):
        raise ForesolveError(f"{path} is damaged: `shape` must hold integers")
    try:
        content = source.read_bytes()
        unsafe = library.get_untrusted_types(data=content)
        if unsafe:
            raise ForesolveError(f"{source} holds types that are not safe to load: {', '.join(unsafe)}")
        estimator = library.loads(content, trusted=[])
        model = ScikitLearn(estimator)
    except ForesolveError:
        raise
    except Exception as error:  # whatever a damaged archive makes skops stumble over
        raise ForesolveError(f"{source} is damaged: {type(error).__name__}: {error}") from error
    model.fitted, model._fitted = estimator, {"layout": layout, "shape": shape}
    return model
