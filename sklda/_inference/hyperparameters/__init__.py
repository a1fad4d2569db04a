"""The priors h = (eta, alpha) by maximum marginal likelihood, and by EM."""
