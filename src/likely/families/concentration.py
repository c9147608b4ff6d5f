"""What families of a mean or scale and a concentration (a shape) share."""

import numpy as np

from likely.families.family import AbstractFamily
from likely.families.links import fixed


class AbstractConcentration(AbstractFamily):
    """A positive first parameter, and a concentration that is modelled or fixed.

    η has the logarithms of both, or of the first only where `concentration` is given.
    """

    concentration: np.ndarray | None

    def __init__(self, concentration: float | int | None = None):
        self.concentration = fixed(concentration, "concentration")

    @property
    def n_eta(self) -> int:
        """The length of η: 1 with a fixed concentration, else 2."""
        return 2 if self.concentration is None else 1
