"""The one logger: `logging.getLogger("foresolve")`, quiet unless somebody listens.

warning: what went wrong and was mended: a worker that was lost and replaced.
info: what takes long, as it begins and ends: epochs, trials, jobs, files that are read again.
debug: every call of a solver, with its figures; every checkpoint.
"""

from __future__ import annotations

import logging

log = logging.getLogger("foresolve")
log.addHandler(logging.NullHandler())
