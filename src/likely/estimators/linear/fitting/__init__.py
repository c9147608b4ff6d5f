"""How lines are found: in NumPy, from some rows, by products alone, in the rows' space."""
