r"""Losses as smooth functions of one vector of weights, in double precision.

A loss here is an `equinox` module with the traced method `mean(φ)`: the `LossSurface` of a
model and rows, a quadratic, or a plain function. Solvers of the library minimise it as it is
(`Vector`), so that experiments follow the solvers that train everything else.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.core.precision import float64
from likely.diagnostics.landscape.sources import loss_surface
from likely.diagnostics.landscape.surface import LossSurface
from likely.solvers.function import NO_ROWS
from likely.typing import Batch, Key, Solution, State


class Quadratic(eqx.Module):
    r"""$\tfrac12 φ^\top A φ$ with a symmetric A."""

    A: Float[np.ndarray, "p p"]

    def mean(self, phi: Float[Array, " p"]) -> Float[Array, ""]:
        """½ φᵀAφ."""
        return 0.5 * phi @ (jnp.asarray(self.A) @ phi)


class PlainFunction(eqx.Module):
    """A function of one vector, written in JAX."""

    f: Callable = eqx.field(static=True)

    def mean(self, phi: Float[Array, " p"]) -> Float[Array, ""]:
        """f(φ)."""
        return jnp.asarray(self.f(phi)).reshape(())


class Vector(eqx.Module):
    """A loss of a vector as an objective of solvers: the vector is the model."""

    loss: Any

    def __call__(
        self, model: Array, batch: Batch, *, key: Key | None = None, state: State = None
    ) -> tuple[Float[Array, ""], State]:
        """The loss at the vector, and the state unchanged."""
        return self.loss.mean(model), state


class Source(NamedTuple):
    """A loss, and the weights of the model that it came with."""

    loss: Any
    center: Float[np.ndarray, " p"]


def loss_of(
    model: Any, X: Any = None, y: Any = None, sample_weight: Any = None, **source: Any
) -> Source:
    """The loss of a model and rows, of a matrix, or a plain function.

    Args:
        model: what `loss_surface` takes, with rows; or without rows a symmetric matrix A, for
            ½ φᵀAφ, or a function of a vector written in JAX.
        X: inputs.
        y: targets.
        sample_weight: how often each row counts.
        source: more about the model: see `loss_surface`. Of a function, `start`.
    """
    if X is not None:
        surface = loss_surface(model, X, y, sample_weight, **source)
        return Source(surface, np.asarray(surface.center, np.float64))
    if callable(model) and not isinstance(model, eqx.Module):
        if source.get("start") is None:
            raise InputError("a plain function needs a start: give the first vector.")
        start = np.atleast_1d(np.asarray(source["start"], np.float64))
        return Source(PlainFunction(model), start)
    A = np.atleast_2d(_numbers(model))
    square = A.ndim == 2 and A.shape[0] == A.shape[1]
    if not square or not np.allclose(A, A.T, rtol=1e-10, atol=1e-12 * np.abs(A).max()):
        raise InputError(
            f"a matrix of shape {A.shape} has to be square and symmetric to be that of a "
            "quadratic loss; for a model give X and y too."
        )
    return Source(Quadratic(0.5 * (A + A.T)), np.ones(len(A)))


def _numbers(model: Any) -> np.ndarray:
    """A matrix of finite numbers."""
    try:
        A = np.asarray(model, np.float64)
    except (TypeError, ValueError):
        A = np.array(np.nan)
    if not A.size or not np.isfinite(A).all():
        raise InputError(
            f"{type(model).__name__} is no matrix of finite numbers; give a model with X and "
            "y, a symmetric matrix, or a function with its start."
        )
    return A


def descend(
    solver: Any, loss: Any, start: Float[np.ndarray, " p"], *, key: Any = None
) -> Solution:
    """What a solver of the library makes of a loss from a start, in double precision."""
    with float64():
        return solver.minimize(Vector(loss), jnp.asarray(start), NO_ROWS, key=key)


def path_of(solution: Solution) -> Float[np.ndarray, "t p"]:
    """The vectors of a run with `path=True`, the start first."""
    path = np.asarray(solution.trace.model, np.float64)
    return path[: int(solution.status.steps) + 1]


def values(loss: Any, phi: Float[np.ndarray, "t p"]) -> Float[np.ndarray, " t"]:
    """The loss at several vectors."""
    with float64():
        return np.asarray(_values(loss, jnp.asarray(phi)))


def gradient(loss: Any, phi: Float[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
    """The gradient at a vector."""
    with float64():
        return np.asarray(_gradient(loss, jnp.asarray(phi)))


def hessian(loss: Any, phi: Float[np.ndarray, " p"]) -> Float[np.ndarray, "p p"]:
    """The Hessian at a vector."""
    with float64():
        H = np.asarray(_hessian(loss, jnp.asarray(phi)))
    return 0.5 * (H + H.T)


@eqx.filter_jit
def _values(loss: Any, phi: Array) -> Array:
    return jax.lax.map(loss.mean, phi)


@eqx.filter_jit
def _gradient(loss: Any, phi: Array) -> Array:
    return jax.grad(loss.mean)(phi)


@eqx.filter_jit
def _hessian(loss: Any, phi: Array) -> Array:
    def product(v: Array) -> Array:
        return jax.jvp(jax.grad(loss.mean), (phi,), (v,))[1]

    return jax.lax.map(product, jnp.eye(len(phi), dtype=phi.dtype))


def is_surface(loss: Any) -> bool:
    """Whether a loss is that of a model and rows."""
    return isinstance(loss, LossSurface)
