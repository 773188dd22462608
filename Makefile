# Everything a developer types. A fresh machine needs Python >= 3.11, git and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: demo test test-slow check docs bench lock clean

demo: $(VENV)/install.stamp          ## the main job, offline, on a small web made here
	$(BIN)/python -m demo

test: $(VENV)/install.stamp            ## the whole suite but what is marked slow
	$(BIN)/python -m pytest -m "not slow"

test-slow: $(VENV)/install.stamp   ## what `make test` leaves out
	$(BIN)/python -m pytest -m slow

check: $(VENV)/install.stamp           ## format, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/generate.py --check

docs: $(VENV)/install.stamp            ## the generated pages of docs/reference
	$(BIN)/python docs/generate.py

bench: $(VENV)/install.stamp           ## the figures of bench/RESULTS.md, one JSON line each
	$(BIN)/python bench/crawl.py
	$(BIN)/python bench/process.py

lock:                               ## resolve again: requirements.lock
	$(BIN)/python -m pip install -q uv
	$(BIN)/uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --no-header --quiet -o requirements.lock

clean:
	rm -rf $(VENV) demo-out

# One environment for all: what the demo draws and the tests compare needs the extras too.
$(VENV)/install.stamp: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $@
