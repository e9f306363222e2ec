# `make demo` and `make test` set up everything they need on a fresh machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
JOBS ?= 2

DURATIONS ?= 25

.PHONY: help demo test test-slow test-durations test-cuda test-lowest stress coverage check lint format types
.PHONY: bench-linear bench-quadratic bench-submodular bench-learning bench-defaults bench-compare house clean

help:
	@echo "demo          the paper's three domains in small, on embedded data: tables and a report"
	@echo "test          the test suite            test-slow   the checks that take minutes"
	@echo "test-cuda     what needs a GPU          test-durations   fails where a test over 5 s is not marked slow"
	@echo "test-lowest   the test suite on the oldest versions that pyproject.toml allows"
	@echo "stress        tens of thousands of random instances against exact references; minutes"
	@echo "coverage      the test suite, and how much of each floor it runs"
	@echo "check         ruff, ruff format, pyright, tests"
	@echo "bench-linear, bench-quadratic, bench-submodular, bench-learning   us and the peers on the same inputs, in one run"
	@echo "bench-defaults   what training on decisions gains with defaults alone, on sixteen settings; over an hour"
	@echo "bench-compare OLD=FOLDER   this tree and another one (its src), in turns: is anything slower?"
	@echo "house         files, functions, names and duplicates of the source tree, counted"

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]"
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/foresolve reproduce all --quick

# Threads of torch and tests in parallel would wait for each other.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --durations=$(DURATIONS)

test: $(STAMP)
	$(PYTEST) -m "not slow" $(ARGS)

test-durations: $(STAMP)
	$(PYTEST) -m "not slow" --fail-long $(ARGS)

# On one process: tests that share a GPU would measure each other's memory.
test-cuda: $(STAMP)
	$(BIN)/python -m pytest -m "cuda and not slow" -rs $(ARGS)

# The oldest versions that pyproject.toml allows, on the oldest Python; what they warn of in each other is not ours.
LOWEST := .venv-lowest
test-lowest:
	test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct --editable ".[dev]"
	OMP_NUM_THREADS=1 $(LOWEST)/bin/python -m pytest -n $(JOBS) -m "not slow" -W ignore::DeprecationWarning $(ARGS)

# `make stress ARGS="--draws 20"` for less; docs/reliability.md says what is drawn, and shows the last run.
stress: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.stress --jobs $(JOBS) $(ARGS)

coverage: $(STAMP)
	$(PYTEST) -m "not slow" --cov --cov-report= $(ARGS)
	$(BIN)/python -m coverage report --sort=cover
	$(BIN)/python -m coverage json --quiet -o coverage.json
	$(BIN)/python tools/floor_coverage.py coverage.json

# Ray is an extra of its own, and only this target needs it.
$(STAMP)-ray: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev,ray]"
	touch $(STAMP)-ray

test-slow: $(STAMP)-ray
	$(BIN)/python -m pytest -m slow --durations=$(DURATIONS) $(ARGS)

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

bench-quadratic: $(STAMP)
	$(BIN)/python -m benchmarks.quadratic.run --foresolve-python $(BIN)/python $(ARGS)

bench-submodular: $(STAMP)
	$(BIN)/python -m benchmarks.submodular.run --foresolve-python $(BIN)/python $(ARGS)
	$(BIN)/python -m benchmarks.submodular.memory
	$(BIN)/python -m benchmarks.submodular.scaling

bench-learning: $(STAMP)
	$(BIN)/python -m benchmarks.learning.run --foresolve-python $(BIN)/python $(ARGS)

# Fills docs/defaults.md and docs/smoothing.md. `ARGS="--seeds 1 --settings path"` for less; what is there is not run again.
bench-defaults: $(STAMP)
	$(BIN)/python -m benchmarks.defaults.run --jobs $(JOBS) --page docs/defaults.md $(ARGS)
	$(BIN)/python -m benchmarks.defaults.smoothing --page docs/smoothing.md

# `make bench-compare OLD=../before/src`: did this change make anything slower?
bench-compare: $(STAMP)
	$(BIN)/python benchmarks/compare.py $(OLD) src $(ARGS)

house:
	$(PYTHON) tools/house_numbers.py $(if $(OLD),before=$(OLD)/foresolve after=)src/foresolve

clean:
	rm -rf $(VENV) $(LOWEST) benchmarks/.envs benchmarks/.runs foresolve-runs stress-runs
