"""Discrete tables over named variables, and the factors they are made of."""
