r"""Bounds on the loss of first-order methods, above its minimum, after t steps.

With $D = \lVert φ_0 - φ^*\rVert$, $κ = L/μ$ and $Δ_t = f(φ_t) - f^*$:

- gradient descent, η = 1/L, convex: $Δ_t \le \frac{2L D^2}{t+1}$, and sharply $\frac{L
  D^2}{4t+2}$ (Drori and Teboulle 2014), which a function exists for at each t;
- strongly convex: $Δ_t \le (1 - μ/L)^t\,Δ_0$, and sharply $\max(|1-ημ|, |1-ηL|)^{2t}\,Δ_0$ for
  any η < 2/L (Taylor, Hendrickx and Glineur 2018);
- momentum on a quadratic, $η = 4/(\sqrt L+\sqrt μ)^2$, $β = \bigl(\frac{\sqrt κ-1}{\sqrt
  κ+1}\bigr)^2$: $Δ_t \le β^t\,(1 + t(1+\sqrt β))^2\,Δ_0$, from $φ_t - φ^* = p_t(H)(φ_0 - φ^*)$
  with $|p_t| \le β^{t/2}\,|\cos tϑ + (\cos ϑ-\sqrt β)\sin tϑ/\sin ϑ|$;
- momentum on any convex loss, η = (1 − β)/L: the mean of $φ_0, …, φ_t$ is above the minimum by at
  most $\bigl(\frac{(1-β)D^2}{2η} + \frac{β}{1-β}Δ_0\bigr)/(t+1)$ (Ghadimi, Feyzmahdavian and
  Johansson 2015);
- Nesterov's rule with growing momentum, η = 1/L: $Δ_t \le \frac{2L D^2}{(t+1)^2}$;
- with $γ = \frac{\sqrt κ-1}{\sqrt κ+1}$: $Δ_t \le (1 - 1/\sqrt κ)^t\,(Δ_0 + \tfrac μ2 D^2)$.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from likely.diagnostics.rates.constants import Constants


class Start(NamedTuple):
    """What the bounds know of the start."""

    distance: float
    """D, to the nearest minimum."""
    excess: float
    """Δ₀, the loss above its minimum."""


def convex(c: Constants, s: Start, t: Float[np.ndarray, " t"]) -> np.ndarray:
    """2LD²/(t + 1)."""
    return 2 * c.L * s.distance**2 / (t + 1)


def sharp_convex(c: Constants, s: Start, t: Float[np.ndarray, " t"]) -> np.ndarray:
    """LD²/(4t + 2)."""
    return c.L * s.distance**2 / (4 * t + 2)


def strongly_convex(c: Constants, s: Start, t: Float[np.ndarray, " t"]) -> np.ndarray:
    """(1 − μ/L)ᵗ Δ₀."""
    return (1 - c.mu / c.L) ** t * s.excess


def sharp_strongly_convex(
    c: Constants, s: Start, t: Float[np.ndarray, " t"]
) -> np.ndarray:
    """(1 − μ/L)²ᵗ Δ₀, for η = 1/L."""
    return (1 - c.mu / c.L) ** (2 * t) * s.excess


def quadratic_momentum(
    c: Constants, s: Start, t: Float[np.ndarray, " t"]
) -> np.ndarray:
    """βᵗ(1 + t(1 + √β))² Δ₀."""
    beta = momentum_of(c)[1]
    return beta**t * (1 + t * (1 + np.sqrt(beta))) ** 2 * s.excess


def averaged_momentum(c: Constants, s: Start, t: Float[np.ndarray, " t"]) -> np.ndarray:
    """(LD²/2 + β/(1 − β) Δ₀)/(t + 1), for η = (1 − β)/L."""
    beta = SAFE_DECAY
    return (0.5 * c.L * s.distance**2 + beta / (1 - beta) * s.excess) / (t + 1)


def accelerated(c: Constants, s: Start, t: Float[np.ndarray, " t"]) -> np.ndarray:
    """2LD²/(t + 1)²."""
    return 2 * c.L * s.distance**2 / (t + 1) ** 2


def accelerated_strongly_convex(
    c: Constants, s: Start, t: Float[np.ndarray, " t"]
) -> np.ndarray:
    """(1 − √(μ/L))ᵗ (Δ₀ + μD²/2)."""
    factor = 1 - np.sqrt(c.mu / c.L)
    return factor**t * (s.excess + 0.5 * c.mu * s.distance**2)


SAFE_DECAY = 0.9
"""The momentum that goes with η = (1 − β)/L where the loss is not quadratic."""


def momentum_of(c: Constants) -> tuple[float, float]:
    """(η, β) of momentum that are best on quadratics with these constants."""
    low, high = np.sqrt(c.mu), np.sqrt(c.L)
    return 4 / (low + high) ** 2, float(((high - low) / (high + low)) ** 2)
