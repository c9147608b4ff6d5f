r"""The smoothing of several curves at once: λ at the minimum of its criterion.

The columns are such that the penalty of curve j is $λ_j$ times the sum of the squares of its
coefficients. With $A = G + Λ$, $V = A^{-1}$, $β = V c$ and $W = V G V$, all of the criterion
follows from

$$u = Λ^{1/2} β, \quad v = Λ^{1/2} V (c - Gβ), \quad M = I - Λ^{1/2} V Λ^{1/2},
  \quad N = Λ^{1/2} W Λ^{1/2}.$$

In $ρ = \log λ$, with sums over the columns of the curves,

    ∂ⱼ (RSS + βᵀΛβ) = Σ u²      ∂ᵢⱼ = 2 Σ u M u − δ Σ u²
    ∂ⱼ RSS          = 2 Σ u v   ∂ᵢⱼ = 2 Σ (u M v + v M u + u N u) − 2 δ Σ u v
    ∂ⱼ (n − edf)    = Σ Nₖₖ     ∂ᵢⱼ = 2 Σ M N − δ Σ Nₖₖ
    ∂ⱼ log |A|/|Λ|  = −Σ Mₖₖ    ∂ᵢⱼ = −Σ M M + δ Σ Mₖₖ

so one factorisation gives a step of Newton's method. It also gives the criterion along every
single $ρ_j$ as far as one likes, since there A changes by a matrix of the rank of one curve.
A criterion has several valleys: the search ends where Newton's step and every move of one
λ, however far, gain nothing.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

MAX_LOG_SMOOTHING = 30.0
"""Beyond it a curve is a straight line, or has no penalty, to all digits."""
MAX_STEPS = 100
MAX_MOVE = 4.0
"""The longest step of Newton's method in any log λ."""
MIN_GAIN = 1e-9
"""The least gain of a step, in the logarithm of the criterion or nats per row."""
MIN_VARIANCE, MIN_FREEDOM = 1e-12, 1e-6
"""Shares of the sum of squares and of the rows from which a fit has no errors left."""
MIN_SHARE_FREE = 0.25
"""(n − edf)/n where generalised cross-validation is given up: at n = edf it is 0/0."""
MAX_SHRINKAGE = 1 - 1e-9
"""Beyond it the rows say nothing about a coefficient."""
MOVES = np.array([
    0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.1, 1.6, 2.3, 3.2, 4.6, 6.4, 9.0, 13.0, 20.0, 40.0,
])  # fmt: skip
"""Distances in one log λ that are tried both ways."""
SHARES = (1.0, 0.3, 0.05)
"""Of a step that changes several λ, which are tried."""


class Moments(NamedTuple):
    """The terms of the criterion."""

    rss: Float[Array, "..."]
    penalised: Float[Array, "..."]
    """RSS + βᵀΛβ."""
    freedom: Float[Array, "..."]
    """n − edf."""
    log_det: Float[Array, "..."]
    """log |A| − log |Λ|."""


