r"""Noise schedules: how much of a row is left after t steps of noise.

$$x_t = \sqrt{1 - β_t}\,x_{t-1} + \sqrt{β_t}\,ε_t, \qquad
x_t = \sqrt{\bar α_t}\,x_0 + \sqrt{1 - \bar α_t}\,ε, \qquad \bar α_t = \prod_{s \le t} (1 - β_s)$$

with standard normal ε. `linear` raises β from 1e-4 to 0.02 (at 1,000 steps); `cosine` lets
$\sqrt{\bar α}$ fall like a cosine, so that less time is spent where all is noise.
"""

import dataclasses
from functools import cached_property
from typing import Any

import numpy as np

from likely.core.checks import InputError, check_choice

SCHEDULES = ("cosine", "linear")
FIRST, LAST, REFERENCE = 1e-4, 0.02, 1000
"""The first and the last β of the linear schedule, at this many steps."""
OFFSET, MAX_BETA = 0.008, 0.999
"""Of the cosine schedule: the noise that it begins with, and its largest β."""


@dataclasses.dataclass(frozen=True)
class NoiseSchedule:
    """The noise of each step.

    Args:
        kind: "cosine" or "linear".
        n_steps: T, the number of steps.
    """

    kind: str = "cosine"
    n_steps: int = REFERENCE

    def __post_init__(self):
        check_choice("schedule", self.kind, SCHEDULES)
        if self.n_steps < 2:
            raise InputError(f"n_steps is {self.n_steps}; give 2 or more.")

    @cached_property
    def beta(self) -> np.ndarray:
        """(T,) β_1 ... β_T, increasing."""
        T = self.n_steps
        if self.kind == "linear":
            factor = REFERENCE / T
            return np.minimum(np.linspace(factor * FIRST, factor * LAST, T), MAX_BETA)
        t = np.arange(T + 1) / T
        left = np.cos((t + OFFSET) / (1 + OFFSET) * np.pi / 2) ** 2
        return np.minimum(1 - left[1:] / left[:-1], MAX_BETA)

    @cached_property
    def alpha_bar(self) -> np.ndarray:
        """(T + 1,) the share of the variance that is the row's: 1 at t = 0, about 0 at T."""
        return np.concatenate([[1.0], np.cumprod(1 - self.beta)])

    @cached_property
    def signal(self) -> np.ndarray:
        """(T + 1,) the factor of x_0."""
        return np.sqrt(self.alpha_bar)

    @cached_property
    def noise(self) -> np.ndarray:
        """(T + 1,) the factor of ε."""
        share = -np.expm1(np.cumsum(np.log1p(-self.beta)))
        return np.sqrt(np.concatenate([[0.0], share]))

    def times(self, n_steps: int) -> np.ndarray:
        """(n_steps + 1,) some of the times from T to 0, evenly spaced, for a shorter way back."""
        if not 1 <= n_steps <= self.n_steps:
            raise InputError(
                f"n_steps is {n_steps}; give a number from 1 to {self.n_steps}, the steps of "
                "the fit."
            )
        return np.round(np.linspace(self.n_steps, 0, n_steps + 1)).astype(int)


def posterior(schedule: NoiseSchedule, t: Any, s: Any) -> tuple[Any, Any, Any]:
    r"""$q(x_s \mid x_t, x_0) = N(a\,x_0 + b\,x_t,\ \tilde β)$ for times s < t: a, b and β̃.

    $$a = \frac{\sqrt{\bar α_s}\,β}{1 - \bar α_t}, \quad
    b = \sqrt{\frac{\bar α_t}{\bar α_s}}\,\frac{1 - \bar α_s}{1 - \bar α_t}, \quad
    \tilde β = β\,\frac{1 - \bar α_s}{1 - \bar α_t}, \quad β = 1 - \frac{\bar α_t}{\bar α_s}$$

    Args:
        schedule: the noise.
        t: later times, whole numbers.
        s: earlier ones, down to 0.
    """
    signal, noise = schedule.signal, schedule.noise**2
    ratio = signal[t] / signal[s]
    beta = noise[t] - ratio**2 * noise[s]  # 1 - ratio², without its cancellation
    a = signal[s] * beta / noise[t]
    b = ratio * noise[s] / noise[t]
    return a, b, beta * noise[s] / noise[t]
