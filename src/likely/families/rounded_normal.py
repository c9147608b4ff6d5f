r"""Normal numbers that are rounded to a lattice, such as whole numbers: probabilities."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erfc, ndtr, ndtri
from jaxtyping import Array, Float, Num
from numpyro import distributions
from numpyro.distributions import constraints

from likely.core.checks import InputError
from likely.core.numerics import HALF_LOG_2PI, largest, standardised
from likely.core.rows import weighted_mean
from likely.families.family import AbstractFamily
from likely.families.links import column, log_positive, positive, stack
from likely.families.maximum import maximum

NARROW = 1e-2
"""Width of a cell, in deviations, up to which its probability is a series in the width."""

FAR, FRACTION_TERMS = 4.0, 16
"""Where tails are continued fractions, of so many terms."""


class RoundedNormal(AbstractFamily):
    r"""Whole numbers k that are N(μ, σ²) before rounding.

    $$P(k) = Φ\Bigl(\frac{k + h/2 - μ}{σ}\Bigr) - Φ\Bigl(\frac{k - h/2 - μ}{σ}\Bigr)$$

    with h = 1: ages, scores, years. Unlike a density at k this is a probability, so that it is
    at most 1 however small σ is. η = (μ, log σ).

    Args:
        width: h, the distance of neighbouring values.
        offset: a number of the lattice; 0 and 1 are those of whole numbers.

    Examples:
        >>> family = lk.families.RoundedNormal()
        >>> print(family.n_eta)
        2
    """

    width: float = eqx.field(static=True)
    offset: float = eqx.field(static=True)
    n_eta: int = eqx.field(default=2, static=True)
    discrete: ClassVar[bool] = True
    remedy: ClassVar[str] = "Use Normal for numbers with fractions."

    def __init__(self, width: float | int = 1.0, offset: float | int = 0.0):
        if not (np.ndim(width) == 0 and 0 < width < np.inf):
            raise InputError(f"width is {width}; give a positive number.")
        self.width, self.offset, self.n_eta = float(width), float(offset), 2

    @property
    def needs(self) -> str:
        """The values that are possible, in words."""
        if (self.width, self.offset) == (1.0, 0.0):
            return "whole numbers"
        return f"multiples of {self.width:g} from {self.offset:g}"

    def theta(self, eta: Float[Array, "*n k"]) -> dict[str, Array]:
        """The mean μ and the deviation σ before rounding."""
        return {"loc": eta[..., 0], "scale": positive(eta, 1)}

    def eta(self, *, loc: Any, scale: Any) -> Float[Array, "*n k"]:
        """The columns μ and log σ."""
        return stack(loc, column(scale))

    def distribution(self, **theta: Any) -> "RoundedNormalDistribution":
        """The distribution, as NumPyro has them."""
        return RoundedNormalDistribution(self.width, self.offset, **theta)

    def marginal(
        self, y: Num[Array, " n"], w: Float[Array, " n"]
    ) -> Float[Array, " k"]:
        """The moments with the variance of rounding taken off, then Newton's method."""
        loc = weighted_mean(y, w)
        variance = weighted_mean((y - loc) ** 2, w) - self.width**2 / 12
        least = (0.2 * self.width) ** 2
        start = self.eta(loc=loc, scale=jnp.sqrt(jnp.maximum(variance, least)))
        return maximum(self, y, w, start)

    def outside(self, y: np.ndarray) -> np.ndarray:
        """Whether each y is not on the lattice, up to rounding errors."""
        steps = (y - self.offset) / self.width
        with np.errstate(invalid="ignore"):
            gap = np.abs(steps - np.round(steps))
            return ~(gap <= 1e-9 * np.maximum(1.0, np.abs(steps)))

    def log_prob(
        self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """log P of each value."""
        width = jnp.asarray(self.width, eta.dtype)
        return rounded_log_prob(y - eta[..., 0], log_positive(eta, 1), width)

    def cdf(self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]) -> Float[Array, "*n"]:
        """Φ at the upper end of the cell of the largest value up to y."""
        steps = jnp.floor((y - self.offset) / self.width + 1e-9)
        end = self.offset + self.width * (steps + 0.5)
        end = jnp.where(jnp.isinf(y), y, end)
        return ndtr((end - eta[..., 0]) / positive(eta, 1))

    def quantile(
        self, eta: Float[Array, "*n k"], q: Float[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """The value of the cell that holds the normal quantile."""
        x = eta[..., 0] + positive(eta, 1) * ndtri(q)
        found = self._rounded(x)
        low = found - self.width  # the end of a cell may have been rounded
        return jnp.where(self.cdf(eta, low) >= q, low, found)

    def mode(self, eta: Float[Array, "*n k"]) -> Float[Array, "*n"]:
        """The value nearest to μ."""
        return self._rounded(eta[..., 0])

    def _rounded(self, x: Float[Array, "*n"]) -> Float[Array, "*n"]:
        steps = jnp.ceil((x - self.offset) / self.width - 0.5)
        return jnp.where(jnp.isinf(x), x, self.offset + self.width * steps)


def rounded_log_prob(gap: Array, log_scale: Array, width: Array) -> Array:
    """log P of a cell around y; a series where it is narrow, else from log Φ.

    Args:
        gap: y − μ.
        log_scale: log σ.
        width: of the cells.
    """
    bound = jnp.full_like(log_scale, largest(log_scale, 2.0))
    middle = jnp.abs(standardised(gap, log_scale, bound))
    cell = width * jnp.exp(-log_scale)
    narrow = (cell < NARROW) & (cell * middle < 10 * NARROW)
    small = jnp.where(narrow, cell, NARROW)
    near = jnp.where(narrow, middle, 0.0)
    series = jnp.log1p(small**2 * (near**2 - 1) / 24)
    log_cell = jnp.log(width) - log_scale
    density = log_cell - HALF_LOG_2PI - 0.5 * near**2 + series
    return jnp.where(narrow, density, _log_cell(middle, cell, narrow))


def _log_cell(middle: Array, cell: Array, narrow: Array) -> Array:
    r"""log(Φ(c/2 − m) − Φ(−c/2 − m)) of wide cells, of which m ≥ 0 is the middle.

    With the ends l = m − c/2 and u = m + c/2 and $h(a) = e^{a^2/2} Φ(-a)$ it is
    $-l^2/2 + \log(h(l) - e^{-cm} h(u))$, which has all digits also far from the mean.
    """
    m, c = jnp.where(narrow, 0.0, middle), jnp.where(narrow, 1.0, cell)
    c = jnp.minimum(c, largest(c, 2.0))
    inside = m < 0.5 * c  # the cell holds the mean
    near, width = jnp.where(inside, m, 0.0), jnp.where(inside, c, 1.0)
    direct = jnp.log(ndtr(0.5 * width - near) - ndtr(-0.5 * width - near))
    m, c = jnp.where(inside, 1.0, m), jnp.where(inside, 1.0, c)
    low = m - 0.5 * c
    rest = scaled_tail(low) - jnp.exp(-c * m) * scaled_tail(m + 0.5 * c)
    return jnp.where(inside, direct, jnp.log(rest) - 0.5 * low**2)


def scaled_tail(a: Array) -> Array:
    r"""$e^{a^2/2} Φ(-a)$ of a ≥ 0: by erfc, and beyond 4 by Laplace's continued fraction."""
    far = a > FAR
    near = jnp.where(far, 0.0, a)
    inner = 0.5 * jnp.exp(0.5 * near**2) * erfc(near * 0.5**0.5)
    beyond = jnp.where(far, a, FAR)
    fraction = beyond
    for k in range(FRACTION_TERMS, 0, -1):
        fraction = beyond + k / fraction
    return jnp.where(far, jnp.exp(-HALF_LOG_2PI) / fraction, inner)


class RoundedNormalDistribution(distributions.Distribution):
    """A rounded normal as a NumPyro distribution."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    _support = constraints.real
    pytree_data_fields = ("loc", "scale")
    pytree_aux_fields = ("width", "offset")

    def __init__(
        self,
        width: float,
        offset: float,
        loc: Any,
        scale: Any,
        *,
        validate_args: bool | None = None,
    ):
        self.width, self.offset = width, offset
        self.loc, self.scale = jnp.broadcast_arrays(
            jnp.asarray(loc), jnp.asarray(scale)
        )
        super().__init__(self.loc.shape, (), validate_args=validate_args)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Array:
        """Rounded draws of the normal."""
        shape = (*sample_shape, *self.batch_shape)
        loc, scale = (jnp.broadcast_to(a, shape) for a in (self.loc, self.scale))
        x = loc + scale * jax.random.normal(key, shape, loc.dtype)
        return self.offset + self.width * jnp.round((x - self.offset) / self.width)

    def log_prob(self, value: Any, intermediates: Any = None) -> Array:
        """log P of each value."""
        family = RoundedNormal(self.width, self.offset)
        return family.log_prob(family.eta(loc=self.loc, scale=self.scale), value)

    @property
    def mean(self) -> Array:
        """The mean: that before rounding, up to terms that vanish where σ exceeds h."""
        return self._moments()[0]

    @property
    def variance(self) -> Array:
        """The variance, that of rounding included."""
        return self._moments()[1]

    def _moments(self) -> tuple[Array, Array]:
        """Mean and variance: sums over the lattice where σ is small, else by formula.

        Beyond σ = h the errors of $E = μ$ and $V = σ^2 + h^2/12$ are below 1e-7 h.
        """
        wide = self.scale > self.width
        centre = self.offset + self.width * jnp.round(
            (self.loc - self.offset) / self.width
        )
        steps = jnp.arange(-12, 13).reshape(-1, *[1] * self.loc.ndim)
        values = centre[None] + self.width * steps
        family = RoundedNormal(self.width, self.offset)
        inside = jnp.where(wide, self.width, self.scale)
        eta = family.eta(loc=self.loc, scale=inside)
        p = jnp.exp(family.log_prob(jnp.broadcast_to(eta, (25, *eta.shape)), values))
        mean = jnp.sum(p * values, 0)
        variance = jnp.sum(p * (values - mean[None]) ** 2, 0)
        formula = self.scale**2 + self.width**2 / 12
        return jnp.where(wide, self.loc, mean), jnp.where(wide, formula, variance)
