r"""Predictive distributions that include what is not known about the coefficients.

The normal linear model has an exact answer: with $s^2 = \mathrm{RSS}/(n-p)$,

$$\frac{y - x^\top \hat b}{s\sqrt{1 + x^\top (A^\top A)^{-1} x}} \sim t_{n-p}.$$

Otherwise η̂ is about normal with variance $a^\top C a$ (the delta method), and the
predictive is the mixture of p(y | η) over a few Gauss-Hermite nodes; or, from the
bootstrap, the mixture over refits.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from likely.families import AbstractFamily, Predictive, StudentT, mix

N_NODES = 5


def exact_distribution(
    location: Float[np.ndarray, " n"],
    A: Float[np.ndarray, "n p"],
    unscaled: Float[np.ndarray, "p p"],
    s2: float,
    df: float,
) -> Predictive:
    """Student's t with n − p degrees of freedom."""
    scale = np.sqrt(s2 * (1 + np.einsum("ij,jk,ik->i", A, unscaled, A, optimize=True)))
    family = StudentT(df=float(df))
    return Predictive(family, np.column_stack([location, np.log(scale)]))


def delta_distribution(
    family: AbstractFamily,
    eta: Float[np.ndarray, "n k"],
    variance: Float[np.ndarray, " n"],
    spread: float,
) -> Any:
    """The mixture over η₁ ~ N(η̂₁, variance) and η₂ ~ N(η̂₂, spread), independent."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(N_NODES)
    other, share = (
        np.polynomial.hermite_e.hermegauss(3) if eta.shape[1] > 1 else ([0.0], [1.0])
    )
    pairs = [
        (z, v, a * b)
        for z, a in zip(nodes, weights, strict=True)
        for v, b in zip(other, share, strict=True)
    ]
    parts = []
    for z, v, _ in pairs:
        moved = eta.copy()
        moved[:, 0] += z * np.sqrt(variance)
        if eta.shape[1] > 1:
            moved[:, 1] += v * np.sqrt(spread)
        parts.append(moved)
    weights = np.array([p for _, _, p in pairs])
    return mixture_over_refits(family, parts, weights)


def mixture_over_refits(
    family: AbstractFamily,
    etas: list[Float[np.ndarray, "n k"]],
    weights: Float[np.ndarray, " m"] | None = None,
) -> Any:
    """The mixture of p(y | η) over several η of each row."""
    return mix(family, np.stack(etas), weights)
