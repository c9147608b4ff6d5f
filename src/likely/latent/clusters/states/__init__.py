"""Sequences with a hidden state that changes at random."""
