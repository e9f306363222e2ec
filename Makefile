# `make demo` and `make test` set up everything they need on a fresh machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
JOBS ?= 2

DURATIONS ?= 25

.PHONY: help demo test test-slow test-durations test-cuda test-lowest stress fuzz kill soak coverage check lint format types gallery
.PHONY: docs links llms package tutorials tutorial-figures
.PHONY: bench-methods bench-linear bench-quadratic bench-submodular bench-learning bench-defaults bench-load bench-compare rules house clean

help:
	@echo "demo          the paper's three domains in small, on embedded data: tables and a report"
	@echo "test          the test suite            test-slow   the checks that take minutes"
	@echo "test-cuda     what needs a GPU          test-durations   fails where a test over 5 s is not marked slow"
	@echo "test-lowest   the test suite on the oldest versions that pyproject.toml allows"
	@echo "stress        tens of thousands of random instances against exact references; minutes"
	@echo "soak          one policy or layer in thousands of calls, many threads and processes; minutes"
	@echo "fuzz          thousands of damaged files of each kind: refused in one line, or read soundly; minutes"
	@echo "kill          processes killed at random moments, which go on as users do; minutes"
	@echo "coverage      the test suite, and how much of each floor it runs"
	@echo "check         ruff, ruff format, pyright, tests"
	@echo "docs          the site, in the folder site; links checked, warnings are errors"
	@echo "links         do the links of README and docs lead somewhere?     llms   llms.txt, from the public names"
	@echo "tutorials     the code of README and tutorials, as it is written; minutes"
	@echo "tutorial-figures   the figures of the tutorials again, by running them; minutes"
	@echo "package       wheel and sdist, each installed alone and tried"
	@echo "bench-linear, bench-quadratic, bench-submodular, bench-learning   us and the peers on the same inputs, in one run"
	@echo "bench-defaults   what training on decisions gains with defaults alone, on sixteen settings; over an hour"
	@echo "bench-methods    regret and time of fifteen methods on six kinds of problems in two sizes"
	@echo "bench-load    time against size and batch, and beside busy processes; five minutes on a quiet machine"
	@echo "bench-compare OLD=FOLDER   this tree and another one (its src), in turns: is anything slower?"
	@echo "gallery       one picture for each problem and each layer, into docs/gallery"
	@echo "rules         what breaks a rule of the source, beyond tests/architecture.toml, whose numbers it lowers"
	@echo "house         the source in numbers: sizes, names, duplicates, parsed texts, what tests depend on"

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]"
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/foresolve reproduce all --quick

# Threads of torch and tests in parallel would wait for each other. Tests start many processes: with bytecode on disk they
# need not compile the package. A worker keeps to a module while it can, and what its tests share is made once.
PYTEST := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist worksteal
PYTEST += --durations=$(DURATIONS)

test: $(STAMP)
	$(PYTEST) -m "not slow" $(ARGS)

test-durations: $(STAMP)
	$(PYTEST) -m "not slow" --fail-long $(ARGS)

# On one process: tests that share a GPU would measure each other's memory.
test-cuda: $(STAMP)
	$(BIN)/python -m pytest -m "cuda and not slow" -rs $(ARGS)

# The oldest versions that pyproject.toml allows, on the oldest Python; what they warn of in each other is not ours.
# torch comes first, by pip and as everywhere else: its own lower bound is that version, and uv keeps what is there.
LOWEST := .venv-lowest
test-lowest:
	test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --constraint constraints.txt torch
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct --editable ".[dev]"
	OMP_NUM_THREADS=1 $(LOWEST)/bin/python -m pytest -n $(JOBS) -m "not slow" -W ignore::DeprecationWarning $(ARGS)

# `make stress ARGS="--draws 20"` for less; docs/reliability.md says what is drawn, and shows the last run.
stress: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.stress --jobs $(JOBS) $(ARGS)

# `make soak ARGS="--share 0.1"` for less; with the threads that libraries take by default, which is what it is about.
soak: $(STAMP)
	$(BIN)/python -m tests.soak $(ARGS)

# `make fuzz ARGS="--count 100 --only policy"` for less; docs/reliability.md shows the last run.
fuzz: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz --jobs $(JOBS) $(ARGS)

# `make kill ARGS="--only fit --kills 8"` for less; docs/reliability.md says what is killed, and shows the last run.
kill: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.kill --jobs $(JOBS) $(ARGS)

coverage: $(STAMP)
	$(PYTEST) -m "not slow" --cov --cov-report= $(ARGS)
	$(BIN)/python -m coverage report --sort=cover
	$(BIN)/python -m coverage json --quiet -o coverage.json
	$(BIN)/python tools/floor_coverage.py coverage.json

# Ray is an extra of its own, and Lightning a tutorial's; only test-slow and tutorials need them.
$(STAMP)-ray: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev,ray]" lightning
	touch $(STAMP)-ray

test-slow: $(STAMP)-ray
	$(BIN)/python -m pytest -m slow --durations=$(DURATIONS) $(ARGS)

# What the site needs is an extra of its own. KaTeX, which renders formulas, comes from npm when the site is built.
$(STAMP)-docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev,docs]"
	touch $(STAMP)-docs

# The tutorials and the README as they are written, with what Ray and Lightning need; minutes.
tutorials: $(STAMP)-ray
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/test_docs.py -m slow $(ARGS)

docs: $(STAMP)-docs links
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict $(ARGS)
	@echo "site/index.html"

links:
	$(PYTHON) tools/check_links.py

llms: $(STAMP)
	$(BIN)/python tools/llms.py

tutorial-figures: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python tools/tutorial_figures.py $(ARGS)

package: $(STAMP)
	$(BIN)/python tools/package.py

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

# Fills docs/choosing.md: every method on six kinds of problems in two sizes. `ARGS="--seeds 1"` for less.
bench-methods: $(STAMP)
	$(BIN)/python -m benchmarks.methods.run --jobs $(JOBS) --page docs/choosing.md $(ARGS)

# Fills the part "Load" of docs/benchmarks.md. `ARGS="--cores 16"` where there are so many.
bench-load: $(STAMP)
	$(BIN)/python -m benchmarks.load.curve --batches 1 32 --seconds 0.1 --cores 2 $(ARGS)
	$(BIN)/python -m benchmarks.load.busy --seconds 1 --cores 2 $(ARGS)
	$(BIN)/python -m benchmarks.load.page docs/benchmarks.md

# `make bench-compare OLD=../before/src`: did this change make anything slower?
bench-compare: $(STAMP)
	$(BIN)/python benchmarks/compare.py $(OLD) src $(ARGS)

# The pictures of docs/figures.md.
gallery: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python tools/gallery.py $(ARGS)

rules:
	$(PYTHON) tools/rules.py

house:
	$(PYTHON) tools/house_numbers.py $(if $(OLD),before=$(OLD)/foresolve after=)src/foresolve

clean:
	rm -rf $(VENV) $(LOWEST) site dist tools/website/node_modules benchmarks/.envs benchmarks/.runs foresolve-runs stress-runs kill-runs
