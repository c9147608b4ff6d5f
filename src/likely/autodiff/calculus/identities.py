r"""Identities of matrix calculus, each checked against autodiff on random numbers.

Derivatives of a scalar by a vector or matrix have the shape of that vector or matrix;
those of a vector by a vector are Jacobians in numerator layout,
$J_{ij} = \partial y_i/\partial x_j$; those of a vector by a matrix have the axes of the
vector first. `u`, `v`, `f` and `g` stand for any functions; the check uses random ones.
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


def _identities(group: str, shape: tuple[int, ...], *rules: tuple) -> list[Identity]:
    """Rules (statement, function, derivative, misprint and its function if there are)."""
    return [Identity(group, name, f, df, shape, *rest) for name, f, df, *rest in rules]


IDENTITIES: tuple[Identity, ...] = (
    *_identities(
        "scalar by vector",
        V,
        ("∂(aᵀx)/∂x = a", lambda n, x: n.a @ x, lambda n, x: n.a),
        ("∂(cᵀB x)/∂x = Bᵀc", lambda n, x: n.c @ n.B @ x, lambda n, x: n.B.T @ n.c),
        (
            "∂(xᵀA x)/∂x = (A + Aᵀ) x",
            lambda n, x: x @ n.A @ x,
            lambda n, x: (n.A + n.A.T) @ x,
        ),
        (
            "∂(u v)/∂x = u ∂v/∂x + v ∂u/∂x",
            lambda n, x: n.u(x) * n.v(x),
            lambda n, x: n.u(x) * _jac(n.v, x) + n.v(x) * _jac(n.u, x),
            "∂u/∂x + v ∂v/∂x",
            lambda n, x: _jac(n.u, x) + n.v(x) * _jac(n.v, x),
        ),
        (
            "∂‖f‖²/∂x = 2 Jᵀf",
            lambda n, x: (n.f(x) ** 2).sum(),
            lambda n, x: 2 * _jac(n.f, x).T @ n.f(x),
            "2 J",
            lambda n, x: 2 * _jac(n.f, x),
        ),
        (
            "∂(fᵀg)/∂x = J_fᵀ g + J_gᵀ f",
            lambda n, x: n.f(x) @ n.g(x),
            lambda n, x: _jac(n.f, x).T @ n.g(x) + _jac(n.g, x).T @ n.f(x),
        ),
        (
            "∂‖x − a‖/∂x = (x − a)/‖x − a‖",
            lambda n, x: jnp.linalg.norm(x - n.a),
            lambda n, x: (x - n.a) / jnp.linalg.norm(x - n.a),
        ),
    ),
    *_identities(
        "vector by vector",
        V,
        ("∂(B x)/∂x = B", lambda n, x: n.B @ x, lambda n, x: n.B),
        (
            "∂(B f)/∂x = B J_f",
            lambda n, x: n.B.T @ n.f(x),
            lambda n, x: n.B.T @ _jac(n.f, x),
        ),
        (
            "∂(u f)/∂x = u J_f + f (∂u/∂x)ᵀ",
            lambda n, x: n.u(x) * n.f(x),
            lambda n, x: n.u(x) * _jac(n.f, x) + jnp.outer(n.f(x), _jac(n.u, x)),
        ),
        (
            "∂(f + g)/∂x = J_f + J_g",
            lambda n, x: n.f(x) + n.g(x),
            lambda n, x: _jac(n.f, x) + _jac(n.g, x),
        ),
        (
            "∂(f ⊙ g)/∂x = diag(g) J_f + diag(f) J_g",
            lambda n, x: n.f(x) * n.g(x),
            lambda n, x: (
                jnp.diag(n.g(x)) @ _jac(n.f, x) + jnp.diag(n.f(x)) @ _jac(n.g, x)
            ),
        ),
        (
            "∂f(g(x))/∂x = J_f(g) J_g",
            lambda n, x: n.f(n.B.T @ n.g(x)),
            lambda n, x: _jac(n.f, n.B.T @ n.g(x)) @ n.B.T @ _jac(n.g, x),
        ),
    ),
    *_identities(
        "scalar by matrix",
        WIDE,
        (
            "∂(cᵀX a)/∂X = c aᵀ",
            lambda n, X: n.c @ X @ n.a,
            lambda n, X: jnp.outer(n.c, n.a),
        ),
        (
            "∂(aᵀXᵀc)/∂X = c aᵀ",
            lambda n, X: n.a @ X.T @ n.c,
            lambda n, X: jnp.outer(n.c, n.a),
        ),
        (
            "∂(aᵀXᵀX b)/∂X = X (a bᵀ + b aᵀ)",
            lambda n, X: n.a @ X.T @ X @ n.b,
            lambda n, X: X @ (_outer(n) + _outer(n).T),
        ),
        (
            "∂(cᵀX Xᵀd)/∂X = (c dᵀ + d cᵀ) X",
            lambda n, X: n.c @ X @ X.T @ n.d,
            lambda n, X: (jnp.outer(n.c, n.d) + jnp.outer(n.d, n.c)) @ X,
            "∂(aᵀXᵀXᵀb)/∂X = Xᵀ(a bᵀ + b aᵀ)",
            lambda n, X: X.T @ (jnp.outer(n.c, n.d) + jnp.outer(n.d, n.c)),
        ),
    ),
    *_identities(
        "scalar by matrix",
        SQUARE,
        (
            "∂(aᵀXᵀXᵀb)/∂X = (Xᵀb) aᵀ + b (X a)ᵀ",
            lambda n, X: n.a @ X.T @ X.T @ n.b,
            lambda n, X: jnp.outer(X.T @ n.b, n.a) + jnp.outer(n.b, X @ n.a),
            "Xᵀ(a bᵀ + b aᵀ)",
            lambda n, X: X.T @ (_outer(n) + _outer(n).T),
        ),
    ),
    *_identities(
        "vector by matrix",
        WIDE,
        (
            "∂(X a)ᵢ/∂Xₖₗ = δᵢₖ aₗ",
            lambda n, X: X @ n.a,
            lambda n, X: jnp.einsum("ik,l->ikl", jnp.eye(M), n.a),
        ),
    ),
    *_identities(
        "traces",
        WIDE,
        ("∂Tr(X Xᵀ)/∂X = 2X", lambda n, X: jnp.trace(X @ X.T), lambda n, X: 2 * X),
    ),
    *_identities(
        "traces",
        SQUARE,
        ("∂Tr(X A)/∂X = Aᵀ", lambda n, X: jnp.trace(X @ n.A), lambda n, X: n.A.T),
        (
            "∂Tr(XᵀS X)/∂X = (S + Sᵀ) X",
            lambda n, X: jnp.trace(X.T @ n.A @ X),
            lambda n, X: (n.A + n.A.T) @ X,
        ),
    ),
    *_identities(
        "determinant and inverse",
        SQUARE,
        (
            "∂log|det X|/∂X = X⁻ᵀ",
            lambda n, X: jnp.linalg.slogdet(X)[1],
            lambda n, X: jnp.linalg.inv(X).T,
        ),
        (
            "∂Tr(S X⁻¹)/∂X = −(X⁻¹S X⁻¹)ᵀ",
            lambda n, X: jnp.trace(n.S @ jnp.linalg.inv(X)),
            lambda n, X: -(jnp.linalg.inv(X) @ n.S @ jnp.linalg.inv(X)).T,
            "−X⁻¹S",
            lambda n, X: -jnp.linalg.inv(X) @ n.S,
        ),
        (
            "∂(aᵀX⁻¹b)/∂X = −X⁻ᵀa bᵀX⁻ᵀ",
            lambda n, X: n.a @ jnp.linalg.solve(X, n.b),
            lambda n, X: -jnp.linalg.inv(X).T @ _outer(n) @ jnp.linalg.inv(X).T,
        ),
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

    __repr__ = __str__

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
