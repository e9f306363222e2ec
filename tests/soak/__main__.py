"""`python -m tests.soak`: see `--help`; exit status 1 where a check failed."""

from __future__ import annotations

import argparse
import time
import traceback
import warnings

from foresolve.errors import ForesolveWarning
from tests.soak.checks import checks


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description="Long use, many threads and processes.")
    parser.add_argument("--only", nargs="*", default=[], help="checks by a part of their name")
    parser.add_argument("--share", type=float, default=1.0, help="of the calls of a whole run")
    parser.add_argument("--list", action="store_true", help="the checks")
    options = parser.parse_args()
    listed = checks()
    chosen = {name: check for name, check in listed.items() if not options.only or any(p in name for p in options.only)}
    if options.list:
        print("\n".join(chosen))
        return 0
    print("| check | seconds | seen |\n|---|---:|---|", flush=True)
    failed, begin = 0, time.monotonic()
    for name, check in chosen.items():
        start = time.monotonic()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ForesolveWarning)  # of parameters that drift to a vertex
                seen = check.run(max(1, round(options.share * check.calls)))
        except Exception as error:
            failed += 1
            seen = f"FAILED: {error}"
            traceback.print_exc()
        print(f"| {name} | {time.monotonic() - start:.1f} | {seen} |", flush=True)
    print(f"\n{len(chosen)} checks, {failed} failures, {(time.monotonic() - begin) / 60:.1f} minutes")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
