r"""Linear codes written by hand: $h = E x$ and $\hat x = D h$, lossless or not.

A code is lossless on a set of rows if every row is found again, D E x = x. On the rows
(a, a, b) the code (x, y, z) → (x, z) → (x, x, z) is, and (x, y, z) → x → (x, x, x) is not: it
loses (a − b)² in each row.
"""

import dataclasses
from typing import Any

import numpy as np

from likely.core.checks import InputError


@dataclasses.dataclass(frozen=True)
class LinearCode:
    """An encoder and a decoder that are matrices.

    Args:
        encoder: E, (k, d).
        decoder: D, (d, k).
    """

    encoder: Any
    decoder: Any

    def __post_init__(self):
        E, D = (np.asarray(a, np.float64) for a in (self.encoder, self.decoder))
        if E.ndim != 2 or D.shape != E.shape[::-1]:
            raise InputError(
                f"encoder has shape {E.shape} and decoder {D.shape}; give matrices of "
                "shapes (k, d) and (d, k)."
            )
        object.__setattr__(self, "encoder", E)
        object.__setattr__(self, "decoder", D)

    def transform(self, X: Any) -> np.ndarray:
        """(n, k) the codes of rows."""
        return self._rows(X, self.encoder.shape[1]) @ self.encoder.T

    def inverse_transform(self, Z: Any) -> np.ndarray:
        """(n, d) the rows of codes."""
        return self._rows(Z, self.encoder.shape[0]) @ self.decoder.T

    def reconstruct(self, X: Any) -> np.ndarray:
        """(n, d) what is found again of rows."""
        return self.inverse_transform(self.transform(X))

    def squared_errors(self, X: Any) -> np.ndarray:
        """(n,) ‖x − D E x‖² of each row."""
        X = self._rows(X, self.encoder.shape[1])
        return ((X - self.reconstruct(X)) ** 2).sum(1)

    def is_lossless(self, X: Any, *, tol: float = 1e-12) -> bool:
        """Whether every row is found again, up to rounding."""
        X = self._rows(X, self.encoder.shape[1])
        return bool((self.squared_errors(X) <= tol * (1 + (X**2).sum(1))).all())

    @staticmethod
    def _rows(X: Any, d: int) -> np.ndarray:
        X = np.asarray(X, np.float64)
        if X.ndim != 2 or X.shape[1] != d:
            raise InputError(f"rows have shape {X.shape}; give {d} columns.")
        return X
