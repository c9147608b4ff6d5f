r"""Hyperplanes in d dimensions: sides, distances, projections.

$\{x : w·(x - p) = 0\} = \{x : w·x + b = 0\}$ with $b = -w·p$. The signed distance of x is
$t = (w·x + b)/\lVert w\rVert$, positive on the side to which w points; the nearest point of
the plane is $x - t\,w/\lVert w\rVert$. The feature space has d dimensions; (w, b) has d + 1.
"""

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError


class Hyperplane(eqx.Module):
    """The hyperplane {x : w·x + b = 0}.

    Attributes:
        w: the normal, (d,).
        b: the offset.
    """

    w: Float[np.ndarray, " d"]
    b: float

    @classmethod
    def through(cls, point: Any, normal: Any) -> "Hyperplane":
        """The plane through a point, at right angles to a normal."""
        w = np.asarray(normal, np.float64)
        return cls(w, float(-w @ np.asarray(point, np.float64)))

    def __check_init__(self):
        if not np.any(self.w):
            raise InputError("w is zero, so it is the normal of no plane.")

    def value(self, X: Any) -> Float[np.ndarray, " n"]:
        """w·x + b of each row."""
        return np.asarray(X, np.float64) @ self.w + self.b

    def distance(self, X: Any) -> Float[np.ndarray, " n"]:
        """The signed distance of each row."""
        return self.value(X) / np.linalg.norm(self.w)

    def project(self, X: Any) -> Float[np.ndarray, "n d"]:
        """The nearest point of the plane to each row."""
        X = np.asarray(X, np.float64)
        return X - (self.value(X) / (self.w @ self.w))[:, None] * self.w

    def neuron(self, X: Any) -> np.ndarray:
        """The threshold neuron 1[w·x + b ≥ 0], with this plane as its decision boundary."""
        return (self.value(X) >= 0).astype(int)


def perceptron(X: Any, y: Any, *, max_epochs: int = 1000) -> Hyperplane:
    r"""Rosenblatt's rule: for each row on the wrong side, w += y x and b += y (y = ±1).

    It ends when a plane separates the classes (after at most (R/margin)² mistakes), or
    with an error after `max_epochs` passes.
    """
    X, y = np.asarray(X, np.float64), np.asarray(y, np.float64)
    w, b = np.zeros(X.shape[1]), 0.0
    for _ in range(max_epochs):
        mistakes = 0
        for x, sign in zip(X, y, strict=True):
            if sign * (w @ x + b) <= 0:
                w, b, mistakes = w + sign * x, b + sign, mistakes + 1
        if not mistakes:
            return Hyperplane(w, float(b))
    raise InputError(
        f"no separating plane was found in {max_epochs} epochs; the classes may not be "
        "separable: use LinearSVC."
    )
