# `make run` starts the app, `make test` runs the tests. Both need only python3 (3.11 to 3.13), pip and make.

PYTHON ?= python3
UV := .uv/bin/uv
VENV := .venv
BIN := $(VENV)/bin
# Other projects' servers and clients stay out of the app's environment.
PEERS := .venv-peers
LITELLM := .venv-litellm
AIMOCK := @copilotkit/aimock@1.43.0
# AdalFlow loads a tokenizer as it is imported; LiteLLM brings it along.
TOKENIZERS = $(wildcard $(LITELLM)/lib/python3.*/site-packages/litellm/litellm_core_utils/tokenizers)
BENCH = $(if $(wildcard $(PEERS)/.done),TIKTOKEN_CACHE_DIR=$(TOKENIZERS) $(PEERS),$(VENV))/bin/python
WHEELHOUSE := build/wheelhouse
EXPORT = $(UV) export --quiet --frozen --no-dev --extra postgres --extra tracing
# Debian's Python has no ensurepip, and its pip must not change the system, so uv is installed in its own folder.
export UV_PROJECT_ENVIRONMENT := $(VENV)
# A network that inspects TLS has its certificate in the system's store, where pip looks, too.
ifneq ($(wildcard /etc/ssl/certs/*),)
export UV_SYSTEM_CERTS ?= true
endif
# Without compiled modules on the disk each start of the app compiles 3,000 of them, which doubles its time.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install dev run test test-fast test-postgres test-peers test-milvus test-deploy wheelhouse sbom check bench browser screenshots clean

help: ## List the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

$(UV):
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
	  { echo "Asclepius needs Python 3.11, 3.12 or 3.13; set PYTHON=... to one of them."; exit 1; }
	@echo "Fetching uv ..."
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target .uv 'uv>=0.13,<1'

$(VENV)/.run: $(UV) pyproject.toml uv.lock
	@echo "Installing Asclepius into $(VENV) ..."
	@test -x $(BIN)/python || $(UV) venv --quiet --python $(PYTHON) $(VENV)
	@$(UV) sync --quiet --frozen --no-dev --inexact
	@touch $@

$(VENV)/.dev: $(VENV)/.run
	@echo "Installing development tools ..."
	@$(UV) sync --quiet --frozen --inexact
	@touch $@

install: $(VENV)/.run ## Create the environment in .venv

dev: $(VENV)/.dev ## Create the environment with the development tools

run: install ## Start the app on http://127.0.0.1:8000
	@$(BIN)/asclepius serve

browser: dev
	@$(BIN)/python -m tests.support.install_browser

test: browser ## Run all tests
	@$(BIN)/python -m tests.run

test-fast: dev ## Run the tests that need neither a browser nor the served app
	@$(BIN)/python -m tests.run fast

test-postgres: browser ## Install PostgreSQL and run the tests that need it
	@$(BIN)/python -m tests.support.install_postgres
	@$(BIN)/python -m pytest tests/integration/test_page_history_store.py tests/e2e/test_page_postgres.py

$(PEERS)/.done: $(UV) pyproject.toml uv.lock
	@echo "Installing other projects' servers and clients into $(PEERS) and $(LITELLM) ..."
	@UV_PROJECT_ENVIRONMENT=$(PEERS) $(UV) sync --quiet --frozen --no-dev --group peers --python $(PYTHON)
	@UV_PROJECT_ENVIRONMENT=$(LITELLM) $(UV) sync --quiet --frozen --only-group litellm --python $(PYTHON)
	@npm install --silent --no-package-lock --no-audit --no-fund --prefix $(PEERS)/node '$(AIMOCK)' || \
	  echo "aimock was not installed (it needs npm and Node.js 20): its tests will be skipped."
	@touch $@

test-peers: $(PEERS)/.done ## Test our client against other servers, and other clients against ours
	@$(PEERS)/bin/python -m pytest --peers tests/peers

test-milvus: dev ## Run the index tests against a Milvus server (2.5 or newer) at MILVUS_URI
	@test -n "$(MILVUS_URI)" || { echo "Name the server: make test-milvus MILVUS_URI=http://host:19530"; exit 1; }
	@env -u MILVUS_URI ASCLEPIUS_TEST_MILVUS_URI="$(MILVUS_URI)" $(BIN)/python -m pytest tests/integration/test_drug_*.py \
	  tests/integration/test_guideline_search.py tests/integration/test_guideline_library.py \
	  tests/faults/test_drug_import_faults.py

test-deploy: dev ## Install Helm and hadolint, and test the deployment files with them
	@$(UV) sync --quiet --frozen --inexact --group deploy
	@$(BIN)/hadolint deploy/Dockerfile
	@$(BIN)/python -m pytest tests/unit/test_deploy.py tests/integration/test_balancer.py

wheelhouse: $(UV) ## Build everything that an installation without internet needs into build/wheelhouse
	@rm -rf $(WHEELHOUSE) && mkdir -p $(WHEELHOUSE)
	@$(EXPORT) --no-emit-project --output-file $(WHEELHOUSE)/requirements.txt
	@$(PYTHON) -m pip wheel --quiet --require-hashes -r $(WHEELHOUSE)/requirements.txt -w $(WHEELHOUSE)
	@SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(UV) build --quiet --wheel --out-dir $(WHEELHOUSE)
	@$(EXPORT) --format cyclonedx1.5 --output-file $(WHEELHOUSE)/sbom.cdx.json
	@cd $(WHEELHOUSE) && rm -f .gitignore && sha256sum * > ../SHA256SUMS && mv ../SHA256SUMS .
	@echo "Copy $(WHEELHOUSE); docs/install.md says how to install from it."

sbom: $(UV) ## Write the bill of materials (CycloneDX) to build/sbom.cdx.json
	@mkdir -p build
	@$(EXPORT) --format cyclonedx1.5 --output-file build/sbom.cdx.json

check: dev ## Check format, lint, docstrings, types and imports
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/pyright
	@$(BIN)/lint-imports

bench: browser ## Measure speed as ratios within one run (and other libraries after `make test-peers`)
	@$(BENCH) -m tests.benchmarks.bench_engine
	@for part in streams burst offline drugs guidelines page long_page; do $(BIN)/python -m tests.benchmarks.bench_$$part || exit 1; done

screenshots: browser ## Take screenshots of every page state into build/screenshots
	@$(BIN)/python -m tests.e2e.tour

clean: ## Remove everything but the data directory
	@rm -rf $(VENV) $(PEERS) $(LITELLM) .uv build dist .pytest_cache .mypy_cache .ruff_cache .coverage .coverage.*
