"""Configuration of the documentation; nothing here needs the network."""

import os
import re
import sys
from pathlib import Path

# On matrices as small as the examples', threads of linear algebra wait for one another most of the time.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sklda

sys.path.insert(0, str(Path(__file__).parent))
import vocabulary

vocabulary.write(Path(__file__).parent / "generated" / "vocabulary.inc")

project = "sklda"
author = "The sklda developers"
copyright = author
version = release = sklda.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "sphinx_copybutton",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
# All references must resolve. scikit-learn's pages are not read, since that needs the network; modules have no pages.
nitpicky = True
nitpick_ignore = [("py:class", "sklearn.utils.Bunch"), ("py:mod", "metrics")]
# Quotes in the types of parameters are those of Python.
smartquotes_action = "De"
# The right column has the names of methods, without the class.
toc_object_entries_show_parents = "hide"

autosummary_generate = True
# The docstrings say the types, with shapes.
autodoc_typehints = "none"
numpydoc_show_class_members = False

# A button copies the code after prompts, without what it prints. Blocks of output have none.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"
copybutton_selector = "div.highlight:not(.highlight-text *, .highlight-none *) > pre"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"^(?!plot_)",
    "within_subsection_order": "gallery_order.OrderOfUse",
    "abort_on_example_error": True,
    "reference_url": {"sklda": None},
    "doc_module": "sklda",
    "backreferences_dir": "generated/backreferences",
    "show_signature": False,
    "plot_gallery": "True",
    "image_srcset": ["2x"],
    "thumbnail_size": (640, 448),
    "remove_config_comments": True,
    "write_computation_times": False,
}

# Addresses that do not exist before the first release, and the target of a picture in the site itself.
linkcheck_ignore = [r"https://github\.com/sklda/.*", r"https://sklda\.readthedocs\.io.*", r"auto_examples/.*"]
linkcheck_timeout = 20

html_theme = "pydata_sphinx_theme"
html_title = "sklda"
html_static_path = ["_static"]
html_css_files = ["sklda.css"]
html_show_sourcelink = False
# Where the documentation is hosted, the list of versions comes from there; elsewhere there is one version.
hosted = os.environ.get("READTHEDOCS_VERSION")
switcher = {
    "switcher": {
        "json_url": "https://sklda.readthedocs.io/en/latest/_static/switcher.json",
        "version_match": hosted,
    },
    "check_switcher": False,
    "navbar_start": ["navbar-logo", "version-switcher"],
}
html_theme_options = {
    **(switcher if hosted else {}),
    "logo": {"text": "sklda"},
    "navigation_with_keys": False,
    "show_prev_next": False,
    "header_links_before_dropdown": 5,
    "footer_start": ["copyright"],
    "footer_end": [],
}


def skip_foreign_members(app, what, name, obj, skip, options):
    """Leave to scikit-learn's own site what its base classes bring."""
    function = getattr(obj, "fget", obj)
    module = getattr(function, "__module__", None)
    return True if module is not None and not module.startswith("sklda") else None


def quote_attributes_in_shapes(app, what, name, obj, options, lines):
    """In types such as ``ndarray of shape (n_iter_,)`` the underscore is part of a name and makes no link."""
    lines[:] = [re.sub(r"(?<=[(\s])(\w+_)(?=[,)])", r"`\1`", line) if " : " in line else line for line in lines]


def setup(app):
    app.connect("autodoc-process-docstring", quote_attributes_in_shapes, priority=100)
    app.connect("autodoc-skip-member", skip_foreign_members)
