r"""Importance sampling: draws of one distribution, weighted as draws of another.

With $z_i \sim q$ and $w_i = p(z_i)/q(z_i)$, p known up to a constant,

$$E_p f \approx \frac{\sum_i w_i f(z_i)}{\sum_i w_i}, \qquad
  \int p \approx \frac1n \sum_i w_i, \qquad
  \mathrm{ESS} = \frac{(\sum_i w_i)^2}{\sum_i w_i^2}.$$

It works only where q has tails as heavy as those of p; Pareto's k̂ of the weights says
whether. Weights are smoothed (`pareto_smooth`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.core.precision import float64
from likely.inference.evidence.pareto import is_trusted, pareto_smooth
from likely.inference.mcmc.target import FlatDensity, Layout, log_densities

MIN_ESS = 100


@dataclass(frozen=True, eq=False)
class WeightedDraws:
    """Draws of an approximation with importance weights.

    Attributes:
        values: (n, d) draws of q.
        log_weights: (n,) smoothed, with sum one.
        log_ratios: (n,) log p − log q as they are.
        pareto_k: k̂.
        layout: the structure and names of the d numbers.
    """

    values: Float[np.ndarray, "n d"]
    log_weights: Float[np.ndarray, " n"]
    log_ratios: Float[np.ndarray, " n"]
    pareto_k: float
    layout: Layout

    @property
    def weights(self) -> Float[np.ndarray, " n"]:
        """The weights, with sum one."""
        return np.exp(self.log_weights)

    @property
    def ess(self) -> float:
        """The effective number of draws, 1/Σw²."""
        return float(1 / (self.weights**2).sum())

    @property
    def share(self) -> float:
        """The effective share of the draws."""
        return self.ess / len(self.log_weights)

    @cached_property
    def mean(self) -> Float[np.ndarray, " d"]:
        """The weighted means."""
        return self.weights @ self.values

    @property
    def std(self) -> Float[np.ndarray, " d"]:
        """The weighted standard deviations."""
        return np.sqrt(self.weights @ (self.values - self.mean) ** 2)

    @property
    def log_evidence(self) -> float:
        """The logarithm of ∫ p, from the unsmoothed weights."""
        n = len(self.log_ratios)
        return float(np.logaddexp.reduce(self.log_ratios) - np.log(n))

    @property
    def log_evidence_error(self) -> float:
        """The standard error of `log_evidence`; not to be believed where k̂ is large."""
        ratios = np.exp(self.log_ratios - self.log_ratios.max())
        return float(ratios.std(ddof=1) / ratios.mean() / np.sqrt(len(ratios)))

    @property
    def believable(self) -> bool:
        """Whether the weights can be trusted."""
        return is_trusted(self.pareto_k, self.share) and self.ess >= MIN_ESS

    @property
    def verdict(self) -> str:
        """The quality of the weights in a sentence."""
        facts = (
            f"Pareto k̂ is {self.pareto_k:.2f} and {self.ess:.0f} of "
            f"{len(self.values)} draws are effective"
        )
        if self.believable:
            return f"Nothing speaks against these weights: {facts}."
        return (
            f"Do not believe these weights: {facts}; the approximation misses a part of "
            "the distribution. Use a wider one, or nuts."
        )

    def resample(self, n: int, random_state: Any = 0) -> Float[np.ndarray, "n d"]:
        """Draws of equal weight, taken with replacement."""
        rng = np.random.default_rng(random_state)
        rows = rng.choice(len(self.values), n, p=self.weights / self.weights.sum())
        return self.values[rows]


def importance_sampling(
    log_density: Callable[[Any], Any],
    approximation: Any,
    *,
    draws: int = 4000,
    random_state: Any = 0,
) -> WeightedDraws:
    """Weighted draws of exp(log_density) from an approximation of it.

    Args:
        log_density: from a tree, structured as the approximation says, to log p up to a
            constant.
        approximation: with `sample(n, random_state)`, `log_prob(Z)` and `layout`: what
            `laplace` and `advi` find, or your own.
        draws: how many.
        random_state: the seed.
    """
    Z = approximation.sample(draws, random_state)
    density = FlatDensity(log_density, approximation.layout)
    with float64():
        log_p = np.asarray(log_densities(density, Z))
    return weighted_draws(Z, log_p - approximation.log_prob(Z), approximation.layout)


def weighted_draws(
    Z: np.ndarray, log_ratios: np.ndarray, layout: Layout
) -> WeightedDraws:
    """Draws with the weights that their log-ratios give."""
    log_ratios = np.where(np.isnan(log_ratios), -np.inf, log_ratios)
    if not np.isfinite(log_ratios).any():
        raise InputError("the density is zero at all draws of the approximation.")
    log_weights, k = pareto_smooth(log_ratios)
    return WeightedDraws(Z, log_weights, log_ratios, k, layout)
