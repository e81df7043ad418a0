# Antiphon's commands. Python 3.11+ and a package index are all they need; PYTHON=python3.12 picks another Python.

PYTHON ?= python3
TESTS ?= tests
WORKERS ?= auto
UV ?= uv

BIN := .venv/bin
# What `manage.py` needs to load the models, and servers that are not there: no check may depend on them.
NO_SERVICES := ANTIPHON_IGNORE_ENV_FILES=1 SECRET_KEY=check VALKEY_URL=redis://unused \
	DATABASE_URL='postgresql://unused@/unused?host=/nonexistent'
INSTALL := @command -v $(PYTHON) >/dev/null || { echo "There is no $(PYTHON): Antiphon needs Python 3.11 or newer" \
	"(PYTHON=... names one)." >&2; exit 1; }; $(PYTHON) -B config/local/install.py
LOCK := $(UV) pip compile -q --universal --python-version 3.11 --fork-strategy fewest --generate-hashes \
	--no-header --no-annotate --no-emit-index-url --no-emit-find-links $(LOCKFLAGS)

.PHONY: help run venv dev test check bench screenshots lock clean

help: ## Say what there is
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Start everything on this machine: PostgreSQL, Valkey, a model, web, worker, beat (PORT=... moves it)
	$(INSTALL) --run requirements.lock
	@exec $(BIN)/python -m config.local

venv: ## Make .venv with what the service needs
	$(INSTALL) requirements.lock

dev: ## Make .venv with what the tests and checks need, too
	$(INSTALL) requirements.lock requirements-dev.lock

test: dev ## Run the tests (TESTS=tests/unit for a part, ARGS=... for pytest)
	@exec $(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(TESTS) $(ARGS)

check: dev ## Run ruff, mypy, import-linter and the check for missing migrations
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(NO_SERVICES) $(BIN)/python -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run

bench: dev ## Measure streams and requests per second (PEER=litellm puts LiteLLM's proxy beside it)
	@exec $(BIN)/python -m tests.bench $(ARGS)

screenshots: dev ## Make the README's pictures anew (FOLDER=... puts them elsewhere; EVERY_PAGE=1 takes every page)
	@exec $(BIN)/python -m pytest -q -n 0 tests/browser/screenshots.py

lock: ## Pin the versions anew (needs uv; LOCKFLAGS=--upgrade takes newer ones)
	$(LOCK) -o requirements.lock requirements.in
	$(LOCK) -o requirements-dev.lock requirements-dev.in

clean: ## Remove .venv and caches; the data in var/ stays
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
