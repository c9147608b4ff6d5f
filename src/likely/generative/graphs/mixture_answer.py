"""The distribution of continuous variables of a network, given evidence: a mixture of normals."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, logsumexp, ndtr

from likely.core.checks import InputError
from likely.core.random import seed_of
from likely.preprocess.codec.column_code import ColumnCode
from likely.probability import Table

N_NODES = 64
"""Points of the quadrature for means of columns that were modelled by their logarithm."""


@dataclass(frozen=True)
class MixtureAnswer:
    r"""What a network says about some variables: $p(x) = \sum_k π_k N(v(x); μ_k, Σ_k) |dv/dx|$.

    v are the numbers as the network sees them: scaled, positive ones by a logarithm.
    """

    codes: tuple[ColumnCode, ...]
    """The continuous variables."""
    weights: np.ndarray
    """(k,) π."""
    means: np.ndarray
    """(k, m) μ."""
    covariances: np.ndarray
    """(k, m, m) Σ."""
    table: Table | None = None
    """The probabilities of the discrete variables that were asked for too."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of the continuous variables."""
        return tuple(code.name for code in self.codes)

    def mean(self, name: str | None = None) -> float:
        """The mean of a variable, in its own units."""
        return self._expectation(name, lambda x: x)

    def std(self, name: str | None = None) -> float:
        """The standard deviation of a variable, in its own units."""
        middle = self.mean(name)
        return float(np.sqrt(self._expectation(name, lambda x: (x - middle) ** 2)))

    def covariance(self) -> np.ndarray:
        """(m, m) the covariance of the variables as the network sees them."""
        middle = self.weights @ self.means
        gaps = self.means - middle
        between = np.einsum("k,ki,kj->ij", self.weights, gaps, gaps)
        return np.einsum("k,kij->ij", self.weights, self.covariances) + between

    def cdf(self, x: Any, name: str | None = None) -> np.ndarray:
        """P(variable ≤ x)."""
        j = self._number(name)
        v = self.codes[j].encoded(np.asarray(x, np.float64))
        z = (v[..., None] - self.means[:, j]) / self._scales(j)
        return ndtr(z) @ self.weights

    def log_prob(self, x: Any, name: str | None = None) -> np.ndarray:
        """The log density at x, in nats; of whole numbers the log probability."""
        j = self._number(name)
        code, s = self.codes[j], self._scales(j)
        v = code.encoded(np.asarray(x, np.float64))
        z = (v[..., None] - self.means[:, j]) / s
        with np.errstate(divide="ignore"):
            logs = (
                np.log(self.weights) - 0.5 * z**2 - np.log(s) - 0.5 * np.log(2 * np.pi)
            )
        units = np.log(code.step) if code.kind == "whole" else code.log_slope(v)
        return np.asarray(logsumexp(logs, axis=-1)) + units

    def quantile(self, q: float | int, name: str | None = None) -> float:
        """The value that is not exceeded with probability q."""
        if not 0 < q < 1:
            raise InputError(f"q is {q}; give a probability between 0 and 1.")
        j = self._number(name)
        means, s = self.means[:, j], self._scales(j)

        def gap(v: float) -> float:
            side = 1.0 if q < 0.5 else -1.0
            target = np.log(q if q < 0.5 else 1 - q)
            with np.errstate(divide="ignore"):
                logs = np.log(self.weights) + log_ndtr(side * (v - means) / s)
            return side * (float(np.asarray(logsumexp(logs))) - target)

        low, high = (means - 40 * s).min(), (means + 40 * s).max()
        v = brentq(gap, low, high, xtol=1e-14)
        return float(self.codes[j].decoded(np.array([v]))[0])

    def interval(
        self, coverage: float | int = 0.9, name: str | None = None
    ) -> tuple[float, float]:
        """The central interval of a variable."""
        tail = (1 - coverage) / 2
        return self.quantile(tail, name), self.quantile(1 - tail, name)

    def sample(self, n: int = 1, *, random_state: Any = None) -> dict[str, np.ndarray]:
        """n joint draws of the continuous variables, by name."""
        rng = np.random.default_rng(seed_of(random_state))
        k = rng.choice(len(self.weights), n, p=self.weights)
        roots = np.linalg.cholesky(self.covariances)
        noise = rng.normal(size=(n, len(self.codes)))
        V = self.means[k] + (roots[k] @ noise[..., None])[..., 0]
        return {c.name: c.decoded(v) for c, v in zip(self.codes, V.T, strict=True)}

    def __repr__(self) -> str:
        lines = []
        for name in self.names:
            low, high = self.interval(0.9, name)
            spread = f"{self.mean(name):.4g} ± {self.std(name):.3g}"
            lines.append(f"{name}: {spread}, 90 % in {low:.4g} to {high:.4g}")
        return "\n".join([*lines, *([] if self.table is None else [repr(self.table)])])

    def _number(self, name: str | None) -> int:
        if name is None and len(self.codes) == 1:
            return 0
        if name not in self.names:
            raise InputError(f"name is {name!r}; give one of {', '.join(self.names)}.")
        return self.names.index(name)

    def _scales(self, j: int) -> np.ndarray:
        return np.sqrt(self.covariances[:, j, j])

    def _expectation(self, name: str | None, g: Any) -> float:
        """E[g(x)]: exact where x is linear in v and g a polynomial, else by quadrature."""
        j = self._number(name)
        z, weights = np.polynomial.hermite_e.hermegauss(N_NODES)
        v = self.means[:, j, None] + self._scales(j)[:, None] * z
        code = self.codes[j]
        x = v * code.scale + code.center if code.softness is None else code.decoded(v)
        return float(self.weights @ g(x) @ weights / weights.sum())
