r"""What a fit says about its coefficients: values, covariance, and how well it fits.

Standard errors are the roots of the diagonal of the covariance C. With
$z_j = b_j / \sqrt{C_{jj}}$ the two-sided p-value is $2\,(1 - F(|z_j|))$, F the normal
distribution, or Student's t with Σw − p degrees of freedom for the normal linear model,
where that is exact. Confidence intervals invert the same test.
"""

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Bool, Float
from scipy import stats

from likely.core.checks import InputError


class Estimate(eqx.Module):
    """Coefficients with their uncertainty, and the numbers that judge the fit.

    Args:
        coefficients: (q,) B, an intercept (if any) first, a dispersion (if any) last.
        covariance: (q, q) of the estimate.
        total: Σw, the number of observations.
        df_residual: Σw − p.
        slopes: (q,) which coefficients belong to columns: the null model lacks them.
        log_likelihood: at the estimate, in nats.
        null_log_likelihood: of the model without columns.
        n_counted: the parameters that AIC and BIC count.
        dispersion: s² or its like; 1 where the family has none.
        r_squared: explained over total variance, 1 − RSS/TSS, squared correlation.
        condition: σ₁/σ_p of the design.
        kind: "t" or "z".
        tail_variance: of the logarithm of a dispersion that was fitted.
    """

    coefficients: Float[np.ndarray, " q"]
    covariance: Float[np.ndarray, "q q"]
    slopes: Bool[np.ndarray, " q"]
    total: float
    df_residual: float
    log_likelihood: float
    null_log_likelihood: float
    n_counted: int
    dispersion: float = 1.0
    r_squared: tuple[float, float, float] | None = None
    condition: float = float("nan")
    kind: str = "z"
    tail_variance: float = 0.0

    @property
    def df_model(self) -> int:
        """How many coefficients the null model lacks."""
        return int(self.slopes.sum())

    @property
    def standard_errors(self) -> Float[np.ndarray, " q"]:
        """√C_jj."""
        return np.sqrt(np.maximum(np.diagonal(self.covariance), 0.0))

    @property
    def statistics(self) -> Float[np.ndarray, " q"]:
        """b_j / √C_jj."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.coefficients / self.standard_errors

    @property
    def reference(self) -> Any:
        """The distribution of the statistics under the null."""
        return stats.t(self.df_residual) if self.kind == "t" else stats.norm()

    @property
    def _null(self) -> tuple[Any, tuple[float, ...]]:
        """The same, not frozen: freezing costs more than using it."""
        return (stats.t, (self.df_residual,)) if self.kind == "t" else (stats.norm, ())

    @property
    def p_values(self) -> Float[np.ndarray, " q"]:
        """Two-sided: how often a statistic this large occurs where the coefficient is 0."""
        null, df = self._null
        return 2 * null.sf(np.abs(self.statistics), *df)

    def intervals(self, coverage: float = 0.95) -> Float[np.ndarray, "q 2"]:
        """Confidence intervals b_j ± F⁻¹((1+coverage)/2) √C_jj."""
        if not 0 < coverage < 1:
            raise InputError(f"coverage is {coverage}; give a number between 0 and 1.")
        null, df = self._null
        half = null.ppf((1 + coverage) / 2, *df) * self.standard_errors
        return np.stack([self.coefficients - half, self.coefficients + half], axis=1)

    @property
    def aic(self) -> float:
        """2·(number of coefficients) − 2·log-likelihood; scales are not counted."""
        return 2 * self.n_counted - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        """log Σw · (number of coefficients) − 2·log-likelihood."""
        return float(np.log(self.total)) * self.n_counted - 2 * self.log_likelihood

    @property
    def mcfadden(self) -> float:
        """1 − l(model)/l(null), McFadden's pseudo R²."""
        return 1 - self.log_likelihood / self.null_log_likelihood

    @property
    def adjusted(self) -> float:
        """1 − (1 − R²)(Σw − 1)/(Σw − p): what is left after paying for each column."""
        if self.r_squared is None:
            raise InputError("this family has no R²; ask for mcfadden.")
        known = self.df_residual + self.df_model
        return 1 - (1 - self.r_squared[1]) * known / self.df_residual

    @property
    def likelihood_ratio(self) -> tuple[float, float]:
        """2(l − l₀) against the null model and its p-value, χ² with `df_model`."""
        statistic = 2 * (self.log_likelihood - self.null_log_likelihood)
        return statistic, float(stats.chi2.sf(statistic, self.df_model))

    @property
    def f_test(self) -> tuple[float, float]:
        """Wald's F of all columns at once: bᵀC⁻¹b / q over the columns, and its p-value."""
        rows = np.flatnonzero(self.slopes)
        b, C = self.coefficients[rows], self.covariance[np.ix_(rows, rows)]
        statistic = float(b @ np.linalg.solve(C, b)) / len(b)
        return statistic, float(stats.f.sf(statistic, len(b), self.df_residual))
