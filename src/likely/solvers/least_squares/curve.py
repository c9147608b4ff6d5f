r"""Fitting a curve: y ≈ f(φ, x) by nonlinear least squares, with standard deviations."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float, PyTree

from likely.core.precision import float64, to_numpy
from likely.core.rows import fill_absent
from likely.solvers.flat import flatten, to_float64
from likely.solvers.least_squares.levenberg_marquardt import LevenbergMarquardt
from likely.typing import Batch, Solution, Solver, State


class Curve(eqx.Module):
    """A function of parameters and inputs, as a model."""

    parameters: PyTree
    f: Callable[[PyTree, PyTree], Array]

    def __call__(self, X, *, w=None, key=None, state: State = None):
        """f(φ, x) as η, one column for each output."""
        eta = self.f(self.parameters, X)
        return eta.reshape(len(eta), -1), state


class SumOfSquares(eqx.Module):
    """½(y − η)² for each row: the `Separable` objective of curve fitting."""

    def pointwise(self, eta: Float[Array, "n k"], y: Array) -> Float[Array, " n"]:
        """The loss of each row."""
        return 0.5 * jnp.sum((eta - y.reshape(eta.shape)) ** 2, axis=1)

    def penalty(self, model) -> Float[Array, ""]:
        """Zero: there is no penalty."""
        return jnp.zeros(())

    def __call__(self, model, batch: Batch, *, key=None, state: State = None):
        """The weighted mean over the rows."""
        eta, state = model(batch.x, w=batch.w, key=key, state=state)
        losses = jnp.where(batch.w > 0, batch.w * self.pointwise(eta, batch.y), 0.0)
        return losses.sum() / batch.w.sum(), state


class CurveFit(eqx.Module):
    """A fitted curve: its parameters, their standard deviations, and the solution."""

    parameters: PyTree
    standard_deviations: PyTree
    """Standard deviations of the parameters, from the Jacobian at the minimum."""
    residual_deviation: Float[Array | np.ndarray, ""]
    solution: Solution


def fit_curve(
    f: Callable[[PyTree, PyTree], Array],
    x: PyTree,
    y: PyTree,
    start: PyTree,
    *,
    w: Float[Array | np.ndarray, " n"] | None = None,
    solver: Solver | None = None,
) -> CurveFit:
    """Least squares for y ≈ f(φ, x), in double precision.

    Args:
        f: from parameters and inputs to one value for each row, in `jax.numpy`; define
            it once, at module level: a new function is a new program to compile.
        x: inputs, passed to f as they are.
        y: the observed values, (n,).
        start: the parameters to start from.
        w: row weights.
        solver: `LevenbergMarquardt()` if not given.

    Examples:
        >>> import jax.numpy as jnp
        >>> x = np.linspace(0, 2, 20)
        >>> f = lambda phi, x: phi[0] * jnp.exp(phi[1] * x)
        >>> found = lk.solvers.fit_curve(f, x, 2 * np.exp(-x), np.array([1.0, 0.0]))
        >>> print(np.asarray(found.parameters).round(3))
        [ 2. -1.]
    """
    solver = LevenbergMarquardt() if solver is None else solver
    with float64():
        x, y, start = to_float64((x, y, start))
        w = jnp.ones(len(y)) if w is None else jnp.asarray(w, np.float64)
        data, model = Batch(x, y, w), Curve(start, f)
        solution = solver.minimize(SumOfSquares(), model, data, key=None)
        deviations, residual = _deviations(solution.model, data)
        found = solution.model.parameters
        return to_numpy(CurveFit(found, deviations, residual, solution))


@eqx.filter_jit
def _deviations(model: Curve, data: Batch) -> tuple[PyTree, Array]:
    r"""Roots of the diagonal of $s^2 (J^\top W J)^{-1}$, by the triangle of $W^{1/2} J$."""
    phi, rebuild = flatten(model)
    data = fill_absent(data)

    def predict(phi: Float[Array, " p"]) -> Float[Array, " n"]:
        return rebuild(phi)(data.x)[0][:, 0]

    J, residual = jax.jacfwd(predict)(phi), data.y - predict(phi)
    R = jnp.linalg.qr(jnp.sqrt(data.w)[:, None] * J, mode="r")
    inverse = solve_triangular(R, jnp.eye(len(R), dtype=R.dtype))
    s = jnp.sqrt((data.w @ residual**2) / (data.w.sum() - len(phi)))
    spread = s * jnp.linalg.norm(inverse, axis=1)
    return rebuild(spread).parameters, s
