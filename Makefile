# Two commands for people: `make demo` and `make test`. Every command makes its own environment.
PYTHON ?= python3
BIN := .venv/bin
# Two processes with half of the tests each, so that the tests of a file share their fixtures. The faster one takes over
# tests of the other.
SPLIT := -n 2 --dist worksteal

# Tests start hundreds of processes, and each would compile all modules that it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test lint types layers unit test-min test-versions soak tables docs docs-check release-check format clean

# The environment of the tests where there is one; else a smaller one, which is ready sooner.
DEMO := $(if $(wildcard .venv/ready),.venv,.venv-demo)
demo: $(DEMO)/ready
	$(DEMO)/bin/ringlet demo --out demo --force

# The checks run beside the tests: mypy needs a minute, and only one core.
test: .venv/ready
	$(MAKE) --no-print-directory --jobs 2 unit lint types layers

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell

types: .venv/ready
	$(BIN)/mypy
	$(BIN)/mypy tests/test_typed_use.py tests/store/test_formats_as_described.py

layers: .venv/ready
	$(BIN)/lint-imports --no-cache

# The lines that the tests run are counted, and those that they do not run are listed. See CONTRIBUTING.md.
COUNT := $(BIN)/python -m slipcover
unit: .venv/ready
	rm -f .coverage.json
	OMP_NUM_THREADS=1 $(COUNT) --json --out .coverage.json -m pytest $(SPLIT) src tests README.md docs
	$(COUNT) --merge .coverage.json --out .coverage.json --fail-under 95

# The suite with the lowest versions that pyproject.toml allows. Old versions may warn of their own age.
test-min: .venv-min/ready
	OMP_NUM_THREADS=1 .venv-min/bin/python -m pytest $(SPLIT) -W default::DeprecationWarning src tests README.md docs

# The suite with every Python from 3.11 on that is found.
test-versions:
	$(PYTHON) tools/test_versions.py

# About a quarter of an hour; it can be interrupted, and goes on where it was.
soak: .venv/ready
	PYTHONPATH=tests OMP_NUM_THREADS=1 $(BIN)/python -m soak --table docs/reliability.md

# The tables of the pages, from the records. See benchmarks/README.md.
tables: .venv/ready
	PYTHONPATH=tools $(BIN)/python -m evidence

# The site, in docs/_build/html. Warnings are errors; nothing is downloaded; some minutes on two cores.
docs: .venv-docs/ready
	OMP_NUM_THREADS=1 .venv-docs/bin/python -m sphinx -b html -q -W --keep-going docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

# The built site in Chromium: links, pictures, console, phone and screen, dark and light. SHOTS=DIR keeps pictures of it.
docs-check: docs
	PYTHONPATH=tests .venv-docs/bin/python tools/check_site.py docs/_build/html $(SHOTS)

# Both files of a release: built, checked, and the suite run from the wheel in a clean environment.
release-check: .venv-release/ready
	rm -rf dist
	.venv-release/bin/python -m build --outdir dist
	.venv-release/bin/python -m twine check --strict dist/*
	$(PYTHON) -m venv --clear .venv-wheel
	.venv-wheel/bin/python -m pip install --quiet --upgrade pip
	.venv-wheel/bin/python -m pip install --quiet "$$(ls dist/*.whl)[all]" --group test
	OMP_NUM_THREADS=1 .venv-wheel/bin/python -m pytest $(SPLIT) tests README.md docs

format: .venv/ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.venv/ready: pyproject.toml
	@$(PYTHON) -c "import sys; sys.exit('ringlet needs Python 3.11 or newer; this is ' + sys.version.split()[0]) if sys.version_info < (3, 11) else 0"
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[all]' --group dev
	@touch $@

.venv-min/ready: pyproject.toml
	$(PYTHON) -m venv .venv-min
	.venv-min/bin/python -m pip install --quiet --upgrade pip uv
	.venv-min/bin/uv pip install --quiet --python .venv-min/bin/python --resolution lowest-direct --editable '.[all]' --group test
	@touch $@

# What else is installed, and where.
.venv-demo/ready: WITH = --editable '.[demo]'
.venv-release/ready: WITH = --group release
.venv-docs/ready: WITH = --editable '.[all,testing]' --group docs

.venv-demo/ready .venv-release/ready .venv-docs/ready: pyproject.toml
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --upgrade pip
	$(@D)/bin/python -m pip install --quiet $(WITH)
	@touch $@

clean:
	rm -rf .venv .venv-* demo soak-results build dist docs/_build docs/jobs docs/reference/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage.json
