r"""Bridge sampling: the evidence from draws of the posterior.

With draws of the posterior p/Z and of a normal g that is fitted to some of them,

$$Z = \frac{E_g[h\,p]}{E_{p/Z}[h\,g]}, \qquad h \propto \frac{1}{s_1\, p/Z + s_2\, g}$$

for the h of least error (Meng and Wong), found by iteration: h depends on Z. Half of the
draws fit g, the other half enter the formula. The relative mean squared error counts how
many independent draws the chains are worth. It wins over importance sampling where g has
other tails than p.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from likely.core.checks import InputError
from likely.core.precision import float64
from likely.inference.mcmc.convergence import ess_mean
from likely.inference.mcmc.draws import Draws
from likely.inference.mcmc.target import FlatDensity, log_densities
from likely.inference.variational.gaussian import GaussianApproximation

MAX_ROUNDS = 1000
MAX_ERROR = 0.5
"""Nats of error beyond which an evidence says little."""


@dataclass(frozen=True)
class EvidenceEstimate:
    """The logarithm of an evidence, with its error.

    Attributes:
        log_evidence: log ∫ p(z) dz, in nats.
        error: its standard error, in nats.
        method: how it was found.
        believable: whether nothing speaks against it.
        verdict: the quality in a sentence.
    """

    log_evidence: float
    error: float
    method: str
    believable: bool
    verdict: str

    def __str__(self) -> str:
        return (
            f"log evidence {self.log_evidence:.4f} ± {self.error:.2g} ({self.method}). "
            f"{self.verdict}"
        )

    __repr__ = __str__


def bridge_sampling(
    log_density: Callable[[Any], Any], draws: Draws, *, random_state: Any = 0
) -> EvidenceEstimate:
    """The evidence ∫ exp(log_density) from posterior draws.

    Args:
        log_density: what was drawn from, with every constant: log p(x, z).
        draws: of `nuts`, `hmc` or `metropolis`.
        random_state: the seed of the draws of g.
    """
    chains, n, d = draws.values.shape
    half = n // 2
    known, used = draws.values[:, :half], draws.values[:, half:]
    flat = known.reshape(-1, d)
    if len(flat) <= 2 * d:
        raise InputError(
            f"{draws.n_draws} draws are too few for {d} numbers; draw more."
        )
    C = np.atleast_2d(np.cov(flat.T)) + 1e-12 * np.diag(flat.var(0) + 1e-300)
    g = GaussianApproximation(flat.mean(0), np.linalg.cholesky(C), draws.layout)
    posterior = used.reshape(-1, d)
    proposals = g.sample(len(posterior), random_state)
    density = FlatDensity(log_density, draws.layout)
    with float64():
        at_g = np.asarray(log_densities(density, proposals)) - g.log_prob(proposals)
        at_p = np.asarray(log_densities(density, posterior)) - g.log_prob(posterior)
    weight = float(np.clip(np.nanmin(ess_mean(used)) / len(posterior), 1e-3, 1.0))
    log_z, rounds = _fixed_point(at_p, at_g, weight)
    error = _error(at_p, at_g, log_z, (chains, weight))
    fine = draws.believable and error < MAX_ERROR and rounds < MAX_ROUNDS
    return EvidenceEstimate(
        log_z, error, "bridge sampling", fine, _verdict(draws, error)
    )


def _fixed_point(at_p: np.ndarray, at_g: np.ndarray, weight: float):
    """log Z of the iteration, and its rounds."""
    n_p, n_g = weight * len(at_p), len(at_g)
    log_s = np.log(n_p / (n_p + n_g)), np.log(n_g / (n_p + n_g))
    log_z = float(np.median(at_p))
    for step in range(MAX_ROUNDS):
        above = at_g - np.logaddexp(log_s[0] + at_g, log_s[1] + log_z)
        below = -np.logaddexp(log_s[0] + at_p, log_s[1] + log_z)
        new = np.logaddexp.reduce(above) - np.log(len(at_g))
        new -= np.logaddexp.reduce(below) - np.log(len(at_p))
        if abs(new - log_z) < 1e-10 * (1 + abs(new)):
            return float(new), step
        log_z = float(new)
    return log_z, MAX_ROUNDS


def _error(at_p, at_g, log_z: float, chains: tuple[int, float]) -> float:
    """The relative root mean squared error of Z: of both means, by Frühwirth-Schnatter."""
    m, weight = chains
    n_p, n_g = weight * len(at_p), len(at_g)
    s1, s2 = n_p / (n_p + n_g), n_g / (n_p + n_g)
    f1 = 1 / (s1 + s2 * np.exp(np.clip(log_z - at_g, -700, 700)))
    f2 = 1 / (s2 + s1 * np.exp(np.clip(at_p - log_z, -700, 700)))
    each = f2.reshape(m, -1)
    ess = float(np.nan_to_num(ess_mean(each[..., None])[0], nan=len(at_p)))
    square = f1.var(ddof=1) / f1.mean() ** 2 / n_g
    square += f2.var(ddof=1) / f2.mean() ** 2 / max(ess, 1.0)
    return float(np.sqrt(square))


def _verdict(draws: Draws, error: float) -> str:
    if not draws.believable:
        return f"Do not believe this evidence: {'; '.join(draws.reasons)}."
    if not error < MAX_ERROR:
        return (
            "Do not believe this evidence: the normal bridge overlaps too little with "
            "the posterior; draw more, or change the parameters."
        )
    return "Nothing speaks against it."
