r"""Generators of data, and what they say of y given x.

A generator is a function `generator(n, random_state=rng)` that returns n fresh rows: a
`data.Dataset`, or a pair (X, y). The synthetic sets of `likely.data` are generators, and so is
`functools.partial(data.curve, noise=0.5)`. What a `Dataset` knows of its own making is in
`truth`: the functions `mean` with `std` (or the number `noise`, or `rate`), or `probability`.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.data.dataset import Dataset

Generator = Callable[..., Any]


class Truth(NamedTuple):
    """What is known of y at some points; None where it is not."""

    mean: Float[np.ndarray, "t ..."] | None = None
    """E[y | x]."""
    variance: Float[np.ndarray, "t ..."] | None = None
    """Var[y | x]."""
    probs: Float[np.ndarray, "t c"] | None = None
    """P(class | x), classes in the order of their sorted labels."""


def draw(generator: Generator, n: int, rng: np.random.Generator) -> Dataset:
    """n fresh rows as a data set, checked.

    Args:
        generator: a function of the number of rows and `random_state`.
        n: rows.
        rng: where randomness comes from.
    """
    try:
        found = generator(n, random_state=rng)
    except TypeError as error:
        raise InputError(
            f"the generator could not be called as generator({n}, random_state=...): "
            f"{error}. Give a function of the number of rows and random_state."
        ) from error
    if not isinstance(found, Dataset):
        if not isinstance(found, tuple | list) or len(found) != 2:
            raise InputError(
                f"the generator returned {type(found).__name__}; return (X, y), or a "
                "data.Dataset with the truth."
            )
        found = Dataset(np.asarray(found[0]), np.asarray(found[1]))
    if found.y is None or len(found.y) != len(found.X):
        raise InputError(
            "the generator returned rows without as many targets; return both X and y."
        )
    return found


def truth_at(truth: Mapping[str, Any], X: np.ndarray) -> Truth:
    """What a data set's truth says of y at the points X.

    Args:
        truth: of a `Dataset`.
        X: (t, d) points.
    """
    probability, mean = truth.get("probability"), truth.get("mean")
    if callable(probability):
        return Truth(probs=np.asarray(probability(X), np.float64))
    if not callable(mean):
        return Truth()
    centre = np.asarray(mean(X), np.float64)
    return Truth(centre, _variance(truth, X, centre))


def _variance(truth: Mapping[str, Any], X: np.ndarray, mean: np.ndarray) -> Any:
    """Var[y | x], or None."""
    if callable(truth.get("std")):
        return np.broadcast_to(np.asarray(truth["std"](X), np.float64), mean.shape) ** 2
    if callable(truth.get("rate")):  # Poisson
        return np.asarray(truth["rate"](X), np.float64)
    noise = truth.get("noise")
    return None if noise is None else np.full(mean.shape, float(noise) ** 2)


def squared_target(truth: Truth, y: Any) -> tuple[np.ndarray, float | None]:
    """What squared errors are measured from, and the mean noise to be added to them.

    The true mean and its noise where both are known, else new targets, which hold their noise.

    Args:
        truth: at the points.
        y: (t,) targets that were drawn there.
    """
    if truth.mean is None or truth.variance is None:
        return np.asarray(y, np.float64), None
    return truth.mean, float(np.mean(truth.variance))


def known_classes(y: np.ndarray, probs: np.ndarray | None) -> np.ndarray:
    """The labels, sorted, one for each column of the true probabilities.

    Codes 0, 1, ... are complete also where some class was never drawn.

    Args:
        y: all labels that were drawn.
        probs: (t, c) true probabilities, or None.
    """
    found = np.unique(y)
    if probs is None or len(found) == probs.shape[1]:
        return found
    c = probs.shape[1]
    if found.dtype.kind in "iu" and len(found) < c and 0 <= found[0] <= found[-1] < c:
        return np.arange(c)
    raise InputError(
        f"the truth has probabilities of {c} classes, but {len(found)} labels were drawn; "
        "give a probability for each label, in their sorted order."
    )
