"""`docs/compatibility.py`, which is a script beside the page that it writes a table of."""

from __future__ import annotations

import importlib.util
from pathlib import Path

_path = Path(__file__).parents[2] / "docs" / "compatibility.py"
_spec = importlib.util.spec_from_file_location("compatibility", _path)
assert _spec is not None
assert _spec.loader is not None
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
markdown, methods, CONVEX, LAYERS = _module.markdown, _module.methods, _module.CONVEX, _module.LAYERS
