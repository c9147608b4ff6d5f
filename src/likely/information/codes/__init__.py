"""Codes: symbols as words of bits, with lengths close to the surprise."""
