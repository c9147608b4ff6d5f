"""Rates of convergence: what is proved, beside what the solvers of the library do."""
