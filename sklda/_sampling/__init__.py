"""Gibbs samplers: chains, their initialisation, parallel runs, and point estimates from their draws."""
