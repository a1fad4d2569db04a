"""What samplers, likelihoods and models have in common: corpora, priors, streams, parallel execution."""
