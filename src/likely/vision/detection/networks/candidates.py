"""Candidates: all boxes that a network makes of an image, before any is left out."""

from typing import Any, NamedTuple


class Candidates(NamedTuple):
    """Boxes of a batch of images, with what may be in them; traced or in NumPy."""

    boxes: Any
    """(n, k, 4) corners, in shares of the sides of the image."""
    probs: Any
    """(n, k, c) the probability that the box is the one of an object of each class."""
