"""Labelled LDA: topics are labels, and a token's topic is one of its document's labels."""
