"""The evidence of a model: exact, by Laplace, by importance, bridge and nested sampling."""
