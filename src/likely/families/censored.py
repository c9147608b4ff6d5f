r"""Times until an event, some of them censored: it is only known that they are longer."""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num
from numpyro.distributions import Distribution

from likely.core.checks import InputError
from likely.core.rows import weighted_mean
from likely.families.exponential import Exponential
from likely.families.family import AbstractFamily
from likely.families.log_normal import LogNormal
from likely.families.maximum import maximum
from likely.families.weibull import Weibull


class Censored(AbstractFamily):
    r"""Times T of a family, observed until the event, or until the watch ended.

    y = t says that the event happened at t; **y = −t says that it had not happened until
    t** (right-censored):

    $$\log p(y) = \log p_T(t) \;\text{ at } y = t, \qquad
      \log p(y) = \log P(T > t) \;\text{ at } y = -t.$$

    When the watch ends must not depend on T beyond what the inputs say. η, the moments, the
    cdf and the quantiles are those of T, as if every event were seen.

    Args:
        family: of T: `Weibull`, `LogNormal` or `Exponential`.

    Examples:
        >>> family = lk.families.Censored(lk.families.Weibull())
        >>> print(family.n_eta)
        2
    """

    family: Weibull | LogNormal | Exponential
    needs: ClassVar[str] = "times above 0, negative where they are censored"
    remedy: ClassVar[str] = "Give a time of 0 a small positive value, or leave it out."

    def __init__(self, family: Weibull | LogNormal | Exponential):
        if not isinstance(family, Weibull | LogNormal | Exponential):
            raise InputError(
                f"{type(family).__name__} has no censored likelihood here; give Weibull(), "
                "LogNormal() or Exponential()."
            )
        self.family = family

    @property
    def n_eta(self) -> int:
        """The length of η: that of the family of T."""
        return self.family.n_eta

    def theta(self, eta: Float[Array, "*n k"]) -> dict[str, Array]:
        """The parameters of T."""
        return self.family.theta(eta)

    def eta(self, **theta: Any) -> Float[Array, "*n k"]:
        """η from the parameters of T."""
        return self.family.eta(**theta)

    def distribution(self, **theta: Any) -> Distribution:
        """The distribution of T."""
        return self.family.distribution(**theta)

    def marginal(
        self, y: Num[Array, " n"], w: Float[Array, " n"]
    ) -> Float[Array, " k"]:
        """The parameters of T: events over the sum of all times, or by Newton's method."""
        start = self.start(y, w)
        if isinstance(self.family, Exponential):
            return start
        unit = jnp.exp(self._sign * self._log_spread(start))
        step = jnp.stack([unit, jnp.ones_like(unit)])[: self.n_eta]
        return maximum(self, y, w, start, step)

    def start(self, y: Num[Array, " n"], w: Float[Array, " n"]) -> Float[Array, " k"]:
        """Parameters near those of largest likelihood: the start of fits.

        They are from the mean and deviation of log |y|, moved up by the share of events.
        """
        share = weighted_mean((y >= 0).astype(w.dtype), w)
        up = -jnp.log(jnp.maximum(share, 0.5 / w.sum()))
        if isinstance(self.family, Exponential):
            return self.family.marginal(jnp.abs(y), w) - up
        logs = jnp.log(jnp.abs(y))
        centre = weighted_mean(logs, w)
        deviation = jnp.sqrt(weighted_mean((logs - centre) ** 2, w))
        tiny = jnp.finfo(deviation.dtype).eps * (1 + jnp.abs(centre))
        unit = jnp.maximum(deviation, tiny)
        columns = [centre + unit * up, self._sign * jnp.log(unit)]
        return jnp.stack(columns)[: self.n_eta]

    @property
    def _sign(self) -> float:
        """−1 where the second entry of η falls with the spread of log T: a shape."""
        return -1.0 if isinstance(self.family, Weibull) else 1.0

    def _log_spread(self, eta: Float[Array, " k"]) -> Array:
        return eta[1] if len(eta) > 1 else jnp.zeros_like(eta[0])

    def outside(self, y: np.ndarray) -> np.ndarray:
        """Whether each y is no time, or one that T cannot have."""
        return self.family.outside(np.abs(y))

    def log_prob(
        self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """log p_T(y) of events, log P(T > −y) of censored times."""
        seen = self.family.log_prob(eta, jnp.abs(y))
        longer = self.family.log_survival(eta, jnp.where(y < 0, -y, 1.0))
        return jnp.where(y < 0, longer, seen)

    def cdf(self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]) -> Float[Array, "*n"]:
        """P(T ≤ y)."""
        return self.family.cdf(eta, y)

    def quantile(
        self, eta: Float[Array, "*n k"], q: Float[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """The quantile of T."""
        return self.family.quantile(eta, q)

    def mode(self, eta: Float[Array, "*n k"]) -> Float[Array, "*n"]:
        """The likeliest T."""
        return self.family.mode(eta)
