"""Documents that a model was not fitted to: topic proportions, log-likelihood, comparison of models."""
