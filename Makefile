# Every target does its own set-up: a virtual environment in .venv, with everything in it.
# PYTHON=... chooses the interpreter; ARGS=... is handed on to what the target runs.

PYTHON ?= python3
ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
# Spark's classes, as Java loads them: with it a JVM of the tests starts in half the time.
CLASSES := .cache/spark-classes.jsa
# Test processes: one more than there are processors, since many tests wait; at most four. Tests of
# one xdist group run in one. A process that dies ends the run: xdist cannot finish without it, and
# would wait for ever.
WORKERS := -n auto --maxprocesses=4 --dist=loadgroup --max-worker-restart=0
WITH_JAVA = JAVA_HOME="$$(scripts/ensure-java)" && export JAVA_HOME &&

# Hundreds of processes compile the same modules again where this is set.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-rest test-all check lint types coverage conformance soak bench docs playground clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(INSTALLED) ## virtual environment, dependencies, Java: the other targets do it by themselves
	@$(WITH_JAVA) echo "Ready: Python in $(VENV), Java in $$JAVA_HOME"

demo: $(INSTALLED) ## Spark ingest of an access log, verified against its source; one message found
	@$(WITH_JAVA) $(BIN)/kminilog demo $(ARGS)

# What a test needs decides its tier: tests/support/tiers.py.
EACH = not soak and not conformance

test: $(INSTALLED) $(CLASSES) ## the engine, the tools, one whole case of each expensive kind
	@$(WITH_JAVA) $(BIN)/python -m pytest $(WORKERS) -m "$(EACH) and not rest" $(ARGS)

test-rest: $(INSTALLED) $(CLASSES) ## what make test leaves out: all that needs Spark, a browser, processes
	@$(WITH_JAVA) $(BIN)/python -m pytest $(WORKERS) -m "$(EACH) and rest" $(ARGS)

test-all: $(INSTALLED) $(CLASSES) ## everything that must be green
	@$(WITH_JAVA) $(BIN)/python -m pytest $(WORKERS) $(ARGS)

check: lint types docs coverage ## ruff, mypy --strict, the documentation, branch coverage of the engine

lint: $(INSTALLED)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(INSTALLED)
	@$(BIN)/mypy

# It takes twice the time of a test, so of these tests alone. A line that only a test of another room
# reaches is not tested where a reader looks for it.
coverage: $(INSTALLED)
	@$(BIN)/python -m pytest $(WORKERS) --cov --cov-report=term \
		tests/format tests/storage kminilog/format kminilog/storage

conformance: $(INSTALLED) ## the same bytes and numbers as real Kafka and its clients (fetches them)
	@$(WITH_JAVA) $(BIN)/python -m pytest -m conformance $(WORKERS) $(ARGS)

soak: $(INSTALLED) $(CLASSES) ## the long versions of tests, and all cases where make test takes a sample
	@$(WITH_JAVA) $(BIN)/python -m pytest -m soak --timeout=0 $(WORKERS) $(ARGS)

bench: $(INSTALLED) ## measurements
	@$(WITH_JAVA) $(BIN)/python -m bench $(ARGS)

# From scratch each time (-E): a page that gave a warning must give it again.
docs: $(INSTALLED) ## the documentation, into docs/_build/html, with the playground if npm is there
	@$(BIN)/sphinx-build -E -W --keep-going -n -q -d docs/_build/doctrees docs docs/_build/html
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory playground; \
		else test -z "$$KMINILOG_REQUIRE_ORACLES"; fi
	@echo "Documentation: docs/_build/html/index.html"

playground: $(INSTALLED) ## the engine in a browser, into docs/_build/html/playground (needs npm)
	@runtime="$$(scripts/ensure-pyodide)" && mkdir -p docs/_build/html && $(BIN)/kminilog playground \
		--dir docs/_build/html/playground --zip docs/_build/html/playground.zip --runtime "$$runtime"

clean: ## remove all that these targets made, .venv too; data stays
	rm -rf $(VENV) .cache .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	rm -rf build dist docs/_build spark-warehouse
	find kminilog labs tests docs -name __pycache__ -type d -prune -exec rm -rf {} +

$(CLASSES): $(INSTALLED) tests/support/spark_classes.py
	@$(WITH_JAVA) $(BIN)/python -m tests.support.spark_classes $@

$(INSTALLED): pyproject.toml
	@scripts/ensure-venv "$(PYTHON)" $(VENV)
	@echo "Installing kminilog and what it needs into $(VENV): about 1 GB, once" >&2
	@$(BIN)/python -m pip install --disable-pip-version-check --editable '.[dev]' >&2
	@touch $@
