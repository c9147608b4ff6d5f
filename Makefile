# likely: `make run` and `make test` need Python 3.11, pip and make, nothing else.

PYTHON ?= python3
WORKERS ?= 2
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install -qq
DEV := .venv/.dev
BENCH := .venv/.bench
export NO_MKDOCS_2_WARNING := 1

.PHONY: install run test test-slow lint pages kernels bench docs figures clean

install: $(DEV)

$(DEV): pyproject.toml
	@echo "installing likely into .venv"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(PIP) -e ".[dev]"
	@touch $@

$(BENCH): $(DEV)
	@echo "installing what the benchmarks compare with"
	@$(PIP) -e ".[bench]"
	@$(BIN)/python -c "from likely.models.trees import *; compile_kernels()"
	@touch $@

run: install
	@$(BIN)/likely fit --out runs/fit --force

lint: install
	@echo "== lint: ruff check" && $(BIN)/ruff check --quiet --output-format concise .
	@echo "== lint: ruff format" && $(BIN)/ruff format --quiet --diff .
	@echo "== spelling: codespell" && $(BIN)/codespell src tests docs tools *.md
	@echo "== imports: lint-imports" && $(BIN)/lint-imports --no-logo --cache-dir .cache/imports
	@echo "== types: basedpyright" && $(BIN)/basedpyright --pythonpath $(BIN)/python

pages: install
	@echo "== docs: mkdocs" && $(BIN)/mkdocs build --strict --quiet --site-dir .cache/site

kernels: install  # once, where two workers would each compile them
	@cd tests && ../$(BIN)/python -c "import conftest; from likely.models.trees import *; compile_kernels()"

test: install
	@$(MAKE) --no-print-directory -j2 lint pages kernels
	@echo "== tests: pytest" && $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal --budget

test-slow: install
	@$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal --slow

bench: $(BENCH)
	@$(BIN)/python -m benchmarks

docs: install
	@$(BIN)/mkdocs build --strict --site-dir site

figures: install
	@for figure in docs/figures/*.py; do echo $$figure && $(BIN)/python $$figure || exit 1; done

clean:
	rm -rf .venv .cache .hypothesis site runs dist
	find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
