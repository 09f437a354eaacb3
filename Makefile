# Every target sets up what it needs first: a virtual environment in .venv with a pinned CPU build of PyTorch.
#   make test TORCH=cuda      take the CUDA build instead (the environment remembers it)
#   make test PYTHON=python3.12
#   make test VENV=/my/env NO_SETUP=1      use an environment of your own as it is

PYTHON ?= python3
TORCH ?=
VENV ?= .venv
NO_SETUP ?=
JOBS ?= 2
ARGS ?=
QUICKSTART ?= train keydoor
SCHEDULES ?= 10000

BIN := $(abspath $(VENV))/bin
PY := $(BIN)/python
PYTEST := $(PY) -m pytest
# Neighbours stay together, so that what a module shares is made once; who has nothing left takes half of what another has.
DIST := --dist worksteal
# Tests that take a minute each are dealt out one by one, so that no core is left without at the end.
DEALT := --dist load --maxschedchunk 1
CODE := $(wildcard src tests tools benchmarks recipes examples)
# Files with tests of a mark, so that a stage reads no others, and those of the chaos tests that need the machine for themselves.
marked = $(shell grep -rlE "mark\.$(1)\b" tests)
ALONE := tests/chaos/test_process_faults.py tests/chaos/test_run_kill.py tests/unit/runtime/test_env_pool.py
VLLM_TESTS := tests/e2e/test_vllm_run.py tests/e2e/test_vllm.py
ENGINE_TESTS := tests/unit/engines $(wildcard tests/contracts/*engine*)

export PATH := $(BIN):$(PATH)
export OMP_NUM_THREADS ?= 1
export MKL_NUM_THREADS ?= 1
export TOKENIZERS_PARALLELISM ?= false

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev setup-ray setup-bench quickstart test check format docs bench pictures slow worlds learning learn honest fuzz chaos browser gpu ray venv-vllm test-vllm venv-peers test-peers clean

help:  ## show the targets
	@echo "usage: make TARGET [TORCH=cuda] [PYTHON=python3] [ARGS='...']"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1|\2/p' $(firstword $(MAKEFILE_LIST)) | awk -F'|' '{printf "%-14s %s\n", $$1, $$2}'

setup:  ## make .venv with what training needs
ifeq ($(NO_SETUP),)
	@$(PYTHON) tools/bootstrap.py --venv $(VENV) --torch "$(TORCH)" --extras train
endif

setup-dev:  ## make .venv with what tests, checks and docs need
ifeq ($(NO_SETUP),)
	@$(PYTHON) tools/bootstrap.py --venv $(VENV) --torch "$(TORCH)" --extras train,dev
endif

setup-bench:  # as setup-dev, and the peers that benchmarks run against
ifeq ($(NO_SETUP),)
	@$(PYTHON) tools/bootstrap.py --venv $(VENV) --torch "$(TORCH)" --extras train,dev,bench
endif

quickstart: setup  ## train an agent on this machine: four to five minutes with the set-up, on two idle cores
	@$(BIN)/quintain $(QUICKSTART) $(ARGS)
	@[ -n "$$VIRTUAL_ENV" ] || echo "quintain is in $(BIN); source $(BIN)/activate puts it on the path"

test: setup-dev  ## the fast tests and the doctests
	$(PYTEST) -n $(JOBS) $(DIST) $(ARGS)

check: setup-dev  ## lint, format, types, layers, house rules; runs all of them, then fails if one did
	@failed=; run() { echo "$$*"; "$$@" || failed="$$failed $$1"; }; \
	run ruff check $(CODE); \
	run ruff format --check $(CODE); \
	run $(PY) tools/house.py $(CODE); \
	run lint-imports --no-cache --no-logo; \
	run pyrefly check; \
	if [ -n "$$failed" ]; then echo "failed:$$failed" >&2; exit 1; fi

format: setup-dev  ## let ruff mend what it can
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

docs: setup-dev  ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict --quiet

bench: setup-bench venv-peers  ## run all benchmarks and write their page (after `make venv-vllm`, against vLLM too)
	$(PY) benchmarks/run.py $(ARGS)

pictures: setup-dev  ## draw the pictures of the README and the docs again, and write the pages that show them
	$(PY) tools/pictures.py $(ARGS)
	$(PY) tools/pages.py

slow: setup-dev  ## the tests that take more than ten seconds
	$(PYTEST) -n $(JOBS) $(DEALT) -m "slow and not browser and not chaos and not gpu and not ray" $(filter-out tests/ray/%,$(call marked,slow)) $(ARGS)

worlds: setup-dev  ## every world played: by its oracle, by players who do not look, against a second solver
	$(PYTEST) -n $(JOBS) $(DIST) -m worlds $(call marked,worlds) $(ARGS)

learning: setup-dev  ## every algorithm on an exercise of its family, and wrong forms of them
	$(PYTEST) -n $(JOBS) -m "learning and not gpu" tests/learning $(ARGS)

learn: setup-dev  ## the exercises and KeyDoor on more seeds, and the page of what came of them (1.5 hours; begun again, it goes on)
	$(PY) tools/learn.py run $(ARGS)
	$(PY) tools/learn.py worlds $(ARGS)
	$(PY) tools/learn.py collect
	$(PY) tools/pages.py

honest: setup-dev  ## every world whose code has changed on many instances; writes the row that its tests ask for
	$(PY) tools/honest.py $(ARGS)

fuzz: setup-dev  ## ten thousand malformed actions in every world
	$(PY) tools/fuzz.py $(ARGS)

chaos: setup-dev  ## schedules on a virtual clock, then the tests that kill processes and fill disks
	$(PY) tools/chaos.py --count $(SCHEDULES) --seconds 100 --jobs $(JOBS)
	$(PYTEST) -n $(JOBS) -m "chaos and not gpu" $(filter-out $(ALONE),$(call marked,chaos)) $(ARGS)
	$(PYTEST) -m "chaos and not gpu" $(ALONE) $(ARGS)

browser: setup-dev  ## the tests that drive a real browser
	$(PYTEST) -m "browser and not gpu" $(ARGS)

gpu: setup-dev  ## the tests that need a CUDA device
	@$(PY) -c 'import sys, torch; sys.exit(None if torch.cuda.is_available() else "torch sees no CUDA device; on a machine with one: make gpu TORCH=cuda")'
	$(PYTEST) -m gpu $(ARGS)

setup-ray:  # as setup-dev, and Ray
ifeq ($(NO_SETUP),)
	@$(PYTHON) tools/bootstrap.py --venv $(VENV) --torch "$(TORCH)" --extras train,dev,ray
endif

ray: setup-ray  ## the tests that start a Ray cluster on this machine
	$(PYTEST) -n $(JOBS) $(DIST) -m "ray and not gpu" tests/ray $(ARGS)

venv-vllm:  ## make .venv-vllm, the environment of the vLLM engine
	@$(PYTHON) tools/bootstrap.py --venv .venv-vllm --torch cpu --extras train,test \
		--constraints constraints-vllm.txt --exact

test-vllm: venv-vllm  ## the engine tests in the environment of the vLLM engine, with a real vLLM server
	$(abspath .venv-vllm)/bin/python -m pytest -n $(JOBS) --dist loadfile $(VLLM_TESTS) $(ENGINE_TESTS) -m "not browser and not chaos and not gpu" $(ARGS)

venv-peers:  ## make .venv-peers, the environment of the libraries whose worlds we play and that play ours
	@$(PYTHON) tools/bootstrap.py --venv .venv-peers --torch none --extras adapters,peers,serve \
		--constraints constraints-peers.txt --exact

test-peers: venv-peers  ## adapters and games against the libraries themselves: GEM, TextArena, OpenSpiel, ALE, MiniWorld, TextWorld, OpenEnv and others
	PATH=$(abspath .venv-peers)/bin:$(PATH) $(abspath .venv-peers)/bin/python -m pytest -n $(JOBS) $(DIST) $(filter-out %/test_recipe.py,$(wildcard tests/unit/envs/adapters/test_*.py)) \
		tests/unit/serve/test_mcp.py tests/unit/worlds/test_board_chess.py tests/unit/worlds/test_against_open_spiel.py $(ARGS)

clean:  ## remove caches and built pages; environments and runs stay
	rm -rf site build dist .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
