r"""Variational EM: parameters by maximum likelihood where the posterior of z is restricted.

$$\text{E:}\; q \leftarrow \arg\max_{q \in F} \mathrm{ELBO}(q, θ), \qquad
  \text{M:}\; θ \leftarrow \arg\max_θ E_q[\log p(x, z; θ)],$$

$\mathrm{ELBO}(q, θ) = E_q[\log p(x, z; θ)] + H(q)$. Both steps raise the same function, so
it never falls. Where F contains the posterior this is EM and ends at a maximum of the
likelihood; otherwise at one of a bound of it. Here F are normal distributions (mean-field,
low rank, full rank), and expectations are means over noise that is drawn once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, PyTree

from likely.core.checks import check_choice
from likely.inference.mcmc.target import Layout
from likely.inference.variational.advi import first_parameters
from likely.inference.variational.gaussian import (
    SHAPES,
    GaussianApproximation,
    GaussianParameters,
)
from likely.inference.variational.noise import fixed_noise
from likely.solvers import LBFGS
from likely.solvers.function import minimize


class _Bound(eqx.Module):
    """−ELBO(q, θ) over fixed noise, per latent number."""

    log_joint: Callable[[Any, Any], Any]
    layout: Any = eqx.field(static=True)
    noise: Any = None

    def __call__(
        self, theta: PyTree, q: GaussianParameters
    ) -> Float[Array | np.ndarray, ""]:
        def energy(z: Float[Array | np.ndarray, " d"]):
            return self.log_joint(theta, self.layout.tree(z))

        bound = jax.vmap(energy)(q.draw(self.noise)).mean() + q.entropy
        return -bound / self.layout.size


class _EStep(eqx.Module):
    bound: _Bound
    theta: Any

    def __call__(self, q: GaussianParameters) -> Float[Array | np.ndarray, ""]:
        return self.bound(self.theta, q)


class _MStep(eqx.Module):
    bound: _Bound
    q: GaussianParameters

    def __call__(self, theta: PyTree) -> Float[Array | np.ndarray, ""]:
        return self.bound(theta, self.q)


@dataclass(frozen=True, eq=False)
class VariationalEM:
    """The parameters, the approximate posterior of z, and the ELBO after each round.

    Attributes:
        parameters: θ, in the structure of the start.
        approximation: q.
        elbo: (rounds,) in nats, never falling.
        converged: whether the last round raised it by less than the tolerance.
    """

    parameters: PyTree
    approximation: GaussianApproximation
    elbo: Float[np.ndarray, " rounds"]
    converged: bool


def variational_em(
    log_joint: Callable[[Any, Any], Any],
    parameters: PyTree,
    latent: PyTree,
    *,
    shape: str = "mean-field",
    rank: int = 2,
    scale: float = 0.5,
    max_rounds: int = 200,
    tolerance: float = 1e-6,
    random_state: Any = 0,
) -> VariationalEM:
    """Maximise log p(x; θ), or a bound of it, over θ.

    Args:
        log_joint: of (θ, z): log p(x, z; θ) of all observations, in `jax.numpy`.
        parameters: θ to start from, unconstrained: an array or a tree of arrays.
        latent: z to start from, for all observations: an array or a tree of arrays.
        shape: of the family F, "mean-field", "low rank" or "full rank".
        rank: columns of the low-rank part.
        scale: the standard deviation that q starts with.
        max_rounds: the most pairs of an E and an M step.
        tolerance: the rise of the ELBO, in nats, at which to stop.
        random_state: the seed of the noise.
    """
    check_choice("shape", shape, SHAPES)
    layout, z = Layout.of(latent)
    theta_layout, t = Layout.of(parameters)
    theta = theta_layout.tree(t)
    q = first_parameters(z, shape, rank, scale)
    bound = _Bound(log_joint, layout, fixed_noise(q.n_noise, random_state))
    course, converged = [], False
    solver = LBFGS(500, 1e-9, search="backtracking")
    for _ in range(max_rounds):
        e_step = minimize(_EStep(bound, theta), q, solver=solver)
        m_step = minimize(_MStep(bound, e_step.model), theta, solver=solver)
        q, theta = e_step.model, m_step.model
        course.append(-float(m_step.loss) * layout.size)
        if len(course) > 1 and course[-1] - course[-2] <= tolerance:
            converged = True
            break
    return VariationalEM(
        theta, GaussianApproximation.of(q, layout), np.array(course), converged
    )
