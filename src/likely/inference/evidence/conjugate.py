r"""Conjugate models: posterior, evidence and prediction by formula.

    BetaBernoulli          y ∈ {0, 1}      θ ~ Beta(a, b)
    GammaPoisson           y ∈ {0, 1, …}   λ ~ Gamma(shape a, rate b)
    DirichletMultinomial   counts          π ~ Dirichlet(α)

The evidence is a ratio of the constants of prior and posterior, for instance

$$\log p(y) = \log B(a + s, b + n - s) - \log B(a, b), \qquad
  s = \sum_i w_i y_i,\; n = \sum_i w_i.$$

`update` gives the model with the posterior in the place of the prior, so that
p(y₁, y₂) = p(y₁) p(y₂ | y₁) whatever the order.
"""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float
from scipy.special import betaln, gammaln

from likely.core.checks import InputError, check_finite, check_weights


def positive(value: Any) -> float:
    """A parameter of a prior, which has to be above zero."""
    if not float(value) > 0:
        raise InputError(f"a parameter of the prior is {value}; give a number above 0.")
    return float(value)


class AbstractConjugate(eqx.Module):
    """A prior whose posterior has the same form."""

    @abstractmethod
    def update(self, y: Any, sample_weight: Any = None) -> "AbstractConjugate":
        """The model after observations: the posterior in the place of the prior."""

    @abstractmethod
    def log_evidence(self, y: Any, sample_weight: Any = None) -> float:
        """log p(y), the parameter integrated out, in nats."""


def _counted(y: Any, sample_weight: Any, *, most: Any = np.inf):
    """Whole numbers that count, and their weights."""
    y = np.asarray(y, float)
    w = check_weights(sample_weight, len(y))
    check_finite("y", y, w)
    y, w = y[w > 0], w[w > 0]
    bad = (y < 0) | (y > most) | (y != np.floor(y))
    if bad.any():
        kind = "0 or 1" if most == 1 else "counts (0, 1, 2, ...)"
        raise InputError(f"y has {y[bad].flat[0]:g}; give {kind}.")
    return y, w


class BetaBernoulli(AbstractConjugate):
    """Coin flips whose probability has a Beta(a, b) prior.

    Examples:
        >>> posterior = lk.inference.BetaBernoulli(1.0, 1.0).update(np.array([1, 1, 0]))
        >>> print(posterior)
        BetaBernoulli(a=3.0, b=2.0)
    """

    a: float = eqx.field(default=1.0, converter=positive)
    b: float = eqx.field(default=1.0, converter=positive)

    def update(self, y: Any, sample_weight: Any = None) -> "BetaBernoulli":
        """Beta(a + Σwy, b + Σw(1 − y))."""
        y, w = _counted(y, sample_weight, most=1)
        return BetaBernoulli(self.a + float(w @ y), self.b + float(w @ (1 - y)))

    def log_evidence(self, y: Any, sample_weight: Any = None) -> float:
        """log B(posterior) − log B(prior)."""
        after = self.update(y, sample_weight)
        return float(betaln(after.a, after.b) - betaln(self.a, self.b))

    @property
    def predictive(self) -> float:
        """P(y = 1) of the next observation, a/(a + b)."""
        return self.a / (self.a + self.b)


class GammaPoisson(AbstractConjugate):
    """Counts whose rate has a Gamma(shape a, rate b) prior.

    Examples:
        >>> print(lk.inference.GammaPoisson(1.0, 1.0).update(np.array([2, 3, 4])))
        GammaPoisson(a=10.0, b=4.0)
    """

    a: float = eqx.field(default=1.0, converter=positive)
    b: float = eqx.field(default=1.0, converter=positive)

    def update(self, y: Any, sample_weight: Any = None) -> "GammaPoisson":
        """Gamma(a + Σwy, b + Σw)."""
        y, w = _counted(y, sample_weight)
        return GammaPoisson(self.a + float(w @ y), self.b + float(w.sum()))

    def log_evidence(self, y: Any, sample_weight: Any = None) -> float:
        """The constants of prior and posterior, and Σ w log y!."""
        y, w = _counted(y, sample_weight)
        after = self.update(y, w)
        found = gammaln(after.a) - after.a * np.log(after.b)
        found -= gammaln(self.a) - self.a * np.log(self.b)
        return float(found - w @ gammaln(y + 1))

    @property
    def predictive(self) -> tuple[float, float]:
        """The next count is negative binomial: r = a, and success probability b/(1 + b)."""
        return self.a, self.b / (1 + self.b)


class DirichletMultinomial(AbstractConjugate):
    """Classes whose probabilities have a Dirichlet(α) prior.

    Args:
        alpha: (c,) α.

    Examples:
        >>> lk.inference.DirichletMultinomial(np.ones(3)).update(np.array([0, 0, 2])).alpha
        array([3., 1., 2.])
    """

    alpha: Float[np.ndarray, " c"] = eqx.field(converter=lambda a: np.asarray(a, float))

    def update(self, y: Any, sample_weight: Any = None) -> "DirichletMultinomial":
        """Dirichlet(α + counts); y are (n,) class numbers."""
        return DirichletMultinomial(self.alpha + self._counts(y, sample_weight))

    def log_evidence(self, y: Any, sample_weight: Any = None) -> float:
        """log p of the sequence of classes (not of their counts alone)."""
        counts = self._counts(y, sample_weight)
        total = gammaln(self.alpha.sum()) - gammaln((self.alpha + counts).sum())
        return float(total + (gammaln(self.alpha + counts) - gammaln(self.alpha)).sum())

    @property
    def predictive(self) -> Float[np.ndarray, " c"]:
        """The probabilities of the next class, α/Σα."""
        return self.alpha / self.alpha.sum()

    def _counts(self, y: Any, sample_weight: Any) -> np.ndarray:
        c = len(self.alpha)
        y, w = _counted(y, sample_weight, most=np.inf)
        if len(y) and y.max() >= c:
            raise InputError(f"y has class {y.max():g}; alpha has {c} classes, from 0.")
        return np.bincount(y.astype(int), w, minlength=c)
