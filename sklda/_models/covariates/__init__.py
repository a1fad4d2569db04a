"""Dirichlet-multinomial regression: the prior of theta depends on covariates of the documents."""
