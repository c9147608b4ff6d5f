"""Densities as products of conditional distributions, one column or pixel after another."""
