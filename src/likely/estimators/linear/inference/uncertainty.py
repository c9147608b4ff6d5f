r"""Predictive distributions that include what is not known about the parameters.

The normal linear model has an exact answer: with $s^2 = \mathrm{RSS}/(n-p)$,

$$\frac{y - x^\top \hat b}{s\sqrt{1 + x^\top (A^\top A)^{-1} x}} \sim t_{n-p}.$$

Under a penalty the same holds with $(A^\top A + P)^{-1}$ and the effective degrees of freedom
(see `spread`), as an approximation. Otherwise η̂ is about normal with the variance
that the spread gives (the delta method), and the predictive is the mixture of p(y | η) over a
few Gauss-Hermite nodes; or, from the bootstrap, the mixture over refits. Where nothing is
known about a row, or about the scale of all, the scale is infinite.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from likely.estimators.linear.inference.spread import Spread, namespace, spread
from likely.families import (
    AbstractFamily,
    Bernoulli,
    Categorical,
    Censored,
    CumulativeLogit,
    Gamma,
    MultivariateNormal,
    NegativeBinomial,
    Normal,
    Poisson,
    Predictive,
    Product,
    StudentT,
    Tweedie,
    mix,
)
from likely.inference import Estimate
from likely.typing import Batch

N_NODES, N_SHARED_NODES = 5, 3
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(N_NODES)
SHARED_NODES, SHARED_WEIGHTS = np.polynomial.hermite_e.hermegauss(N_SHARED_NODES)
MAX_LOG_VARIANCE = 100.0
"""The largest variance of the logarithm of a mean: a factor of 10¹² up and down."""
MIN_DISPERSION = 1e-6
"""1/r from which a negative binomial is a Poisson distribution."""


class AbstractLinearLearner(eqx.Module):
    """A learner of a linear model, with a family and an intercept or none.

    What is held out is judged by the predictive distribution.
    """

    @abstractmethod
    def eta(self, phi: PyTree, X: Any) -> Float[Array, "n k"]:
        """η of each row."""

    @abstractmethod
    def penalty(self, phi: PyTree, hyper: dict, w: Any) -> tuple[Any, Any]:
        """P, and which coefficients are not 0 where the fit selects columns, or None."""

    def held_out_losses(
        self, phi: PyTree, hyper: dict, known: Batch, rows: Batch
    ) -> Float[Array, " n"]:
        """−log p of rows, by what the known rows say about the parameters."""
        own: Any = self
        family: AbstractFamily = own.family
        eta, X = self.eta(phi, rows.x), columns_of(rows.x)
        if isinstance(family, Bernoulli | Categorical | Censored | CumulativeLogit):
            return -family.log_prob(eta, rows.y)
        found = spread(
            family,
            columns_of(known.x),
            known.y,
            known.w,
            self.eta(phi, known.x),
            *self.penalty(phi, hyper, known.w),
            intercept=own.intercept,
        )
        if isinstance(family, Normal | MultivariateNormal):
            Y = rows.y if family.multivariate else rows.y[:, None]
            logs = [
                StudentT().log_prob(student_eta(eta[:, j], one, X), Y[:, j])
                for j, one in enumerate(found)
            ]
            return -jnp.sum(jnp.stack(logs), 0)
        etas, weights = _nodes(family, eta, found[0], X)
        logs = jax.vmap(lambda e: family.log_prob(e, rows.y))(etas)
        shares = jnp.log(jnp.asarray(weights / weights.sum()))
        return -jax.scipy.special.logsumexp(logs + shares[:, None], axis=0)


def columns_of(x: Any) -> Any:
    """The columns of rows that may have offsets."""
    return x[0] if isinstance(x, tuple) else x


def predictive(
    family: AbstractFamily,
    eta: Float[np.ndarray, "n k"],
    found: list[Spread],
    X: Any,
    *,
    exact: bool,
) -> Any:
    """p(y | x) of each row, given the uncertainty of each output.

    Args:
        family: p(y | η).
        eta: at the estimate.
        found: the uncertainty of each output.
        X: the columns.
        exact: Student's t where the family is normal.
    """
    if not exact:
        return mix(family, *_nodes(family, eta, found[0], X))
    etas = [student_eta(eta[:, j], one, X) for j, one in enumerate(found)]
    families = [StudentT(df=float(np.exp(e[0, 2]))) for e in etas]
    if not family.multivariate:
        return Predictive(families[0], etas[0][:, :2])
    return Predictive(Product(*families), np.concatenate([e[:, :2] for e in etas], 1))


def student_eta(location: Any, one: Spread, X: Any) -> Any:
    """(μ, log s + ½ log(1 + v), log df) of each row."""
    xp = namespace(X)
    scale = one.shared + 0.5 * xp.log1p(one.leverage(X))
    df = xp.where(one.df > 0, one.df, 1.0)
    return xp.stack([location, scale, xp.log(df) + 0 * location], axis=1)


def mixture_nodes(
    eta: Float[Any, "n k"], variance: Float[Any, " n"], shared: Any
) -> tuple[Any, np.ndarray]:
    """η at the nodes of its uncertainty, (m, n, k), and their weights.

    Args:
        eta: at the estimate.
        variance: of the first entry of each row.
        shared: (3, 1) or (3, n) nodes of the second entry, where there is one.
    """
    xp = namespace(eta)
    first = eta[None, :, 0] + NODES[:, None] * xp.sqrt(variance)[None]
    if eta.shape[1] == 1:
        return first[..., None], WEIGHTS
    shape = (N_NODES, N_SHARED_NODES, len(eta))
    parts = (first[:, None], shared[None])
    etas = xp.stack([xp.broadcast_to(part, shape) for part in parts], axis=-1)
    return etas.reshape(-1, len(eta), 2), np.outer(WEIGHTS, SHARED_WEIGHTS).ravel()


def _nodes(family: AbstractFamily, eta: Any, one: Spread, X: Any) -> tuple[Any, Any]:
    """The nodes for a family; a row about which nothing is known has an infinite scale."""
    xp, v = namespace(X), one.leverage(X)
    z = SHARED_NODES[:, None]
    if isinstance(family, Poisson):
        return mixture_nodes(eta, xp.minimum(v, MAX_LOG_VARIANCE), None)
    if isinstance(family, NegativeBinomial):
        a = xp.exp(-one.shared)
        shared = -xp.log(xp.maximum(a + one.error * z, xp.minimum(a, MIN_DISPERSION)))
        return mixture_nodes(eta, xp.minimum(v, MAX_LOG_VARIANCE), shared)
    shared = one.shared + one.error * z
    if isinstance(family, Gamma):
        v = xp.minimum(v * xp.exp(-one.shared), MAX_LOG_VARIANCE)
        return mixture_nodes(eta, v, shared)
    if isinstance(family, Tweedie):
        v = xp.minimum(v * xp.exp(one.shared), MAX_LOG_VARIANCE)
        return mixture_nodes(eta, v, shared)
    known = xp.isfinite(v) & xp.isfinite(one.shared)
    unit = xp.where(known, one.shared, 0.0)
    unit = xp.exp(2 * unit) * _unit_variance(family, xp)
    v = xp.where(known, v, 0.0) * unit
    return mixture_nodes(eta, v, xp.where(known[None], shared, xp.inf))


def _unit_variance(family: AbstractFamily, xp: Any) -> Any:
    """The variance of y at location 0 and scale 1."""
    if xp is np:
        return Predictive(family, np.zeros((1, 2))).var[0]
    return family(jnp.zeros((1, 2))).variance[0]


def recorded_predictive(
    family: AbstractFamily,
    eta: Float[np.ndarray, "n k"],
    estimate: Estimate,
    X: Float[np.ndarray, "n d"],
    shared: Callable[[np.ndarray], np.ndarray],
) -> Any:
    """p(y | x) from the statistics of a fit alone, which is all that early files hold.

    Args:
        family: p(y | η).
        eta: at the estimate.
        estimate: the coefficients with their covariance.
        X: the columns.
        shared: the second entry of η at this many errors from its estimate.
    """
    first = int(~estimate.slopes[0])
    A = np.column_stack([np.ones((len(X), first)), X])
    C = estimate.covariance[: A.shape[1], : A.shape[1]]
    variance = np.einsum("ij,jk,ik->i", A, C, A, optimize=True)
    if estimate.kind == "t":
        scale = 0.5 * np.log(estimate.dispersion + variance)
        student = StudentT(df=float(estimate.df_residual))
        return Predictive(student, np.column_stack([eta[:, 0], scale]))
    several = eta.shape[1] > 1
    nodes = shared(SHARED_NODES)[:, None] if several else None
    return mix(family, *mixture_nodes(eta, variance, nodes))


def mixture_over_refits(
    family: AbstractFamily,
    etas: list[Float[np.ndarray, "n k"]],
    weights: Float[np.ndarray, " m"] | None = None,
) -> Any:
    """The mixture of p(y | η) over several η of each row."""
    return mix(family, np.stack(etas), weights)
