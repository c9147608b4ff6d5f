r"""What a trained network's activations do: saturation, dead units, outputs on one side of zero.

- An activation is *saturated* at an input where its slope is below a twentieth of its steepest:
  hardly any gradient passes. A sigmoid is so beyond |s| ≈ 4.4, a tanh beyond 2.2, a ReLU below 0.
- A unit is *dead* if that is so on all rows: it no longer learns.
- Outputs that are *not zero-centred* tie the gradients of the next layer together: the gradient
  of the weight from unit i to unit j is $δ_j a_i$, so that where all $a_i$ have one sign, all
  weights into j move in the same direction at each row. A sigmoid's outputs are always positive.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from likely.base.rows import weights_of
from likely.core.checks import InputError
from likely.diagnostics.anatomy import layer_kind
from likely.diagnostics.propagation.moments import values_and_slopes
from likely.diagnostics.result import Result
from likely.evaluate.scores import Score, mean_score
from likely.layers import Pointwise, initial_state, record
from likely.layers.units.activations import AbstractActivation

FLAT = 0.05
"""Slopes below this part of the steepest are saturated."""
MANY_SATURATED, MANY_DEAD, ONE_SIDED = 0.3, 0.1, 0.95
OFF_CENTRE = 0.5


class ActivationRow(NamedTuple):
    """What one activation does on the rows; errors are over rows."""

    layer: str
    """Its path in the model."""
    kind: str
    input_size: float
    """The root of the mean squared input."""
    slope: float
    """The root of the mean squared slope: the factor of gradients that pass."""
    saturated: Score
    """The share of units that are saturated."""
    dead: float
    """The share of units that are saturated on all rows."""
    centre: Score
    """The mean output relative to the root of the mean square: 0 if centred."""
    one_sided: Score
    """The share of outputs of a row with the more frequent sign; ½ if balanced."""

    @property
    def bounded(self) -> bool:
        """Whether it is one of those that saturate on both sides."""
        return self.kind in ("Sigmoid", "tanh", "Heaviside")

    def advice(self, last: bool) -> list[str]:
        """What to change, if anything.

        Args:
            last: whether no other hidden layer follows.
        """
        found = []
        if self.bounded and self.saturated.value > MANY_SATURATED:
            found.append(
                f"{100 * self.saturated.value:.0f} % saturated (inputs of size "
                f"{self.input_size:.2g}): scale the inputs, start with smaller weights "
                '(init="xavier"), put a norm before it, or use "relu"'
            )
        if self.dead > MANY_DEAD:
            found.append(
                f"{100 * self.dead:.0f} % of the units are dead: a smaller learning rate, "
                '"leaky_relu", or a norm before it'
            )
        one_sided = self.one_sided.value > ONE_SIDED and not last
        if one_sided and abs(self.centre.value) > OFF_CENTRE and self.bounded:
            found.append(
                "outputs on one side of 0, so that all weights into a unit of the next layer "
                'move together: use "tanh", or a norm after it'
            )
        return found


@dataclass(frozen=True, repr=False, eq=False)
class SaturationReport(Result):
    """The activations of a network, layer by layer."""

    rows: tuple[ActivationRow, ...]
    n_rows: int

    @property
    def advice(self) -> dict[str, list[str]]:
        """What to change, by layer; layers that are fine are left out."""
        last = len(self.rows) - 1
        found = {r.layer: r.advice(i == last) for i, r in enumerate(self.rows)}
        return {name: lines for name, lines in found.items() if lines}

    @property
    def verdict(self) -> str:
        """What to change, or that nothing is found."""
        if not self.advice:
            return "No activation is saturated, dead or one-sided to a degree that matters."
        return " ".join(
            f"{name}: {'; '.join(lines)}." for name, lines in self.advice.items()
        )

    def table(self) -> dict[str, Any]:
        """The measures of each activation."""
        return {
            "activation": [f"{r.layer} {r.kind}" for r in self.rows],
            "input": [r.input_size for r in self.rows],
            "slope": [r.slope for r in self.rows],
            "saturated": [r.saturated.value for r in self.rows],
            "error": [r.saturated.error for r in self.rows],
            "dead": [r.dead for r in self.rows],
            "centre": [r.centre.value for r in self.rows],
            "one-sided": [r.one_sided.value for r in self.rows],
        }

    def plot(self) -> Any:
        """Shares by layer."""
        from likely.plots import saturation

        return saturation(self)


def saturation(
    model: Any,
    X: Any,
    sample_weight: Any = None,
    *,
    state: Any = None,
    member: int = 0,
) -> SaturationReport:
    """Look at every activation of a network on some rows, and say what to change.

    Args:
        model: a fitted network, or any model of `likely.models`.
        X: inputs, as the model takes them.
        sample_weight: how often each row counts.
        state: running statistics of a plain model.
        member: which network of an estimator with several.
    """
    if hasattr(model, "unpack"):
        model, state, X = model.unpack(X, member)
    else:
        state = initial_state(model) if state is None else state
    X = np.asarray(X, np.float32)
    w = weights_of(sample_weight, len(X))
    X, w = X[w > 0], w[w > 0]
    values = [("input", None, X)]
    values += [
        (r.path, r.layer, np.asarray(r.value))
        for r in record(model, jnp.asarray(X), state=state)
    ]
    rows = [
        _row(path, layer, before, w)
        for (_, _, before), (path, layer, after) in zip(
            values, values[1:], strict=False
        )
        if isinstance(layer, Pointwise | AbstractActivation)
        and before.shape == after.shape
    ]
    if not rows:
        raise InputError(
            f"{type(model).__name__} has no activations between its layers, so none of them "
            "saturate; gates of recurrent layers and attention are inside of theirs."
        )
    return SaturationReport(tuple(rows), len(w))


def _row(path: str, layer: Any, s: np.ndarray, w: np.ndarray) -> ActivationRow:
    out, slope = values_and_slopes(layer, s)
    line = np.linspace(-30, 30, 6001)
    wide = np.broadcast_to(line[:, None], (len(line), s.shape[-1]))
    steepest = np.abs(values_and_slopes(layer, wide)[1]).max(0)
    flat = np.abs(slope) <= FLAT * steepest
    n = len(s)
    positive = (out > 0).reshape(n, -1).mean(1)
    negative = (out < 0).reshape(n, -1).mean(1)
    some = np.maximum(positive + negative, 1e-300)
    size = np.sqrt(np.average((out**2).reshape(n, -1).mean(1), weights=w)) or 1.0
    across = tuple(range(flat.ndim - 1))
    return ActivationRow(
        path,
        layer_kind(layer),
        float(
            np.sqrt(
                np.average((s.astype(float) ** 2).reshape(n, -1).mean(1), weights=w)
            )
        ),
        float(np.sqrt(np.average((slope**2).reshape(n, -1).mean(1), weights=w))),
        mean_score(flat.reshape(n, -1).mean(1), w),
        float(flat.all(across).mean()),
        mean_score(out.reshape(n, -1).mean(1) / size, w),
        mean_score(np.maximum(positive, negative) / some, w),
    )
