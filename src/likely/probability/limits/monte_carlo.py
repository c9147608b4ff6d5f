r"""Monte Carlo integration: $E[g(X)] ≈ \frac1n \sum_i g(x_i)$, with its standard error.

The error falls as $n^{-1/2}$, so each further digit costs a hundred times as many draws.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from likely.core.checks import InputError
from likely.core.random import seed_of
from likely.probability.streams import Stream
from likely.probability.variables.make import random_variable

CHUNK = 2**20
"""The number of draws that are held at once."""


class MonteCarlo(NamedTuple):
    """An integral by n draws."""

    estimate: float
    standard_error: float
    n: int
    """The number of draws."""
    coverage: float

    @property
    def interval(self) -> tuple[float, float]:
        """The estimate ∓ z standard errors."""
        half = float(ndtri(0.5 + self.coverage / 2)) * self.standard_error
        return self.estimate - half, self.estimate + half

    def draws_for(self, error: float | int) -> int:
        """How many draws make the standard error this small."""
        if not error > 0:
            raise InputError(f"error is {error}; give a number above 0.")
        return max(1, int(np.ceil(self.n * (self.standard_error / error) ** 2)))

    def draws_for_digits(self, digits: float | int) -> int:
        """How many draws make the relative error 10^−digits."""
        if self.estimate == 0:
            raise InputError("the estimate is 0 and has no digits; use draws_for.")
        return self.draws_for(abs(self.estimate) * 10.0**-digits)


def monte_carlo(
    g: Callable[[np.ndarray], Any],
    law: Any,
    n: int = 10_000,
    *,
    coverage: float = 0.95,
    random_state: Any = 0,
    **theta: Any,
) -> MonteCarlo:
    """E[g(X)] by n draws.

    Args:
        g: a function of an array of draws: (n,), or (n, d) for vectors.
        law: what `random_variable` takes, or a function `draw(n, rng)`, such as
            `lambda n, rng: rng.uniform(size=(n, 3))` for an integral over a cube.
        n: the number of draws, at least 2.
        coverage: of the interval.
        random_state: for the draws.
        **theta: parameters of a family.

    Examples:
        >>> law = lk.families.Normal()
        >>> found = lk.probability.monte_carlo(lambda x: x**2, law, loc=0.0, scale=1.0)
        >>> round(found.estimate, 1)
        1.0
    """
    if n < 2:
        raise InputError(f"n is {n}; a standard error needs at least 2 draws.")
    if not 0 < coverage < 1:
        raise InputError(f"coverage is {coverage}; give a number between 0 and 1.")
    rng = np.random.default_rng(seed_of(random_state))
    if callable(law) and not hasattr(law, "eta"):
        draw: Callable[..., Any] = law
    else:
        variable = random_variable(law, **theta)
        draw = lambda n, rng: variable.sample(n, random_state=rng)  # noqa: E731
    stream = Stream.empty()
    for start in range(0, n, CHUNK):
        size = min(CHUNK, n - start)
        values = np.broadcast_to(np.asarray(g(draw(size, rng)), np.float64), (size,))
        if not np.isfinite(values).all():
            raise InputError(
                f"g is {values[~np.isfinite(values)][0]} at a draw; its mean is not finite."
            )
        stream = stream.extend(values)
    error = float(np.sqrt(stream.variance(1) / n))
    return MonteCarlo(float(stream.mean), error, n, coverage)
