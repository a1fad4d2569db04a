"""The priors h = (alpha, eta) by maximum marginal likelihood, and by EM."""
