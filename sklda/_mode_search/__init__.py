"""The modes of the posterior of z: a search that redraws groups of topics, and the evidence of modes.

- ``groups``: groups of topics that share documents and words.
- ``redraw``: the tokens of a group as a corpus of its own, to which as many topics are fitted afresh.
- ``search``: from given states to better modes.
- ``searched_start``: chains that begin where a search ends.
- ``mode_evidence``: the evidence of the modes of chains, and weights from it.
"""
