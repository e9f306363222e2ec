"""What of a policy is scikit-learn's, in files that run nothing when they are read (skops)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from foresolve._base import files, reading
from foresolve._base.extras import need
from foresolve.errors import FileError, ForesolveError
from foresolve.learning.transformed import Transformed
from foresolve.models.reference import Reference
from foresolve.models.scikit_learn import ScikitLearn


def estimator_contents(model: Any) -> dict[str, tuple[bytes, str]]:
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
            (
                f"{type(estimator).__name__} cannot be saved so that it is safe to load: skops does not trust "
                f"{', '.join(unsafe)}"
            ),
            remedy="For forests, `RandomForest` can",
        )
    return content


def load_scikit_learn(section: Any, source: Path, path: Path) -> ScikitLearn:
    """The baseline around the estimator in the file `source`, as `section` of the document `path` describes it."""
    estimator = load_estimator(source)
    fitted = files.field(section, "config", dict, path)
    layout = files.field(fitted, "layout", str, path)
    shape = files.field(fitted, "shape", list, path)
    if not all(type(size) is int and size >= -1 for size in shape):
        raise FileError(path, "is damaged: `shape` must hold sizes")
    try:
        model = ScikitLearn(estimator)
    except ForesolveError as error:
        raise FileError(path, f"is damaged: {error}") from error
    model.fitted, model._fitted = estimator, {"layout": layout, "shape": shape}
    return model


def load_estimator(source: Path) -> Any:
    """What skops wrote, if it holds everything in it safe to load."""
    library = need("skops.io", "loading a scikit-learn model", "learn")
    try:
        content = reading.read_bytes(source)
        unsafe = library.get_untrusted_types(data=content)
        if unsafe:
            raise FileError(source, f"holds types that are not safe to load: {', '.join(unsafe)}")
        return library.loads(content, trusted=[])
    except ForesolveError:
        raise
    except Exception as error:  # whatever a damaged archive makes skops stumble over
        raise FileError(source, f"is damaged: {type(error).__name__}: {error}") from error
