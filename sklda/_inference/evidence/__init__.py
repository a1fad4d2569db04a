"""The evidence log p(w | alpha, eta, K) of a corpus."""
