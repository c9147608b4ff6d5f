"""The modes of a linear network: directions in which it learns one number each."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.diagnostics.dynamics import closed_form
from likely.diagnostics.dynamics.linear_network import LinearNetwork
from likely.typing import Batch

MIN_STRENGTH = 1e-9
"""Modes below this part of the strongest are not there."""


class Moments(NamedTuple):
    """Second moments of the rows; with a bias of one layer, a column of ones is an input."""

    inputs: Float[np.ndarray, "d d"]
    """Σ."""
    outputs: Float[np.ndarray, "k d"]
    """G."""
    best: Float[np.ndarray, "k d"]
    """A* of least squares."""

    @classmethod
    def of(cls, data: Batch, *, bias: bool) -> "Moments":
        """Of rows with weights; `bias` adds a column of ones."""
        w, present = data.w / data.w.sum(), data.w[:, None] > 0
        X, Y = np.where(present, data.x, 0.0), np.where(present, data.y, 0.0)
        X = np.column_stack([X, np.ones(len(X))]) if bias else X
        inputs, outputs = (X.T * w) @ X, (Y.T * w) @ X
        best = outputs @ np.linalg.pinv(inputs, rcond=1e-12, hermitian=True)
        return cls(inputs, outputs, best)

    @property
    def scale(self) -> float:
        """c, the mean second moment of an input."""
        return float(np.trace(self.inputs) / len(self.inputs))


class Modes(NamedTuple):
    """Pairs of directions, and how strong A becomes along each."""

    left: Float[np.ndarray, "k m"]
    right: Float[np.ndarray, "d m"]
    strengths: Float[np.ndarray, " m"]
    """Of A*."""
    speeds: Float[np.ndarray, " m"]
    """The exponent of each."""
    alone: Float[np.ndarray, " m"]
    """When each would have half its strength, if it were learned alone."""
    closed: Float[np.ndarray, "t k d"]
    """A(t) by the closed form."""

    def of(self, A: Float[np.ndarray, "t k d"]) -> Float[np.ndarray, "t m"]:
        """The strength of each mode in A."""
        return np.einsum("km,tkd,dm->tm", self.left, A, self.right)


def one_layer_modes(
    first: Float[np.ndarray, "k d"], moments: Moments, times: Float[np.ndarray, " t"]
) -> Modes:
    """Modes of one layer: along each eigenvector of Σ, in the direction of A*."""
    closed = closed_form.one_layer(first, moments.best, moments.inputs, times)
    values, V = np.linalg.eigh(moments.inputs)
    along = moments.best @ V  # (k, d)
    lengths = np.linalg.norm(along, axis=0)
    kept = _present(lengths)[::-1]
    s, values = lengths[kept], values[kept]
    left, right = along[:, kept] / s, V[:, kept]
    a = np.einsum("km,kd,dm->m", left, first, right)
    alone = np.log(np.maximum((s - a) / (0.5 * s), 1.0)) / (2 * values)
    return Modes(left, right, s, 2 * values, alone, closed)


def two_layer_modes(
    network: LinearNetwork, moments: Moments, times: Float[np.ndarray, " t"]
) -> Modes:
    """Modes of two layers: the singular vectors of A*, as many as there are hidden units."""
    (W, Q), c = network.matrices, moments.scale
    closed = closed_form.two_layers(W, Q, moments.outputs, c, times)
    U, s, Vt = np.linalg.svd(moments.best, full_matrices=False)
    kept = _present(s)[: len(W)]
    U, s, Vt = U[:, kept], s[kept], Vt[kept]
    along = (Vt @ W.T + U.T @ Q) / np.sqrt(2)  # of Z along the growing directions of F
    alone = closed_form.half_time(s, 0.5 * (along**2).sum(1), c)
    return Modes(U, Vt.T, s, 4 * c * s, alone, closed)


def _present(strengths: np.ndarray) -> np.ndarray:
    """The numbers of the modes that are there."""
    found = np.flatnonzero(strengths > MIN_STRENGTH * strengths.max(initial=0.0))
    if not len(found):
        raise InputError(
            "the targets have no linear relation to the inputs, so there is nothing to learn; "
            "A* is 0."
        )
    return found
