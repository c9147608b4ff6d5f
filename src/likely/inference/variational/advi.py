r"""Automatic variational inference: the normal distribution nearest to a log density.

$$q^* = \arg\max_q\; E_q[\log p(z)] + H(q), \qquad z = μ + Lε,$$

which minimises $\mathrm{KL}(q \,\|\, p)$. The expectation is the mean over noise ε that is
drawn once, with exact moments, so the objective is an ordinary smooth function: L-BFGS
maximises it and says whether it has converged, and for a normal target the answer is exact.
A mean-field q of a normal target with precision Λ has variances $1/Λ_{jj}$, smaller than
the true ones: KL in this direction prefers a q that is too narrow. Fresh draws then give
the ELBO with its error, and the importance weights whose k̂ says whether to believe q.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, PyTree

from likely.autodiff import GradientEstimates, gradient_estimates
from likely.core.checks import InputError, check_choice
from likely.core.precision import float64
from likely.core.random import key_of, seed_of
from likely.inference.evidence.importance import WeightedDraws, weighted_draws
from likely.inference.evidence.pareto import MAX_PARETO_K
from likely.inference.mcmc.target import (
    FlatDensity,
    check_starts,
    flat_target,
    log_densities,
)
from likely.inference.variational.gaussian import (
    SHAPES,
    GaussianApproximation,
    GaussianParameters,
)
from likely.inference.variational.noise import fixed_noise
from likely.solvers import LBFGS
from likely.solvers.function import minimize

CHECK_DRAWS = 4000
"""Fresh draws for the ELBO and the importance weights."""
MAX_FULL_RANK = 1000
"""Numbers up to which a full covariance is fitted."""


class NegativeElbo(eqx.Module):
    """−ELBO over fixed noise, as a function of the parameters of q."""

    density: FlatDensity
    noise: Float[Array | np.ndarray, "m e"]

    def __call__(self, q: GaussianParameters) -> Float[Array | np.ndarray, ""]:
        """−(mean of log p(z) + H(q))."""
        return -(jax.vmap(self.density)(q.draw(self.noise)).mean() + q.entropy)


@dataclass(frozen=True, eq=False)
class VariationalFit:
    """The nearest normal distribution, and how near it is.

    Attributes:
        approximation: q.
        elbo: E_q[log p] + H(q), by fresh draws: at most the log evidence.
        elbo_error: its Monte Carlo standard error.
        converged: whether the solver reached a maximum.
        status: how the solver ended, a sentence.
        weighted: the fresh draws with importance weights, which correct q.
        shape: of the covariance.
    """

    approximation: GaussianApproximation
    elbo: float
    elbo_error: float
    converged: bool
    status: str
    weighted: WeightedDraws
    shape: str

    @property
    def pareto_k(self) -> float:
        """k̂ of the importance weights p/q."""
        return self.weighted.pareto_k

    @property
    def believable(self) -> bool:
        """Whether the solver converged and the importance weights can be trusted."""
        return self.converged and self.weighted.believable

    @property
    def verdict(self) -> str:
        """Whether to believe q, in a sentence."""
        facts = (
            f"ELBO {self.elbo:.4g} ± {self.elbo_error:.2g}, Pareto k̂ {self.pareto_k:.2f}, "
            f"{self.weighted.share:.0%} of draws effective"
        )
        if not self.converged:
            return f"Do not believe this approximation: the solver {self.status} ({facts})."
        if not self.believable:
            return (
                f"Do not believe this approximation: {facts} (k̂ should be below "
                f"{MAX_PARETO_K}); it misses a part of the distribution. Try full rank, or nuts."
            )
        return (
            f"Nothing speaks against this approximation: {facts}; `weighted` corrects "
            "its means and variances."
        )

    def __str__(self) -> str:
        q = self.approximation
        rows = [
            f"{name}  {m:.4g} ± {s:.3g}"
            for name, m, s in zip(q.names, q.mean, q.std, strict=True)
        ]
        return "\n".join([f"ADVI, {self.shape}", *rows, self.verdict])

    __repr__ = __str__


def advi(
    log_density: Callable[[Any], Any],
    start: PyTree,
    *,
    shape: str = "mean-field",
    rank: int = 2,
    scale: float = 0.1,
    noise_draws: int | None = None,
    max_steps: int = 2000,
    tolerance: float = 1e-7,
    names: Sequence[str] | None = None,
    random_state: Any = 0,
) -> VariationalFit:
    """The normal distribution nearest to exp(log_density).

    Args:
        log_density: from a tree like `start` to log p, up to a constant, in `jax.numpy`
            and differentiable.
        start: an array or a tree of arrays at which q starts.
        shape: of the covariance, "mean-field", "low rank" or "full rank".
        rank: columns of the low-rank part.
        scale: the standard deviation that q starts with.
        noise_draws: fixed draws of ε; by default four for each number.
        max_steps: the step limit of the solver.
        tolerance: the largest gradient entry to stop at.
        names: of the numbers, for tables.
        random_state: the seed.
    """
    check_choice("shape", shape, SHAPES)
    density, z = flat_target(log_density, start, names)
    q = first_parameters(z, shape, rank, scale)
    noise = fixed_noise(q.n_noise, random_state, noise_draws)
    with float64():
        check_starts(np.asarray(log_densities(density, np.asarray(q.draw(noise)))))
    solver = LBFGS(max_steps, tolerance, search="backtracking")
    found = minimize(NegativeElbo(density, noise), q, solver=solver)
    fitted = GaussianApproximation.of(found.model, density.layout)
    seed = seed_of(random_state) % 2**32 + 1
    Z = fitted.sample(CHECK_DRAWS, seed)
    with float64():
        log_ratio = np.asarray(log_densities(density, Z)) - fitted.log_prob(Z)
    return VariationalFit(
        fitted,
        float(log_ratio.mean()),
        float(log_ratio.std(ddof=1) / np.sqrt(CHECK_DRAWS)),
        bool(found.status.converged),
        str(found.status),
        weighted_draws(Z, log_ratio, density.layout),
        shape,
    )


def first_parameters(
    z: np.ndarray, shape: str, rank: int, scale: float
) -> GaussianParameters:
    """q around the start, with one scale and no correlations."""
    d, full = len(z), shape == "full rank"
    if full and d > MAX_FULL_RANK:
        raise InputError(
            f"a full covariance of {d} numbers is too large; give shape='low rank'."
        )
    if shape == "low rank" and not 1 <= rank <= d:
        raise InputError(f"rank is {rank}; give a whole number from 1 to {d}.")
    extra = None
    if full:
        extra = np.zeros((d, d))
    elif shape == "low rank":  # not zero, where the gradient of VVᵀ vanishes
        extra = 0.1 * scale * np.eye(d, rank)
    return GaussianParameters(z, np.full(d, np.log(scale)), extra, full)


def elbo_gradients(
    log_density: Callable[[Any], Any],
    approximation: GaussianApproximation,
    *,
    draws: int = 1000,
    random_state: Any = 0,
) -> GradientEstimates:
    r"""The gradient of the ELBO by both estimators, with their measured variances.

    $\nabla E_q f$ with $f = \log p - \log q$, by the score function $f \nabla \log q$ (the
    log-derivative trick, $\nabla q = q \nabla \log q$) and by reparameterisation.

    Args:
        log_density: as for `advi`.
        approximation: q.
        draws: samples of each estimator.
        random_state: the seed.
    """
    density = FlatDensity(log_density, approximation.layout)
    f: Any = _LogRatio(density, approximation.mean, np.linalg.inv(approximation.factor))
    return gradient_estimates(
        f,
        approximation.mean,
        approximation.factor,
        samples=draws,
        key=key_of(random_state),
    )


class _LogRatio(eqx.Module):
    """log p − log q, up to a constant, with q fixed."""

    density: FlatDensity
    mean: Any
    inverse: Any

    def __call__(
        self, z: Float[Array | np.ndarray, " d"]
    ) -> Float[Array | np.ndarray, ""]:
        white = self.inverse @ (z - self.mean)
        return self.density(z) + 0.5 * white @ white
