r"""The normal linear model with a normal prior: posterior and evidence by formula.

$y = Xb + ε$, $ε_i \sim N(0, σ^2/w_i)$ with $b \sim N(m_0, Λ_0^{-1})$ and σ known, or with
$b \mid σ^2 \sim N(m_0, σ^2 Λ_0^{-1})$, $1/σ^2 \sim \mathrm{Gamma}(a_0, b_0)$ where it is
not. The posterior has the same form with

$$Λ_n = X^\top W X + Λ_0, \qquad m_n = Λ_n^{-1}(Λ_0 m_0 + X^\top W y)$$

(both X terms divided by σ² where it is known), and the evidence is what remains of the
constants. A weight is a count: w = 2 is "this row twice".
"""

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float
from scipy.special import gammaln

from likely.core.checks import InputError, check_finite, check_weights
from likely.inference.evidence.conjugate import AbstractConjugate, positive
from likely.inference.variational.gaussian import LOG_2PI


def _vector(value: Any) -> np.ndarray:
    return np.atleast_1d(np.asarray(value, float))


def _matrix(value: Any) -> np.ndarray:
    return np.atleast_2d(np.asarray(value, float))


def _maybe(value: Any) -> float | None:
    return None if value is None else positive(value)


class NormalLinearModel(AbstractConjugate):
    """y = Xb + ε with a normal prior of b.

    Args:
        mean: (p,) m₀.
        precision: (p, p) Λ₀, in units of 1/σ² where σ is unknown.
        scale: σ, or None where it is unknown.
        shape: a₀ of 1/σ².
        rate: b₀ of 1/σ².
    """

    mean: Float[np.ndarray, " p"] = eqx.field(converter=_vector)
    precision: Float[np.ndarray, "p p"] = eqx.field(converter=_matrix)
    scale: float | None = eqx.field(default=None, converter=_maybe)
    shape: float = eqx.field(default=1.0, converter=positive)
    rate: float = eqx.field(default=1.0, converter=positive)

    def update(self, rows: Any, sample_weight: Any = None) -> "NormalLinearModel":
        """The model after observations.

        Args:
            rows: a pair (X, y), (n, p) and (n,).
            sample_weight: how often each row counts.
        """
        return self._posterior(*self._moments(rows, sample_weight))

    def log_evidence(self, rows: Any, sample_weight: Any = None) -> float:
        """log p(y | X), coefficients (and σ) integrated out.

        Args:
            rows: a pair (X, y), (n, p) and (n,).
            sample_weight: how often each row counts.
        """
        G, c, square, n = self._moments(rows, sample_weight)
        after = self._posterior(G, c, square, n)
        log_dets = np.linalg.slogdet(self.precision)[1]
        log_dets -= np.linalg.slogdet(after.precision)[1]
        if self.scale is not None:
            excess = square / self.scale**2 + self._square(self) - self._square(after)
            constant = n * (LOG_2PI + 2 * np.log(self.scale))
            return float(0.5 * (log_dets - constant - excess))
        found = gammaln(after.shape) - gammaln(self.shape) - 0.5 * n * LOG_2PI
        found += self.shape * np.log(self.rate) - after.shape * np.log(after.rate)
        return float(found + 0.5 * log_dets)

    @property
    def covariance(self) -> Float[np.ndarray, "p p"]:
        """The covariance of b (where σ is unknown: with σ² at its mean, if it has one)."""
        unit = 1.0
        if self.scale is None:
            unit = self.rate / (self.shape - 1) if self.shape > 1 else np.inf
        return unit * np.linalg.inv(self.precision)

    @staticmethod
    def _square(model: "NormalLinearModel") -> float:
        return float(model.mean @ model.precision @ model.mean)

    def _posterior(self, G, c, square: float, n: float) -> "NormalLinearModel":
        unit = 1.0 if self.scale is None else self.scale**-2
        P = self.precision + unit * G
        m = np.linalg.solve(P, self.precision @ self.mean + unit * c)
        if self.scale is not None:
            return NormalLinearModel(m, P, self.scale)
        excess = square + self._square(self) - float(m @ P @ m)
        return NormalLinearModel(
            m, P, None, self.shape + 0.5 * n, self.rate + 0.5 * max(excess, 0.0)
        )

    def _moments(self, rows: Any, sample_weight: Any):
        X, y = (np.asarray(a, float) for a in rows)
        p = len(self.mean)
        if X.ndim != 2 or X.shape[1] != p or y.shape != X.shape[:1]:
            raise InputError(
                f"X has shape {X.shape} and y {y.shape}; give (n, {p}) and (n,)."
            )
        w = check_weights(sample_weight, len(y))
        check_finite("X", X, w)
        check_finite("y", y, w)
        X, y, w = X[w > 0], y[w > 0], w[w > 0]
        return (X * w[:, None]).T @ X, X.T @ (w * y), float(w @ y**2), float(w.sum())
