# `make demo` and `make test` set up everything they need on a fresh machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
JOBS ?= 2

.PHONY: help demo test test-slow check lint format types bench-linear bench-submodular bench-learning clean

help:
	@echo "demo          train a matching and a budget pipeline, decision-focused against two-stage"
	@echo "test          the test suite            test-slow   the checks that take minutes"
	@echo "check         ruff, ruff format, pyright, tests"
	@echo "bench-linear, bench-submodular, bench-learning   us and the peers on the same inputs, in one run"

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]"
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/foresolve demo

test: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) -m "not slow"

test-slow: $(STAMP)
	$(BIN)/python -m pytest -m slow

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(STAMP)
	$(BIN)/pyright

check: lint types test

bench-linear: $(STAMP)
	$(BIN)/python benchmarks/linear/run.py --foresolve-python $(BIN)/python $(ARGS)
	$(BIN)/python benchmarks/linear/memory.py

bench-submodular: $(STAMP)
	$(BIN)/python benchmarks/submodular/run.py --foresolve-python $(BIN)/python $(ARGS)
	$(BIN)/python benchmarks/submodular/memory.py
	$(BIN)/python benchmarks/submodular/scaling.py

bench-learning: $(STAMP)
	$(BIN)/python benchmarks/learning/run.py --foresolve-python $(BIN)/python $(ARGS)

clean:
	rm -rf $(VENV) benchmarks/.envs foresolve-demo
