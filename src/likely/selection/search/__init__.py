"""Hyper-parameter search: grids, random draws, halving; journals; nested estimates."""
