"""What a study of batch norm found: four measures, each with and without it."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy import stats

from likely.diagnostics.result import Result
from likely.evaluate.scores import Score

LEVEL = 0.95
"""The confidence at which a difference is called shown, by Student's t over seeds."""


class Pair(NamedTuple):
    """A quantity of the plain network and of the one with batch norm, over seeds."""

    plain: Score
    normed: Score
    difference: Score
    """Plain less normed, seed by seed."""
    n_seeds: int

    @classmethod
    def of(cls, plain: Any, normed: Any) -> "Pair":
        """From the values of each seed."""
        plain, normed = np.asarray(plain, float), np.asarray(normed, float)
        with np.errstate(invalid="ignore"):
            gap = over_seeds(plain - normed)
        return cls(over_seeds(plain), over_seeds(normed), gap, len(plain))

    @property
    def shown(self) -> bool:
        """Whether the two differ by more than chance."""
        return is_shown(self.difference, self.n_seeds)


def is_shown(difference: Score, n_seeds: int) -> bool:
    """Whether a mean over seeds differs from 0 by more than chance, by Student's t."""
    critical = stats.t.ppf(0.5 + 0.5 * LEVEL, n_seeds - 1)
    return bool(abs(difference.value) > critical * difference.error)


def over_seeds(values: Float[np.ndarray, " s"]) -> Score:
    """The mean over seeds, and its standard error."""
    values = np.asarray(values, float)
    if not np.isfinite(values).all():  # of trainings that diverged
        return Score(float("inf"), float("nan"))
    return Score(float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))))


class Invariance(NamedTuple):
    """Inputs multiplied and shifted by constants."""

    scale: float
    shift: float
    outputs: Pair
    """The change of the outputs before training, relative to their spread over rows."""
    loss: Pair
    """The training loss reached from the changed inputs less that from the original ones."""


class RateRange(NamedTuple):
    """Training losses over learning rates."""

    rates: Float[np.ndarray, " r"]
    plain: Float[np.ndarray, "r s"]
    """The training loss of each seed at the end; infinite where training diverged."""
    normed: Float[np.ndarray, "r s"]
    target: float
    """The loss that a usable rate has to reach: half the way from a constant prediction to the
    lowest loss of all."""
    decades: Pair
    """How many powers of ten the usable rates extend over."""
    highest: Pair
    """The decimal logarithm of the highest usable rate."""


class SmoothnessPair(NamedTuple):
    """Of the loss along its gradient during training: decimal logarithms, means over steps."""

    rate: float
    forecast_error: Pair
    gradient_change: Pair
    beta: Pair


class Noise(NamedTuple):
    """How outputs depend on the other rows of a minibatch, and whether that regularises."""

    sizes: np.ndarray
    spread: Float[np.ndarray, " b"]
    """With batch norm: the spread of a row's output over minibatches, relative to that over
    rows; without batch norm it is 0."""
    spread_error: Float[np.ndarray, " b"]
    slope: Score
    """Of log spread over log size; −½ for means of independent rows."""
    gap: Pair
    """Validation less training loss, without batch norm and with."""
    gap_exact: Score
    """The same with batch norm whose statistics are those of all rows, so without noise."""
    effect: Score
    """The gap without noise less the gap with it, seed by seed."""
    validation_effect: Score
    """The validation loss without noise less that with it, seed by seed."""


@dataclass(frozen=True, repr=False, eq=False)
class BatchNormStudy(Result):
    """What batch norm buys a network on these rows."""

    invariance: Invariance
    rates: RateRange
    smoothness: SmoothnessPair
    noise: Noise
    n_seeds: int

    @property
    def verdict(self) -> str:
        """A sentence for each of the four measures."""
        return " ".join([
            self._invariant(), self._usable(), self._smooth(), self._regular()
        ])  # fmt: skip

    def _invariant(self) -> str:
        found = self.invariance
        return (
            f"Inputs times {found.scale:g} plus {found.shift:g} change the outputs by "
            f"{100 * found.outputs.normed.value:.2g} % of their spread with batch norm and "
            f"{100 * found.outputs.plain.value:.2g} % without."
        )

    def _usable(self) -> str:
        wide, top = self.rates.decades, self.rates.highest
        if not top.shown:
            return "Larger usable rates are not shown."
        factor = 10**-top.difference.value
        return (
            f"The highest usable rate is {factor:.2g} times that of the plain network; usable "
            f"rates extend over {wide.normed.value:.2g} powers of ten with batch norm and "
            f"{wide.plain.value:.2g} without."
        )

    def _smooth(self) -> str:
        beta = self.smoothness.beta
        if not beta.shown:
            return "A smoother loss along the gradient is not shown."
        factor = 10 ** abs(beta.difference.value)
        more = "smaller" if beta.difference.value > 0 else "larger"
        return f"The gradient changes along itself at a rate {factor:.2g} times {more}."

    def _regular(self) -> str:
        gain, noise = self.noise.effect, self.noise.spread
        first = (
            f"Outputs vary by {100 * noise[0]:.2g} % over minibatches of "
            f"{self.noise.sizes[0]} rows"
        )
        if not is_shown(gain, self.n_seeds):
            return f"{first}; that this noise regularises is not shown."
        how = "narrows" if gain.value > 0 else "widens"
        change = self.noise.validation_effect
        return (
            f"{first}; this noise {how} the generalisation gap by {abs(gain.value):.2g} ± "
            f"{gain.error:.1g} nats (and lowers the validation loss by {change.value:.2g} ± "
            f"{change.error:.1g})."
        )

    def table(self) -> dict[str, Any]:
        """Each measure, without batch norm and with."""
        s = self.smoothness
        rows = {
            "change of outputs, relative": self.invariance.outputs,
            "loss from changed inputs, more": self.invariance.loss,
            "usable rates, powers of ten": self.rates.decades,
            "highest usable rate, log10": self.rates.highest,
            "error of the forecast by g, log10": s.forecast_error,
            "relative change of g, log10": s.gradient_change,
            "effective smoothness, log10": s.beta,
            "generalisation gap, nats": self.noise.gap,
        }
        pairs = list(rows.values())
        return {
            "measure": list(rows),
            "plain": [p.plain.value for p in pairs],
            "error": [p.plain.error for p in pairs],
            "batch norm": [p.normed.value for p in pairs],
            "its error": [p.normed.error for p in pairs],
        }

    def plot(self) -> Any:
        """Losses over rates, smoothness over measures, noise over batch sizes, gaps."""
        from likely.plots import batch_norm_study

        return batch_norm_study(self)
