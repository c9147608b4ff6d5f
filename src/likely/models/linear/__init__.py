"""Linear models and hyperplanes."""
