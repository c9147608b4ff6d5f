"""Laws of large numbers, the central limit, inequalities and estimators by simulation."""
