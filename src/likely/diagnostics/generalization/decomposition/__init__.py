"""A risk as noise, bias and variance."""
