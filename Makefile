# `make demo` and `make test` set up everything they need on a fresh machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
JOBS ?= 2

.PHONY: help demo test test-slow check lint format types bench-linear bench-submodular bench-learning clean

help:
	@echo "demo          the paper's three domains in small, on embedded data: tables and a report"
	@echo "test          the test suite            test-slow   the checks that take minutes"
	@echo "check         ruff, ruff format, pyright, tests"
	@echo "bench-linear, bench-submodular, bench-learning   us and the peers on the same inputs, in one run"

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]"
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/foresolve reproduce all --quick

test: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) -m "not slow"

# Ray is an extra of its own, and only this target needs it.
$(STAMP)-ray: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev,ray]"
	touch $(STAMP)-ray

test-slow: $(STAMP)-ray
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
	$(BIN)/python -m benchmarks.linear.run --foresolve-python $(BIN)/python $(ARGS)
	$(BIN)/python -m benchmarks.linear.memory

bench-submodular: $(STAMP)
	$(BIN)/python -m benchmarks.submodular.run --foresolve-python $(BIN)/python $(ARGS)
	$(BIN)/python -m benchmarks.submodular.memory
	$(BIN)/python -m benchmarks.submodular.scaling

bench-learning: $(STAMP)
	$(BIN)/python -m benchmarks.learning.run --foresolve-python $(BIN)/python $(ARGS)

# `make bench-compare OLD=../before/src`: did this change make anything slower?
bench-compare: $(STAMP)
	$(BIN)/python benchmarks/compare.py $(OLD) src $(ARGS)

clean:
	rm -rf $(VENV) benchmarks/.envs benchmarks/.runs foresolve-runs