class Criterion(eqx.Module):
    """What log λ minimises, from second moments alone.

    "gcv" is log(RSS / (n − edf)²), "reml" twice the negative log marginal likelihood per
    row, with a half-Cauchy prior on each λ^(−1/2), the size of a bend in units of the error,
    of scale² (n − M)/(nd). Without it, many curves and few rows end in curves through all.
    """

    G: Float[Array, "q q"]
    lift: Float[Array, " q"]
    """A ridge too small to see, where nothing else holds a coefficient."""
    c: Float[Array, " q"]
    yy: Float[Array, ""]
    n: Float[Array, ""]
    curves: Float[Array, "d q"]
    """1 where a column belongs to a curve."""
    method: str = eqx.field(static=True)
    width: int = eqx.field(static=True)
    """The most columns of a curve."""

    def __call__(self, rho: Float[Array, " d"]) -> Float[Array, ""]:
        """The criterion."""
        if self.method == "gcv":
            return self.value(self.solve(rho)[2])
        L = self._factor(rho)
        half = jax.scipy.linalg.solve_triangular(L, self.c, lower=True)
        none = jnp.zeros(())
        at = Moments(none, self.yy - half @ half, none, self._log_det(L, rho))
        return self.value(at) + self.prior(rho).sum()

    def prior(self, rho: Float[Array, "*s"]) -> Float[Array, "*s"]:
        """Twice the negative log prior of each curve per row, which REML adds."""
        return 2 / self.n * jax.nn.softplus(self._log_unit() - rho)

    def _log_unit(self) -> Float[Array, ""]:
        """log λ from which on a bend is expected: many curves and few rows leave few."""
        return jnp.log(len(self.curves) * self.n / self._limits()[1])

    def _factor(self, rho: Float[Array, " d"]) -> Float[Array, "q q"]:
        """The Cholesky factor of A."""
        lam = jnp.exp(rho) @ self.curves
        return jnp.linalg.cholesky(self.G + jnp.diag(self.lift + lam))

    def _log_det(self, L: Float[Array, "q q"], rho: Float[Array, " d"]):
        return 2 * jnp.log(jnp.diagonal(L)).sum() - self.curves.sum(1) @ rho

    def solve(self, rho: Float[Array, " d"]):
        """β, V and the terms of the criterion."""
        L = self._factor(rho)
        half = jax.scipy.linalg.solve_triangular(L, jnp.eye(len(L)), lower=True)
        V = half.T @ half
        beta = V @ self.c
        rss = self.yy - 2 * beta @ self.c + beta @ self.G @ beta
        freedom = self.n - jnp.sum(V * self.G)
        terms = rss, self.yy - beta @ self.c, freedom, self._log_det(L, rho)
        return beta, V, Moments(*terms)

    def value(self, at: Moments) -> Float[Array, "..."]:
        """The criterion from its terms."""
        least, free, few = self._limits()
        if self.method == "gcv":
            freedom = jnp.maximum(at.freedom, 0.0) + few
            return jnp.log(jnp.maximum(at.rss, 0.0) + least) - 2 * jnp.log(freedom)
        penalised = jnp.maximum(at.penalised, 0.0) + least
        return (free * jnp.log(penalised) + at.log_det) / self.n

    def _limits(self):
        """What is added to the RSS, REML's degrees of freedom, what is added to n − edf."""
        least = MIN_VARIANCE * self.yy + jnp.finfo(self.G.dtype).tiny
        free = jnp.maximum(self.n - (len(self.c) - self.curves.sum()), 1.0)
        return least, free, MIN_FREEDOM * self.n

    def expand(self, rho: Float[Array, " d"]) -> "Expansion":
        """The criterion at ρ, with what it takes to know it nearby."""
        beta, V, at = self.solve(rho)
        root = jnp.sqrt(jnp.exp(rho) @ self.curves)
        u, v = root * beta, root * (V @ (self.c - self.G @ beta))
        scaled = root[:, None] * V * root[None]
        M = jnp.diag(self.curves.sum(0)) - scaled
        N = root[:, None] * (V @ self.G @ V) * root[None]
        return Expansion(at, u, v, M, N)

    def slopes(
        self, e: "Expansion", rho: Float[Array, " d"]
    ) -> tuple[Float[Array, " d"], Float[Array, "d d"]]:
        """The gradient and the matrix of second derivatives in ρ."""
        E, at = self.curves, e.at
        least, free, few = self._limits()

        def blocks(a, K, b):
            return (E * a[None]) @ K @ (E * b[None]).T

        if self.method == "gcv":
            g_rss, g_free = 2 * E @ (e.u * e.v), E @ jnp.diagonal(e.N)
            cross = blocks(e.u, e.M, e.v)
            H_rss = 2 * (cross + cross.T + blocks(e.u, e.N, e.u)) - jnp.diag(g_rss)
            H_free = 2 * E @ (e.M * e.N) @ E.T - jnp.diag(g_free)
            rss, freedom = at.rss + least, at.freedom + few
            a, b = g_rss / rss, g_free / freedom
            H = H_rss / rss - jnp.outer(a, a) - 2 * (H_free / freedom - jnp.outer(b, b))
            return a - 2 * b, H
        g_fit, g_det = E @ e.u**2, -E @ jnp.diagonal(e.M)
        H_fit = 2 * blocks(e.u, e.M, e.u) - jnp.diag(g_fit)
        H_det = -E @ e.M**2 @ E.T - jnp.diag(g_det)
        a = g_fit / (at.penalised + least)
        H = free * (H_fit / (at.penalised + least) - jnp.outer(a, a)) + H_det
        share = jax.nn.sigmoid(self._log_unit() - rho)  # of the prior
        g = free * a + g_det - 2 * share
        return g / self.n, (H + jnp.diag(2 * share * (1 - share))) / self.n

    def alone(
        self, e: "Expansion", rho: Float[Array, " d"]
    ) -> tuple[Float[Array, " d"], Float[Array, " d"]]:
        """For each ρⱼ where the criterion is lowest along it, and how much is gained."""
        index = jnp.argsort(-self.curves, axis=1, stable=True)[:, : self.width]
        own = jnp.take_along_axis(self.curves, index, axis=1)
        pick = jax.vmap(lambda K, i: K[jnp.ix_(i, i)], in_axes=(None, 0))
        here = own[:, :, None] * own[:, None, :]
        R = here * (jnp.eye(self.width)[None] - pick(e.M, index))
        m, Q = jnp.linalg.eigh(R)
        N = jnp.einsum("jka,jkl,jlb->jab", Q, here * pick(e.N, index), Q)
        u, v = (jnp.einsum("jka,jk->ja", Q, own * x[index]) for x in (e.u, e.v))
        moves = np.r_[-MOVES[::-1], MOVES]
        to = jnp.clip(rho[:, None] + moves[None], -MAX_LOG_SMOOTHING, MAX_LOG_SMOOTHING)
        ahead = (to - rho[:, None])[:, :, None]
        m = jnp.clip(m, 0.0, MAX_SHRINKAGE)[:, None]
        grown = 1 - m + m * jnp.exp(ahead)
        change = jnp.expm1(ahead) / grown
        step = change * u[:, None]
        at = Moments(
            e.at.rss
            + 2 * jnp.einsum("jta,ja->jt", step, v)
            + jnp.einsum("jta,jab,jtb->jt", step, N, step),
            e.at.penalised + jnp.einsum("jta,ja->jt", step, u),
            e.at.freedom + jnp.einsum("jta,jaa->jt", change, N),
            e.at.log_det
            + jnp.log(grown).sum(2)
            - self.curves.sum(1)[:, None] * (to - rho[:, None]),
        )
        values = self.value(at)
        if self.method == "reml":
            values = values + self.prior(to) - self.prior(rho)[:, None]
        best = jnp.nanargmin(values, axis=1)[:, None]
        lowest = jnp.take_along_axis(values, best, 1)[:, 0]
        gain = jnp.nan_to_num(self.value(e.at) - lowest, nan=0.0)
        return jnp.take_along_axis(to, best, 1)[:, 0], gain


