r"""Predictive distributions that include what is not known about the coefficients.

The normal linear model has an exact answer: with $s^2 = \mathrm{RSS}/(n-p)$,

$$\frac{y - x^\top \hat b}{s\sqrt{1 + x^\top (A^\top A)^{-1} x}} \sim t_{n-p}.$$

Otherwise η̂ is about normal with variance $a^\top C a$ (the delta method), and the
predictive is the mixture of p(y | η) over a few Gauss-Hermite nodes; or, from the
bootstrap, the mixture over refits.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from likely.families import AbstractFamily, Predictive, StudentT, mix

N_NODES, N_SHARED_NODES = 5, 3


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
    log_shared: Callable[[np.ndarray], np.ndarray],
) -> Any:
    """The mixture over η₁ ~ N(η̂₁, variance) and, independent of it, a shared η₂.

    Args:
        family: p(y | η).
        eta: at the estimate.
        variance: of η₁ of each row.
        log_shared: η₂ at this many errors from its estimate.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(N_NODES)
    etas = eta + np.zeros((N_NODES, 1, 1))
    etas[..., 0] += nodes[:, None] * np.sqrt(variance)
    if eta.shape[1] > 1:
        z, share = np.polynomial.hermite_e.hermegauss(N_SHARED_NODES)
        etas = np.repeat(etas, N_SHARED_NODES, axis=0)
        etas[..., 1] = np.tile(log_shared(z), N_NODES)[:, None]
        weights = np.outer(weights, share).ravel()
    return mix(family, etas, weights)


def mixture_over_refits(
    family: AbstractFamily,
    etas: list[Float[np.ndarray, "n k"]],
    weights: Float[np.ndarray, " m"] | None = None,
) -> Any:
    """The mixture of p(y | η) over several η of each row."""
    return mix(family, np.stack(etas), weights)
