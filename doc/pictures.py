"""Make the pictures of README.md and of the pages from the code of the gallery and of one page.

That of the explorer needs Chromium.

python doc/pictures.py                  # all of them
python doc/pictures.py effects.png      # some of them
"""

import contextlib
import doctest
import runpy
import shutil
import subprocess
import sys
import tempfile
import textwrap
from itertools import takewhile
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
from PIL import Image

DOC = Path(__file__).parent
EXAMPLES, STATIC = DOC.parent / "examples", DOC / "_static"
# The script of a picture, and which of its plots it is.
PLOTS = {
    "topics.png": ("plot_topics.py", 0),
    "how_many_topics.png": ("plot_how_many_topics.py", 0),
    "effects.png": ("plot_covariates.py", 0),
    "effects_curves.png": ("plot_covariates.py", 1),
    "topics_over_time.png": ("plot_over_time.py", 0),
    "collections.png": ("plot_collections.py", 0),
    "number_of_topics.png": ("plot_number_of_topics.py", 0),
    "few_documents.png": ("plot_number_of_topics.py", 1),
    "priors.png": ("plot_empirical_bayes.py", 0),
    "traces.png": ("plot_convergence.py", 0),
    "known_topics.png": ("plot_known_topics.py", 0),
}
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def save(picture, name):
    """Store a picture in 256 colours."""
    Image.open(picture).convert("RGB").quantize(256).save(STATIC / name, optimize=True)


def plots(folder, names):
    """The plots of these names; each script runs once."""
    for script in dict.fromkeys(PLOTS[name][0] for name in names):
        plt.close("all")
        runpy.run_path(str(EXAMPLES / script))
        figures = plt.get_fignums()
        for name in names:
            if PLOTS[name][0] == script:
                plt.figure(figures[PLOTS[name][1]]).savefig(folder / name, dpi=150)
                save(folder / name, name)


def survey(folder):
    """The plot of the page of the survey, by the code of this page up to the plot."""
    page = (DOC / "start" / "survey_experiment.rst").read_text(encoding="utf-8")
    before, after = page.split(".. figure:: ../_static/survey_effects.png")
    block = after.split(".. code-block:: python\n")[1]
    plot = "".join(takewhile(lambda line: line.startswith((" ", "\n")), block.splitlines(keepends=True)))
    with contextlib.chdir(folder), contextlib.redirect_stdout(None):
        exec(doctest.script_from_examples(before) + textwrap.dedent(plot), {})
    save(folder / "survey_effects.png", "survey_effects.png")


def explorer(folder):
    """The page of the example of the explorer, with its largest topic chosen."""
    found = runpy.run_path(str(EXAMPLES / "plot_explorer.py"))
    page = folder / "topics.html"
    found["explorer"].to_html(page)
    picture = folder / "explorer.png"
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1400,980"]
    address = f"{page.as_uri()}#topic={found['largest']}"
    subprocess.run(
        [CHROMIUM, *options, f"--screenshot={picture}", address], check=True, capture_output=True, timeout=120
    )
    save(picture, "explorer.png")


if __name__ == "__main__":
    others = {"survey_effects.png": survey, "explorer.png": explorer}
    chosen = sys.argv[1:] or [*PLOTS, *others]
    if "explorer.png" in chosen and CHROMIUM is None:
        raise SystemExit("Chromium is needed for the picture of the explorer, and was not found.")
    with tempfile.TemporaryDirectory() as temporary:
        plots(Path(temporary), [name for name in chosen if name in PLOTS])
        for name, make in others.items():
            if name in chosen:
                make(Path(temporary))
