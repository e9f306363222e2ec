"""Policies as folders: what is written, and what is read back without running anything."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor, nn

from foresolve._base import checks, files, reading
from foresolve._base.container import Container
from foresolve.data.frames.reader import FrameReader
from foresolve.errors import FileError, ForesolveError, ForesolveWarning
from foresolve.learning.deployment.training_statistics import TrainingStatistics
from foresolve.learning.distributed import original
from foresolve.learning.estimator_files import estimator_contents, load_estimator, load_scikit_learn
from foresolve.learning.registry import build, describe_model, describe_problem, restore_problem
from foresolve.learning.saved_weights import fill
from foresolve.learning.transformed import Transformed
from foresolve.models.scikit_learn import ScikitLearn
from foresolve.problems.base import Problem

# The second did not hold how frames are read, what is known of training, and the record; the third had no checksum.
POLICY = Container("a policy", "foresolve policy", 4, older=(2, 3))
NAME = "policy.json"
_FILE = re.compile(r"(weights-[0-9a-f]{16}\.safetensors|(estimator|transformer)-[0-9a-f]{16}\.skops)")


class Stored(NamedTuple):
    """What a folder holds of a policy; a rule and a repair of the user's are only noted."""

    model: Any
    problem: Problem
    own_rule: bool
    feature_names: tuple[str, ...] | None
    reader: FrameReader | None
    statistics: TrainingStatistics | None
    record: dict[str, Any]
    own_repair: bool = False


# -- writing ---------------------------------------------------------------------------------------------------------


def write(folder: Path, policy: Stored, *, with_problem: bool) -> None:
    """Tensors and estimators first, "policy.json" last: until then, the folder holds the older policy."""
    tensors: dict[str, Tensor] = {}
    config = _problem_section(policy.problem) if with_problem else None
    document: dict[str, Any] = {
        "model": _model_section(policy.model, tensors),
        "problem": None if config is None else files.pack(config, tensors, "problem"),
        "problem_class": type(policy.problem).__name__,
        "parameters": _parameters(policy.problem),
        "rule": "custom" if policy.own_rule else "solve",
        "repair": policy.own_repair,
        "feature_names": None if policy.feature_names is None else list(policy.feature_names),
        "reader": None if policy.reader is None else policy.reader.config(),
        "statistics": None
        if policy.statistics is None
        else files.pack(policy.statistics.config(), tensors, "training"),
        "record": policy.record,
    }
    contents = {"weights": (files.tensor_bytes(tensors), "safetensors"), **estimator_contents(policy.model)}
    _tell(folder, policy)
    document["files"] = {}
    for name, (content, suffix) in contents.items():
        digest = hashlib.sha256(content).hexdigest()
        entry = {"name": f"{name}-{digest[:16]}.{suffix}", "sha256": digest, "bytes": len(content)}
        files.write_bytes(folder / entry["name"], content)
        document["files"][name] = entry
    POLICY.write(folder / NAME, document)
    current = {entry["name"] for entry in document["files"].values()}
    for path in folder.iterdir():
        if _FILE.fullmatch(path.name) and path.name not in current:
            path.unlink(missing_ok=True)


def _tell(folder: Path, policy: Stored) -> None:
    """Warn, before anything is written, of what the folder will not hold, and say what `load` wants instead."""
    lacking = missing_parts(policy.model)
    if policy.own_rule:
        lacking["rule"] = "nothing of its `rule`, which is a function"
    if policy.own_repair:
        lacking["repair"] = "nothing of its `repair`, which is a function, and which `monitor` needs"
    if lacking:
        wanted = ", ".join(f"{name}=..." for name in lacking)
        checks.warn(
            f"{folder} does not hold all of the policy: it has {', and '.join(lacking.values())}. Load it with "
            f"`Policy.load(folder, {wanted})`",
            ForesolveWarning,
        )


