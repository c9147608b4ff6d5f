r"""Strong convexity and smoothness: the lowest and highest curvature, μ and L.

f is μ-strongly convex if $\langle \nabla f(x) - \nabla f(y),\ x - y \rangle \ge μ |x - y|^2$, and
L-smooth if its gradient is L-Lipschitz. For a convex quadratic $\tfrac12 x^\top A x$ they are
the lowest and the highest eigenvalue of A.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from likely.analysis.search import box_of, evaluator, lowest
from likely.analysis.verdict import Verdict, searched
from likely.core.checks import InputError


class CurvatureBounds(NamedTuple):
    """The result of `curvature_bounds`.

    Attributes:
        mu: the lowest curvature; below zero where f is not convex.
        L: the largest curvature in absolute value.
        exact: whether they are the constants themselves. Where they come from sampled Hessians
            the true μ is at most `mu` and the true L at least `L`.
        mu_point: where the lowest curvature was found.
        mu_direction: the direction of it.
        L_point: where the largest curvature was found.
        L_direction: the direction of it.
    """

    mu: float
    L: float
    exact: bool
    mu_point: np.ndarray | None
    mu_direction: np.ndarray
    L_point: np.ndarray | None
    L_direction: np.ndarray

    @property
    def condition(self) -> float:
        """L/μ, by which the rates of gradient descent go; infinite unless μ > 0."""
        return self.L / self.mu if self.mu > 0 else float("inf")

    def __str__(self) -> str:
        sign = ("=", "=") if self.exact else ("≤", "≥")
        return f"μ {sign[0]} {self.mu:.6g}, L {sign[1]} {self.L:.6g}"


def curvature_bounds(
    f: Any, low: Any = None, high: Any = None, *, n: int = 300, random_state: int = 0
) -> CurvatureBounds:
    """The constants of strong convexity and smoothness of a function on a box.

    Args:
        f: the (d, d) matrix A of a quadratic ½ xᵀAx + bᵀx + c, whose constants are exact; or a
            function of one point written in JAX, whose Hessian is looked at where it is
            lowest and highest.
        low: the lowest value of each coordinate; not needed for a matrix.
        high: the highest value of each coordinate.
        n: points of each round of the two searches.
        random_state: the seed.
    """
    if not callable(f):
        A = np.atleast_2d(np.asarray(f, float))
        values, vectors = np.linalg.eigh(0.5 * (A + A.T))
        top = int(np.argmax(np.abs(values)))
        return CurvatureBounds(
            float(values[0]),
            float(abs(values[top])),
            True,
            None,
            vectors[:, 0],
            None,
            vectors[:, top],
        )
    if low is None or high is None:
        raise InputError(
            "give low and high: the box on which the function is looked at."
        )
    box, d = box_of(low, high), np.size(low)
    value: Any = f
    hessian = evaluator(jax.hessian(lambda x: value(x).reshape(())))

    def eigen(U: np.ndarray) -> np.ndarray:
        H = hessian(box.point(U)).reshape(-1, d, d)
        finite = np.asarray(np.isfinite(H).all((1, 2)))
        values = np.linalg.eigvalsh(np.where(finite[:, None, None], H, 0.0))
        return np.where(finite[:, None], values, np.nan)

    u_low, mu = lowest(lambda U: eigen(U)[:, 0], d, n, random_state)
    u_top, L = lowest(lambda U: -np.abs(eigen(U)).max(1), d, n, random_state)
    at = [box.point(u) for u in (u_low, u_top)]
    vectors = [np.linalg.eigh(hessian(x[None]).reshape(d, d)) for x in at]
    top = int(np.argmax(np.abs(vectors[1][0])))
    return CurvatureBounds(
        mu, -L, False, at[0], vectors[0][1][:, 0], at[1], vectors[1][1][:, top]
    )


def strong_convexity(
    f: Callable,
    mu: float | int,
    low: Any,
    high: Any,
    *,
    n: int = 1000,
    random_state: int = 0,
) -> Verdict:
    """Whether a function is μ-strongly convex on a box, by its gradients at two points.

    Args:
        f: a function of one point, written in JAX.
        mu: the constant μ.
        low: the lowest value of each coordinate.
        high: the highest value of each coordinate.
        n: pairs of points of each of ten rounds of the search.
        random_state: the seed.

    Returns:
        "no" with the points x and y where ⟨∇f(x) − ∇f(y), x − y⟩ is below μ|x − y|², or
        "not refuted".
    """
    box = box_of(low, high)
    gradient, d = evaluator(jax.grad(lambda x: f(x).reshape(()))), box.dimension

    def ratio(U: np.ndarray) -> np.ndarray:
        x, y = box.point(U[:, :d]), box.point(U[:, d:])
        squares = ((x - y) ** 2).sum(1)
        near = np.abs(U[:, :d] - U[:, d:]).max(1) < 1e-5
        inner = ((gradient(x) - gradient(y)) * (x - y)).sum(1)
        return np.where(near, np.nan, inner / np.where(near, 1.0, squares))

    u, worst = lowest(ratio, 2 * d, n, random_state)
    x, y = box.point(u[:d]), box.point(u[d:])
    reason = (
        f"Between x = {np.round(x, 4).tolist()} and y = {np.round(y, 4).tolist()} the gradient "
        f"rises by {worst:.6g} per unit, not by {mu:g}."
    )
    witness = {"x": x, "y": y, "rise": worst}
    found = worst < mu - 1e-9 * max(1.0, abs(mu))
    return searched(f"{mu:g}-strongly convex", found, reason, witness, 10 * n)
