r"""Laplace's approximation: a normal at the mode, and the evidence that goes with it.

With $H = -\nabla^2 \log p$ at the mode $\hat z$,

$$q = N(\hat z, H^{-1}), \qquad
  \log \int p(z)\,dz \approx \log p(\hat z) + \tfrac d2 \log 2π - \tfrac12 \log\det H.$$

It is exact for a normal density, and its relative error falls as 1/n with n observations.
The mode is found by Newton's method with the absolute eigenvalues of H, which leaves
saddles.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, PyTree

from likely.core.checks import InputError
from likely.core.compiling import lean_jit
from likely.core.precision import float64
from likely.inference.mcmc.target import (
    FlatDensity,
    check_starts,
    flat_target,
    log_densities,
)
from likely.inference.variational.gaussian import LOG_2PI, GaussianApproximation

MAX_STEPS = 200
MIN_DECREMENT = 1e-12
"""½ gᵀH⁻¹g, in nats, at which a mode is found."""
MIN_EIGENVALUE = 1e-10
"""Of H scaled to a unit diagonal; below, the density is flat in a direction."""


class Mode(NamedTuple):
    """The highest point of a log density, and its curvature there."""

    z: Float[np.ndarray, " d"]
    log_density: float
    factor: Float[np.ndarray, "d d"] | None
    """L with LLᵀ = H⁻¹; None where H is not positive definite."""
    converged: bool
    steps: int


class LaplaceFit(NamedTuple):
    """A normal approximation at the mode, and the evidence by it."""

    approximation: GaussianApproximation
    log_evidence: float
    log_density: float
    """log p at the mode."""
    steps: int
    """Newton's steps to the mode."""

    @property
    def mode(self) -> PyTree:
        """The mode, in the structure of the start."""
        return self.approximation.tree


def laplace(
    log_density: Callable[[Any], Any],
    start: PyTree,
    *,
    names: Sequence[str] | None = None,
) -> LaplaceFit:
    """The normal approximation of exp(log_density) at its mode, and its integral.

    Args:
        log_density: from a tree like `start` to log p, up to a constant, in `jax.numpy`
            and twice differentiable.
        start: an array or a tree of arrays from which the mode is looked for.
        names: of the numbers, for tables.
    """
    density, z = flat_target(log_density, start, names)
    found = find_mode(density, z)
    if found.factor is None or not found.converged:
        raise InputError(
            "the log density has no maximum with curvature in every direction near the "
            "start, so it may have no finite integral (an improper posterior); give a "
            "prior that holds every number, or another start."
        )
    half_log_det = float(np.log(np.abs(np.diagonal(found.factor))).sum())
    evidence = found.log_density + 0.5 * len(z) * LOG_2PI + half_log_det
    approximation = GaussianApproximation(found.z, found.factor, density.layout)
    return LaplaceFit(approximation, evidence, found.log_density, found.steps)


@lean_jit
def _derivatives(density: FlatDensity, z: Float[Array | np.ndarray, " d"]):
    """log p, its gradient and its Hessian."""
    value, gradient = jax.value_and_grad(density)(z)
    return value, gradient, jax.hessian(density)(z)


def find_mode(
    density: FlatDensity, z: np.ndarray, *, max_steps: int = MAX_STEPS
) -> Mode:
    """The mode by Newton's method from z, shortened until the density rises."""
    with float64():
        value, g, H = _known(density, z)
        check_starts(np.atleast_1d(value), g)
        converged, steps = False, 0
        while steps < max_steps:
            direction, least = _newton(g, H)
            decrement = 0.5 * float(g @ direction)
            if decrement <= MIN_DECREMENT * (1 + abs(value)) and least > 0:
                converged = True
                break
            length, new = _rising(density, z, value, direction, decrement)
            if length == 0.0:  # no higher point that doubles can tell
                converged = decrement < 1e-6 and least > 0
                break
            z = z + length * direction
            value, g, H = _known(density, z)
            steps += 1
        return Mode(z, float(value), _root(H), converged, steps)


def _known(density: FlatDensity, z: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    value, g, H = (np.asarray(a) for a in _derivatives(density, z))
    H = -0.5 * (H + H.T)
    return float(value), g, np.where(np.isfinite(H), H, 0.0)


def _newton(g: np.ndarray, H: np.ndarray) -> tuple[np.ndarray, float]:
    """The direction |H|⁻¹g, and the least eigenvalue of H scaled to a unit diagonal."""
    scale = np.sqrt(np.maximum(np.abs(np.diagonal(H)), 1e-300))
    scale = np.maximum(scale, 1e-8 * scale.max())
    values, U = np.linalg.eigh(H / np.outer(scale, scale))
    size = np.maximum(
        np.abs(values), MIN_EIGENVALUE * max(np.abs(values).max(), 1e-300)
    )
    least = float(values[0]) if values[0] > MIN_EIGENVALUE else 0.0
    return U @ ((U.T @ (g / scale)) / size) / scale, least


def _rising(density, z, value, direction, decrement) -> tuple[float, float]:
    """The longest of the steps 1, ½, ¼, ... at which log p is higher."""
    lengths = 0.5 ** np.arange(24)
    found = np.asarray(log_densities(density, z + lengths[:, None] * direction))
    good = found >= value + 1e-4 * lengths * 2 * decrement
    best = int(np.argmax(good))
    return (float(lengths[best]), float(found[best])) if good.any() else (0.0, value)


def _root(H: np.ndarray) -> np.ndarray | None:
    """L lower triangular with LLᵀ = H⁻¹, or None where H is not positive definite."""
    scale = np.sqrt(np.maximum(np.diagonal(H), 0.0))
    if not (scale > 0).all():
        return None
    unit = H / np.outer(scale, scale)
    if not np.linalg.eigvalsh(unit)[0] > MIN_EIGENVALUE:
        return None
    inverse = np.linalg.inv(unit)
    return np.linalg.cholesky(0.5 * (inverse + inverse.T)) / scale[:, None]
