# Every command of the project; `make help` lists them. Each installs what it needs into .venv first.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
	$$p -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
CODE := dgraph tests examples benchmarks docs packaging
# Tests that kill workers or depend on timing need the machine to themselves. The others run in parallel processes, each
# with a small cluster.
FRAIL := tests/chaos/test_kills.py tests/chaos/test_small_workers.py tests/cluster/test_lost_worker.py \
	tests/exchange/test_leaving_workers.py tests/exchange/test_lost_relay.py tests/agents/test_process_daemon.py \
	tests/agents/test_stand_in.py
# One more process than cores, because tests of clusters spend a third of their time waiting.
SIDE_BY_SIDE := --numprocesses $$(($$(nproc) + 1)) --maxprocesses 4 --dist worksteal $(FRAIL:%=--ignore %)
# The tests that find the most in three minutes. `make faults` shows how many of twenty faults they find.
QUICK := @tests/quick.txt
# Code that tests and searches share.
SUPPORT := PYTHONPATH=$(CURDIR)/tests/support
INSTALLED := .venv/.installed
DASK := 'dask[dataframe]==2026.7.1' 'distributed==2026.7.1'
WITH_oldest := $(DASK)
WITH_lowest := $(DASK) 'click==8.2.1' 'cloudpickle==3.1' 'fsspec==2024.6' 'numba==0.61' 'numpy==2.1' 'pandas==2.3' \
	'pyarrow==18' 'pymetis==2025.2' 'scipy==1.15' 'xxhash==3.5'