class Expansion(NamedTuple):
    """The criterion at some ρ, and what it takes to know it nearby."""

    at: Moments
    u: Float[Array, " q"]
    v: Float[Array, " q"]
    M: Float[Array, "q q"]
    N: Float[Array, "q q"]


class _Search(NamedTuple):
    rho: Float[Array, " d"]
    value: Float[Array, ""]
    gain: Float[Array, ""]
    free: Float[Array, ""]
    """The share of the rows that the curves leave free."""
    steps: Int[Array, ""]


def smoothest(criterion: Criterion) -> Float[Array, " d"]:
    """log λ at the minimum of the criterion: the best of a grid, then downhill."""
    d = len(criterion.curves)
    grid = jnp.linspace(-12.0, 16.0, 15)
    values = jax.lax.map(lambda r: criterion(jnp.full(d, r)), grid)
    start = jnp.nanargmin(values)

    def moving(s: _Search):
        going = (s.gain > MIN_GAIN) & (s.steps < MAX_STEPS)
        degenerate = criterion.method == "gcv" and s.free < MIN_SHARE_FREE
        return going & ~jnp.asarray(degenerate)

    def step(s: _Search) -> _Search:
        rho, value, free = _lower(criterion, s.rho, s.value)
        return _Search(rho, value, s.value - value, free, s.steps + 1)

    far, whole = jnp.asarray(jnp.inf), jnp.asarray(1.0)
    first = _Search(jnp.full(d, grid[start]), values[start], far, whole, jnp.asarray(0))
    return jax.lax.while_loop(moving, step, first).rho


def _lower(criterion: Criterion, rho: Float[Array, " d"], value: Float[Array, ""]):
    """A lower point: by Newton's step, by moves of many λ, or by the best move of one."""
    e = criterion.expand(rho)
    newton = rho + _newton_step(*criterion.slopes(e, rho))
    to, gain = criterion.alone(e, rho)
    first = jnp.argmax(gain)
    one = jnp.where(jnp.arange(len(rho)) == first, to, rho)
    many = jnp.where(gain > MIN_GAIN, to, rho)
    tried = [rho + s * (p - rho) for s in SHARES for p in (newton, many)]
    tried = jnp.clip(jnp.stack([*tried, one]), -MAX_LOG_SMOOTHING, MAX_LOG_SMOOTHING)
    enough = value - jnp.maximum(gain[first], 0.0)  # what the move of one λ gives

    def failing(state):
        i, _, found = state
        return ~(found < enough) & (i < len(tried))

    def attempt(state):
        i, _, _ = state
        return i + 1, tried[i], criterion(tried[i])

    _, at, found = jax.lax.while_loop(failing, attempt, (0, rho, value))
    better = found < value
    free = e.at.freedom / criterion.n
    return jnp.where(better, at, rho), jnp.where(better, found, value), free


def _newton_step(g: Float[Array, " d"], H: Float[Array, "d d"]) -> Float[Array, " d"]:
    """The step to the minimum of the quadratic, downhill where it has none."""
    size, Q = jnp.linalg.eigh(H)
    size = jnp.maximum(jnp.abs(size), 1e-6 * jnp.abs(size).max() + 1e-14)
    step = -Q @ ((Q.T @ g) / size)
    return step * jnp.minimum(1.0, MAX_MOVE / jnp.maximum(jnp.abs(step).max(), 1e-300))
