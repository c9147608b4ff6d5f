r"""Data that are not independent, or not from one distribution.

A likelihood that is a product over rows assumes both. Here the assumption fails in three
known ways, and `truth` says by how much.
"""

from typing import Any

import numpy as np

from likely.core.checks import InputError
from likely.data.dataset import Dataset, generator


def couples(
    n: int = 100,
    *,
    correlation: float = 0.6,
    mean: float = 0.0,
    std: float = 1.0,
    random_state: Any = None,
) -> Dataset:
    r"""n couples: 2n people, of whom each two partners are correlated.

    Partners share a part of their value: $x = μ + σ(\sqrt{ρ}\, u + \sqrt{1-ρ}\, v)$
    with u common to both. The mean of 2n independent people has variance
    $σ^2 / 2n$; that of n couples has $(1 + ρ)\,σ^2 / 2n$: ρ = 1 is worth n people,
    not 2n. `truth["groups"]` says who belongs together, for grouped folds.

    Args:
        n: couples.
        correlation: ρ between partners, at least 0; 0 gives independent people.
        mean: μ.
        std: σ.
        random_state: seed or NumPy generator.

    Examples:
        >>> lk.data.couples(10, random_state=0).X.shape
        (20, 1)
    """
    if not 0 <= correlation <= 1:
        raise InputError(f"correlation is {correlation}; give a number from 0 to 1.")
    rng = generator(random_state)
    shared = np.repeat(rng.normal(size=n), 2)
    own = rng.normal(size=2 * n)
    x = mean + std * (np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own)
    truth = {
        "groups": np.repeat(np.arange(n), 2),
        "mean": mean,
        "variance_of_mean": (1 + correlation) * std**2 / (2 * n),
        "variance_if_independent": std**2 / (2 * n),
        "effective_n": 2 * n / (1 + correlation),
    }
    about = f"{n} couples of correlated people"
    return Dataset(x[:, None], None, ("x",), (), about, truth)


def drift(
    n: int = 300,
    *,
    change: float = 2.0,
    noise: float = 0.3,
    random_state: Any = None,
) -> Dataset:
    r"""A relation that changes with time: $y = (1 + c\,t)\,x + σε$, t from 0 to 1.

    Rows come in order of time, the second column. Shuffled folds mix past and future
    and underestimate the error on future rows; folds by time do not.

    Args:
        n: rows.
        change: c, by how much the slope grows from the first row to the last.
        noise: σ.
        random_state: seed or NumPy generator.

    Examples:
        >>> lk.data.drift(100, random_state=0).X.shape
        (100, 2)
    """
    rng = generator(random_state)
    time = np.arange(n) / max(n - 1, 1)

    def mean(X):
        return (1 + change * X[:, 1]) * X[:, 0]

    X = np.stack([rng.normal(size=n), time], axis=1)
    y = mean(X) + noise * rng.normal(size=n)
    truth = {"mean": mean, "slope": 1 + change * time, "noise": noise}
    return Dataset(X, y, ("x", "time"), ("y",), "A slope that drifts", truth)


def biased(n: int = 200, *, strength: float = 1.0, random_state: Any = None) -> Dataset:
    r"""A biased sample: who answers depends on the answer.

    In the population y is N(0, 1), but y enters the sample with probability
    $\propto e^{sy}$; so the sample is $N(s, 1)$, and weights $\propto e^{-sy}$ undo it.

    Args:
        n: rows.
        strength: s; 0 is a fair sample.
        random_state: seed or NumPy generator.

    Examples:
        >>> lk.data.biased(100, random_state=0).y.shape
        (100,)
    """
    rng = generator(random_state)
    y = strength + rng.normal(size=n)
    weights = np.exp(-strength * y + strength**2 / 2)
    truth = {"mean": 0.0, "sample_mean": strength, "weights": weights}
    return Dataset(np.ones((n, 1)), y, ("one",), ("y",), "A biased sample", truth)
