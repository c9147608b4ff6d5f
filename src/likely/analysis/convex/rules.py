"""Closure rules: functions that are convex because of what they are made of."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from likely.core.checks import InputError, check_choice

CURVATURES = ("convex", "concave", "affine", "unknown")
OPPOSITE = {"convex": "concave", "concave": "convex"}


class Curved(NamedTuple):
    """A function whose curvature is known, with the reason.

    It is called like the function.

    Attributes:
        function: the function of one point.
        curvature: "convex", "concave", "affine" (both), or "unknown" where no rule applies.
        reason: the rule that says so, or why none does.
        direction: of a function of a number: "increasing", "decreasing" or None.
    """

    function: Callable
    curvature: str
    reason: str = "as given"
    direction: str | None = None

    def __call__(self, x: Any) -> Any:
        return self.function(x)


def curved(
    function: Callable, curvature: str, *, direction: str | None = None
) -> Curved:
    """A function whose curvature is known from elsewhere: the start of the rules.

    Args:
        function: a function of one point.
        curvature: "convex", "concave" or "affine".
        direction: of a function of a number, "increasing" or "decreasing" where it is so.
    """
    check_choice("curvature", curvature, CURVATURES)
    if direction not in (None, "increasing", "decreasing"):
        raise InputError(
            f'direction is {direction!r}; give "increasing", "decreasing" or None.'
        )
    return Curved(function, curvature, direction=direction)


def weighted_sum(weights: Sequence[float | int], parts: Sequence[Curved]) -> Curved:
    """Σ wᵢ fᵢ: convex where all wᵢ fᵢ are; a negative weight turns convex to concave."""
    kinds = {
        OPPOSITE.get(f.curvature, f.curvature) if w < 0 else f.curvature
        for w, f in zip(weights, parts, strict=True)
        if w != 0
    } - {"affine"}
    kind = "affine" if not kinds else kinds.pop() if len(kinds) == 1 else "unknown"
    reasons = {
        "unknown": "a sum of parts of different curvature: no rule applies",
        "affine": "a sum of affine functions",
    }
    reason = reasons.get(kind, f"a sum of {kind} functions with their signs")

    def total(x: Any) -> Any:
        return sum(w * f.function(x) for w, f in zip(weights, parts, strict=True))

    return Curved(total, kind, reason)


def maximum(*parts: Curved) -> Curved:
    """max fᵢ: convex where all fᵢ are convex."""
    bent = all(f.curvature in ("convex", "affine") for f in parts)
    kind = "convex" if bent else "unknown"
    reason = (
        "a maximum of convex functions" if bent else "a part is not convex: no rule"
    )

    def largest(x: Any) -> Any:
        import jax.numpy as jnp

        return jnp.stack([jnp.asarray(f.function(x)) for f in parts]).max(0)

    return Curved(largest, kind, reason)


def composition(g: Curved, f: Curved) -> Curved:
    """g(f(x)): convex for a convex g that increases and a convex f; or f affine, any g.

    So it is too for a convex g that decreases and a concave f; for a concave g, all is mirrored.
    """
    kind = "unknown"
    if f.curvature == "affine":
        kind = g.curvature
    elif g.curvature in ("convex", "affine") and g.direction is not None:
        wanted = "convex" if g.direction == "increasing" else "concave"
        kind = "convex" if f.curvature == wanted else "unknown"
    if kind == "unknown" and g.curvature in ("concave", "affine") and g.direction:
        wanted = "concave" if g.direction == "increasing" else "convex"
        kind = "concave" if f.curvature == wanted else "unknown"
    words = f"{g.direction or 'not monotone'}, {g.curvature} of {f.curvature}"
    reason = words if kind != "unknown" else f"{words}: no rule applies"
    return Curved(lambda x: g.function(f.function(x)), kind, reason)


def affine_input(f: Curved, A: Any, b: Any = 0.0) -> Curved:
    """f(Ax + b): of the curvature of f.

    Args:
        f: a function of m numbers.
        A: (m, d).
        b: (m,), or a number.
    """
    A, b = np.asarray(A, float), np.asarray(b, float)

    def inner(x: Any) -> Any:
        import jax.numpy as jnp

        return f.function(
            jnp.asarray(A) @ x + jnp.broadcast_to(jnp.asarray(b), A.shape[:1])
        )

    return Curved(inner, f.curvature, f"{f.curvature} of an affine function")
