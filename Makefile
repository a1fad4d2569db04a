PYTHON ?= python3
VENV ?= .venv
# Random inputs of `make fuzz` and `make sanitize`.
N ?= 10000
BIN := $(VENV)/bin
# A process for every core; one that has no test left takes them over from another.
WORKERS := -n auto --dist worksteal
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: demo test test-exhaustive test-checked sanitize fuzz interrupts lint doc clean

# What a stamp names is installed in the environment; it is made again when a source has changed.
SOURCES := pyproject.toml meson.build meson.options $(shell find sklda -name '*.py' -o -name '*.pyx' -o -name '*.pxd' \
	-o -name '*.h' -o -name 'meson.build' -o -name '*.npz' -o -name '*.rst' \
	-o -name '*.html' -o -name '*.css' -o -name '*.js')

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(BIN)/python $(SOURCES)
	$(BIN)/python -m pip install --quiet .
	touch $@

$(VENV)/installed-%: $(BIN)/python $(SOURCES)
	$(BIN)/python -m pip install --quiet $(PIP_ARGS) ".[$*]"
	touch $@

demo: $(VENV)/installed-plot
	$(BIN)/python examples/demo.py

test: $(VENV)/installed-test
	$(BIN)/pytest $(WORKERS) $(PYTEST_ARGS)

test-exhaustive: $(VENV)/installed-test
	$(BIN)/pytest $(WORKERS) -m exhaustive $(PYTEST_ARGS)

# The kernels with bounds checks stand beside the others: the same environment, another folder.
$(VENV)/checked: $(VENV)/installed-test
	rm -rf $@
	$(BIN)/python -m pip install --quiet --no-deps --target $@ -Csetup-args=-Dkernel_checks=true .
	touch $@

test-checked: $(VENV)/checked
	PYTHONPATH=$(VENV)/checked $(BIN)/pytest $(WORKERS) -m "not slow and not exhaustive" $(PYTEST_ARGS)

fuzz: $(VENV)/installed-test
	$(BIN)/python tests/fuzz.py $(N)

# The kernels under AddressSanitizer and UndefinedBehaviorSanitizer of GCC, in an environment of their own. Loaded before
# Python: their runtimes, and libstdc++, whose exceptions AddressSanitizer must know. Leaks are not looked for, since
# CPython frees little at exit. Python takes every object from malloc, so that the bounds of all of them are checked;
# where there is too little memory, malloc fails as it does elsewhere.
sanitize: SANITIZERS := -Db_sanitize=address,undefined -Db_lundef=false -Db_ndebug=false -Ddebug=true -Doptimization=1
sanitize: LIBRARIES := libasan.so libubsan.so libstdc++.so
sanitize: SANITIZED = LD_PRELOAD="$(foreach each,$(LIBRARIES),$(shell $(CC) -print-file-name=$(each)))" PYTHONMALLOC=malloc \
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
sanitize:
	$(MAKE) .venv-sanitized/installed-test VENV=.venv-sanitized \
		PIP_ARGS="$(addprefix -Csetup-args=,$(SANITIZERS))"
	$(SANITIZED) .venv-sanitized/bin/pytest $(WORKERS) $(PYTEST_ARGS)
	$(SANITIZED) .venv-sanitized/bin/python tests/fuzz.py $(N)

interrupts: $(VENV)/installed-test
	$(BIN)/python -P tests/interrupts.py

lint: $(VENV)/installed-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH="$(CURDIR)/$(BIN):$$PATH" cython-lint sklda

doc: $(VENV)/installed-doc
	$(BIN)/sphinx-build -W --keep-going -b html doc doc/_build/html

clean:
	rm -rf $(VENV) .venv-* build doc/_build doc/auto_examples doc/generated doc/sg_execution_times.rst \
		convergence.png topics.html
