"""Synthetic tables: a model by held-out nats, new rows in the form of the old, a report."""
