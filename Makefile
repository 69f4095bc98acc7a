# Everything from a bare machine with git, make and Python 3.11 to 3.13.
PYTHON ?= python3
CONFIG ?= config/embedded.yaml
# The shell takes it as "$$CONFIG": a path may have spaces and parentheses.
export CONFIG
# Otherwise each process compiles again what changed since the set-up.
unexport PYTHONDONTWRITEBYTECODE
# More options for snakemake, as in ARGS="--cores 1"
ARGS ?=
# GPU=1 installs CUDA's libraries too, for methods with `device: gpu`, and GPU=0 leaves them out
# again. What is installed stays.
GPU ?= $(if $(wildcard .venv/.installed-gpu),1)

BIN := .venv/bin
CUDA := $(filter-out 0,$(GPU))
LOCKS := envs/requirements.lock $(if $(CUDA),envs/requirements-gpu.lock)
STAMP := .venv/.installed$(if $(CUDA),-gpu)
PEERS := .venv-peers/.installed
PERF := .venv-perf/.installed
# Where the folder is there, nothing is asked of a network.
FROM := $(if $(wildcard wheelhouse),--no-index --find-links wheelhouse)
# uv does not start where it cannot write its cache, as with a home folder that is read-only.
UV_CACHE = "$${UV_CACHE_DIR:-$${XDG_CACHE_HOME:-$$HOME/.cache}/uv}"
UV = $(BIN)/uv $(shell mkdir -p $(UV_CACHE) 2>/dev/null && test -w $(UV_CACHE) || echo --no-cache)
RESULTS := "results/$$(basename "$${CONFIG%.*}")"
PYTHON_FILES := src tests perf docs

.PHONY: help setup check run report cluster test test-long test-peers test-cluster lint format derived lock wheelhouse docs peers perf-peers perf perf-costs clean

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' Makefile
	@echo 'With CONFIG=FILE for another config, and ARGS="--cores 1" for options of the command.'

setup: $(STAMP) ## Install shiftbench and all that it needs into .venv

check: $(STAMP) ## Check CONFIG and list its studies; computes nothing
	@$(BIN)/python -m shiftbench check "$$CONFIG"

run: $(STAMP) ## Compute the results of CONFIG (config/embedded.yaml) and make their pages
	@exec $(BIN)/python -m shiftbench run "$$CONFIG" -- $(ARGS)

report: $(STAMP) ## Make Snakemake's report of finished results: how each file was made
	@$(BIN)/snakemake --configfile "$$CONFIG" --report $(RESULTS)/report.html $(ARGS)
	@echo Report: $(RESULTS)/report.html

cluster: $(STAMP) ## Compute the results of CONFIG on a Slurm cluster, from a login node
	@exec $(BIN)/python -m shiftbench cluster "$$CONFIG" $(ARGS)

test: $(STAMP) ## Run the tests
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not long and not peers" $(ARGS)

test-long: $(STAMP) ## Run the longer tests
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "long and not faults" $(ARGS)

# By module: two processes would each make the sites, which takes minutes.
test-peers: $(PEERS) ## Run the tests that need a browser, Sphinx, validators, an S3 server or other libraries
	@.venv-peers/bin/python -m pytest -q -n 2 --dist loadscope -m peers tests/publish tests/docs \
		tests/data tests/methods/detectors tests/adapters tests/api tests/test_install.py $(ARGS)

test-cluster: $(STAMP) ## Run the tests on a Slurm of two nodes, which apt installs
	@$(BIN)/python -m pytest -q -m cluster $(ARGS)

lint: $(STAMP) ## Check style and types of the code
	@$(BIN)/ruff check $(PYTHON_FILES)
	@$(BIN)/ruff format --check $(PYTHON_FILES)
	@$(BIN)/snakefmt --check Snakefile workflow
	@$(BIN)/mypy
	@$(BIN)/snakemake --lint --quiet all

format: $(STAMP) ## Format the code
	@$(BIN)/ruff check --fix $(PYTHON_FILES)
	@$(BIN)/ruff format $(PYTHON_FILES)
	@$(BIN)/snakefmt Snakefile workflow

derived: $(STAMP) ## Derive again all committed files that need no training
	@$(BIN)/python -m shiftbench derive

