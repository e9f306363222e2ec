"""A digest of whatever defines a problem, so that answers kept on disk are never taken for those of another one."""

from __future__ import annotations

import functools
import hashlib
import types
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from foresolve.solvers.exact.outcome import Limits

PLAIN = (str, bytes, int, float, complex, bool, type(None), range, torch.Size, torch.device, torch.dtype)


def fingerprint(*values: Any) -> str:
    """SHA-256 of values, arrays, tensors, functions (by their code) and objects (by their state), all the way down.

    What an object works out and keeps (`cached_property`) and leaves out of its pickle (`__getstate__`) does not count,
    nor does how long it may search: a decision is proven or there is none.
    """
    digest = hashlib.sha256()
    _feed(digest, values, set())
    return digest.hexdigest()


def _feed(digest: Any, value: Any, path: set[int]) -> None:
    digest.update(f"<{type(value).__module__}.{type(value).__qualname__}>".encode())
    if isinstance(value, PLAIN):
        digest.update(repr(value).encode())
    elif isinstance(value, Tensor | np.ndarray | np.generic):
        array = value.detach().cpu().double().numpy() if isinstance(value, Tensor) else np.asarray(value)
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(repr(array.tolist()).encode() if array.dtype == object else np.ascontiguousarray(array).tobytes())
    elif id(value) in path:
        digest.update(b"cycle")
    else:
        for part in _parts(value):
            _feed(digest, part, path | {id(value)})


def _parts(value: Any) -> Any:
    """What a compound value is made of."""
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    if isinstance(value, list | tuple):
        return list(value)
    if scipy.sparse.issparse(value):
        entries = scipy.sparse.coo_array(value)
        return [entries.shape, *entries.coords, entries.data]
    if isinstance(value, functools.partial):
        return [value.func, value.args, value.keywords]
    if isinstance(value, types.MethodType):
        return [value.__self__, value.__name__]
    if isinstance(value, types.CodeType):
        return [value.co_code, value.co_names, value.co_consts]
    if isinstance(value, types.FunctionType):
        closure = [cell.cell_contents for cell in value.__closure__ or ()]
        return [value.__module__, value.__qualname__, value.__code__, value.__defaults__, value.__kwdefaults__, closure]
    if isinstance(value, type | types.BuiltinFunctionType | types.ModuleType):
        return [getattr(value, "__module__", ""), getattr(value, "__qualname__", value.__name__)]
    state = value.__getstate__()
    if not isinstance(state, dict):
        return [state]
    derived = {name for kind in type(value).__mro__ for name, part in vars(kind).items()
               if isinstance(part, functools.cached_property)}  # fmt: skip
    return sorted(
        (name, part)
        for name, part in state.items()
        if name not in derived and name != "device" and not isinstance(part, Limits)
    )
