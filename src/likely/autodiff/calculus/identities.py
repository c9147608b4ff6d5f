r"""Identities of matrix calculus, each checked against autodiff on random numbers.

Derivatives of a scalar by a vector or matrix have the shape of that vector or matrix;
those of a vector by a vector are Jacobians in numerator layout,
$J_{ij} = \partial y_i/\partial x_j$; those of a vector by a matrix have the axes of the
vector first. `u`, `f` and `g` stand for any functions; the check uses random ones.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from likely.autodiff.calculus.identity import Identity, M, N, Numbers
from likely.autodiff.program.text import table
from likely.typing import Key


def _outer(n: Numbers) -> jax.Array:
    return jnp.outer(n.a, n.b)


def _jac(f: Callable, x: jax.Array) -> jax.Array:
    return jax.jacobian(f)(x)


V, SQUARE, WIDE = (N,), (N, N), (M, N)
SCALAR_BY_VECTOR, VECTOR_BY_VECTOR = "scalar by vector", "vector by vector"
SCALAR_BY_MATRIX, VECTOR_BY_MATRIX = "scalar by matrix", "vector by matrix"
TRACES, INVERSES = "traces", "determinant and inverse"

IDENTITIES: tuple[Identity, ...] = (
    Identity(
        SCALAR_BY_VECTOR, "∂(aᵀx)/∂x = a", lambda n, x: n.a @ x, lambda n, x: n.a, V
    ),
    Identity(
        SCALAR_BY_VECTOR,
        "∂(cᵀB x)/∂x = Bᵀc",
        lambda n, x: n.c @ n.B @ x,
        lambda n, x: n.B.T @ n.c,
        V,
    ),
    Identity(
        SCALAR_BY_VECTOR,
        "∂(xᵀA x)/∂x = (A + Aᵀ) x",
        lambda n, x: x @ n.A @ x,
        lambda n, x: (n.A + n.A.T) @ x,
        V,
    ),
    Identity(
        SCALAR_BY_VECTOR,
        "∂(u v)/∂x = u ∂v/∂x + v ∂u/∂x",
        lambda n, x: n.u(x) * jnp.exp(n.b @ x / 9),
        lambda n, x: (
            n.u(x) * _jac(lambda x: jnp.exp(n.b @ x / 9), x)
            + jnp.exp(n.b @ x / 9) * _jac(n.u, x)
        ),
        V,
        "∂u/∂x + v ∂v/∂x",
        lambda n, x: (
            _jac(n.u, x)
            + jnp.exp(n.b @ x / 9) * _jac(lambda x: jnp.exp(n.b @ x / 9), x)
        ),
    ),
    Identity(
        SCALAR_BY_VECTOR,
        "∂‖f‖²/∂x = 2 Jᵀf",
        lambda n, x: (n.f(x) ** 2).sum(),
        lambda n, x: 2 * _jac(n.f, x).T @ n.f(x),
        V,
        "2 J",
        lambda n, x: 2 * _jac(n.f, x),
    ),
    Identity(
        SCALAR_BY_VECTOR,
        "∂(fᵀg)/∂x = J_fᵀ g + J_gᵀ f",
        lambda n, x: n.f(x) @ n.g(x),
        lambda n, x: _jac(n.f, x).T @ n.g(x) + _jac(n.g, x).T @ n.f(x),
        V,
    ),
    Identity(
        SCALAR_BY_VECTOR,
        "∂‖x − a‖/∂x = (x − a)/‖x − a‖",
        lambda n, x: jnp.sqrt(((x - n.a) ** 2).sum()),
        lambda n, x: (x - n.a) / jnp.sqrt(((x - n.a) ** 2).sum()),
        V,
    ),
    Identity(
        VECTOR_BY_VECTOR, "∂(B x)/∂x = B", lambda n, x: n.B @ x, lambda n, x: n.B, V
    ),
    Identity(
        VECTOR_BY_VECTOR,
        "∂(B f)/∂x = B J_f",
        lambda n, x: n.B.T @ n.f(x),
        lambda n, x: n.B.T @ _jac(n.f, x),
        V,
    ),
    Identity(
        VECTOR_BY_VECTOR,
        "∂(u f)/∂x = u J_f + f (∂u/∂x)ᵀ",
        lambda n, x: n.u(x) * n.f(x),
        lambda n, x: n.u(x) * _jac(n.f, x) + jnp.outer(n.f(x), _jac(n.u, x)),
        V,
    ),
    Identity(
        VECTOR_BY_VECTOR,
        "∂(f + g)/∂x = J_f + J_g",
        lambda n, x: n.f(x) + n.g(x),
        lambda n, x: _jac(n.f, x) + _jac(n.g, x),
        V,
    ),
    Identity(
        VECTOR_BY_VECTOR,
        "∂(f ⊙ g)/∂x = diag(g) J_f + diag(f) J_g",
        lambda n, x: n.f(x) * n.g(x),
        lambda n, x: jnp.diag(n.g(x)) @ _jac(n.f, x) + jnp.diag(n.f(x)) @ _jac(n.g, x),
        V,
    ),
    Identity(
        VECTOR_BY_VECTOR,
        "∂f(g(x))/∂x = J_f(g) J_g",
        lambda n, x: n.f(n.B.T @ n.g(x)),
        lambda n, x: _jac(n.f, n.B.T @ n.g(x)) @ n.B.T @ _jac(n.g, x),
        V,
    ),
    Identity(
        SCALAR_BY_MATRIX,
        "∂(cᵀX a)/∂X = c aᵀ",
        lambda n, X: n.c @ X @ n.a,
        lambda n, X: jnp.outer(n.c, n.a),
        WIDE,
    ),
    Identity(
        SCALAR_BY_MATRIX,
        "∂(aᵀXᵀc)/∂X = c aᵀ",
        lambda n, X: n.a @ X.T @ n.c,
        lambda n, X: jnp.outer(n.c, n.a),
        WIDE,
    ),
    Identity(
        SCALAR_BY_MATRIX,
        "∂(aᵀXᵀX b)/∂X = X (a bᵀ + b aᵀ)",
        lambda n, X: n.a @ X.T @ X @ n.b,
        lambda n, X: X @ (_outer(n) + _outer(n).T),
        WIDE,
    ),
    Identity(
        SCALAR_BY_MATRIX,
        "∂(cᵀX Xᵀd)/∂X = (c dᵀ + d cᵀ) X",
        lambda n, X: n.c @ X @ X.T @ n.d,
        lambda n, X: (jnp.outer(n.c, n.d) + jnp.outer(n.d, n.c)) @ X,
        WIDE,
        "∂(aᵀXᵀXᵀb)/∂X = Xᵀ(a bᵀ + b aᵀ)",
        lambda n, X: X.T @ (jnp.outer(n.c, n.d) + jnp.outer(n.d, n.c)),
    ),
    Identity(
        SCALAR_BY_MATRIX,
        "∂(aᵀXᵀXᵀb)/∂X = (Xᵀb) aᵀ + b (X a)ᵀ",
        lambda n, X: n.a @ X.T @ X.T @ n.b,
        lambda n, X: jnp.outer(X.T @ n.b, n.a) + jnp.outer(n.b, X @ n.a),
        SQUARE,
        "Xᵀ(a bᵀ + b aᵀ)",
        lambda n, X: X.T @ (_outer(n) + _outer(n).T),
    ),
    Identity(
        VECTOR_BY_MATRIX,
        "∂(X a)ᵢ/∂Xₖₗ = δᵢₖ aₗ",
        lambda n, X: X @ n.a,
        lambda n, X: jnp.einsum("ik,l->ikl", jnp.eye(M), n.a),
        WIDE,
    ),
    Identity(
        TRACES,
        "∂Tr(X Xᵀ)/∂X = 2X",
        lambda n, X: jnp.trace(X @ X.T),
        lambda n, X: 2 * X,
        WIDE,
    ),
    Identity(
        TRACES,
        "∂Tr(X A)/∂X = Aᵀ",
        lambda n, X: jnp.trace(X @ n.A),
        lambda n, X: n.A.T,
        SQUARE,
    ),
    Identity(
        TRACES,
        "∂Tr(XᵀS X)/∂X = (S + Sᵀ) X",
        lambda n, X: jnp.trace(X.T @ n.A @ X),
        lambda n, X: (n.A + n.A.T) @ X,
        SQUARE,
    ),
    Identity(
        INVERSES,
        "∂log|det X|/∂X = X⁻ᵀ",
        lambda n, X: jnp.linalg.slogdet(X)[1],
        lambda n, X: jnp.linalg.inv(X).T,
        SQUARE,
    ),
    Identity(
        INVERSES,
        "∂Tr(S X⁻¹)/∂X = −(X⁻¹S X⁻¹)ᵀ",
        lambda n, X: jnp.trace(n.S @ jnp.linalg.inv(X)),
        lambda n, X: -(jnp.linalg.inv(X) @ n.S @ jnp.linalg.inv(X)).T,
        SQUARE,
        "−X⁻¹S",
        lambda n, X: -jnp.linalg.inv(X) @ n.S,
    ),
    Identity(
        INVERSES,
        "∂(aᵀX⁻¹b)/∂X = −X⁻ᵀa bᵀX⁻ᵀ",
        lambda n, X: n.a @ jnp.linalg.solve(X, n.b),
        lambda n, X: -jnp.linalg.inv(X).T @ _outer(n) @ jnp.linalg.inv(X).T,
        SQUARE,
    ),
)


class Verified(NamedTuple):
    """The identities with their measured errors."""

    errors: dict[str, float]
    printed: dict[str, float]
    """The errors of common misprints."""

    def __str__(self) -> str:
        rows = [
            (
                i.group,
                i.statement,
                f"{self.errors[i.statement]:.0e}",
                i.misprint,
                self._wrong(i),
            )
            for i in IDENTITIES
        ]
        return table(("group", "rule", "error", "misprint", "its error"), rows)

    def _wrong(self, identity: Identity) -> str:
        error = self.printed.get(identity.statement)
        if error is None:
            return ""
        return "wrong shape" if np.isinf(error) else f"{error:.2g}"


def verify_identities(key: Key) -> Verified:
    """Check every identity against autodiff on random numbers."""
    keys = jax.random.split(key, len(IDENTITIES))
    found = {i.statement: i.errors(k) for i, k in zip(IDENTITIES, keys, strict=True)}
    printed = {name: wrong for name, (_, wrong) in found.items() if wrong is not None}
    return Verified({name: error for name, (error, _) in found.items()}, printed)


def cauchy_schwarz(u: np.ndarray, v: np.ndarray) -> tuple[float, float]:
    r"""$(|\langle u, v\rangle|, \lVert u\rVert \lVert v\rVert)$; the first is never larger.

    Both are equal exactly where u and v point the same way, or opposite ways.
    """
    u, v = (np.asarray(x, np.float64).ravel() for x in (u, v))
    return float(abs(u @ v)), float(np.linalg.norm(u) * np.linalg.norm(v))
