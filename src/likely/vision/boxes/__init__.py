"""Boxes in images: formats, overlap, suppression, coding, matching, average precision.

A box is four numbers, in pixels with x to the right and y down: by default the corners
(x1, y1, x2, y2), where x2 − x1 is the width. Functions take NumPy arrays (or lists) and
return NumPy arrays; those that a training step needs take JAX arrays as well, also inside
`jax.jit`, and then return JAX arrays.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
