"""Attention: positions that look at each other; where they are; transformer layers."""
