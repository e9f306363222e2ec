"""Train one method of one package on saved instances, in a process of its own. Called by run.py."""

from __future__ import annotations

import argparse
import importlib

import numpy as np

from benchmarks._harness.worker import Record, serve


def measure(args: argparse.Namespace, record: Record) -> None:
    module = importlib.import_module(f"benchmarks.learning.peers.{args.package}_training")
    with np.load(args.case) as saved:
        record.update(**module.train(args.method, args.seed, dict(saved)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--package", required=True)
    parser.add_argument("--method", required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--case", required=True)
    serve(measure, parser, ())


if __name__ == "__main__":
    main()
