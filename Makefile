# Two commands for people: `make demo` and `make test`. Both make their own environment in .venv.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint types layers unit format clean

demo: .venv/ready
	$(BIN)/ringlet demo --out demo --force

test: lint types layers unit

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/ready
	$(BIN)/mypy

layers: .venv/ready
	$(BIN)/lint-imports --no-cache

unit: .venv/ready
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 src tests README.md docs

format: .venv/ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.venv/ready: pyproject.toml
	@$(PYTHON) -c "import sys; sys.exit('ringlet needs Python 3.11 or newer; this is ' + sys.version.split()[0]) if sys.version_info < (3, 11) else 0"
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[all]' --group dev
	@touch $@

clean:
	rm -rf .venv demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