# publish.in and test.in stay apart: boto3 asks for an old python-dateutil, which pandas has too.
# Of CUDA's libraries only what the first lock has not: all else has its versions.
lock: $(STAMP) ## Update the locked versions in envs/
	@$(UV) pip compile --quiet --upgrade --universal --python-version 3.11 \
		--generate-hashes --no-header \
		$(addprefix envs/,$(addsuffix .in,requirements networks workflow slurm clusters dev)) \
		--output-file envs/requirements.lock
	@$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
		--no-header --constraint envs/requirements.lock envs/gpu.in --output-file envs/gpu.all
	@awk '/^[a-z]/ {name = $$1; sub(/==.*/, "", name)} \
		FNR == NR {locked[name]; next} !(name in locked)' envs/requirements.lock envs/gpu.all \
		> envs/requirements-gpu.lock
	@rm envs/gpu.all

wheelhouse: $(STAMP) ## Download all packages, to install them where there is no network
	@rm -rf wheelhouse.new
	@$(BIN)/python -m pip download --quiet --no-deps --require-hashes \
		--dest wheelhouse.new $(addprefix --requirement ,$(LOCKS))
	@cat $(LOCKS) > wheelhouse.new/lock
	@rm -rf wheelhouse
	@mv wheelhouse.new wheelhouse
	@echo "wheelhouse: beside the Makefile of a copy of this folder, make installs from it"

# Built without caches, so that notebooks show what this checkout computes. Warnings are errors.
docs: $(PEERS) ## Make the documentation site, with tutorials that run and pages of results
	@.venv-peers/bin/python -m sphinx -q -E -a -W --keep-going -c docs \
		-d docs/_build/doctrees . docs/_build/html
	@echo Documentation: docs/_build/html/index.html

peers: $(PEERS) ## Install packages that judge what we publish into .venv-peers

perf-peers: $(PERF) ## Install packages that we compare our speed with into .venv-perf

perf: $(PERF) ## Print the table of our speed beside that of others
	@$(BIN)/python -m perf $(ARGS)

perf-costs: $(STAMP) ## Measure what a step or a row of each method costs
	@$(BIN)/python -m perf.costs $(ARGS)

clean: ## Remove .venv and caches, compiled code of all checkouts too; data and results stay
	rm -rf .venv .venv-peers .venv-perf .pytest_cache .mypy_cache .ruff_cache
	rm -rf "$${XDG_CACHE_HOME:-$$HOME/.cache}/shiftbench"
	rm -rf docs/_build
	find $(PYTHON_FILES) -name __pycache__ -prune -exec rm -rf {} +

# uv, which installs the rest in seconds, is taken from the same lock, with its hashes.
# Bytecode at once: where Python may not write it later, every start would compile all again.
$(STAMP): $(LOCKS)
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; (3, 11) <= v <= (3, 13) or sys.exit( \
		"shiftbench needs Python 3.11 to 3.13, but $(PYTHON) is %d.%d; " \
		"name another one: make PYTHON=python3.12" % v)'
	@test -z "$(FROM)" || cat $(LOCKS) | cmp -s - wheelhouse/lock || { \
		echo "wheelhouse was made for other versions; make wheelhouse where there is a" \
			"network (with the same GPU=$(GPU)), or remove it"; exit 2; }
	@echo "Setting up .venv$(if $(FROM), from wheelhouse)"
	@rm -rf .venv
	@$(PYTHON) -m venv .venv
	@awk '/^[a-z]/ {on = /^uv==/} on' envs/requirements.lock > .venv/uv.lock
	@$(BIN)/python -m pip install --quiet $(FROM) --require-hashes -r .venv/uv.lock
	@$(UV) pip sync --quiet --compile-bytecode --python $(BIN)/python $(FROM) \
		--require-hashes $(LOCKS)
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --offline -e .
	@$(BIN)/python -m compileall -q src
	@touch $@

$(PEERS): $(STAMP) envs/peers.txt envs/data.txt envs/publish.in envs/test.in
	@$(UV) venv --quiet --clear --python $(BIN)/python .venv-peers
	@$(UV) pip sync --quiet --python .venv-peers/bin/python --require-hashes \
		envs/requirements.lock
	@$(UV) pip install --quiet --python .venv-peers/bin/python -r envs/peers.txt \
		-r envs/publish.in -r envs/test.in
	@$(UV) pip install --quiet --python .venv-peers/bin/python --no-deps -r envs/data.txt
	@$(UV) pip install --quiet --python .venv-peers/bin/python --no-deps \
		--no-build-isolation --offline -e .
	@touch $@

$(PERF): $(STAMP) envs/perf.txt
	@$(UV) venv --quiet --clear --python $(BIN)/python .venv-perf
	@$(UV) pip install --quiet --python .venv-perf/bin/python -r envs/perf.txt
	@touch $@
