"""Make the pictures of README.md and of the first page, from the scripts of the gallery. Needs Chromium."""

import runpy
import shutil
import subprocess
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
from PIL import Image

DOC = Path(__file__).parent
EXAMPLES, STATIC = DOC.parent / "examples", DOC / "_static"
PLOTS = {
    "topics.png": "plot_topics.py",
    "how_many_topics.png": "plot_how_many_topics.py",
    "known_topics.png": "plot_known_topics.py",
}
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def save(picture, name):
    """Store a picture in few colours."""
    Image.open(picture).convert("RGB").quantize(64).save(STATIC / name, optimize=True)


def plots(folder):
    """The first plots of examples."""
    for picture, script in PLOTS.items():
        plt.close("all")
        runpy.run_path(str(EXAMPLES / script))
        plt.figure(plt.get_fignums()[0]).savefig(folder / picture, dpi=150)
        save(folder / picture, picture)


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
    if CHROMIUM is None:
        raise SystemExit("Chromium is needed for the picture of the explorer, and was not found.")
    with tempfile.TemporaryDirectory() as temporary:
        plots(Path(temporary))
        explorer(Path(temporary))
