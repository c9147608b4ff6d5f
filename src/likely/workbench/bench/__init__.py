"""Measurements of this machine: our time against that of the peers that are installed."""
