"""Draws from a distribution known up to a constant: Metropolis, HMC, NUTS, diagnostics."""
