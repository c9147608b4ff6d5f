"""Draws from a posterior: what they say, and whether to believe them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, PyTree

from likely.core.checks import InputError, check_choice
from likely.inference.mcmc import convergence
from likely.inference.mcmc.table import DrawsTable, verdict_of
from likely.inference.mcmc.target import Layout

PICTURES = {
    "trace": "chain_traces",
    "rank": "rank_histograms",
    "intervals": "posterior_intervals",
}


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws of d numbers from several chains, with their diagnostics.

    Attributes:
        values: (chains, draws, d) the draws.
        log_density: (chains, draws) log p of each, up to the constant of the target.
        layout: the structure and names of the d numbers.
        method: the sampler, in words.
        acceptance: (chains,) mean acceptance probability, or None for independent draws.
        divergent: (chains, draws) whether the simulated path left the level of its energy,
            which says that the step is too long for a narrow part of the distribution.
        saturated: (chains, draws) whether a path of NUTS reached its longest length.
        pareto_k: of the importance weights, where an approximation was drawn from.
        notes: sentences about the target that the verdict begins with.
    """

    values: Float[np.ndarray, "chains draws d"]
    log_density: Float[np.ndarray, "chains draws"]
    layout: Layout
    method: str
    acceptance: Float[np.ndarray, " chains"] | None = None
    divergent: np.ndarray | None = None
    saturated: np.ndarray | None = None
    pareto_k: float | None = None
    notes: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the d numbers."""
        return self.layout.names

    @property
    def tree(self) -> PyTree:
        """The draws in the structure of the start, leading axes chains and draws."""
        return self.layout.tree(self.values)

    @property
    def flat(self) -> Float[np.ndarray, "all d"]:
        """The draws of all chains, one after the other."""
        return self.values.reshape(-1, self.values.shape[-1])

    @property
    def n_chains(self) -> int:
        """The number of chains."""
        return self.values.shape[0]

    @property
    def n_draws(self) -> int:
        """The number of draws of all chains together."""
        return self.values.shape[0] * self.values.shape[1]

    # Estimates -------------------------------------------------------------------------

    @cached_property
    def mean(self) -> Float[np.ndarray, " d"]:
        """The posterior means."""
        return self.flat.mean(0)

    @cached_property
    def std(self) -> Float[np.ndarray, " d"]:
        """The posterior standard deviations."""
        return self.flat.std(0, ddof=1)

    @property
    def covariance(self) -> Float[np.ndarray, "d d"]:
        """The posterior covariance."""
        return np.atleast_2d(np.cov(self.flat.T))

    def quantile(self, q: Any) -> np.ndarray:
        """Posterior quantiles, (..., d)."""
        return np.quantile(self.flat, q, axis=0)

    def interval(self, coverage: float = 0.9) -> Float[np.ndarray, "d 2"]:
        """Central posterior intervals."""
        if not 0 < coverage < 1:
            raise InputError(f"coverage is {coverage}; give a number between 0 and 1.")
        return self.quantile([(1 - coverage) / 2, (1 + coverage) / 2]).T

    # Diagnostics -----------------------------------------------------------------------

    @cached_property
    def r_hat(self) -> Float[np.ndarray, " d"]:
        """R̂ of rank-normalised split chains: 1 where chains agree."""
        return convergence.r_hat(self.values)

    @cached_property
    def ess_bulk(self) -> Float[np.ndarray, " d"]:
        """The effective number of draws for the middle of the distribution."""
        return convergence.ess_bulk(self.values)

    @cached_property
    def ess_tail(self) -> Float[np.ndarray, " d"]:
        """The effective number of draws for the 5 % and 95 % quantiles."""
        return convergence.ess_tail(self.values)

    @cached_property
    def mcse(self) -> Float[np.ndarray, " d"]:
        """The Monte Carlo standard errors of the means."""
        return convergence.mcse(self.values)

    @property
    def n_divergent(self) -> int:
        """How many paths diverged after the warm-up."""
        return 0 if self.divergent is None else int(np.sum(self.divergent))

    @cached_property
    def reasons(self) -> tuple[str, ...]:
        """Why not to believe the draws; none where all diagnostics are in order."""
        return verdict_of(self)

    @property
    def believable(self) -> bool:
        """Whether no diagnostic speaks against the draws."""
        return not self.reasons

    @property
    def verdict(self) -> str:
        """The diagnostics in a sentence."""
        if self.reasons:
            return f"Do not believe these draws yet: {'; '.join(self.reasons)}."
        worst, least = np.max(self.r_hat), np.min([self.ess_bulk, self.ess_tail])
        return (
            f"Nothing speaks against these draws: R̂ is at most {worst:.3f}, and they "
            f"are worth at least {least:.0f} independent ones."
        )

    def summary(self, coverage: float = 0.9) -> DrawsTable:
        """The table of means, errors, intervals and diagnostics."""
        return DrawsTable.of(self, coverage)

    def __str__(self) -> str:
        return str(self.summary())

    def __repr__(self) -> str:
        return f"Draws of {len(self.names)} numbers by {self.method}\n{self}"

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    def plot(self, kind: str = "trace", **options: Any) -> Any:
        """The picture of the draws.

        Args:
            kind: "trace", "rank" or "intervals".
            options: of the picture, such as `names`.
        """
        check_choice("kind", kind, PICTURES)
        from likely import plots

        return getattr(plots, PICTURES[kind])(self, **options)
