r"""Entropy: $H(p) = -\sum p \log p$, joint, marginal and conditional."""

from typing import Any

import numpy as np
from scipy.special import entr

from likely.information.distributions import (
    distribution_entropy,
    is_distribution,
)
from likely.information.probabilities import (
    NATS_PER_UNIT,
    Axes,
    axes_of,
    in_unit,
    marginal,
    probabilities,
)


def entropy(
    p: Any, *, of: Axes | None = None, given: Axes = (), unit: str = "nats"
) -> Any:
    r"""The entropy $H(p) = -\sum p \log p$: the mean surprise.

    Of a table it is exact, over all variables or some of them, and given others:
    $H(A \mid B) = H(A, B) - H(B)$. Of a predictive distribution it is one number for each row
    (for densities $-\int p \log p$, which may be negative), by a closed form, a sum, or
    quadrature.

    Args:
        p: probabilities as an array, a mapping, or a table with `.values` (and `.names`); or
            a predictive distribution of `likely.families`.
        of: the variables (axis numbers or names) whose entropy is asked for; all but those
            given where None. Tables only.
        given: the variables that are known. Tables only.
        unit: "nats" or "bits".

    Returns:
        A number for a table; an `Estimate` with an entry for each row of a distribution.

    Examples:
        >>> float(lk.information.entropy(np.array([0.5, 0.5]), unit="bits"))
        1.0
    """
    in_unit(0.0, unit)
    if is_distribution(p):
        return distribution_entropy(p).scaled(1 / NATS_PER_UNIT[unit])
    values = probabilities(p)
    known = axes_of(p, given, values.ndim)
    rest = tuple(i for i in range(values.ndim) if i not in known)
    wanted = rest if of is None else axes_of(p, of, values.ndim)
    both = marginal(values, {*wanted, *known})
    nats = entropy_of_cells(both)
    if known:
        nats -= entropy_of_cells(marginal(values, known))
    return in_unit(max(nats, 0.0), unit)


def entropy_of_cells(cells: np.ndarray) -> float:
    """−Σ p log p over all cells, in nats, with 0 log 0 = 0."""
    return float(entr(cells).sum())
