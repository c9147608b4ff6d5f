"""What batch norm buys: invariance, usable rates, smoothness, noise, each measured."""
