r"""Student's t family: a normal with heavy tails."""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtri
from jaxtyping import Array, Float, Num
from numpyro import distributions

from likely.core.numerics import HALF_LOG_2PI, log1p_square, log_rising
from likely.families.family import AbstractFamily
from likely.families.incomplete import student_cdf
from likely.families.inversion import continuous_quantile
from likely.families.links import (
    column,
    fixed,
    log_positive,
    positive,
    scaled,
    stack,
)
from likely.families.maximum import maximum
from likely.families.weighted import weighted_median


class StudentT(AbstractFamily):
    r"""Student's t(ν, μ, s), normal as ν → ∞ and Cauchy at ν = 1.

    $$-\log p = \log s + \tfrac12 \log 2π - G(\tfrac{ν}{2})
      + \tfrac{ν+1}{2} \log\Bigl(1 + \frac{(y-μ)^2}{ν s^2}\Bigr),$$

    with $G(a) = \log Γ(a + \tfrac12) - \log Γ(a) - \tfrac12 \log a$, which vanishes as
    a → ∞. η = (μ, log s, log ν), without the entries that are fixed by `scale` or `df`.

    Examples:
        >>> dist = lk.families.Predictive(lk.families.StudentT(5.0, 1.0), np.zeros((1, 1)))
        >>> print(dist.quantile(0.95).round(3))
        [2.015]
    """

    df: np.ndarray | None
    scale: np.ndarray | None
    needs: ClassVar[str] = "finite numbers"
    remedy: ClassVar[str] = "Remove or impute the row."

    def __init__(self, df: float | int | None = None, scale: float | int | None = None):
        self.df, self.scale = fixed(df, "df"), fixed(scale, "scale")

    @property
    def n_eta(self) -> int:
        """The length of η: 1, and one more for each of scale and df that is not fixed."""
        return 1 + (self.scale is None) + (self.df is None)

    def theta(self, eta: Float[Array, "*n k"]) -> dict[str, Array]:
        """The degrees of freedom, the location and the scale."""
        df = positive(eta, self.n_eta - 1, self.df)
        return {"df": df, "loc": eta[..., 0], "scale": positive(eta, 1, self.scale)}

    def eta(
        self, *, loc: Any, scale: Any = None, df: Any = None
    ) -> Float[Array, "*n k"]:
        """The columns μ, log s and log ν, without fixed ones."""
        return stack(
            loc,
            column(scale) if self.scale is None else None,
            column(df) if self.df is None else None,
        )

    def distribution(self, **theta: Any) -> distributions.StudentT:
        """NumPyro's Student-t distribution."""
        return distributions.StudentT(**theta)

    def marginal(
        self, y: Num[Array, " n"], w: Float[Array, " n"]
    ) -> Float[Array, " k"]:
        """Newton's method from the median and the median absolute deviation."""
        loc = weighted_median(y, w)
        spread = 1.4826 * weighted_median(jnp.abs(y - loc), w)
        spread = jnp.maximum(spread, jnp.sqrt(jnp.finfo(w.dtype).tiny))
        unit = jnp.ones(self.n_eta, w.dtype).at[0].set(spread)
        return maximum(self, y, w, self.eta(loc=loc, scale=spread, df=8.0), unit)

    def outside(self, y: np.ndarray) -> np.ndarray:
        """Whether each y is NaN or infinite."""
        return ~np.isfinite(y)

    def log_prob(
        self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """log p = −log s − ½ log 2π + G(ν/2) − ½(ν + 1) log(1 + z²/ν)."""
        log_scale = log_positive(eta, 1, self.scale)
        log_df = log_positive(eta, self.n_eta - 1, self.df)
        df = jnp.exp(log_df)
        spread = log1p_square(y - eta[..., 0], log_scale + 0.5 * log_df)
        constant = log_rising(0.5 * df, jnp.full_like(df, 0.5)) - HALF_LOG_2PI
        return constant - log_scale - 0.5 * (df + 1) * spread

    def cdf(self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]) -> Float[Array, "*n"]:
        """The cdf, by the incomplete beta function."""
        theta = self.theta(eta)
        return student_cdf(theta["df"], (y - theta["loc"]) / theta["scale"])

    def quantile(
        self, eta: Float[Array, "*n k"], q: Float[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """The quantile, by a search in the lower half, mirrored above."""
        theta = self.theta(eta)
        df, tail = theta["df"], jnp.minimum(q, 1 - q)
        normal = ndtri(tail) ** 2 / jnp.maximum(df - 0.5, 0.5 * df)
        most = jnp.finfo(df.dtype).max
        growth = jnp.expm1(jnp.minimum(normal, 0.9 * np.log(most)))
        guess = -jnp.minimum(jnp.sqrt(df) * jnp.sqrt(growth), most)
        zero = jnp.zeros_like(guess)
        far = zero - most
        z = continuous_quantile(lambda z: student_cdf(df, z), tail, guess, far, zero)
        z = jnp.where(tail > 0, jnp.where(tail < 0.5, z, 0.0), -jnp.inf)
        return theta["loc"] + scaled(theta["scale"], jnp.where(q > 0.5, -z, z))

    def mode(self, eta: Float[Array, "*n k"]) -> Float[Array, "*n"]:
        """The mode μ."""
        return eta[..., 0]
