"""Policies as folders: what is written, and what is read back without running anything."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor, nn

from foresolve._base import files
from foresolve._base.extras import need
from foresolve.errors import ForesolveError
from foresolve.learning.registry import build, describe_model, describe_problem, restore_problem
from foresolve.learning.transformed import Transformed
from foresolve.models.open_scaling import make_room
from foresolve.models.reference import Reference
from foresolve.models.scikit_learn import ScikitLearn
from foresolve.problems.base import Problem

KIND, SCHEMA, NAME = "foresolve policy", 2, "policy.json"
_FILE = re.compile(r"(weights-[0-9a-f]{16}\.safetensors|(estimator|transformer)-[0-9a-f]{16}\.skops)")


class Stored(NamedTuple):
    """What a folder holds of a policy; a rule of the user's is only noted."""

    model: Any
    problem: Problem
    own_rule: bool
    feature_names: tuple[str, ...] | None


# -- writing ---------------------------------------------------------------------------------------------------------


def write(folder: Path, policy: Stored, *, with_problem: bool) -> None:
    """Tensors and estimators first, "policy.json" last: until then, the folder holds the older policy."""
    tensors: dict[str, Tensor] = {}
    config = _problem_section(policy.problem) if with_problem else None
    document: dict[str, Any] = {
        "kind": KIND,
        "schema": SCHEMA,
        "model": _model_section(policy.model, tensors),
        "problem": None if config is None else files.pack(config, tensors, "problem"),
        "problem_class": type(policy.problem).__name__,
        "rule": "custom" if policy.own_rule else "solve",
        "feature_names": None if policy.feature_names is None else list(policy.feature_names),
    }
    contents = {"weights": (files.tensor_bytes(tensors), "safetensors"), **_estimators(policy.model)}
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


def _problem_section(problem: Problem) -> dict[str, Any]:
    try:
        return describe_problem(problem)
    except ForesolveError as error:
        raise ForesolveError(
            f"the policy's {type(problem).__name__} cannot be saved: {error}. Save the policy without it, "
            "`policy.save(folder, problem=False)`, and pass it again, `Policy.load(folder, problem=...)`"
        ) from error


def _model_section(model: Any, tensors: dict[str, Tensor]) -> dict[str, Any]:
    if isinstance(model, Transformed):
        return {"class": "Transformed", "model": _model_section(model.model, tensors)}
    name, config = type(model).__name__, describe_model(model)
    state = dict(model.state_dict()) if isinstance(model, nn.Module) else {}
    described: dict[str, Any] = {"class": name, "state": files.pack(state, tensors, "model")}
    if config is not None:
        return described | {"reference": True, "config": config}
    fitted = model._fitted if isinstance(model, ScikitLearn) else None
    return described | {"reference": False, "config": fitted}


def _estimators(model: Any) -> dict[str, tuple[bytes, str]]:
    """What of a model is scikit-learn's, by the name of its file."""
    contents = {}
    if isinstance(model, Transformed):
        contents["transformer"] = (_skops(model.transformer), "skops")
        model = model.model
    for part in _regressors(model):
        if part._fitted is None:
            raise ForesolveError("the ScikitLearn baseline has not been fitted: there is nothing to save")
        if "estimator" in contents:
            raise ForesolveError(f"{type(model).__name__} has several regressors of scikit-learn; a policy holds one")
        contents["estimator"] = (_skops(part.fitted), "skops")
    return contents


def _regressors(model: Any) -> list[ScikitLearn]:
    """The model itself, or those in a model of ours that wraps them."""
    if isinstance(model, ScikitLearn):
        return [model]
    parts = [getattr(model, name) for name in model.wraps] if isinstance(model, Reference) else []
    return [regressor for part in parts for regressor in _regressors(part)]


def _skops(estimator: Any) -> bytes:
    """The estimator, if skops holds everything in it safe to load."""
    library = need("skops.io", "saving a scikit-learn model", "learn")
    content = library.dumps(estimator)
    unsafe = library.get_untrusted_types(data=content)
    if unsafe:
        raise ForesolveError(
            f"{type(estimator).__name__} cannot be saved so that it is safe to load: skops does not trust "
            f"{', '.join(unsafe)}. For forests, `RandomForest` can"
        )
    return content


# -- reading ---------------------------------------------------------------------------------------------------------


