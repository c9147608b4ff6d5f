"""The modes of a trained linear network: three curves each, their differences, a picture."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from likely.diagnostics.result import Result


@dataclass(frozen=True, repr=False, eq=False)
class LinearDynamics(Result):
    """The modes of a linear network over the time of its training."""

    layers: int
    rate: float
    """η."""
    times: Float[np.ndarray, " t"]
    """η times the number of steps."""
    strengths: Float[np.ndarray, " m"]
    """What each mode is at the end: of two layers the singular values of A*, of one the lengths
    of A* along each eigenvector of the inputs' moments."""
    speeds: Float[np.ndarray, " m"]
    """The exponent of each mode: 2λ of one layer, 4cs of two."""
    closed: Float[np.ndarray, "t m"]
    """By the closed form."""
    flow: Float[np.ndarray, "t m"]
    """By the ODE solver."""
    trained: Float[np.ndarray, "t m"]
    """By the training loop."""
    predicted_gap: Float[np.ndarray, "t m"]
    """How much the steps should be ahead or behind: of one layer exactly, of two by the modified
    flow, to second order."""
    sigmoid_times: Float[np.ndarray, " m"]
    """When each mode would have half its strength, if it were learned alone."""

    @property
    def flow_error(self) -> float:
        """The largest difference of closed form and ODE solver, relative to the strongest mode."""
        return float(np.abs(self.closed - self.flow).max() / self.strengths.max())

    @property
    def training_error(self) -> float:
        """The largest difference of closed form and training loop, in the same units."""
        return float(np.abs(self.closed - self.trained).max() / self.strengths.max())

    @property
    def stated_error(self) -> float:
        """What the rate should make of that difference."""
        return float(np.abs(self.predicted_gap).max() / self.strengths.max())

    @property
    def half_times(self) -> Float[np.ndarray, "2 m"]:
        """When each mode has half its strength: by the closed form, and in training."""
        return np.stack([self._half(self.closed), self._half(self.trained)])

    def _half(self, curves: np.ndarray) -> np.ndarray:
        found = []
        for curve, s in zip(curves.T, self.strengths, strict=True):
            above = np.flatnonzero(curve >= 0.5 * s)
            i = int(above[0]) if len(above) else len(curve)
            if i in (0, len(curve)):
                found.append(0.0 if i == 0 else np.nan)
                continue
            share = (0.5 * s - curve[i - 1]) / (curve[i] - curve[i - 1])
            span = self.times[i] - self.times[i - 1]
            found.append(self.times[i - 1] + share * span)
        return np.array(found)

    @property
    def verdict(self) -> str:
        """How near the three are, and in which order the modes are learned."""
        closed, trained = self.half_times
        near = (
            f"The closed form is within {self.flow_error:.1g} of gradient flow by an ODE solver, "
            f"and within {self.training_error:.2g} of the training loop, where the rate "
            f"{self.rate:g} makes {self.stated_error:.2g} (relative to the strongest mode)."
        )
        seen = np.isfinite(trained) & (trained > 0)
        if self.layers == 1 or seen.sum() < 2:
            return near + self._fading()
        first, last = np.flatnonzero(seen)[[0, -1]]
        order = np.diff(trained[seen]) > 0
        how = (
            "one after another, strong ones first"
            if order.all()
            else "not in the order of their strengths, since some begin stronger"
        )
        return near + (
            f" The modes are learned {how}: the strongest, "
            f"{self.strengths[first]:.3g}, has half its strength at {trained[first]:.3g} (closed "
            f"form {closed[first]:.3g}), the weakest seen, {self.strengths[last]:.3g}, at "
            f"{trained[last]:.3g} ({closed[last]:.3g})."
        )

    def _fading(self) -> str:
        if self.layers == 2:
            return ""
        fast, slow = self.speeds.max(), self.speeds.min()
        return (
            f" Each mode fades at its own rate, e^(−{fast:.3g} t) the fastest and "
            f"e^(−{slow:.3g} t) the slowest, from the first step on."
        )

    def table(self) -> dict[str, Any]:
        """One row for each mode."""
        closed, trained = self.half_times
        return {
            "mode": list(range(1, len(self.strengths) + 1)),
            "strength": self.strengths.tolist(),
            "exponent": self.speeds.tolist(),
            "half at, closed form": closed.tolist(),
            "half at, training": trained.tolist(),
            "half at, alone": self.sigmoid_times.tolist(),
            "largest difference": np.abs(self.closed - self.trained).max(0).tolist(),
            "predicted": np.abs(self.predicted_gap).max(0).tolist(),
        }

    def plot(self) -> Any:
        """The strength of each mode over time: closed form, flow and training."""
        from likely.plots import linear_dynamics

        return linear_dynamics(self)
