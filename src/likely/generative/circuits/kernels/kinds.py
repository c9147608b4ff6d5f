"""The kinds of leaves and of inner nodes of a circuit, by number."""

NORMAL, STUDENT, HISTOGRAM, ROUNDED, CATEGORY, POISSON, NEGATIVE = range(7)
SUM, PRODUCT = 0, 1
OUTSIDE = -700.0
"""log density outside of all edges of a histogram: as good as impossible, and finite."""