def missing_parts(model: Any) -> dict[str, str]:
    """What of a model a folder cannot hold, in words, by the argument of `load` that wants it."""
    model = original(model)
    if isinstance(model, Transformed):
        return missing_parts(model.model)
    if isinstance(model, ScikitLearn) or describe_model(model) is not None:
        return {}
    name = type(model).__name__
    if isinstance(model, nn.Module):
        return {"model": f"the weights of its {name}, but not its code: it is, or holds, none of foresolve's models"}
    return {"model": f"nothing of its model, a {name} that is no module"}


def checked_record(record: Any) -> dict[str, Any]:
    """A record as JSON has it."""
    try:
        document = json.loads(json.dumps(record if not isinstance(record, Mapping) else dict(record)))
    except (TypeError, ValueError, RecursionError) as error:
        raise checks.fail("record", "of numbers, text, lists and dicts, as JSON has them", str(error)) from error
    if not isinstance(document, dict):
        raise checks.fail("record", "a dict", type(record).__name__)
    return document


def _problem_section(problem: Problem) -> dict[str, Any]:
    try:
        return describe_problem(problem)
    except ForesolveError as error:
        raise ForesolveError(
            f"the policy's {type(problem).__name__} cannot be saved: {error}",
            remedy=(
                "Save the policy without it, `policy.save(folder, problem=False)`, and pass it again, "
                "`Policy.load(folder, problem=...)`"
            ),
        ) from error


def _model_section(model: Any, tensors: dict[str, Tensor]) -> dict[str, Any]:
    model = original(model)
    if isinstance(model, Transformed):
        return {"class": "Transformed", "model": _model_section(model.model, tensors)}
    name, config = type(model).__name__, describe_model(model)
    state = dict(model.state_dict()) if isinstance(model, nn.Module) else {}
    described: dict[str, Any] = {"class": name, "state": files.pack(state, tensors, "model")}
    if config is not None:
        return described | {"reference": True, "config": config}
    fitted = model._fitted if isinstance(model, ScikitLearn) else None
    return described | {"reference": False, "config": fitted}


# -- reading ---------------------------------------------------------------------------------------------------------


def read(folder: Path, model: Any, problem: Problem | None) -> Stored:
    """The policy in a folder; `model` and `problem` are the caller's, where the folder does not hold them."""
    path = folder / NAME
    document = POLICY.read(path)
    with reading.understood(path, given=("problem", "model")):
        tensors, _ = files.read_tensors(_file(document, "weights", folder, path))
        if problem is None:
            problem = _load_problem(document, tensors, path)
        elif "parameters" in document:
            _check_parameters(files.field(document, "parameters", dict, path), problem, path)
        model = _load_model(files.field(document, "model", dict, path), tensors, model, folder, document, path)
        names = document.get("feature_names")
        if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
            raise FileError(path, "is damaged: `feature_names` must be a list of names")
        rule = files.field(document, "rule", str, path)
        known = _load_training(document, tensors, path)
        repair = "repair" in document and files.field(document, "repair", bool, path)
    return Stored(model, problem, rule != "solve", None if names is None else tuple(names), *known, repair)


def _parameters(problem: Problem) -> dict[str, Any]:
    """What predictions are of: they go by position, so that a problem of another order would be decided wrongly."""
    axes = problem.theta_axes
    return {"shape": list(problem.theta_shape), "names": None if axes is None else [list(axis) for axis in axes]}


def _check_parameters(saved: dict[str, Any], problem: Problem, path: Path) -> None:
    """Refuse a problem of the caller's whose parameters are others, or stand in another order."""
    given = _parameters(problem)
    if given["shape"] != saved.get("shape"):
        expected = f"with parameters {tuple(saved.get('shape') or ())}, as the one {path} was saved with"
        raise checks.fail("problem", expected, str(tuple(given["shape"])))
    if given["names"] is None or saved.get("names") is None or given["names"] == saved["names"]:
        return
    for names, before in zip(given["names"], saved["names"]):
        if names != before:
            place = next(i for i, pair in enumerate(zip(names, before)) if pair[0] != pair[1])
            order = ", in this order" if sorted(names) == sorted(before) else ""
            expected = f"with the names that {path} was saved with{order}: {before[place]!r} at position {place}"
            raise checks.fail("problem", expected, repr(names[place]), "Predictions go by position")


