# Everything sets itself up: `make demo` and `make test` work in a fresh clone with Python 3.11+ and make.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
CLUSTER ?= .venv-cluster
DEPLOY ?= .venv-deploy
OUT    ?= demo-out
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

# The project's own data folder, if it lies beside the clone; DMAFL_DATA_DIR from outside wins.
ifneq ($(wildcard ../shared/data/mnist.npz),)
export DMAFL_DATA_DIR ?= $(abspath ../shared/data)
endif

.PHONY: help demo test cluster-test deploy-test deploy-test-long lint docs bench faults soak clean

help:
	@echo "make demo   set up, then plan and train three models on ten devices beside every baseline, and draw the outcome"
	@echo "make test   set up, then run the tests"
	@echo "make cluster-test  set up Ray and submitit in an environment of their own, then run the tests that need them"
	@echo "make deploy-test   set up Flower in an environment of its own, then run the tests that need it"
	@echo "make deploy-test-long  the same for a long run over Flower, beside the simulator's"
	@echo "make lint   ruff and mypy"
	@echo "make docs   build the documentation into site/"
	@echo "make bench  run the benchmarks"
	@echo "make faults kill, stop, stall, race and damage commands thousands of times (about 20 minutes)"
	@echo "make soak   two long runs in one process each: memory and rate (a quarter of an hour)"

# Embedded data only, so that the demo is the same everywhere.
demo: export DMAFL_DATA_DIR :=
demo: $(VENV)/.runtime
	mkdir -p $(OUT)
	rm -rf $(OUT)/run
	$(BIN)/dmafl init --preset demo --output $(OUT)/scenario.toml --force
	$(BIN)/dmafl check $(OUT)/scenario.toml
	$(BIN)/dmafl plan $(OUT)/scenario.toml --output $(OUT)/plan.json --effort 10 --picture $(OUT)/timeline.png
	$(BIN)/dmafl verify $(OUT)/plan.json
	$(BIN)/dmafl run $(OUT)/scenario.toml --plan $(OUT)/plan.json --scheme dma-fl --scheme baselines --output $(OUT)/run
	$(BIN)/dmafl verify $(OUT)/run
	$(BIN)/dmafl report $(OUT)/run --output $(OUT)/report.html
	@echo "Accuracy against aggregations, time and energy: $(OUT)/run/accuracy.png"
	@echo "Prediction beside the loss reached:             $(OUT)/run/quality.png"
	@echo "Everything on one page, for a browser:          $(OUT)/report.html"

# Compiled tests are kept for the next time, also where the environment says that Python is to keep nothing.
test: export PYTHONDONTWRITEBYTECODE :=
test: $(VENV)/.dev
	$(BIN)/python -m pytest

cluster-test: $(CLUSTER)/.cluster
	$(CLUSTER)/bin/python -m pytest -n 0 -m cluster -rs

deploy-test: $(DEPLOY)/.deploy
	$(DEPLOY)/bin/python -m pytest -m deploy -rs $$(grep -rl --include='test_*.py' mark.deploy tests)

deploy-test-long: $(DEPLOY)/.deploy
	$(DEPLOY)/bin/python -m pytest -n 0 -m deploy_long -rs $$(grep -rl --include='test_*.py' mark.deploy_long tests)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.dev
	$(BIN)/mkdocs build --strict

bench: $(VENV)/.runtime
	$(BIN)/python benchmarks/checking.py
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/simulator.py

# ONLY=kills,stops names kinds of faults, CASES=20 fewer cases of each, SEED=1 other moments; DOCS=1 puts the table into the docs.
faults: $(VENV)/.dev
	$(BIN)/python -m tests.faults $(if $(ONLY),--only $(ONLY)) $(if $(CASES),--cases $(CASES)) $(if $(SEED),--seed $(SEED)) $(if $(DOCS),--write-docs)

soak: $(VENV)/.runtime
	$(BIN)/python benchmarks/soak.py --picture docs/images/soak.png

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# torch comes first and pinned: an open range would pull several GB of CUDA packages.
$(VENV)/.runtime: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install --constraint constraints.txt torch
	$(PIP) install --constraint constraints.txt --editable .
	touch $@

$(VENV)/.dev: $(VENV)/.runtime
	$(PIP) install --constraint constraints.txt --editable ".[dev]"
	touch $@

$(CLUSTER)/.cluster: pyproject.toml constraints.txt constraints-cluster.txt
	$(PYTHON) -m venv $(CLUSTER)
	$(CLUSTER)/bin/python -m pip --disable-pip-version-check --quiet install --constraint constraints.txt torch
	$(CLUSTER)/bin/python -m pip --disable-pip-version-check --quiet install --constraint constraints.txt --constraint constraints-cluster.txt --editable ".[dev,ray,slurm]"
	touch $@

# Flower asks for older versions of a few packages: hence constraints of its own.
$(DEPLOY)/.deploy: pyproject.toml constraints-deploy.txt
	$(PYTHON) -m venv $(DEPLOY)
	$(DEPLOY)/bin/python -m pip --disable-pip-version-check --quiet install --constraint constraints-deploy.txt torch
	$(DEPLOY)/bin/python -m pip --disable-pip-version-check --quiet install --constraint constraints-deploy.txt --editable ".[dev,deploy,deploy-simulate]"
	$(DEPLOY)/bin/python -m pip --disable-pip-version-check check
	touch $@

clean:
	rm -rf $(VENV) $(CLUSTER) $(DEPLOY) site demo-out faults-out soak-out .pytest_cache .mypy_cache .ruff_cache .hypothesis
