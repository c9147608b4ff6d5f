r"""The law of large numbers: running means, and the bands they stay in.

$$\bar X_n = \frac1n \sum_{i \le n} X_i \to E[X]$$

almost surely if $E|X| < ∞$. With a variance, $\bar X_n$ is within $z σ/\sqrt n$ of the mean with
about the wanted probability (central limit), and within $σ/\sqrt{n α}$ with at least probability
1 − α (Chebyshev).
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from likely.core.checks import InputError
from likely.core.random import seed_of
from likely.probability.variables.make import random_variable


class RunningMean(NamedTuple):
    """Means of the first n of a sequence, and where they should be."""

    n: np.ndarray
    """1, 2, ..., the number of observations."""
    paths: Float[np.ndarray, "m n"]
    """The running mean of each sequence."""
    mean: float
    """The limit E[X]."""
    band: Float[np.ndarray, "2 n"]
    """E[X] ∓ z σ/√n: of a coverage at each n that the central limit makes right."""
    chebyshev: Float[np.ndarray, "2 n"]
    """E[X] ∓ σ/√(nα): of at least this coverage at each n."""
    coverage: float

    @property
    def inside(self) -> float:
        """The share of paths in the band at the last n."""
        low, high = self.band[:, -1]
        return float(np.mean((self.paths[:, -1] >= low) & (self.paths[:, -1] <= high)))


def running_mean(
    law: Any,
    n: int = 1000,
    *,
    paths: int = 5,
    coverage: float = 0.95,
    random_state: Any = 0,
    **theta: Any,
) -> RunningMean:
    """Running means of simulated sequences, or of a sequence of numbers.

    Args:
        law: what `random_variable` takes, from which sequences are drawn; or a sequence (n,)
            of numbers, whose own running mean is the only path.
        n: the length of the sequences.
        paths: how many sequences.
        coverage: of the bands.
        random_state: for the draws.
        **theta: parameters of a family.

    Examples:
        >>> lk.probability.running_mean(lk.families.Normal(), 100, loc=0.0, scale=1.0).paths.shape
        (5, 100)
    """
    if not 0 < coverage < 1:
        raise InputError(f"coverage is {coverage}; give a number between 0 and 1.")
    own = isinstance(law, np.ndarray | list | tuple) and np.ndim(law) == 1
    variable = random_variable(law, **theta)
    if own:
        draws = np.asarray(law, np.float64)[None]
    else:
        draws = variable.sample(n * paths, random_state=seed_of(random_state))
        draws = draws.reshape(paths, n)
    count = np.arange(1, draws.shape[1] + 1)
    centre = variable.mean if np.isfinite(variable.mean) else variable.median
    means = centre + np.cumsum(draws - centre, axis=1) / count
    sides = np.array([-1.0, 1.0])[:, None]
    error = variable.std / np.sqrt(count)
    z = float(ndtri(0.5 + coverage / 2))
    narrow = variable.mean + sides * z * error
    wide = variable.mean + sides * error / np.sqrt(1 - coverage)
    return RunningMean(count, means, float(variable.mean), narrow, wide, coverage)
