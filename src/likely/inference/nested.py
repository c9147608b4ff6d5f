r"""Tests of one model inside another: F, exact for normal errors, or likelihood ratio.

$$F = \frac{(\mathrm{RSS}_1 - \mathrm{RSS}_2)/(p_2 - p_1)}{\mathrm{RSS}_2/(n - p_2)}
  \sim F_{p_2 - p_1,\; n - p_2}, \qquad
  Λ = 2(l_2 - l_1) \sim χ^2_{p_2 - p_1} \text{ for large n},$$

where the first model is the second with some coefficients fixed.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from likely.core.checks import InputError


class TestResult(NamedTuple):
    """A statistic, its degrees of freedom and its p-value."""

    statistic: float
    df: tuple[float, ...]
    p_value: float
    what: str
    """The test, in words."""

    __test__ = False  # for pytest: this is not a test class

    def __str__(self) -> str:
        df = ", ".join(f"{d:g}" for d in self.df)
        return f"{self.what}: {self.statistic:.4g} (df {df}), p = {self.p_value:.3g}"


def f_test(
    rss: tuple[float, float], df_residual: tuple[float, float], what: str = "F test"
) -> TestResult:
    """The F test of two nested models.

    Args:
        rss: residual sums of squares of the small and of the large model.
        df_residual: their residual degrees of freedom.
        what: the name of the test.

    Examples:
        >>> round(lk.inference.f_test((20.0, 10.0), (18.0, 17.0)).p_value, 4)
        0.0007
    """
    (rss1, rss2), (df1, df2) = rss, df_residual
    if not df1 > df2 > 0:
        raise InputError(
            f"the residual degrees of freedom are {df1:g} and {df2:g}; the first model "
            "has to be the smaller one, and the larger one needs some left over."
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        F = np.float64((rss1 - rss2) / (df1 - df2)) / (rss2 / df2)
    return TestResult(
        float(F), (df1 - df2, df2), float(stats.f.sf(F, df1 - df2, df2)), what
    )


def likelihood_ratio_test(
    log_likelihood: tuple[float, float], df: int, what: str = "likelihood-ratio test"
) -> TestResult:
    """The likelihood-ratio test of two nested models.

    Args:
        log_likelihood: those of the small and of the large model.
        df: how many more coefficients the large model has.
        what: the name of the test.

    Examples:
        >>> found = lk.inference.likelihood_ratio_test((-120.0, -115.0), 1)
        >>> round(found.p_value, 4)
        0.0016
    """
    statistic = 2 * (log_likelihood[1] - log_likelihood[0])
    if df <= 0:
        raise InputError(
            "the two models have equally many coefficients, so neither is nested in the "
            "other; compare them on held-out rows instead."
        )
    return TestResult(statistic, (df,), float(stats.chi2.sf(statistic, df)), what)


def t_test(
    first: Any, second: Any, *, weights: Any = None, equal_variances: bool = True
) -> TestResult:
    r"""Whether two groups have the same mean.

    $t = (m_1 - m_2) / \sqrt{s^2 (1/n_1 + 1/n_2)}$ with the pooled variance s² and
    $n_1 + n_2 - 2$ degrees of freedom; Welch's test where variances are not equal.

    Args:
        first: numbers of one group.
        second: numbers of the other.
        weights: a pair of weights, how often each number counts.
        equal_variances: pool the variances (the textbook test), or not (Welch).

    Examples:
        >>> found = lk.t_test(np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]))
        >>> round(found.p_value, 3)
        0.021
    """
    w = (None, None) if weights is None else weights
    (n1, m1, v1), (n2, m2, v2) = (
        _moments(x, w) for x, w in zip((first, second), w, strict=True)
    )
    if equal_variances:
        df = n1 + n2 - 2
        square = (n1 * v1 + n2 * v2) / df * (1 / n1 + 1 / n2)
    else:
        a, b = v1 / (n1 - 1), v2 / (n2 - 1)
        square = a + b
        df = square**2 / (a**2 / (n1 - 1) + b**2 / (n2 - 1))
    t = (m1 - m2) / np.sqrt(square)
    name = "t test" if equal_variances else "Welch's t test"
    return TestResult(float(t), (float(df),), float(2 * stats.t.sf(abs(t), df)), name)


def anova(*groups: Any, weights: Any = None) -> TestResult:
    r"""Whether several groups have the same mean.

    F = (mean square between groups) / (mean square within): the nested test of one
    mean for all against a mean for each.

    Args:
        groups: numbers of each group.
        weights: one array of weights for each group.

    Examples:
        >>> a, b, c = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]), np.array([1.0, 3.0])
        >>> round(lk.anova(a, b, c).p_value, 3)
        0.035
    """
    if len(groups) < 2:
        raise InputError("anova compares groups; give at least two.")
    w = [None] * len(groups) if weights is None else weights
    n, m, v = np.array([_moments(x, w) for x, w in zip(groups, w, strict=True)]).T
    within, mean = float(n @ v), float(n @ m) / n.sum()
    between = float(n @ (m - mean) ** 2)
    total = float(n.sum())
    return f_test((between + within, within), (total - 1, total - len(n)), "anova")


def _moments(x: Any, w: Any) -> tuple[float, float, float]:
    """Weight, mean and variance (1/n) of the numbers that count."""
    x = np.asarray(x, float).ravel()
    w = np.ones(len(x)) if w is None else np.asarray(w, float)
    x, w = x[w > 0], w[w > 0]
    total = float(w.sum())
    if not (np.isfinite(x).all() and total > 1):
        raise InputError("a group needs at least two finite numbers.")
    mean = float(w @ x) / total
    return total, mean, float(w @ (x - mean) ** 2) / total
