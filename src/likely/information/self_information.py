r"""Surprise: $S(x) = -\log p(x)$."""

from typing import Any

import numpy as np

from likely.core.checks import InputError
from likely.information.probabilities import in_unit, raw_values


def surprise(p: Any, *, unit: str = "nats") -> np.ndarray:
    r"""The surprise (self-information) $-\log p$ of events with probabilities p.

    A certain event has surprise 0, less probable events have more, and the surprise of two
    independent events is the sum of theirs. An impossible event has surprise ∞.

    Args:
        p: probabilities from 0 to 1, of any shape; they need not sum to one.
        unit: "nats" or "bits".

    Examples:
        >>> lk.information.surprise(np.array([0.5, 0.25]), unit="bits")
        array([1., 2.])
    """
    values = raw_values(p)
    bad = ~((values >= 0) & (values <= 1))
    if bad.any():
        raise InputError(
            f"a probability is {values[bad][0]:g}; give numbers from 0 to 1."
        )
    with np.errstate(divide="ignore"):
        nats = np.where(values < 1, -np.log(values), 0.0)
    return np.asarray(in_unit(nats, unit))
