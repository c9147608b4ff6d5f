"""Models with coefficients, and the simplest models beside them."""
