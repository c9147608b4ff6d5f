r"""Nested sampling: the evidence as an integral over the share of the prior.

Let X(L) be the share of the prior with a likelihood above L. Then $Z = \int_0^1 L(X)\,dX$,
an integral in one dimension. Of n live points drawn from the prior the lowest is taken
away, and X shrinks by a factor of about $e^{-1/n}$; a new point is drawn from the prior
above that likelihood, by a random walk from one of the others. Several are replaced at a
time here: taking away j of n points shrinks $\log X$ by $\sum_{i<j} 1/(n - i)$ on average.
The error is $\sqrt{H/n}$, H the information in nats that the data add to the prior.

It needs no gradient, a prior to draw from, and does not mind several modes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import logsumexp

from likely.core.checks import InputError
from likely.core.compiling import lean_jit
from likely.core.precision import float64
from likely.core.random import key_of
from likely.inference.evidence.bridge import MAX_ERROR

SHARE_REPLACED = 0.1
MIN_STEPS, STEPS_PER_DIMENSION = 20, 10
"""Steps of the walk that draws a new point."""
MAX_ROUNDS = 20_000
MIN_MOVED = 0.05
"""The share of accepted steps below which new points are copies of old ones."""


class Problem(NamedTuple):
    """What is integrated: a likelihood of parameters that come from the unit cube."""

    log_likelihood: Callable[[Any], Any]
    prior_transform: Callable[[Any], Any]

    def __call__(
        self, u: Float[Array | np.ndarray, " d"]
    ) -> Float[Array | np.ndarray, ""]:
        found = jnp.asarray(self.log_likelihood(self.prior_transform(u)), u.dtype)
        return jnp.where(jnp.isnan(found), -jnp.inf, found)


@dataclass(frozen=True, eq=False)
class NestedSampling:
    """The evidence by nested sampling, and the draws that come with it.

    Attributes:
        log_evidence: log Z, in nats.
        error: its standard error √(H/n).
        information: H, the KL divergence of the posterior from the prior, in nats.
        points: (m, d) points of the unit cube, in the order of their likelihood.
        log_likelihood: (m,) of each.
        log_weights: (m,) of each in the posterior, with sum one.
        moved: the mean share of accepted steps of the walks.
    """

    log_evidence: float
    error: float
    information: float
    points: Float[np.ndarray, "m d"]
    log_likelihood: Float[np.ndarray, " m"]
    log_weights: Float[np.ndarray, " m"]
    moved: float

    @property
    def believable(self) -> bool:
        """Whether the walks moved, and the error is small enough to say something."""
        return self.moved > MIN_MOVED and self.error < MAX_ERROR

    @property
    def verdict(self) -> str:
        """The quality in a sentence."""
        if self.moved <= MIN_MOVED:
            return (
                f"Do not believe this evidence: walks accept {self.moved:.1%} of their "
                "steps; change the parameters, or use more live points."
            )
        if not self.error < MAX_ERROR:
            return "The error is large: use more live points."
        return "Nothing speaks against it."

    def __str__(self) -> str:
        return (
            f"log evidence {self.log_evidence:.4f} ± {self.error:.2g} (nested sampling, "
            f"information {self.information:.2f} nats). {self.verdict}"
        )

    __repr__ = __str__


def nested_sampling(
    log_likelihood: Callable[[Any], Any],
    prior_transform: Callable[[Any], Any],
    dimensions: int,
    *,
    live: int = 500,
    tolerance: float = 0.01,
    random_state: Any = 0,
) -> NestedSampling:
    """The evidence ∫ L(θ) p(θ) dθ.

    Args:
        log_likelihood: of parameters θ, in `jax.numpy`.
        prior_transform: from u, uniform in the unit cube, to θ with the prior's law: the
            quantile functions of the prior, such as `jax.scipy.special.ndtri`.
        dimensions: of u.
        live: n, the number of live points; the error falls as 1/√n.
        tolerance: stop when the live points can add no more than this to log Z.
        random_state: the seed.
    """
    if live < 50 or dimensions < 1:
        raise InputError("live has to be 50 or more, dimensions 1 or more.")
    problem, k = Problem(log_likelihood, prior_transform), int(live * SHARE_REPLACED)
    steps = max(MIN_STEPS, STEPS_PER_DIMENSION * dimensions)
    with float64():
        key, first = jax.random.split(key_of(random_state))
        U = np.array(jax.random.uniform(first, (live, dimensions), jnp.float64))
        log_l = np.array(_likelihoods(problem, U))
        if not np.isfinite(log_l).any():
            raise InputError(
                "the likelihood is zero or not a number all over the prior."
            )
        log_x, log_z, scale = 0.0, -np.inf, 1.0
        dead, moves = [], []
        shrink = np.cumsum(1 / (live - np.arange(k)))
        for _ in range(MAX_ROUNDS):
            order = np.argsort(log_l, kind="stable")
            out, stay = order[:k], order[k:]
            before = log_x - np.r_[0.0, shrink[:-1]]
            width = before + np.log(-np.expm1(-(shrink - np.r_[0.0, shrink[:-1]])))
            dead.append((U[out], log_l[out], width))
            log_z = np.logaddexp(log_z, np.logaddexp.reduce(log_l[out] + width))
            log_x -= shrink[-1]
            key, own = jax.random.split(key)
            moved = _replace(problem, own, U[stay], (log_l[out[-1]], scale, k, steps))
            U[out], log_l[out], rate = (np.asarray(a) for a in moved)
            moves.append(float(rate.mean()))
            scale *= np.exp(np.clip(moves[-1] - 0.4, -0.5, 0.5))
            if log_l.max() + log_x < log_z + np.log(tolerance):
                break
    dead.append((U, log_l, np.full(live, log_x - np.log(live))))
    return _result(dead, moves, live)


def _result(dead: list, moves: list[float], live: int) -> NestedSampling:
    points, log_l, width = (np.concatenate(part) for part in zip(*dead, strict=True))
    total: Any = logsumexp(log_l + width)
    log_z = float(total)
    log_w = log_l + width - log_z
    p = np.exp(log_w)
    information = max(0.0, float((p * np.where(p > 0, log_l, 0.0)).sum()) - log_z)
    error = float(np.sqrt(information / live))
    order = np.argsort(log_l, kind="stable")
    return NestedSampling(
        log_z, error, information, points[order], log_l[order], log_w[order],
        float(np.mean(moves)),
    )  # fmt: skip


@lean_jit
def _likelihoods(
    problem: Problem, U: Float[Array | np.ndarray, "n d"]
) -> Float[Array | np.ndarray, " n"]:
    return jax.vmap(problem)(U)


def _replace(problem: Problem, key: Any, U: np.ndarray, how: tuple):
    least, scale, k, steps = how
    scaled = jnp.asarray(scale), jnp.asarray(least), jnp.asarray(steps)
    return _walks(problem, key, U, scaled, k)


@partial(lean_jit, low=True)
def _walks(
    problem: Problem, key: Any, U: Float[Array | np.ndarray, "n d"], how: tuple, k: int
):
    """k new points above a likelihood: random walks from points that are."""
    scale, least, steps = how
    n, d = U.shape
    C = jnp.atleast_2d(jnp.cov(U.T)) + 1e-14 * jnp.eye(d)
    step = scale * 2.38 / jnp.sqrt(d) * jnp.linalg.cholesky(C)
    first, then = jax.random.split(key)
    rows = jax.random.choice(first, n, (k,), replace=True)

    def walk(key, u):
        def move(i, carry):
            u, log_l, accepted = carry
            noise = jax.random.normal(jax.random.fold_in(key, i), (d,), u.dtype)
            new = u + step @ noise
            inside = jnp.all((new > 0) & (new < 1))
            found = problem(jnp.clip(new, 1e-300, 1 - 1e-16))
            good = inside & (found > least)
            u, log_l = jnp.where(good, new, u), jnp.where(good, found, log_l)
            return u, log_l, accepted + good

        u, log_l, accepted = jax.lax.fori_loop(0, steps, move, (u, problem(u), 0))
        return u, log_l, accepted / steps

    return jax.vmap(walk)(jax.random.split(then, k), U[rows])
