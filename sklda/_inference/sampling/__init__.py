"""Chains of Gibbs samplers, their initialisation, and point estimates from their draws."""
