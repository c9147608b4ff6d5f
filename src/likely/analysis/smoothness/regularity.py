r"""How smooth a function of a number is, measured: the chain of inclusions on compacts.

$$C^1 \subset \text{Lipschitz} \subset \text{uniformly continuous} \subset \text{continuous}$$

The modulus of continuity $ω(δ) = \sup_{|x-y| \le δ} |f(x) - f(y)|$ tells them apart as δ
shrinks: it goes to 0 for uniformly continuous functions, and like Lδ for Lipschitz ones; the
modulus of the slope $f'$ goes to 0 for continuously differentiable ones.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from likely.analysis.search import box_of, evaluator

HALVINGS = 16
GRID = 2**15
VANISHES = 0.1
"""A modulus below this share of its first value, at the smallest step, goes to 0."""
STEADY = 1.5
"""Quotients that grow less than this over the last eight halvings are bounded."""


class Regularity(NamedTuple):
    """The result of `regularity`: what was measured, step by step.

    Attributes:
        step: (m,) the steps δ, each half the one before.
        modulus: (m,) ω(δ) of the function.
        quotient: (m,) ω(δ)/δ, bounded where it is Lipschitz.
        slope_modulus: (m,) the modulus of its slopes over a small step.
        uniformly_continuous: whether ω goes to 0.
        lipschitz: whether ω(δ)/δ stays bounded.
        differentiable: whether it is also continuously differentiable.
        steepest: where the quotient is largest at the smallest step.
    """

    step: Float[np.ndarray, " m"]
    modulus: Float[np.ndarray, " m"]
    quotient: Float[np.ndarray, " m"]
    slope_modulus: Float[np.ndarray, " m"]
    uniformly_continuous: bool
    lipschitz: bool
    differentiable: bool
    steepest: float

    @property
    def kind(self) -> str:
        """The smallest class of the chain that the measurements allow."""
        if self.differentiable:
            return "C1"
        if self.lipschitz:
            return "Lipschitz"
        return "uniformly continuous" if self.uniformly_continuous else "continuous"


def regularity(f: Callable, low: float | int, high: float | int) -> Regularity:
    """The class of a function of a number on an interval, as far as 32,768 points tell.

    It is a measurement and no proof: features narrower than a grid step are not seen.

    Args:
        f: a function of a number.
        low: the lower end; where f is not finite there, the grid begins a step above.
        high: the upper end.
    """
    box = box_of(low, high)
    x = np.linspace(box.low[0], box.high[0], GRID + 1)
    value = evaluator(lambda at: f(at[0]))
    with np.errstate(all="ignore"):
        y = value(x[:, None]).reshape(-1)
    x, y = x[np.isfinite(y)], y[np.isfinite(y)]
    spans = [GRID >> (i + 1) for i in range(HALVINGS) if GRID >> (i + 1)]
    modulus = np.array([_modulus(y, span) for span in spans])
    step = np.array(spans) * (x[1] - x[0])
    quotient = modulus / step
    slopes = np.diff(y) / np.diff(x)
    slope_modulus = np.array(
        [_modulus(slopes, min(span, len(slopes) - 1)) for span in spans]
    )
    bounded = bool(quotient[-1] <= STEADY * max(quotient[-9], 1e-300))
    smooth = bool(
        slope_modulus[-1] <= VANISHES * slope_modulus[0] + 1e-6 * quotient[-1]
    )
    return Regularity(
        step,
        modulus,
        quotient,
        slope_modulus,
        bool(modulus[-1] <= VANISHES * modulus[0]),
        bounded,
        bounded and smooth,
        float(x[int(np.argmax(np.abs(slopes)))]),
    )


def _modulus(y: np.ndarray, span: int) -> float:
    """The largest change of y within a window of this many steps."""
    from scipy.ndimage import maximum_filter1d, minimum_filter1d

    size = span + 1
    high, low = maximum_filter1d(y, size), minimum_filter1d(y, size)
    return float((high - low).max())


class CounterExample(NamedTuple):
    """A function that is in one class of the chain and not in the next smaller one.

    Attributes:
        name: the function in letters.
        function: the function.
        low: the lower end of its interval.
        high: the upper end.
        kind: the class it is in.
        reason: what shows that it is in no smaller class.
    """

    name: str
    function: Callable
    low: float
    high: float
    kind: str
    reason: str


def counter_examples() -> list[CounterExample]:
    """Functions that show that every inclusion of the chain is strict."""
    import jax.numpy as jnp

    def tent(x: Any) -> Any:
        return jnp.abs(x)

    def root(x: Any) -> Any:
        return jnp.sqrt(jnp.abs(x))

    def inverse(x: Any) -> Any:
        return 1 / x

    return [
        CounterExample(
            "abs(x)", tent, -1.0, 1.0, "Lipschitz", "its slope jumps from -1 to 1 at 0"
        ),
        CounterExample(
            "sqrt(x)",
            root,
            0.0,
            1.0,
            "uniformly continuous",
            "(sqrt(x) - 0)/x = 1/sqrt(x) is unbounded near 0",
        ),
        CounterExample(
            "1/x",
            inverse,
            0.0,
            1.0,
            "continuous",
            "on (0, 1], which is not compact, it changes by 1 between 1/n and 1/(n+1)",
        ),
    ]