WITH_networkx := 'networkx==3.5'  # choices.OLDEST
WITH_cuda := 'numba-cuda[cu13]==0.30.*' 'numpy<2.5'
WITH_site := --editable '.[site]'
WITH_release := hatchling py-rattler-build
WITH_dashboard := 'bokeh>=3.1' 'jinja2>=3.1'
APART := harness readme billions large_answers  # no suites, or one that asks for 60 GB of disk
SUITES = $(filter-out $(APART:%=benchmarks/%.py), $(sort $(wildcard benchmarks/*.py)))

# Tests start many processes, which reuse the bytecode that the first one compiles.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install demo test test-oldest test-lowest test-networkx test-cuda test-site test-dashboard site release registers rooms lines errors tiny quick lint types format faults fuzz fuzz-programs fuzz-answers strikes chaos flat live bench billions termination clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(INSTALLED) ## make .venv and install dgraph and its tools into it, when pyproject.toml has changed

# If the Python of .venv is gone, .venv is recreated. A failed install leaves no mark, so the next command tries again.
$(INSTALLED): pyproject.toml
	@test ! -L .venv || { echo ".venv is a link: make would install this clone into another's environment; remove the link first" >&2; exit 1; }
	@test -n "$(PYTHON)" || { echo "dgraph needs Python 3.11 or newer with venv; name one: make PYTHON=/path/to/python" >&2; exit 1; }
	@echo "installing dgraph and its tools into .venv: a minute or two, once"
	@$(BIN)/python -c '' 2>/dev/null || "$(PYTHON)" -m venv --clear .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(INSTALLED) ## PageRank on a generated graph in this process: top vertices, partitions and reports
	$(BIN)/python examples/demo.py

test: $(INSTALLED) ## run all tests, in two parts, and report which part failed
	@failed=; \
	echo '$(BIN)/python -m pytest $(SIDE_BY_SIDE)'; \
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) || failed="$$failed the tests that run side by side;"; \
	echo '$(BIN)/python -m pytest $(FRAIL)'; \
	$(BIN)/python -m pytest $(FRAIL) || failed="$$failed the tests that want the machine for themselves;"; \
	if [ -n "$$failed" ]; then echo "failed:$$failed see above" >&2; exit 1; fi

test-oldest: .venv-oldest/.installed ## run the tests of the exchange with the oldest supported Dask
	.venv-oldest/bin/python -m pytest tests/exchange tests/supersteps tests/native/test_hosts.py

# Kernels compiled by an older Numba have a separate cache, because each version discards what another has compiled.
test-lowest: export NUMBA_CACHE_DIR := $(CURDIR)/.venv-lowest/kernels
test-lowest: .venv-lowest/.installed ## run some tests with the lowest supported versions of all dependencies
	.venv-lowest/bin/python -m pytest $(SIDE_BY_SIDE) tests/bench tests/building tests/cli tests/codegen tests/exchange \
		tests/frames tests/io tests/partition tests/programs tests/supersteps

test-networkx: $(INSTALLED) .venv-networkx/.installed ## run NetworkX's own tests on the backend: all of the newest, and some of the oldest supported
	$(SUPPORT) $(BIN)/python tests/support/networkx_suite.py --whole
	$(SUPPORT) .venv-networkx/bin/python tests/support/networkx_suite.py

test-cuda: .venv-cuda/.installed ## compile all kernels for a GPU, which need not be present, and run the tests of devices
	.venv-cuda/bin/python -m pytest tests/devices tests/agents tests/building/test_build_on_device.py tests/cugraph

test-site: .venv-site/.installed ## build the site without running the code of its pages, and check its links and sizes
	@rm -rf docs/reference/generated  # it may have pages of names that are gone
	.venv-site/bin/python -m pytest tests/test_site.py

# Kernels of notebooks take no settings of this user's, and warn of nothing about connections within this machine.
site: export IPYTHONDIR := $(CURDIR)/build/ipython
site: .venv-site/.installed ## build the documentation site into build/site, run the code of its pages, and notebooks in build/notebooks
	@rm -rf docs/reference/generated
	@mkdir -p $$IPYTHONDIR/profile_default
	@echo 'c.IPKernelApp.log_level = "ERROR"' > $$IPYTHONDIR/profile_default/ipython_kernel_config.py
	.venv-site/bin/python -m sphinx --fresh-env --jobs auto --fail-on-warning --builder html docs build/site
	@mkdir -p build/notebooks && cp examples/*.ipynb build/notebooks
	.venv-site/bin/jupyter-execute --inplace build/notebooks/*.ipynb

release: .venv-release/.installed ## make dist/, and try it with each Python that is here; VERSION=1.2.3 makes a new version first
	.venv-release/bin/python packaging/release.py $(if $(VERSION),--version $(VERSION)) --lowest $(WITH_lowest)

test-dashboard: .venv-dashboard/.installed ## run the tests of the live page, which need Bokeh
	.venv-dashboard/bin/python -m pytest tests/dashboard

registers: .venv-cuda/.installed ## print registers, stack bytes and spill bytes of every kernel on a GPU of capability 9.0
	.venv-cuda/bin/python tests/support/compiled.py 9.0 | sed 's/], /]\n/g'

# Environments with other versions of some packages, which take precedence over those of .venv.
.venv-%/.installed: $(INSTALLED)
	$(BIN)/python -m venv --clear --without-pip .venv-$*
	@$(BIN)/python -c 'import site; print(f"import site; site.addsitedir({site.getsitepackages()[0]!r})")' \
		> "$$(.venv-$*/bin/python -c 'import site; print(site.getsitepackages()[0])')/installed.pth"
	.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check $(WITH_$*)
	@touch $@

rooms: ## print what each folder of dgraph/ contains, as listed in CONTRIBUTING.md
	@$(firstword $(PYTHON) python3) tests/support/rooms.py

lines: ## print the lines of code of each folder of dgraph/
	@$(firstword $(PYTHON) python3) tests/support/code_lines.py

errors: ## print every error and warning of dgraph with its location
	@$(firstword $(PYTHON) python3) tests/support/error_messages.py

tiny: $(INSTALLED) ## run the few tests that show in 5 seconds whether anything works
	$(BIN)/python -m pytest -m tiny $(wildcard tests/test_*.py)

quick: $(INSTALLED) ## run the tests that find the most, in under three minutes on two cores
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) $(QUICK)

lint: $(INSTALLED) ## check style, format and wording
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/python tests/support/plain_english.py

types: $(INSTALLED) ## check types
	$(BIN)/mypy

format: $(INSTALLED) ## sort imports and format the code
	$(BIN)/ruff check --fix --select I $(CODE)
	$(BIN)/ruff format $(CODE)

faults: $(INSTALLED) ## insert twenty faults, one at a time, to see whether `make quick` finds them; takes an hour
	$(SUPPORT) $(BIN)/python tests/faults/try_faults.py $(QUICK) --record benchmarks/results/faults.json

fuzz: $(INSTALLED) ## try 100,000 hostile inputs on every reader; takes hours, INPUTS=1000 for fewer
	@$(BIN)/python -c 'import atheris' 2>/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[fuzz]' || true
	$(SUPPORT) $(BIN)/python tests/fuzz/search_inputs.py --inputs $(or $(INPUTS),100000) --record benchmarks/results/fuzz.json

fuzz-programs: $(INSTALLED) ## try random programs on every engine until 20,000 are recorded; SECONDS_EACH=60 for a short run, SEED=7
	$(SUPPORT) $(BIN)/python tests/fuzz/search_programs.py --programs $(or $(PROGRAMS),20000) --compiled $(or $(COMPILED),1000) \
		$(if $(SECONDS_EACH),--seconds $(SECONDS_EACH)) $(if $(SEED),--seed $(SEED)) --record benchmarks/results/fuzz-programs.json

fuzz-answers: $(INSTALLED) ## compare all operations with other libraries on 2,000 random graphs; SECONDS_EACH=60 for a short run, SEED=7
	$(SUPPORT) $(BIN)/python tests/fuzz/search_answers.py --graphs $(or $(GRAPHS),2000) --each $(or $(EACH),200) \
		$(if $(SECONDS_EACH),--seconds $(SECONDS_EACH)) $(if $(SEED),--seed $(SEED)) --record benchmarks/results/fuzz-answers.json

strikes: $(INSTALLED) ## strike clusters during runs of every operation until 300 strikes are recorded; SECONDS_EACH=60 for a short run, SEED=7
	$(SUPPORT) $(BIN)/python tests/fuzz/search_strikes.py --strikes $(or $(STRIKES),300) \
		$(if $(SECONDS_EACH),--seconds $(SECONDS_EACH)) $(if $(SEED),--seed $(SEED)) --record benchmarks/results/strikes.json

chaos: $(INSTALLED) ## kill 200 workers at random moments during runs of every engine; KILLS=20 for fewer
	$(SUPPORT) $(BIN)/python tests/chaos/search_kills.py --kills $(or $(KILLS),200) --record benchmarks/results/chaos.json

flat: $(INSTALLED) ## measure memory of scheduler, workers and client over 1,000 runs on one cluster; RUNS=100 for fewer
	$(BIN)/python benchmarks/flat_memory.py --trials 1 --runs $(or $(RUNS),1000)

live: .venv-dashboard/.installed ## measure the scheduler over half an hour of runs with the live page open; MINUTES=5 for fewer
	.venv-dashboard/bin/python benchmarks/flat_memory.py --live $(or $(MINUTES),30)

bench: $(INSTALLED) ## measure against peers on this machine and update the table in README.md
	@for suite in $(SUITES); do $(BIN)/python $$suite || exit 1; done
	$(BIN)/python benchmarks/readme.py

billions: $(INSTALLED) ## run operations on a billion edges under limits of memory: 60 GB of disk, an hour or two, as root
	$(BIN)/python benchmarks/billions.py

termination: $(INSTALLED) ## test termination detection of asynchronous runs on millions of random schedules
	$(BIN)/python benchmarks/termination.py

clean: ## remove .venv and the caches of the tools
	rm -rf .venv .venv-oldest .venv-lowest .venv-networkx .venv-cuda .venv-site .venv-release .venv-dashboard .mypy_cache .pytest_cache .ruff_cache .hypothesis
	rm -rf build/site build/notebooks build/ipython dist docs/reference/generated
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
