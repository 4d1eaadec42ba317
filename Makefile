# latchscope: `make demo` and `make test` work on a machine with nothing but Python >= 3.11.
PYTHON ?= python3
PORT ?= 8000
UV_VERSION := 0.13.8
export UV_PYTHON_DOWNLOADS := never

# uv of the machine when there is one, otherwise our own copy beside the checkout.
UV := $(shell command -v uv 2>/dev/null || echo .uv/bin/uv)
RUN := $(UV) run --frozen --all-extras

.DEFAULT_GOAL := help
.PHONY: help install wheel demo test test-all lint test-live test-live-needs test-live-load compose-test check format docs site sbom screenshots bench bench-model soak clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

install: .venv/.user  ## latchscope and what a user needs, into .venv of this checkout; needs a package index once
	@echo "make install: '. .venv/bin/activate' puts latchscope on the PATH of your shell"

# The links of the demo lead to the documentation. The demo starts without it if it cannot be built; after a change of a page run `make site`.
demo: RUN = $(UV) run --frozen --all-extras --no-dev --group docs
demo: .venv/.user  ## the service on 127.0.0.1:8000 with scripted databases
	@test -f service/site/index.html || why=$$(NO_MKDOCS_2_WARNING=1 $(RUN) mkdocs build --quiet 2>&1) || { rm -rf service/site; \
	  echo "make demo: starts without /docs/, which could not be built: $$(echo "$$why" | tail -n 1); 'make site' says more" >&2; }
	@echo "make demo: open http://127.0.0.1:$(PORT)/ in a browser once the service listens; Ctrl-C ends it"
	@$(RUN) latchscope demo --port $(PORT)

# The interpreters that tests start should find what the first one compiled.
test: export PYTHONDONTWRITEBYTECODE :=
test: .venv/.ready  ## what a change is tried with: every test but the slow ones, on every core
	@echo "make test: on every core; this takes some minutes, and Ctrl-C ends it. 'make test-all' has the slow tests too"
	@$(RUN) pytest -q -n auto --dist loadfile --no-loadscope-reorder

test-all: export PYTHONDONTWRITEBYTECODE :=
test-all: .venv/.ready  ## every test, with the real programs; what CI runs
	@$(RUN) --group chart pytest -q -n auto --dist loadfile --no-loadscope-reorder --all

# Checked before anything is installed. Passwords come from the environment, so that no list of processes shows them.
test-live-needs:
	@test -n "$(DSN)" && test -n "$$LATCHSCOPE_TEST_USER" && test -n "$$LATCHSCOPE_TEST_PASSWORD" \
	  || { echo "test-live needs DSN=host:port/service, and LATCHSCOPE_TEST_USER and LATCHSCOPE_TEST_PASSWORD in the environment" \
	    "(a user of ours; LATCHSCOPE_TEST_DBA_USER and LATCHSCOPE_TEST_DBA_PASSWORD for dictionary views;" \
	    "LATCHSCOPE_TEST_MODE=thick for 11.2). Never a database in production. See docs/oracle.md" >&2; exit 1; }

test-live: test-live-needs .venv/.ready  ## every statement on a real database, none of which writes: DSN=host:port/service, ONLY=a test or an id
	LATCHSCOPE_TEST_DSN="$(DSN)" $(RUN) pytest -q -s -m oracle tests/live/test_live.py tests/live/test_questions.py $(if $(ONLY),-k "$(ONLY)")

test-live-load: .venv/.ready  ## WRITES: known problems on a disposable database: DSN=host:port/service, ONLY=, DRY_RUN=1, CLEAN=1
	@LATCHSCOPE_TEST_DSN="$(DSN)" LATCHSCOPE_TEST_MONITOR_DSN="$(MONITOR_DSN)" $(RUN) python -m tests.live.load \
	  $(if $(ONLY),--only $(ONLY)) $(if $(CONFIG),--config "$(CONFIG)") $(if $(DRY_RUN),--dry-run) $(if $(CLEAN),--clean)