def read(folder: Path, model: Any, problem: Problem | None) -> Stored:
    """The policy in a folder; `model` and `problem` are the caller's, where the folder does not hold them."""
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
        model = _load_model(files.field(document, "model", dict, path), tensors, model, folder, document, path)
    except RecursionError as error:
        raise ForesolveError(f"{path} is damaged: it is nested too deeply") from error
    names = document.get("feature_names")
    if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise ForesolveError(f"{path} is damaged: `feature_names` must be a list of names")
    rule = files.field(document, "rule", str, path)
    return Stored(model, problem, rule != "solve", None if names is None else tuple(names))


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


def _load_model(section: Any, tensors: dict[str, Tensor], model: Any, folder: Path, document: Any, path: Path) -> Any:
    name = files.field(section, "class", str, path)
    if "model" in section:  # that of a `Transformed`, whatever classes of others are called
        inner = _load_model(files.field(section, "model", dict, path), tensors, model, folder, document, path)
        return Transformed(_load_estimator("transformer", folder, document, path), inner)
    state = files.unpack(files.field(section, "state", dict, path), tensors, path)
    ours, reference = model is None, files.field(section, "reference", bool, path)
    if ours and not reference and "estimator" in files.field(document, "files", dict, path):
        return _load_scikit_learn(section, folder, document, path)
    if ours:
        if not reference:
            raise ForesolveError(
                f"{path} holds the weights of a {name}, which is none of foresolve's models: pass one with "
                "`Policy.load(..., model=...)`"
            )
        model = build(
            name, files.field(section, "config", dict, path), device="meta",
            estimator=lambda config: _load_scikit_learn({"config": config}, folder, document, path),
        )  # fmt: skip
    if not isinstance(model, nn.Module):
        return model
    _fill(model, state, name, path, assign=ours)
    return model


def _fill(model: nn.Module, state: Any, name: str, path: Path, assign: bool) -> None:
    """The saved weights, if they are of the same names and shapes; in a model on "meta" they take their places."""

    def shapes(state: Any) -> dict[str, Any]:
        return {key: tuple(value.shape) for key, value in state.items() if isinstance(value, Tensor)}

    make_room(model, state)
    expected, saved = shapes(model.state_dict()), shapes(state)
    for key in [*expected, *saved]:
        if expected.get(key) != saved.get(key):
            sizes = f"{key} is {saved.get(key, 'missing')} in the file, {expected.get(key, 'missing')} in the model"
            raise ForesolveError(f"{path} holds the weights of another model ({name}): {sizes}")
    if not assign:  # a model of the caller's stays where it is, and gets the saved precision
        for key, tensor in [*model.named_parameters(), *model.named_buffers()]:
            if key in state:
                tensor.data = tensor.data.to(state[key].dtype)
    try:
        model.load_state_dict(state, assign=assign)
        if hasattr(model, "validate"):
            model.validate()  # type: ignore[operator]
    except (RuntimeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ForesolveError(f"{path} does not hold the weights of a {name}: {error}") from error


def _load_scikit_learn(section: Any, folder: Path, document: Any, path: Path) -> ScikitLearn:
    estimator = _load_estimator("estimator", folder, document, path)
    fitted = files.field(section, "config", dict, path)
    layout = files.field(fitted, "layout", str, path)
    shape = files.field(fitted, "shape", list, path)
    if not all(isinstance(size, int) for size in shape):
        raise ForesolveError(f"{path} is damaged: `shape` must hold integers")
    try:
        model = ScikitLearn(estimator)
    except ForesolveError as error:
        raise ForesolveError(f"{path} is damaged: {error}") from error
    model.fitted, model._fitted = estimator, {"layout": layout, "shape": shape}
    return model


def _load_estimator(name: str, folder: Path, document: Any, path: Path) -> Any:
    source = _file(document, name, folder, path)
    library = need("skops.io", "loading a scikit-learn model", "learn")
    try:
        content = source.read_bytes()
        unsafe = library.get_untrusted_types(data=content)
        if unsafe:
            raise ForesolveError(f"{source} holds types that are not safe to load: {', '.join(unsafe)}")
        return library.loads(content, trusted=[])
    except ForesolveError:
        raise
    except Exception as error:  # whatever a damaged archive makes skops stumble over
        raise ForesolveError(f"{source} is damaged: {type(error).__name__}: {error}") from error
