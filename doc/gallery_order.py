"""The order of the gallery: that in which a user needs the examples."""

from pathlib import Path

ORDER = (
    "topics",
    "explorer",
    "report",
    "convergence",
    "consensus",
    "how_many_topics",
    "covariates",
    "over_time",
    "collections",
    "groups",
    "known_topics",
    "labels",
    "pipeline",
    "held_out",
    "stream",
    "number_of_topics",
    "empirical_bayes",
)


class OrderOfUse:
    """Sort key of sphinx-gallery. Examples without a place come last, by name."""

    def __init__(self, src_dir):
        self.src_dir = src_dir

    def __repr__(self):
        return "<OrderOfUse>"

    def __call__(self, filename):
        name = Path(filename).stem.removeprefix("plot_")
        return ORDER.index(name) if name in ORDER else len(ORDER), name
