"""Inference algorithms on arrays and chains. They import kernels, and never an estimator."""
