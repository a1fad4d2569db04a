PYTHON ?= python3
VENV ?= .venv
# Random inputs of `make fuzz` and `make sanitize`.
N ?= 10000
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
# A process for every core; one that has no test left takes them over from another.
WORKERS := -n auto --dist worksteal
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# An empty value lets Python keep compiled modules. pytest takes ten seconds to compile the tests.
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo test test-exhaustive test-oldest test-prerelease test-checked test-wheel sanitize fuzz interrupts calibrate lint language doc \
	linkcheck pictures bench wheel wheels instructions release-check clean

# What a stamp names is installed in the environment; it is made again when a source has changed.
SOURCES := pyproject.toml meson.build meson.options $(shell find sklda -name '*.py' -o -name '*.pyx' -o -name '*.pxd' \
	-o -name '*.h' -o -name 'meson.build' -o -name '*.npz' -o -name '*.rst' \
	-o -name '*.html' -o -name '*.css' -o -name '*.js' -o -name '*.pyi' -o -name 'py.typed')

$(VENV)/pyvenv.cfg:
	@echo "Making an environment in $(VENV): a few seconds."
	$(PYTHON) -m venv $(VENV)

# One wheel for all extras, because kernels take a minute to compile.
$(VENV)/wheel: $(VENV)/pyvenv.cfg $(SOURCES)
	rm -rf $@
	@echo "Compiling the kernels of sklda: about forty seconds on two cores, without a line before the end."
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir $@ .
	$(BIN)/python -m pip install --quiet --no-deps --force-reinstall $@/*.whl

$(VENV)/demo: $(VENV)/wheel
	@echo "Installing the packages that sklda[plot] needs: about a minute."
	$(BIN)/python -m pip install --quiet "$$(ls $</*.whl)[plot]"
	touch $@

# The package with a group of pyproject.toml. pip knows groups since 25.1, and Python 3.11 brings an older one.
$(VENV)/installed-%: $(VENV)/wheel
	@echo "Installing the packages of the group '$*': about a minute."
	$(BIN)/python -m pip install --quiet "pip>=25.1"
	$(BIN)/python -m pip install --quiet $(PIP_ARGS) $</*.whl --group $*
	touch $@

demo: $(VENV)/demo
	@echo "Fitting topics: about twenty seconds."
	$(BIN)/python examples/demo.py

test: $(VENV)/installed-test
	$(BIN)/pytest $(WORKERS) $(PYTEST_ARGS)

test-exhaustive: $(VENV)/installed-test
	$(BIN)/pytest $(WORKERS) -m exhaustive $(PYTEST_ARGS)

# The oldest versions that pyproject.toml accepts, with Python 3.11; and pre-releases, where there are any.
OLDEST := "numpy==2.2.*" "scipy==1.15.*" "scikit-learn==1.6.*" "joblib==1.5.*" "matplotlib==3.10.*" "pandas==2.3.*" \
	"arviz-base==0.6.*" "arviz-stats==0.6.*" "rich==13.*" "formulaic==1.1.*" "distributed==2024.12.*" "skops==0.11.*"
test-oldest:
	$(MAKE) .venv-oldest/installed-test VENV=.venv-oldest PIP_ARGS='$(OLDEST)'
	$(subst $(VENV)/,.venv-oldest/,$(BIN))/pytest $(WORKERS) $(PYTEST_ARGS)

test-prerelease:
	$(MAKE) test VENV=.venv-prerelease PIP_ARGS="--pre --upgrade --upgrade-strategy eager"

# A wheel in an environment without a compiler, tested from an empty folder. ALL="--all -n auto" runs the whole suite.
# joblib counts cores with other programs, which are not on PATH, unless it is told that there is one.
$(VENV)/release-tools: $(VENV)/pyvenv.cfg
	$(BIN)/python -m pip install --quiet build==1.6.1 cibuildwheel==4.3.5 twine==7.0.0
	touch $@

wheel: $(VENV)/release-tools
	rm -rf dist
	$(BIN)/python -m build --outdir dist .

# All wheels of this system; on Linux in containers. ONLY="cp313-manylinux_x86_64" builds one.
wheels: $(VENV)/release-tools
	$(BIN)/cibuildwheel $(if $(ONLY),--only $(ONLY)) --output-dir wheelhouse

test-wheel: WHEEL_VENV := .venv-wheel
test-wheel: WHEEL_BIN = $(subst $(VENV)/,$(WHEEL_VENV)/,$(BIN))
test-wheel: wheel
	$(PYTHON) -m venv --clear $(WHEEL_VENV)
	$(WHEEL_BIN)/python -m pip install --quiet "pip>=25.1"
	CC=false PATH="$(CURDIR)/$(WHEEL_BIN)" $(WHEEL_BIN)/python -m pip install --quiet --only-binary :all: \
		dist/*.whl --group $(if $(ALL),test,wheel-test)
	LOKY_MAX_CPU_COUNT=1 PATH="$(CURDIR)/$(WHEEL_BIN)" $(WHEEL_BIN)/python tests/wheel.py $(ALL)

# Baseline x86-64 outside functions that are chosen at run time, in the wheels of dist/; needs objdump.
instructions:
	$(PYTHON) .ci/instructions.py dist/*.whl

# The kernels with bounds checks stand beside the others: the same environment, another folder.
$(VENV)/checked: $(VENV)/installed-test
	rm -rf $@
	$(BIN)/python -m pip install --quiet --no-deps --target $@ -Csetup-args=-Dkernel_checks=true -Csetup-args=-Doptimization=1 .
	touch $@

test-checked: $(VENV)/checked
	PYTHONPATH=$(abspath $(VENV)/checked) $(BIN)/pytest $(WORKERS) -m "not slow and not exhaustive and not mutant" $(PYTEST_ARGS)

fuzz: $(VENV)/installed-test
	$(BIN)/python tests/fuzz.py $(N)

# The kernels under AddressSanitizer and UndefinedBehaviorSanitizer of GCC. Loaded before Python: their runtimes, and
# libstdc++, whose exceptions AddressSanitizer must know. Leaks are not looked for, since CPython frees little at exit.
# Python takes every object from malloc, so that the bounds of all of them are checked; where there is too little memory,
# malloc fails as it does elsewhere.
SANITIZERS := -Db_sanitize=address,undefined -Db_lundef=false -Db_ndebug=false -Ddebug=false -Dc_args=-g1 -Doptimization=1
LIBRARIES := libasan.so libubsan.so libstdc++.so
SANITIZED = PYTHONPATH=$(abspath $(VENV)/sanitized) PYTHONMALLOC=malloc \
	LD_PRELOAD="$(foreach each,$(LIBRARIES),$(shell $(CC) -print-file-name=$(each)))" \
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
$(VENV)/sanitized: $(VENV)/installed-test
	rm -rf $@
	$(BIN)/python -m pip install --quiet --no-deps --target $@ $(addprefix -Csetup-args=,$(SANITIZERS)) .
	touch $@

sanitize: $(VENV)/sanitized
	$(SANITIZED) $(BIN)/pytest $(WORKERS) $(PYTEST_ARGS)
	$(SANITIZED) $(BIN)/python tests/fuzz.py $(N)

interrupts: $(VENV)/installed-test
	$(BIN)/python -P tests/interrupts.py

# Ranks of true values in posteriors, and stated errors by their spread: about half an hour of one core. It writes the
# tables and the figure of the page "Can I trust the errors?".
calibrate: $(VENV)/installed-test
	$(BIN)/python tests/calibrate.py $(CALIBRATE_ARGS)

lint: $(VENV)/installed-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH="$(CURDIR)/$(BIN):$$PATH" cython-lint sklda
	$(BIN)/mypy
	$(BIN)/validate-pyproject pyproject.toml
	$(BIN)/codespell
	$(BIN)/yamllint --strict .
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.readthedocs .readthedocs.yaml

# Advice on the English of pages, docstrings and comments. It is no gate.
language: $(VENV)/pyvenv.cfg
	-$(BIN)/python .ci/language.py

doc: $(VENV)/installed-doc
	$(BIN)/sphinx-build -W --keep-going -b html doc doc/_build/html

# Links to other sites; needs the network.
linkcheck: $(VENV)/installed-doc
	$(BIN)/sphinx-build -D plot_gallery=0 -b linkcheck doc doc/_build/linkcheck

# The pictures of README.md and of the first page, from the code of the gallery; needs Chromium.
pictures: $(VENV)/installed-doc
	$(BIN)/python doc/pictures.py

# Rates, times and memory of this commit. BENCH_ARGS="--bench Import" selects benchmarks; `asv continuous main` compares.
bench: $(VENV)/installed-bench
	$(BIN)/asv machine --yes
	PATH="$(CURDIR)/$(BIN):$$PATH" asv run --python=same --show-stderr --set-commit-hash "$$(git rev-parse HEAD)" $(BENCH_ARGS)

# Version, changelog, tag and the archives in dist/, before they are published. TAG="" leaves out the tag.
release-check: $(VENV)/release-tools
	$(BIN)/python .ci/release_check.py $(if $(TAG),--tag $(TAG)) dist
	$(BIN)/twine check --strict dist/*

clean:
	rm -rf $(VENV) .venv-* .asv build dist wheelhouse doc/_build doc/auto_examples doc/generated doc/sg_execution_times.rst topics.html
