"""Clusters, mixtures and hidden states: rows that belong to one of several kinds."""
