"""Synthetic one-dimensional signals, whose classes a convolution along time separates."""

from typing import Any

import numpy as np

from likely.core.checks import InputError
from likely.data.dataset import Dataset, generator

SHAPES = ("bump", "step", "wave")


def signals(
    n: int = 300,
    length: int = 64,
    *,
    noise: float = 0.2,
    random_state: Any = None,
) -> Dataset:
    """A bump, a step or a wave at a random position, in noise.

    The position says nothing about the class, so a model that is equivariant to shifts
    has the advantage.

    Args:
        n: rows.
        length: samples of each signal, at least 16.
        noise: standard deviation of the noise; shapes have height 1.
        random_state: seed or NumPy generator.

    Examples:
        >>> lk.data.signals(30, 64, random_state=0).X.shape
        (30, 64)
    """
    if length < 16:
        raise InputError(f"length is {length}; shapes need at least 16 samples.")
    rng = generator(random_state)
    y = np.arange(n) % len(SHAPES)
    width = length / 8
    place = rng.uniform(width, length - width, n)
    t = (np.arange(length) - place[:, None]) / width
    near = np.exp(-(t**2))
    shapes = np.stack([near, (t > 0).astype(float), near * np.sin(2 * np.pi * t)])
    clean = shapes[y, np.arange(n)]
    X = clean + noise * rng.normal(size=clean.shape)
    names = tuple(f"t{j}" for j in range(length))
    truth = {"clean": clean, "place": place, "noise": noise}
    return Dataset(X, y, names, SHAPES, "Shapes in noisy signals", truth)
