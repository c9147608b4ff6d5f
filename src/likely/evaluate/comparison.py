r"""Whether one model is better than another: tests on the same rows, or on the same folds.

On rows that both models did not see, the losses are compared row by row. `paired_bootstrap`
draws rows again and looks at $t = \bar d / \mathrm{se}(\bar d)$ of the differences d, so that
it needs no normal distribution.

The scores of folds are not independent: two training sets share most of their rows. Nadeau and
Bengio's corrected test takes for the variance of the mean of k differences

$$\Bigl(\frac1k + \frac{n_{\text{test}}}{n_{\text{train}}}\Bigr) s^2$$

in the place of $s^2/k$, and Student's t with k − 1 degrees of freedom. Without the correction a
difference is "found" far too often where there is none.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy import stats

from likely.core.checks import InputError
from likely.evaluate.assignment import generator_of
from likely.evaluate.scores import present

BLOCK_ENTRIES = 4_000_000
"""The most counts of rows that are held in memory at once."""


class Comparison(NamedTuple):
    """The difference of two models, and whether it is more than chance."""

    names: tuple[str, str]
    what: str
    """What was compared, such as "loss"."""
    difference: float
    """That of the first model minus that of the second."""
    error: float
    """The standard error of the difference."""
    interval: tuple[float, float]
    coverage: float
    """The probability that the interval holds the true difference."""
    p_value: float
    """The probability of a difference as large as this where there is none."""
    method: str
    larger_is_better: bool = False

    @property
    def shown(self) -> bool:
        """Whether a difference is shown: the p-value is at most 1 − coverage."""
        return bool(self.p_value <= 1 - self.coverage)

    @property
    def verdict(self) -> str:
        """What was found, in a sentence that says so too when nothing was shown."""
        a, b = self.names
        if self.difference == self.error == 0:
            return f"No difference shown between {a} and {b}: their {self.what} is the same."
        side = "larger" if self.difference > 0 else "smaller"
        low, high = self.interval
        numbers = (
            f"the {self.what} of {a} is {side} by {abs(self.difference):.4g} ± "
            f"{self.error:.2g} ({self.coverage:.0%} interval {low:.4g} to {high:.4g}, "
            f"p = {self.p_value:.2g}, {self.method})"
        )
        if not self.shown:
            return f"No difference shown between {a} and {b}: {numbers}."
        better = a if (self.difference > 0) == self.larger_is_better else b
        return f"{better} is better: {numbers}."

    def __str__(self) -> str:
        return self.verdict


def paired_bootstrap(
    a: Any,
    b: Any,
    w: Any = None,
    *,
    coverage: float = 0.95,
    n_resamples: int = 2000,
    names: tuple[str, str] = ("a", "b"),
    random_state: Any = 0,
) -> Comparison:
    """Compare the losses of two models on the same rows, which neither of them saw.

    Args:
        a: (n,) the loss of the first model on each row, such as −log p(y).
        b: (n,) that of the second.
        w: how often each row counts.
        coverage: of the interval; a difference is shown where p is at most 1 − coverage.
        n_resamples: resamples of the rows.
        names: of the two models, for the verdict.
        random_state: seed or NumPy generator.

    Examples:
        >>> a = np.linspace(1, 2, 50)
        >>> round(lk.evaluate.paired_bootstrap(a, a - 0.1).difference, 3)
        0.1
    """
    _check_coverage(coverage)
    gap, w = _gaps(a, b, w)
    total = max(1, round(float(w.sum())))
    if total < 2:
        raise InputError("one row says nothing about chance; give two or more.")
    mean, error = _mean_and_error(w[None], gap)
    found, rng = [], generator_of(random_state)
    at_once = max(1, BLOCK_ENTRIES // len(w))
    for start in range(0, n_resamples, at_once):
        size = min(at_once, n_resamples - start)
        draws = rng.multinomial(total, w / w.sum(), size=size).astype(np.float64)
        again, its_error = _mean_and_error(draws, gap)
        least = 1e-9 * np.abs(gap).max() + 1e-300  # all draws may be one row
        found.append((again - mean) / np.maximum(its_error, least))
    t = np.concatenate(found)
    d, s = float(mean[0]), float(error[0])
    tail = 0.5 * (1 - coverage)
    low, high = d - s * np.quantile(t, [1 - tail, tail])
    reached = np.abs(t) >= (abs(d) / s if s > 0 else np.inf * (d != 0))
    p = (1 + reached.sum()) / (1 + len(t)) if s > 0 else float(d == 0)
    interval = float(low), float(high)
    return Comparison(
        names, "loss", d, s, interval, coverage, float(p), "paired bootstrap"
    )


def corrected_t_test(
    a: Any,
    b: Any,
    *,
    ratio: float | None = None,
    coverage: float = 0.95,
    names: tuple[str, str] = ("a", "b"),
) -> Comparison:
    """Compare two models by their losses on the same folds (Nadeau and Bengio).

    Args:
        a: (k,) the mean loss of the first model on each held-out fold; (r, k) for r
            repetitions of k folds.
        b: that of the second, on the same folds.
        ratio: held-out rows over training rows of a fold; that of k folds, 1/(k − 1),
            unless given.
        coverage: of the interval; a difference is shown where p is at most 1 − coverage.
        names: of the two models, for the verdict.

    Examples:
        >>> a = np.array([1.0, 1.2, 0.9, 1.1, 1.0])
        >>> found = lk.evaluate.corrected_t_test(a, a - np.array([0.1, 0.2, 0.1, 0.2, 0.1]))
        >>> round(found.difference, 2), round(found.p_value, 3)
        (0.14, 0.019)
    """
    _check_coverage(coverage)
    folds = np.asarray(a).shape[-1] if np.ndim(a) else 0
    gap = _gaps(np.ravel(a), np.ravel(b), None)[0]
    k = len(gap)
    if k < 2:
        raise InputError("one fold says nothing about chance; give two or more.")
    if folds < 2 and ratio is None:
        raise InputError(
            f"the losses have shape {np.shape(a)}, with one fold in each repetition; give "
            "ratio, held-out rows over training rows."
        )
    share = 1 / (folds - 1) if ratio is None else float(ratio)
    if not share >= 0:
        raise InputError(f"ratio is {share}; give held-out rows over training rows.")
    d = float(gap.mean())
    s = float(np.sqrt((1 / k + share) * gap.var(ddof=1)))
    half = float(stats.t.ppf(0.5 + 0.5 * coverage, k - 1)) * s
    p = float(2 * stats.t.sf(abs(d) / s, k - 1)) if s > 0 else float(d == 0)
    method = "corrected t-test over folds"
    return Comparison(names, "loss", d, s, (d - half, d + half), coverage, p, method)


def _gaps(a: Any, b: Any, w: Any) -> tuple[np.ndarray, np.ndarray]:
    """The differences of losses of the rows that count; none where both are infinite."""
    a, b, w = present(a, b, w=w)
    if a.shape != b.shape or a.ndim != 1:
        raise InputError(
            f"the losses have shapes {a.shape} and {b.shape}; give one of each model for "
            "the same rows."
        )
    with np.errstate(invalid="ignore"):
        gap = np.where(a == b, 0.0, a - b)
    if not np.isfinite(gap).all():
        row = int(np.argmin(np.isfinite(gap)))
        raise InputError(
            f"the losses of row {row} of those that count are {a[row]} and {b[row]}; an "
            "infinite difference cannot be tested."
        )
    return gap, w


def _mean_and_error(
    w: Float[np.ndarray, "r n"], gap: Float[np.ndarray, " n"]
) -> tuple[np.ndarray, np.ndarray]:
    """The mean and its standard error, for each of r weights of the rows."""
    total = w.sum(1)
    mean = w @ gap / total
    centre = gap.mean()
    square = w @ (gap - centre) ** 2 / total - (mean - centre) ** 2
    return mean, np.sqrt(np.maximum(square, 0.0) / np.maximum(total - 1, 1e-12))


def _check_coverage(coverage: float) -> None:
    if not 0 < coverage < 1:
        raise InputError(f"coverage is {coverage}; give a number between 0 and 1.")
