r"""A mixture of several members of one scalar family."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num
from numpyro import distributions

from likely.core.checks import InputError
from likely.core.rows import weighted_mean
from likely.families.counts import count_of
from likely.families.family import AbstractFamily
from likely.families.inversion import continuous_quantile, discrete_quantile
from likely.families.maximum import maximum
from likely.families.weighted import weighted_groups

EM_STEPS = 50
MODE_GRID, MODE_ZOOMS = 65, 16
"""Points of the grid on which the mode is searched, and how often it is refined."""


class Mixture(AbstractFamily):
    r"""A mixture $p(y) = \sum_j π_j\, p_j(y)$ with π = softmax of the first m entries of η.

    $$\log p = \operatorname{logsumexp}_j \bigl(\log π_j + \log p_j(y)\bigr).$$

    The components' η follow, one component after the other. θ has `mixture_logits`
    (..., m) and the family's own names with a last axis of length m.

    Examples:
        >>> family = lk.families.Mixture(lk.families.Normal(), 3)
        >>> print(family.n_eta)
        9
    """

    family: AbstractFamily
    n_components: int = eqx.field(static=True)

    def __init__(self, family: AbstractFamily, n_components: int = 2):
        if family.multivariate:
            raise InputError("Mixture needs a family of a single output.")
        self.family = family
        self.n_components = count_of(n_components, "n_components")

    @property
    def n_eta(self) -> int:
        """The length of η: m logits, and m times the family's."""
        return self.n_components * (1 + self.family.n_eta)

    @property
    def discrete(self) -> bool:
        """Whether the components are discrete."""
        return self.family.discrete

    @property
    def zeros(self) -> bool:
        """Whether 0 has a probability and numbers above it a density."""
        return self.family.zeros

    @property
    def needs(self) -> str:
        """What y has to be: that of the components."""
        return self.family.needs

    @property
    def remedy(self) -> str:
        """What to do where y is something else: that of the components."""
        return self.family.remedy

    def split(
        self, eta: Float[Array, "*n k"]
    ) -> tuple[Float[Array, "*n m"], Float[Array, "*n m j"]]:
        """The log-weights log π, and the η of each component."""
        m, shape = self.n_components, eta.shape[:-1]
        parts = eta[..., m:].reshape(*shape, m, self.family.n_eta)
        return jax.nn.log_softmax(eta[..., :m], -1), parts

    def theta(self, eta: Float[Array, "*n k"]) -> dict[str, Array]:
        """The log-weights log π and the components' parameters, one column each."""
        log_weights, parts = self.split(eta)
        return {"mixture_logits": log_weights, **self.family.theta(parts)}

    def eta(self, *, mixture_logits: Any, **theta: Any) -> Float[Array, "*n k"]:
        """The logits, then the components' η."""
        logits, parts = jnp.asarray(mixture_logits), self.family.eta(**theta)
        return jnp.concatenate([logits, parts.reshape(*logits.shape[:-1], -1)], -1)

    def distribution(self, *, mixture_logits: Any, **theta: Any):
        """NumPyro's mixture distribution."""
        axis = jnp.ndim(mixture_logits) - 1
        components = [
            self.family.distribution(**{k: v.take(j, axis) for k, v in theta.items()})
            for j in range(self.n_components)
        ]
        mixing = distributions.CategoricalLogits(mixture_logits)
        support = components[0].support
        return distributions.MixtureGeneral(mixing, components, support=support)

    def marginal(
        self, y: Num[Array, " n"], w: Float[Array, " n"]
    ) -> Float[Array, " k"]:
        """A local optimum: EM from groups of equal weight, then Newton's method.

        A mixture's likelihood has many optima, and none that is global where a
        component may shrink onto one point.
        """
        share = weighted_groups(y, w, self.n_components)
        start = self._refit(y, w, share)

        def em(_, eta: Float[Array, " k"]) -> Float[Array, " k"]:
            log_joint = self._joint(jnp.broadcast_to(eta, (len(y), len(eta))), y)
            return self._refit(y, w, jax.nn.softmax(log_joint, -1).T)

        eta = maximum(self, y, w, jax.lax.fori_loop(0, EM_STEPS, em, start))
        return eta.at[: self.n_components].add(-eta[: self.n_components].mean())

    def _refit(self, y: Array, w: Array, share: Float[Array, "m n"]) -> Array:
        """The M step: each component on its share of the rows."""
        share = share + jnp.finfo(w.dtype).eps
        parts = jax.vmap(lambda s: self.family.marginal(y, w * s))(share)
        logits = jnp.log(weighted_mean(share.T, w))
        return jnp.concatenate([logits - logits.mean(), parts.reshape(-1)])

    def outside(self, y: np.ndarray) -> np.ndarray:
        """Whether each y is outside the support of the components."""
        return self.family.outside(y)

    def _joint(self, eta: Array, y: Array) -> Float[Array, "*n m"]:
        """The joint log π_j + log p_j(y) of each component."""
        log_weights, parts = self.split(eta)
        return log_weights + self.family.log_prob(parts, self._repeat(y))

    def _repeat(self, y: Num[Array, "*n"]) -> Num[Array, "*n m"]:
        """Each y once for every component."""
        return jnp.broadcast_to(y[..., None], (*y.shape, self.n_components))

    def log_prob(
        self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """log p = logsumexp of log π_j + log p_j(y)."""
        return jax.nn.logsumexp(self._joint(eta, y), -1)

    def cdf(self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]) -> Float[Array, "*n"]:
        """The cdf Σ_j π_j P_j(Y ≤ y)."""
        log_weights, parts = self.split(eta)
        cdfs = self.family.cdf(parts, self._repeat(y))
        weights = jnp.exp(log_weights)  # over their sum: exactly 1 where all cdfs are
        return jnp.minimum(jnp.sum(weights * cdfs, -1) / jnp.sum(weights, -1), 1.0)

    def quantile(
        self, eta: Float[Array, "*n k"], q: Float[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """The quantile, by a search between the lowest and highest of the components."""
        log_weights, parts = self.split(eta)
        ends = self.family.quantile(parts, self._repeat(q))
        low, high = ends.min(-1), ends.max(-1)
        if self.discrete:
            middle, width = 0.5 * (low + high), 0.5 * (high - low) + 1
            found = discrete_quantile(lambda y: self.cdf(eta, y), q, middle, width)
            return jnp.minimum(found, high)
        middle = jnp.clip(jnp.sum(jnp.exp(log_weights) * ends, -1), low, high)
        found = continuous_quantile(lambda y: self.cdf(eta, y), q, middle, low, high)
        if self.zeros:
            found = jnp.where(self.cdf(eta, low) >= q, low, found)
        return jnp.where(low < high, found, low)

    def mode(self, eta: Float[Array, "*n k"]) -> Float[Array, "*n"]:
        """The highest point between the components' modes, on an ever finer grid."""
        modes = self.family.mode(self.split(eta)[1])
        low, high = modes.min(-1), modes.max(-1)
        grid = jnp.linspace(-1.0, 1.0, MODE_GRID).astype(eta.dtype)
        grid = grid.reshape((1,) * low.ndim + (-1,))

        def best(points: Float[Array, "*n g"]) -> Float[Array, "*n"]:
            rows = jnp.broadcast_to(eta[..., None, :], (*points.shape, eta.shape[-1]))
            index = jnp.argmax(self.log_prob(rows, points), -1)
            return jnp.take_along_axis(points, index[..., None], -1)[..., 0]

        def zoom(_, carry):
            centre, width = carry
            points = centre[..., None] + width[..., None] * grid
            points = jnp.round(points) if self.discrete else points
            points = jnp.clip(points, low[..., None], high[..., None])
            points = jnp.concatenate([centre[..., None], modes, points], -1)
            return best(points), width / 16

        start = (best(modes), high - low)
        return jax.lax.fori_loop(0, MODE_ZOOMS, zoom, start)[0]
