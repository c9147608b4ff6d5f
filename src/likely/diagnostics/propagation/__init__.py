"""Signals and gradients through the layers of a network: predicted, and measured."""