compose-test:  ## docker-compose.yml on a Docker engine with compose 2.20 or newer; takes everything down again
	@$(PYTHON) -m tests.live.stack

check: lint test  ## what is checked before a commit: lint, then make test

lint: .venv/.ready  ## format, lint, types, import contracts
	$(RUN) ruff format --check .
	$(RUN) ruff check .
	$(RUN) mypy
	$(RUN) lint-imports

format: .venv/.ready  ## format and fix the code with ruff
	$(RUN) ruff format .
	$(RUN) ruff check --fix .

# Those of kubernetes are made from those of prometheus. Each line that is printed is a file that changed.
docs: .venv/.ready  ## write what follows from code: parts of the documents, rules, dashboards; prints each file that changes
	@$(RUN) python -m docs.build
	@for of in prometheus kubernetes grafana; do $(RUN) python dashboards/$$of/build.py || exit; done

site: .venv/.ready  ## the documentation, which the service serves under /docs/; a broken link fails
	NO_MKDOCS_2_WARNING=1 $(RUN) mkdocs build
	@echo "service/site/index.html"

# uv builds it in environments of their own; the service's host then needs pip and Python alone, see docs/operate.md.
wheel: $(filter .uv/bin/uv,$(UV))  ## what production installs: dist/latchscope-*.whl with the documentation, and dist/constraints.txt
	NO_MKDOCS_2_WARNING=1 $(UV) run --quiet --frozen --isolated --no-dev --all-extras --group docs mkdocs build --quiet
	git rev-parse HEAD > service/COMMIT; rm -f dist/latchscope-*.whl
	$(UV) build --quiet --wheel --out-dir dist; rm service/COMMIT
	$(UV) export --quiet --frozen --no-dev --no-emit-project --all-extras --no-hashes --output-file dist/constraints.txt
	@ls dist/latchscope-*.whl

sbom: .venv/.ready  ## what a release is made of, with licences: dist/latchscope.cdx.json (CycloneDX)
	@mkdir -p dist
	@$(UV) export --frozen --no-dev --all-extras --format cyclonedx1.5 --quiet | $(RUN) python -m docs.licences > dist/latchscope.cdx.json
	@echo "dist/latchscope.cdx.json"

screenshots: .venv/.ready  ## take pictures of the pages and of the terminal view into docs/images
	$(RUN) python -m docs.page_pictures
	$(RUN) python -m docs.screenshots

bench: .venv/.ready  ## figures for speed and memory
	$(RUN) python -m bench

bench-model: .venv/.ready  ## the contention model beside its bounds
	$(RUN) python -m bench model

soak: .venv/.ready  ## the long forms: outages, storms, crashes
	$(RUN) pytest -q -m soak -s
	HYPOTHESIS_PROFILE=soak $(RUN) pytest -q -n auto --dist worksteal tests/rules tests/collectors

clean:  ## delete what was installed here
	rm -rf .venv .uv

# A new user should know what the wait is for. If nothing is to be installed, there is no message.
.venv/.user: SYNC = --no-dev --inexact
.venv/.user .venv/.ready: pyproject.toml uv.lock | $(filter .uv/bin/uv,$(UV))
	@count=$$($(UV) sync --frozen --all-extras $(SYNC) --dry-run 2>&1 | grep -c '^ + '); test "$$count" -eq 0 || \
	  echo "make: installing $$count packages into .venv; this can take some minutes, and later runs skip it"; \
	  $(UV) sync --frozen --all-extras $(SYNC) --quiet && { test "$$count" -eq 0 || \
	  echo "make: installed; '. .venv/bin/activate' puts latchscope on the PATH of your shell"; }
	@touch $@

.uv/bin/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "latchscope needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "make: there is no uv on this machine; installing uv $(UV_VERSION) into .uv"
	@$(PYTHON) -m venv .uv \
	  || { echo "$(PYTHON) cannot make virtual environments; on Debian and Ubuntu install python3-venv" >&2; exit 1; }
	.uv/bin/pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
