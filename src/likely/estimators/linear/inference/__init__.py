"""What is known about the coefficients of linear models: errors, spread, dependence."""
