# Two commands on a fresh machine with Python 3.11 or newer: make demo, make test.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/pip install --quiet --constraint constraints.txt
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: demo test check bench results docs format clean
.DEFAULT_GOAL := demo

$(VENV)/demo.ok: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable .
	touch $@

$(VENV)/test.ok: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable '.[test]'
	tools/install_browser.sh
	touch $@ $(VENV)/demo.ok

demo: $(VENV)/demo.ok          ## set up, simulate a federation that drifts, print where the report is
	$(BIN)/muster federation run --rounds 50 --clients 10 --drift-round 25 --out runs/demo --overwrite

test: check                    ## set up, static checks, every test
	$(BIN)/pytest -n auto --dist worksteal --ignore tests/house

check: $(VENV)/test.ok         ## ruff, mypy strict, import contracts, house rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/pytest --quiet tests/house

bench: $(VENV)/test.ok         ## every benchmark: a ratio against a peer in the same run
	$(BIN)/python -m benchmarks

results: $(VENV)/test.ok       ## the figures in docs/results, from studies that take an hour
	$(BIN)/python -m studies.federation

docs: $(VENV)/test.ok          ## the pages that are written from the code
	$(BIN)/python -m tools.write_docs

format: $(VENV)/test.ok
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache
