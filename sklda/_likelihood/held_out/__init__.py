"""Documents that were not in the fit: topic proportions, log-likelihoods and the comparison of models."""
