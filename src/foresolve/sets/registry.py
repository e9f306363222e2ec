"""Set functions and matroids as plain values, and back: a file can name the classes of `foresolve.sets` alone."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from foresolve.errors import ForesolveError
from foresolve.sets.functions.function import SetFunction
from foresolve.sets.matroids.matroid import Matroid

MOST = 10**8  # of whatever a file may ask for a number of: a damaged one must not fill the memory
SIZES = ("n", "k", "n_nodes", "samples", "targets")


def describe(thing: SetFunction | Matroid) -> dict[str, Any]:
    """`{"class": ..., **config()}`: numbers, strings, lists, dicts and tensors, from which `restore` makes the same.

    Classes of one's own are refused: whoever reads the file could not know them.
    """
    name = type(thing).__name__
    if _classes().get(name) is not type(thing):
        raise ForesolveError(
            f"{name} is none of the classes of `foresolve.sets`, so it cannot be written to a file. "
            "Keep the code that makes it, and pass the problem when loading"
        )
    return {"class": name, **thing.config()}


def restore(config: Mapping[str, Any]) -> SetFunction | Matroid:
    """What `describe` described; an error for anything else."""
    name, classes = config.get("class"), _classes()
    if not isinstance(name, str) or name not in classes:
        raise ForesolveError(f"{name!r} is none of the sets that a file may name ({', '.join(classes)})")
    settings = {key: value for key, value in config.items() if key != "class"}
    try:
        _check_sizes(settings)
        return classes[name].from_config(settings)
    except (KeyError, TypeError, ValueError, RuntimeError, OverflowError, IndexError, MemoryError) as error:
        raise ForesolveError(f"the settings do not make a {name}: {type(error).__name__}: {error}") from error


def restore_function(config: Mapping[str, Any]) -> SetFunction:
    """A set function that `describe` described."""
    function = restore(config)
    if not isinstance(function, SetFunction):
        raise ForesolveError(f"a set function was expected; got {config['class']}")
    return function


def restore_matroid(config: Mapping[str, Any]) -> Matroid:
    """A matroid that `describe` described."""
    matroid = restore(config)
    if not isinstance(matroid, Matroid):
        raise ForesolveError(f"a matroid was expected; got {config['class']}")
    return matroid


def plain_names(names: Sequence[Any] | None) -> list[str | int] | None:
    """Names of nodes as a file can keep them: strings and integers."""
    if names is None:
        return None
    strange = next((name for name in names if isinstance(name, bool) or not isinstance(name, str | int)), None)
    if strange is not None:
        raise ForesolveError(
            f"a graph whose nodes are named by strings or integers can be written to a file; got {strange!r}. "
            "Rename them, for example with `networkx.convert_node_labels_to_integers(graph)`"
        )
    return list(names)


def _classes() -> dict[str, type[SetFunction] | type[Matroid]]:
    """The allow-list: what `foresolve.sets` exports and can be made."""
    from foresolve import sets

    exported = {name: vars(sets)[name] for name in sets.__all__}
    return {
        name: kind
        for name, kind in exported.items()
        if isinstance(kind, type) and issubclass(kind, SetFunction | Matroid) and not inspect.isabstract(kind)
    }


def _check_sizes(settings: Mapping[str, Any]) -> None:
    for name in SIZES:
        value = settings.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST):
            raise ValueError(f"`{name}` must be an integer from 0 to {MOST}; got {value!r}")
