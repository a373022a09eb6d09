# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-long lint format bench operating notebooks clean

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(READY)

demo: $(READY) ## judge the planted change of data/demo and write a report
	@mkdir -p build
	@$(BIN)/harnesskit demo --root data/demo --out build/demo-report.html

test: $(READY) lint ## the checks: lint, types, tests, doctests, notebooks
	$(BIN)/python -m pytest -n auto -m "not long and not operating"

test-long: $(READY) ## the tests that take minutes
	$(BIN)/python -m pytest -m long

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY) ## ratios against the naive way and the physical limit, measured in one run
	$(BIN)/python -m tests.bench

operating: $(READY) ## error rates, power and cost in simulated worlds (regression, promotion, forward trials, wins), against their targets
	$(BIN)/python -m tests.operating

notebooks: $(READY) ## execute every notebook on data/demo and write pages to build/
	@mkdir -p build
	$(BIN)/python -m tests.run_notebooks build

clean:
	rm -rf $(VENV) build .mypy_cache .ruff_cache .hypothesis
