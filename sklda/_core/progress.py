"""What a fit says while it runs."""


class Progress:
    """Takes what a fit says, and ignores it. A subclass in `sklda._models.progress` prints lines and calls callbacks.

    A fit by chains calls `before` and `after` around every sweep. A fit in stages, whose number is not known in
    advance, calls `stage` at the end of each stage.

    Attributes
    ----------
    prints : bool
        Whether lines of text are printed.
    ended : collection of int
        Chains that a callback has asked to end; without those that run in other processes.
    """

    prints, ended = False, ()

    def before(self, index):
        """A sweep of chain `index` begins."""

    def after(self, index, chain):
        """A sweep of chain `index` has ended. Returns whether the chain ends."""
        return False

    def resumed(self, index, n_sweeps):
        """The first sweeps of chain `index` come from a checkpoint."""

    def stage(self, text):
        """A stage has ended; `text` describes it. Returns whether the fit ends."""
        return False

    def say(self, text):
        """A line of text."""

    def end(self, result):
        """The fit has ended. `result` are the chains, or the object that describes the topics."""


SILENT = Progress()
