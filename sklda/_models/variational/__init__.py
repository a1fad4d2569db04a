"""Collapsed variational Bayes with zero-order information, CVB0, for whole corpora and for streams."""
