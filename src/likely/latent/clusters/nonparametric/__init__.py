"""Clusters and features of an unknown number: random partitions and binary matrices."""
