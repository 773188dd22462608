# Everything a developer types. A fresh machine needs Python >= 3.11, git and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check
# A lock lists all packages. With --no-deps no pip looks for others: pip 23 asks for `coverage[toml]` unpinned once a newer one exists.
LOCKED  = --no-deps --require-hashes -r
# Tests that need no server and no optional package.
PURE    = tests/core tests/extract tests/filters tests/shards --ignore=tests/shards/loader/test_loader_bucket.py tests/pythons tests/test_pythons.py
UV      = uv==0.13.9
COMPILE = $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet
LOCK    = $(COMPILE) pyproject.toml

# `-m demo`, and the tests, are modules of the checkout.
unexport PYTHONSAFEPATH

# Folders whose tests start few processes and no server, and one run of the main job.
QUICK = tests/core tests/extract tests/filters tests/shards --ignore=tests/shards/loader tests/frontier/urls tests/storage/warc \
	tests/crawler/robots tests/crawler/reading tests/crawler/wire tests/crawler/scheduling tests/pipeline/commands \
	tests/pipeline/terminal tests/end_to_end/test_main_job.py

.PHONY: demo test test-quick test-pure test-slow check audit docs bench lock clean

demo: $(VENV)/demo.stamp             ## the main job, offline, on a small web made here
	$(BIN)/python -m demo

test: $(VENV)/test.stamp $(VENV)/chromium.stamp $(VENV)/deploy.stamp  ## the whole suite but what is marked slow; COVERAGE=1 measures which branches it takes
	$(BIN)/python -m pytest -m "not slow" $(if $(COVERAGE),--cov --cov-report=term)

test-quick: $(VENV)/test.stamp       ## a minute's worth of the suite: the pure packages, and the main job; what failed last comes first
	$(BIN)/python -m pytest -m "not slow" --failed-first $(QUICK)

test-pure: $(VENV)/pure.stamp        ## extraction, filters and shards; another Python: make test-pure PYTHON=python3.13 VENV=build/python3.13
	$(BIN)/python -m pytest -m "not slow" $(PURE)

test-slow: $(VENV)/test.stamp $(VENV)/chromium.stamp $(VENV)/deploy.stamp  ## what `make test` leaves out; property tests with random examples, or with those of SEED
	$(BIN)/python -m pytest -m "slow or hypothesis" --hypothesis-profile random $(if $(SEED),--hypothesis-seed $(SEED))

check: $(VENV)/test.stamp           ## format, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/generate.py --check
	! git grep -nE '^(<<<<<<<|>>>>>>>) '
	$(MAKE) --no-print-directory audit

audit: $(VENV)/audit/audit.stamp           ## build/sbom.cdx.json; known vulnerabilities, where a registry answers
	@[ ! -e $< ] || $(VENV)/audit/bin/python deploy/dependency_audit.py $(BIN)/python

docs: $(VENV)/test.stamp            ## the generated pages of docs/reference, and the demo's output in README
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/readme.py

bench: $(VENV)/test.stamp           ## the figures of bench/RESULTS.md, one JSON line each
	$(BIN)/python bench/crawler/crawl.py
	$(BIN)/python bench/pipeline/process.py

lock:                               ## resolve again: requirements*.lock
	$(BIN)/python -m pip install -q $(UV)
	$(LOCK) --all-extras -o requirements-test.lock
	$(LOCK) --extra plot --extra build -c requirements-test.lock -o requirements.lock
	$(LOCK) --extra datasketch --extra extract-trafilatura --extra plot --extra postgres --extra ray --extra render --extra signals --extra telemetry --extra build -c requirements-test.lock -o requirements-all.lock
	$(COMPILE) --group pyproject.toml:pure -c requirements-test.lock -o requirements-pure.lock
	$(COMPILE) --group pyproject.toml:audit -o requirements-audit.lock
	$(COMPILE) --group pyproject.toml:deploy -o requirements-deploy.lock

clean:
	rm -rf $(VENV) demo-out

# What runs needs less than what is tested: a demo must not wait for Ray, PostgreSQL and an S3 server.
$(VENV)/demo.stamp: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) $(LOCKED) requirements.lock
	$(INSTALL) --no-deps --no-build-isolation -e .
	touch $@

$(VENV)/test.stamp: requirements-test.lock $(VENV)/demo.stamp
	$(INSTALL) --no-compile $(LOCKED) requirements-test.lock
	touch $@

$(VENV)/pure.stamp: requirements-pure.lock $(VENV)/demo.stamp
	$(INSTALL) --no-compile $(LOCKED) requirements-pure.lock
	touch $@

# A build must work offline: where the tools cannot be had, that is said.
$(VENV)/audit/audit.stamp: requirements-audit.lock | $(VENV)/test.stamp
	@rm -f $@; { $(PYTHON) -m venv $(VENV)/audit && $(VENV)/audit/bin/python -m pip install --quiet --retries 1 \
		--disable-pip-version-check $(LOCKED) $< && touch $@; } >$(VENV)/audit.log 2>&1 \
		|| echo "audit: NOT audited for known vulnerabilities: pip-audit cannot be installed ($(VENV)/audit.log)"

# Pages are rendered in Chromium, which is no Python package. Where it cannot be installed, the tests that need it skip.
$(VENV)/chromium.stamp: | $(VENV)/test.stamp
	@for name in chromium chromium-browser google-chrome-stable google-chrome chrome; do \
		command -v $$name >/dev/null && break; \
	done || { \
		as=; [ "$$(id -u)" = 0 ] || as="sudo -n"; export DEBIAN_FRONTEND=noninteractive; \
		$$as timeout 300 apt-get update -qq && $$as timeout 600 apt-get install -y -qq --no-install-recommends chromium; \
	} >$(VENV)/chromium.log 2>&1 || echo "no Chromium, and it cannot be installed ($(VENV)/chromium.log): its tests skip"
	touch $@

# The programs that check deploy/: from Python packages in an environment of their own, and from Debian's packages, which
# are unpacked and not installed, because installed they would start servers. Tests of what cannot be had skip.
DEBIAN = haproxy prometheus liblua5.3-0 libopentracing-c-wrapper0 libopentracing1
$(VENV)/deploy.stamp: requirements-deploy.lock | $(VENV)/test.stamp
	@{ $(PYTHON) -m venv $(VENV)/deploy && $(VENV)/deploy/bin/python -m pip install --quiet --retries 1 \
		--disable-pip-version-check $(LOCKED) $<; } >$(VENV)/deploy.log 2>&1 \
		|| echo "no programs that check deploy/ ($(VENV)/deploy.log): their tests skip"
	@as=; [ "$$(id -u)" = 0 ] || as="sudo -n"; rm -rf $(VENV)/debian; mkdir -p $(VENV)/debian/packages; \
	{ $$as timeout 300 apt-get update -qq; cd $(VENV)/debian/packages && timeout 300 apt-get download -q $(DEBIAN) \
		&& for package in *.deb; do dpkg-deb -x $$package .. && rm $$package; done; } >>$(VENV)/deploy.log 2>&1 \
		|| echo "no HAProxy and Prometheus ($(VENV)/deploy.log): their tests skip"
	touch $@
