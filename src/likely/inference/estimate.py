r"""Estimated coefficients with their covariance, tests, and the quality of the fit.

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
    """Coefficients with their uncertainty, and the quality of the fit.

    Args:
        coefficients: (q,) B, an intercept (if any) first, a dispersion (if any) last.
        covariance: (q, q) covariance of the estimate.
        total: Σw, the number of observations.
        df_residual: Σw − p.
        slopes: (q,) whether a coefficient belongs to a column: the null model lacks these.
        log_likelihood: the log-likelihood at the estimate, in nats.
        null_log_likelihood: that of the model without columns.
        n_counted: the number of parameters that AIC and BIC count.
        dispersion: the estimated variance or its analogue; 1 where the family has none.
        r_squared: explained over total variance, 1 − RSS/TSS, squared correlation.
        condition: the condition number σ₁/σ_p of the design.
        kind: "t" or "z", the distribution of the statistics.
        tail_variance: the variance of the logarithm of a fitted dispersion.
        wald: bᵀC⁻¹b of all columns, where it is known to more digits than C gives.
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
    wald: float | None = None

    @property
    def df_model(self) -> int:
        """The number of coefficients that the null model lacks."""
        return int(self.slopes.sum())

    @property
    def standard_errors(self) -> Float[np.ndarray, " q"]:
        """The standard errors √C_jj."""
        return np.sqrt(np.maximum(np.diagonal(self.covariance), 0.0))

    @property
    def statistics(self) -> Float[np.ndarray, " q"]:
        """The statistics b_j / √C_jj."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.coefficients / self.standard_errors

    @property
    def reference(self) -> Any:
        """The distribution of the statistics under the null."""
        return stats.t(self.df_residual) if self.kind == "t" else stats.norm()

    @property
    def _null(self) -> tuple[Any, tuple[float, ...]]:
        """The `reference` as SciPy's class and its arguments: freezing it is slow."""
        return (stats.t, (self.df_residual,)) if self.kind == "t" else (stats.norm, ())

    @property
    def p_values(self) -> Float[np.ndarray, " q"]:
        """Two-sided p-values: the probability of such a statistic if the coefficient were 0."""
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
        """AIC: 2·(number of coefficients) − 2·log-likelihood; scales are not counted."""
        return 2 * self.n_counted - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        """BIC: log Σw · (number of coefficients) − 2·log-likelihood."""
        return float(np.log(self.total)) * self.n_counted - 2 * self.log_likelihood

    @property
    def mcfadden(self) -> float:
        """McFadden's pseudo R², 1 − l(model)/l(null)."""
        return 1 - self.log_likelihood / self.null_log_likelihood

    @property
    def adjusted(self) -> float:
        """The adjusted R², 1 − (1 − R²)(Σw − 1)/(Σw − p)."""
        if self.r_squared is None:
            raise InputError("this family has no R²; ask for mcfadden.")
        known = self.df_residual + self.df_model
        return 1 - (1 - self.r_squared[1]) * known / self.df_residual

    @property
    def likelihood_ratio(self) -> tuple[float, float]:
        """The likelihood-ratio statistic 2(l − l₀) against the null model, and its p-value."""
        statistic = 2 * (self.log_likelihood - self.null_log_likelihood)
        return statistic, float(stats.chi2.sf(statistic, self.df_model))

    @property
    def f_test(self) -> tuple[float, float]:
        """Wald's F of all columns, bᵀC⁻¹b / q, and its p-value."""
        rows = np.flatnonzero(self.slopes)
        b, C = self.coefficients[rows], self.covariance[np.ix_(rows, rows)]
        wald = b @ np.linalg.solve(C, b) if self.wald is None else self.wald
        statistic = float(wald) / len(b)
        return statistic, float(stats.f.sf(statistic, len(b), self.df_residual))
