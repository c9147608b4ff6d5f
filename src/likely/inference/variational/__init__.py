"""Distributions fitted by maximising the evidence lower bound."""
