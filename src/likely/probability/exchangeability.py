r"""Exchangeable sequences, and De Finetti's representation.

A law is exchangeable if the order of the observations does not matter. If that holds for every
length, it is the law of independent draws with a random parameter:

$$P(x_1, \dots, x_N) = \int \prod_i p(x_i \mid z)\, p(z)\, dz .$$

Pólya's urn, into which each ball drawn is put back with c more of its colour, is a mixture of coins
whose bias has the distribution Beta(white/c, black/c). Without replacement (c = −1) the draws are
exchangeable too, but no such mixture: an urn comes to an end.
"""

from fractions import Fraction
from math import comb
from typing import Any, NamedTuple

import numpy as np
from scipy.special import roots_jacobi

from likely.core.checks import InputError
from likely.probability.tables.table import Table

MAX_DRAWS = 16
"""The longest sequence whose law is written out: 65,536 cells."""
GAP = 1e-12
"""The largest difference of probabilities that is rounding."""


class Exchangeable(NamedTuple):
    """Whether a law is the same in every order."""

    holds: bool
    gap: float
    """The largest difference of two sequences that differ in order."""
    sequence: tuple[Any, ...]
    """A sequence with that difference."""
    swapped: tuple[Any, ...]
    """The same observations in another order."""


class DeFinetti(NamedTuple):
    """The law of an urn, and of coins with a random bias."""

    urn: Table
    """By drawing ball after ball."""
    mixture: Table
    """By an integral over the bias of a coin."""
    by_ones: tuple[Fraction, ...]
    """The exact probability of a sequence with 0, 1, ..., n white balls, by drawing."""
    by_integral: tuple[Fraction, ...]
    """The same by the formula of the integral, B(a + k, b + n − k) / B(a, b)."""

    @property
    def equal(self) -> bool:
        """Whether the two laws are the same, in exact arithmetic."""
        return self.by_ones == self.by_integral


def de_finetti(
    white: int = 1, black: int = 1, *, n: int = 4, added: int = 1
) -> DeFinetti:
    """The law of n draws from Pólya's urn, and the mixture of coins that it is.

    Args:
        white: balls that count as 1, at first.
        black: balls that count as 0, at first.
        n: the number of draws, at most 16.
        added: how many balls of its colour are added with each ball that is put back.
    """
    if added < 1:
        raise InputError(
            f"added is {added}; with at least one ball more each time the urn is a mixture "
            "of coins. Use urn_law for other urns."
        )
    urn = urn_law(white, black, n=n, added=added)
    a, b = Fraction(white, added), Fraction(black, added)
    by_integral = tuple(
        _rising(a, k) * _rising(b, n - k) / _rising(a + b, n) for k in range(n + 1)
    )
    # Gauss's rule for the weight of a Beta distribution is exact for polynomials
    x, weight = roots_jacobi(n // 2 + 1, float(b) - 1, float(a) - 1)
    bias, share = (1 + x) / 2, weight / weight.sum()
    k = np.arange(n + 1)[:, None]
    chance = (share * bias**k * (1 - bias) ** (n - k)).sum(1)
    mixture = Table(chance[_ones(n)], urn.names, urn.levels)
    by_ones = _urn_probabilities(white, black, n, added)
    return DeFinetti(urn, mixture, by_ones, by_integral)


def urn_law(white: int, black: int, *, n: int, added: int = 1) -> Table:
    """The joint law of n draws from an urn, 1 for white and 0 for black.

    Args:
        white: balls that count as 1, at first.
        black: balls that count as 0, at first.
        n: the number of draws, at most 16.
        added: −1 draws without replacement, 0 with it, 1 and more is Pólya's urn.

    Examples:
        >>> lk.probability.urn_law(1, 1, n=2).values.round(3)
        array([[0.333, 0.167],
               [0.167, 0.333]])
    """
    if not 1 <= n <= MAX_DRAWS:
        raise InputError(f"n is {n}; give 1 to {MAX_DRAWS} draws.")
    if min(white, black) < 0 or white + black < 1:
        raise InputError(
            f"the urn has {white} white and {black} black balls; give at least one."
        )
    if added < -1 or (added == -1 and n > white + black):
        raise InputError(
            f"{n} balls cannot be drawn from {white + black} with added={added}; draw fewer, "
            "or put them back."
        )
    exact = np.array([float(p) for p in _urn_probabilities(white, black, n, added)])
    names = [f"x{i + 1}" for i in range(n)]
    return Table(exact[_ones(n)], names, [[0, 1]] * n)


def mixture_law(prior: Table, conditional: Table, *, n: int) -> Table:
    r"""The law $\sum_z P(z) \prod_i P(x_i \mid z)$ of n draws that are independent given z.

    Args:
        prior: P(z), of one variable.
        conditional: P(x | z).
        n: the number of draws.
    """
    (x,), (z,) = conditional.heads, conditional.conditions
    joint = prior
    levels = dict(zip(conditional.names, conditional.levels, strict=True))
    values = conditional.arranged((z, x)).values
    for i in range(n):
        named = Table(values, (z, f"{x}{i + 1}"), (levels[z], levels[x]), given=z)
        joint = joint.product(named)
    return joint.marginal(*(f"{x}{i + 1}" for i in range(n)))


def exchangeable(table: Table) -> Exchangeable:
    """Whether the variables of a table may change places, with a witness if not.

    Neighbours are swapped, which makes all orders.
    """
    p = table.values
    if len({len(own) for own in table.levels}) > 1:
        raise InputError("the variables have different levels; give the same to all.")
    gap, at, axis = 0.0, (0,) * p.ndim, 0
    for i in range(p.ndim - 1):
        difference = np.abs(p - p.swapaxes(i, i + 1))
        if difference.max() > gap:
            gap, axis = float(difference.max()), i
            at = tuple(map(int, np.unravel_index(difference.argmax(), p.shape)))
    other = list(at)
    other[axis : axis + 2] = other[axis : axis + 2][::-1]
    named = [
        tuple(own[i].item() for own, i in zip(table.levels, index, strict=True))
        for index in (at, other)
    ]
    return Exchangeable(gap <= GAP, gap, *named)


def _urn_probabilities(
    white: int, black: int, n: int, added: int
) -> tuple[Fraction, ...]:
    """The probability of the sequence of k whites and then n − k blacks, for each k."""
    found = []
    for k in range(n + 1):
        balls, p = [white, black], Fraction(1)
        for colour in [0] * k + [1] * (n - k):
            total = sum(balls)
            p *= Fraction(balls[colour], total) if total else Fraction(0)
            balls[colour] += added
        found.append(p)
    if sum(comb(n, k) * p for k, p in enumerate(found)) != 1:
        raise InputError("the urn is empty before the last draw; draw fewer balls.")
    return tuple(found)


def _rising(a: Fraction, k: int) -> Fraction:
    """a (a + 1) ⋯ (a + k − 1)."""
    total = Fraction(1)
    for i in range(k):
        total *= a + i
    return total


def _ones(n: int) -> np.ndarray:
    """The number of ones of each sequence, as an array with n axes."""
    return np.indices((2,) * n).sum(0)
