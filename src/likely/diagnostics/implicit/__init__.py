"""Implicit regularisation: what the steps of a solver add to the loss it is given."""
