r"""Newton's method with conjugate gradients, in NumPy: the Hessian is never formed.

For row losses $l_i(η_i)$ with η = AB, the Hessian times a matrix V of coefficients is

$$H V = A^\top \bigl(l''_i\,(A V)_i\bigr)_i + P V,$$

two products with A, which may be sparse. Conjugate gradients need one of these a step, and
few steps while the gradient is large: the system is solved to a part of the gradient that
shrinks with it, so that Newton's method converges faster than any geometric series. The
diagonal of H takes the units of the columns out.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

MAX_HALVINGS = 30
MAX_CG_STEPS = 2000
ROUNDING = 1e-7
"""Where √(gᵀH⁻¹g) may stop falling: its square is half of the error in nats."""
GRADIENT_ROUNDING = 1e-13
"""The rounding error of a gradient, as a part of the first one."""
FIRST_RESIDUAL = 0.2
"""The largest residual of a linear system, as a part of the gradient."""


class Slopes(NamedTuple):
    """First derivatives of a mean loss in η, products with the second, and its diagonal."""

    first: Float[np.ndarray, "n k"]
    product: Callable[[np.ndarray], np.ndarray]
    diagonal: Float[np.ndarray, "n k"]


@runtime_checkable
class RowLosses(Protocol):
    """The weighted mean of convex losses of η."""

    def value(self, eta: Float[np.ndarray, "n k"]) -> float:
        """The mean."""
        ...

    def slopes(self, eta: Float[np.ndarray, "n k"]) -> Slopes:
        """Its derivatives."""
        ...


class Columns(NamedTuple):
    """The design matrix A = [X − 1cᵀ, 1] by its products; X may be sparse.

    Attributes:
        X: the columns.
        transposed: Xᵀ, with its rows next to each other in memory.
        squares: X², transposed.
        centre: c, with an intercept; None without.
    """

    X: Any
    transposed: Any
    squares: Any
    centre: Float[np.ndarray, " d"] | None

    @classmethod
    def of(cls, X: Any, share: Float[np.ndarray, " n"], intercept: bool) -> "Columns":
        """The columns about their means.

        Args:
            X: dense or sparse rows.
            share: the weight of each row, 1 in all.
            intercept: whether there is a column of ones.
        """
        sparse = not isinstance(X, np.ndarray)
        T: Any = X.T.tocsr() if sparse else X.T
        squares = type(T)((T.data**2, T.indices, T.indptr), T.shape) if sparse else None
        return cls(X, T, squares, np.asarray(T @ share) if intercept else None)

    def times(self, B: Float[np.ndarray, "p k"]) -> Float[np.ndarray, "n k"]:
        """AB."""
        if self.centre is None:
            return self.X @ B
        return self.X @ B[:-1] + (B[-1] - self.centre @ B[:-1])

    def gradient(self, R: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "p k"]:
        """AᵀR."""
        found = self.transposed @ R
        if self.centre is None:
            return found
        total = R.sum(0)
        return np.concatenate([found - np.outer(self.centre, total), total[None]])

    def diagonal(self, D: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "p k"]:
        """Σ D a² of each column."""
        squares = self.X**2 if self.squares is None else None
        found = squares.T @ D if squares is not None else self.squares @ D
        if self.centre is None:
            return found
        total, c = D.sum(0), self.centre[:, None]
        found = found - c * (2 * (self.transposed @ D) - c * total)
        return np.concatenate([np.maximum(found, 0.0), total[None]])


class Minimum(NamedTuple):
    """Where a search ended, and why."""

    B: Float[np.ndarray, "p k"]
    eta: Float[np.ndarray, "n k"]
    loss: float
    gradient: float
    steps: int
    converged: bool


def conjugate_gradients(
    product: Callable[[np.ndarray], np.ndarray],
    g: Float[np.ndarray, "*pk"],
    diagonal: Float[np.ndarray, "*pm"],
    residual: float,
    max_steps: int = MAX_CG_STEPS,
) -> Float[np.ndarray, "*pk"]:
    """−H⁻¹g, to a residual that is this part of g (in units of the diagonal)."""
    inverse = 1 / np.where(diagonal > 0, diagonal, 1.0)
    d, r = np.zeros_like(g), -g
    z = inverse * r
    direction, rz = z, float((r * z).sum())
    goal = residual**2 * rz
    for _ in range(max_steps):
        if not rz > goal:
            break
        Hd = product(direction)
        bend = float((direction * Hd).sum())
        if not bend > 0:
            return direction if not d.any() else d
        t = rz / bend
        d, r = d + t * direction, r - t * Hd
        z = inverse * r
        rz, before = float((r * z).sum()), rz
        direction = z + (rz / before) * direction
    return d


def _residual(size: float, first: float) -> float:
    """The residual to solve a system to, as a part of a gradient of this size.

    A gradient is known up to the rounding of the first, so no residual is smaller.
    """
    if not size:
        return FIRST_RESIDUAL
    part = max(np.sqrt(size / first), GRADIENT_ROUNDING * first / size)
    return float(min(FIRST_RESIDUAL, part))


def newton_cg(
    columns: Columns,
    losses: RowLosses,
    B: Float[np.ndarray, "p k"],
    *,
    ridge: Float[np.ndarray, "p 1"],
    offset: Any = 0.0,
    tolerance: float = 1e-10,
    max_steps: int = 100,
    enough: Callable[[np.ndarray], bool] = lambda eta: False,
) -> Minimum:
    """The minimum of a mean loss of η = AB + offset, plus ½ Σ ridge·B².

    Args:
        columns: A.
        losses: of η.
        B: the start.
        ridge: the strength of the penalty on each row of B.
        offset: what is added to η.
        tolerance: stop when √(gᵀH⁻¹g) is smaller.
        max_steps: the limit on Newton steps.
        enough: whether η is a reason to stop before there is a minimum.
    """

    def value(B: np.ndarray, eta: np.ndarray) -> float:
        return losses.value(eta) + 0.5 * float((ridge * B**2).sum())

    eta = columns.times(B) + offset
    f, first, before = value(B, eta), 0.0, np.inf
    g = np.zeros_like(B)
    for step in range(max_steps):
        slopes = losses.slopes(eta)
        g = columns.gradient(slopes.first) + ridge * B
        diagonal = columns.diagonal(slopes.diagonal) + ridge
        size = float(np.sqrt((g**2 / np.where(diagonal > 0, diagonal, 1.0)).sum()))
        first = first or size
        part = _residual(size, first)

        def product(V: np.ndarray, slopes: Slopes = slopes) -> np.ndarray:
            return columns.gradient(slopes.product(columns.times(V))) + ridge * V

        d = conjugate_gradients(product, g, diagonal, part)
        slope = float((g * d).sum())
        decrement = np.sqrt(max(-slope, 0.0))
        along = columns.times(d)
        if decrement < tolerance or ROUNDING > decrement >= before or enough(eta):
            done = bool(decrement < max(tolerance, ROUNDING))
            last = value(B + d, eta + along) if done else np.inf
            if last <= f:
                B, eta, f = B + d, eta + along, last
            return Minimum(B, eta, f, float(np.abs(g).max()), step, done)
        t = 1.0
        for _ in range(MAX_HALVINGS):
            new, there = B + t * d, eta + t * along
            f_new = value(new, there)
            least = f + 1e-4 * t * slope + 1e-14 * abs(f)
            if f_new <= least or decrement < ROUNDING:  # what falls is below rounding
                break
            t /= 2
        else:
            return Minimum(B, eta, f, float(np.abs(g).max()), step, False)
        B, eta, f, before = new, there, f_new, decrement
    return Minimum(B, eta, f, float(np.abs(g).max()), max_steps, False)
