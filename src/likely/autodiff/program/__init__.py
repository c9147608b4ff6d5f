"""A function call as a list of steps: arguments, primitives, source, names, formulas."""
