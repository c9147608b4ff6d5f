"""The parts of a mixture of normal distributions: its parameters, its steps, its starts."""
