PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# A process for every core; one that has no test left takes them over from another.
WORKERS := -n auto --dist worksteal
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: demo test test-exhaustive test-checked lint doc clean

# What a stamp names is installed in the environment; it is made again when a source has changed.
SOURCES := pyproject.toml meson.build meson.options $(shell find sklda -name '*.py' -o -name '*.pyx' -o -name '*.pxd' \
	-o -name '*.h' -o -name 'meson.build' -o -name '*.npz' -o -name '*.rst')

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

lint: $(VENV)/installed-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH="$(CURDIR)/$(BIN):$$PATH" cython-lint sklda

doc: $(VENV)/installed-doc
	$(BIN)/sphinx-build -W --keep-going -b html doc doc/_build/html

clean:
	rm -rf $(VENV) .venv-* build doc/_build doc/auto_examples doc/generated doc/sg_execution_times.rst \
		marginal_likelihood.png
