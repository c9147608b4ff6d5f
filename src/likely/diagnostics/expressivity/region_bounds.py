r"""Bounds on the number of linear regions of ReLU networks, as exact whole numbers.

n hyperplanes in general position divide $\mathbb{R}^{n_0}$ into

$$\sum_{j=0}^{n_0} \binom nj \quad\text{parts},$$

in the plane $(n^2 + n + 2)/2$: the most that one layer of n units can have. Of networks with
hidden layers $n_1, \dots, n_L$ the *most* regions that any weights can give lies between

$$\prod_{i<L} \Bigl\lfloor \frac{n_i}{n_0} \Bigr\rfloor^{n_0} \sum_{j \le n_0} \binom{n_L}{j}
  \quad\text{and}\quad
  \sum_{(j_1, \dots, j_L)} \prod_i \binom{n_i}{j_i}, \qquad
  j_i \le \min(n_0,\; n_1 - j_1,\; \dots,\; n_{i-1} - j_{i-1},\; n_i)$$

(Montúfar and others; Serra, Tjandraatmadja, Ramalingam). Where every folding layer has at least
$3 n_0$ units, the floor may be increased by one. In one dimension lower and upper bound then
meet: $(D + 1)^K$ for K layers of D units.
"""

from collections.abc import Sequence
from math import comb, prod
from typing import NamedTuple

from likely.core.checks import InputError


class RegionBounds(NamedTuple):
    """What is known about the most linear regions of a network of some widths."""

    n_in: int
    widths: tuple[int, ...]
    lower: int
    """Some weights give at least so many."""
    montufar: int
    """The weaker bound from below, without the additional fold."""
    upper: int
    """No weights give more."""


def arrangement_regions(n: int, n_in: int) -> int:
    """The parts into which n hyperplanes in general position divide a space.

    Args:
        n: the number of hyperplanes.
        n_in: the dimension of the space.
    """
    return sum(comb(n, j) for j in range(n_in + 1))


def region_bounds(n_in: int, widths: Sequence[int]) -> RegionBounds:
    """Bounds on the most linear regions of a ReLU network.

    Args:
        n_in: the number of inputs.
        widths: units of each hidden layer.
    """
    widths = tuple(int(n) for n in widths)
    if n_in < 1 or not widths or min(widths) < 1:
        raise InputError("give at least one input, and widths of at least 1.")
    last = arrangement_regions(widths[-1], n_in)
    plain = [(n // n_in) ** n_in for n in widths[:-1]]
    folds = [fold_count(n // n_in) ** n_in for n in widths[:-1]]
    return RegionBounds(
        n_in,
        widths,
        max(prod(folds) * last, 1),
        max(prod(plain) * last, 1),
        _most(widths, n_in),
    )


def fold_count(units: int) -> int:
    """How often that many units can fold an interval onto itself: once more, from three on."""
    return units + 1 if units >= 3 else units


def _most(widths: tuple[int, ...], dimension: int) -> int:
    """The sum over j₁, ..., j_L, layer by layer."""
    counts = {dimension: 1}  # paths of choices by the dimension that they leave
    for n in widths:
        after: dict[int, int] = {}
        for d, ways in counts.items():
            for j in range(min(d, n) + 1):
                left = min(d, n - j)
                after[left] = after.get(left, 0) + ways * comb(n, j)
        counts = after
    return sum(counts.values())


def printed_formula(n_in: int, width: int, depth: int) -> int:
    r"""$\sum_j \binom nj\,(\lfloor n/n_0\rfloor + 1)^{n_0(k-1)}$, sometimes called an upper bound.

    For k layers of n units it is a bound from below: there are networks with more regions
    (`region_study` builds one).

    Args:
        n_in: the number of inputs.
        width: units of each hidden layer.
        depth: hidden layers.
    """
    folds = (width // n_in + 1) ** (n_in * (depth - 1))
    return arrangement_regions(width, n_in) * folds