def _load_training(
    document: Any, tensors: dict[str, Tensor], path: Path
) -> tuple[FrameReader | None, TrainingStatistics | None, dict[str, Any]]:
    """How frames are read, what is known of training, and the record; nothing in folders of the second schema."""
    if document["schema"] == 2:
        return None, None, {}
    reader = files.field(document, "reader", (dict, type(None)), path)
    statistics = files.field(document, "statistics", (dict, type(None)), path)
    record = files.field(document, "record", dict, path)
    return (
        None if reader is None else FrameReader.from_config(reader),
        None if statistics is None else TrainingStatistics.from_config(files.unpack(statistics, tensors, path)),
        record,
    )


def _file(document: Any, name: str, folder: Path, path: Path) -> Path:
    """A file that the document names, if it is what it was."""
    entry = files.field(files.field(document, "files", dict, path), name, dict, path)
    filename = files.field(entry, "name", str, path)
    if not _FILE.fullmatch(filename):
        raise FileError(path, f"is damaged or hostile: it names the file {filename[:80]!r}")
    source, digest = folder / filename, files.field(entry, "sha256", str, path)
    try:
        with reading.opened(source) as file:  # its size first: that is known at once
            sized = "bytes" not in entry or os.fstat(file.fileno()).st_size == entry["bytes"]
        sound = sized and files.sha256(source) == digest
    except FileError as error:
        raise FileError(source, f"{error.reason}, and {path} names it") from error
    if not sound:
        raise FileError(source, f"is damaged: it is not what {path} says")
    return source


def _load_problem(document: Any, tensors: dict[str, Tensor], path: Path) -> Problem:
    if files.field(document, "problem", (dict, type(None)), path) is None:
        name = files.field(document, "problem_class", str, path)
        raise FileError(path, f"was saved without its {name}: pass it with `Policy.load(..., problem=...)`")
    config = files.unpack(document["problem"], tensors, path)
    if not isinstance(config, dict):
        raise FileError(path, "is damaged: `problem` must be a dict")
    return restore_problem(config)


def _load_model(section: Any, tensors: dict[str, Tensor], model: Any, folder: Path, document: Any, path: Path) -> Any:
    name = files.field(section, "class", str, path)
    if "model" in section:  # that of a `Transformed`, whatever classes of others are called
        inner = _load_model(files.field(section, "model", dict, path), tensors, model, folder, document, path)
        return Transformed(load_estimator(_file(document, "transformer", folder, path)), inner)
    state = files.unpack(files.field(section, "state", dict, path), tensors, path)
    if not isinstance(state, dict):
        raise FileError(path, f"is damaged: `state` must be dict; got {type(state).__name__}")
    ours, reference = model is None, files.field(section, "reference", bool, path)
    if ours and not reference and "estimator" in files.field(document, "files", dict, path):
        return load_scikit_learn(section, _file(document, "estimator", folder, path), path)
    if ours:
        if not reference:
            raise FileError(
                path,
                (
                    f"holds the weights of a {name}, which is none of foresolve's models: pass one with "
                    "`Policy.load(..., model=...)`"
                ),
            )
        model = build(
            name, files.field(section, "config", dict, path), device="meta",
            estimator=lambda config: load_scikit_learn(
                {"config": config}, _file(document, "estimator", folder, path), path
            ),
        )  # fmt: skip
    if not isinstance(model, nn.Module):
        return model
    fill(original(model), state, name, path, assign=ours)
    return model
