"""Random variables: families, points with weights, and sums of independent ones."""
