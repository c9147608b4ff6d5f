"""What a decomposition of a risk found: numbers, a verdict, pictures."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.core.written_numbers import counted, number, percent
from likely.diagnostics.generalization.decomposition.parts import Parts
from likely.diagnostics.generalization.wording import shown
from likely.diagnostics.result import Result
from likely.evaluate.scores import Score

NAMES = {
    "squared": ("squared loss", "squared bias", "variance"),
    "log": ("log loss", "bias", "variance"),
    "zero-one": ("0/1 loss", "bias", "net variance"),
}


@dataclass(frozen=True, repr=False, eq=False)
class RepeatedFits:
    """Predictions of many fits at the points where they are judged.

    Attributes:
        X: (t, d) the points.
        y: (t,) targets there.
        truth: (t,) E[y | x], or None.
        mean: (s, t) the mean of the fits of each setting, or None.
        std: (s, t) their standard deviation, or None.
        some: (s, j, t) a few of them, or None.
    """

    X: Any
    y: np.ndarray
    truth: np.ndarray | None
    mean: Float[np.ndarray, "s t"] | None
    std: Float[np.ndarray, "s t"] | None
    some: Float[np.ndarray, "s j t"] | None


@dataclass(frozen=True, repr=False, eq=False)
class BiasVariance(Result):
    """The risk of a learner as noise + bias + variance, for each of s settings.

    Numbers are arrays of length s (1 where no parameter was varied), each beside its standard
    error, such as `bias` and `bias_error`. For the squared loss `bias` is the squared bias. Where
    the truth is not known `noise` is NaN and a part of `bias`.

    Attributes:
        loss: "squared", "log" or "zero-one".
        source: "generator" or "bootstrap".
        parameter: what was varied, or None.
        values: its values.
        refits: training sets.
        rows: rows of a training set.
        parts: of each setting, with more `details` for the 0/1 loss: the Bayes error, and the
            variance at points where the main prediction is right and where it is wrong.
        empirical: the mean loss of fits on their own training rows.
        fits: what fits predict at the points (for the squared loss).
    """

    loss: str
    source: str
    parameter: str | None
    values: tuple[Any, ...]
    refits: int
    rows: int
    parts: tuple[Parts, ...]
    empirical: tuple[Score, ...]
    fits: RepeatedFits

    @property
    def risk(self) -> Float[np.ndarray, " s"]:
        """The expected loss on new rows."""
        return np.array([parts.risk.value for parts in self.parts])

    @property
    def risk_error(self) -> Float[np.ndarray, " s"]:
        """Its standard errors."""
        return np.array([parts.risk.error for parts in self.parts])

    @property
    def noise(self) -> Float[np.ndarray, " s"]:
        """The part that no model can avoid."""
        return np.array([parts.noise.value for parts in self.parts])

    @property
    def noise_error(self) -> Float[np.ndarray, " s"]:
        """Its standard errors."""
        return np.array([parts.noise.error for parts in self.parts])

    @property
    def bias(self) -> Float[np.ndarray, " s"]:
        """The loss of the mean prediction beyond the noise."""
        return np.array([parts.bias.value for parts in self.parts])

    @property
    def bias_error(self) -> Float[np.ndarray, " s"]:
        """Its standard errors."""
        return np.array([parts.bias.error for parts in self.parts])

    @property
    def variance(self) -> Float[np.ndarray, " s"]:
        """The loss by the spread of fits around their mean."""
        return np.array([parts.variance.value for parts in self.parts])

    @property
    def variance_error(self) -> Float[np.ndarray, " s"]:
        """Its standard errors."""
        return np.array([parts.variance.error for parts in self.parts])

    @property
    def best_index(self) -> int:
        """The position of the setting with the lowest risk."""
        return int(np.argmin(self.risk))

    @property
    def verdict(self) -> str:
        """What the risk consists of, and which part could be lowered."""
        if not np.isfinite(self.risk).any():
            return (
                "The log loss is infinite: some fits give probability 0 to a class that "
                "occurs. Smooth the probabilities, or decompose the 0/1 loss."
            )
        return self._curve_verdict() if self.parameter else self._single_verdict()

    def _single_verdict(self) -> str:
        name, bias, variance = NAMES[self.loss]
        parts = self.parts[0]
        about = f"The risk ({name}) of {counted(self.refits, 'fit')} is {shown(parts.risk)}: "
        if np.isnan(parts.noise.value):
            return (
                f"{about}noise and {bias} together {shown(parts.bias)}, and {variance} "
                f"{shown(parts.variance)} ({percent(_share(parts), 0)}). The data do not "
                "tell noise from bias."
            )
        return (
            f"{about}noise {shown(parts.noise)}, {bias} {shown(parts.bias)}, {variance} "
            f"{shown(parts.variance)}. {_advice(parts, bias, variance)}"
        )

    def _curve_verdict(self) -> str:
        _, bias, variance = NAMES[self.loss]
        known = not np.isnan(self.noise).any()
        first = bias if known else f"noise and {bias}"
        low, risk = self.best_index, self.risk
        as_good = [
            v for v, r in zip(self.values, risk, strict=True)
            if r <= risk[low] + self.risk_error[low]
        ]  # fmt: skip
        near = "" if len(as_good) < 2 else f" ({len(as_good)} values are as good)"
        ends = " to ".join(str(self.values[i]) for i in (0, -1))
        return (
            f"The risk is lowest at {self.parameter} = {self.values[low]}{near}: "
            f"{shown(self.parts[low].risk)}. From {ends} the {first} goes from "
            f"{number(self.bias[0])} to {number(self.bias[-1])} and the {variance} from "
            f"{number(self.variance[0])} to {number(self.variance[-1])}."
        )

    def table(self) -> Mapping[str, Any]:
        """A row for each setting."""
        columns: dict[str, Any] = {}
        if self.parameter:
            columns[self.parameter] = [_cell(v) for v in self.values]
        for name in ("risk", "noise", "bias", "variance"):
            shown = f"{name}²" if name == "bias" and self.loss == "squared" else name
            if name == "noise" and np.isnan(self.noise).all():
                continue
            if name == "bias" and np.isnan(self.noise).all():
                shown = f"noise + {shown}"
            columns[shown] = list(getattr(self, name))
            columns[f"{shown} ±"] = list(getattr(self, f"{name}_error"))
        columns["on training rows"] = [score.value for score in self.empirical]
        return columns

    def plot(self) -> Any:
        """The parts over the parameter, or the fits of one setting.

        Without a parameter, and with one column of inputs, it shows some fits, their mean, their
        spread and the truth; otherwise the parts as bars.
        """
        from likely import plots

        if not self.parameter and self._is_curve:
            return plots.repeated_fits(self)
        return plots.bias_variance(self)

    def plot_fits(self, settings: Any = None) -> Any:
        """Some fits with their mean, their spread and the truth, for inputs of one column.

        Args:
            settings: the positions of the settings to draw; three of them by default: the
                first, the best and the last.
        """
        from likely import plots

        if not self._is_curve:
            raise InputError(
                "fits can be drawn over one column of inputs, for the squared loss; there "
                f"are {np.shape(self.fits.X)[-1]} columns, and the loss is {self.loss}."
            )
        if settings is None:
            settings = list(dict.fromkeys([0, self.best_index, len(self.parts) - 1]))
        return plots.repeated_fits(self, settings)

    @property
    def _is_curve(self) -> bool:
        """Whether the fits are functions of one number."""
        one = np.ndim(self.fits.X) == 2 and np.shape(self.fits.X)[1] == 1
        return one and self.fits.mean is not None


def _share(parts: Parts) -> float:
    return parts.variance.value / parts.risk.value if parts.risk.value > 0 else 0.0


def _advice(parts: Parts, bias: str, variance: str) -> str:
    """Which avoidable part is larger, if that was shown."""
    gap = parts.bias.value - parts.variance.value
    error = np.hypot(parts.bias.error, parts.variance.error)
    if abs(gap) <= 2 * error:
        return "Which of the two is larger was not shown."
    if gap > 0:
        return (
            f"The {bias} is the larger of the two that can be lowered: a more flexible model, "
            "better columns or a weaker penalty would help, more rows would not."
        )
    return (
        f"The {variance} is the larger of the two that can be lowered: more rows, a stronger "
        "penalty or an average of several fits would help."
    )


def _cell(value: Any) -> Any:
    return value if isinstance(value, int | float | str) else str(value)
