r"""Bernstein polynomials: the constructive proof of Weierstrass's theorem.

$$B_n f(x) = \sum_{k=0}^{n} f(k/n) \binom nk x^k (1 - x)^{n-k}$$

is the mean of f at the share of heads in n throws of a coin with probability x; as n grows the
share goes to x, and $B_n f$ to f, uniformly for every continuous f.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.stats import binom

from likely.analysis.search import box_of, evaluator
from likely.core.checks import InputError


class BernsteinPolynomial:
    """The Bernstein polynomial of a function on an interval.

    It does not overshoot: its values are means of values of f. For a convex f it is convex, and
    not below f.

    Args:
        f: a function of a number, defined on the interval.
        n: the degree.
        low: the lower end of the interval.
        high: the upper end.
    """

    def __init__(
        self, f: Callable, n: int, low: float | int = 0.0, high: float | int = 1.0
    ):
        if isinstance(n, bool) or int(n) != n or n < 1:
            raise InputError(f"n is {n}; give a degree of at least 1.")
        box = box_of(low, high)
        self.n, self.low, self.high = int(n), float(box.low[0]), float(box.high[0])
        nodes = np.linspace(self.low, self.high, self.n + 1)
        self.coefficients = evaluator(lambda x: f(x[0]))(nodes[:, None]).reshape(-1)
        bad = np.flatnonzero(~np.isfinite(self.coefficients))
        if bad.size:
            raise InputError(
                f"f({nodes[bad[0]]:g}) is {self.coefficients[bad[0]]}; f has to be finite at "
                "every node, both ends included."
            )

    def __call__(self, x: Any) -> np.ndarray:
        x = np.asarray(x, np.float64)
        t = (x - self.low) / (self.high - self.low)
        if ((t < 0) | (t > 1)).any():
            raise InputError(f"x lies outside [{self.low:g}, {self.high:g}].")
        weights = binom.pmf(np.arange(self.n + 1), self.n, t[..., None])
        return weights @ self.coefficients

    def __repr__(self) -> str:
        return f"BernsteinPolynomial(degree {self.n} on [{self.low:g}, {self.high:g}])"


def bernstein_bound(
    modulus: Float[np.ndarray, " m"],
    step: Float[np.ndarray, " m"],
    n: int,
    width: Any = 1.0,
) -> float:
    r"""Popoviciu's bound $\tfrac54 ω(w/\sqrt n)$ on the sup-norm error of degree n.

    Args:
        modulus: ω at some steps, from `regularity`.
        step: these steps.
        n: the degree.
        width: the width w of the interval.
    """
    wanted = float(width) / np.sqrt(n)
    above = np.flatnonzero(np.asarray(step) >= wanted)
    if not above.size:
        raise InputError(f"the modulus is not known at steps of {wanted:g} and more.")
    at = above[np.argmin(np.asarray(step)[above])]
    return 1.25 * float(modulus[at])
