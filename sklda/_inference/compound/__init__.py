"""Compound LDA: topics shared by collections, and a mixture of them for each collection."""
