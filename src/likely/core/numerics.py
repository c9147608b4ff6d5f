r"""Stable scalar functions that JAX does not have.

The bounded log link: families use $\theta = e^{\rho(\eta)}$ with

$$\rho(\eta) = \eta \text{ for } |\eta| \le c, \qquad
  \operatorname{sign}(\eta)\,\bigl(c + \log(1 + |\eta| - c)\bigr) \text{ beyond},$$

the ordinary log link up to a bound $c$ (20 in float32, 300 in float64) and a
smooth, monotone, invertible continuation outside, where $e^\eta$ would overflow:
there θ grows linearly. So no η that a network emits makes a likelihood infinite:
even the square of $10^4 / e^{\rho(-10^4)}$ is a number.

The other functions are differences that would lose digits by cancellation if they were
written directly.
"""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

HALF_LOG_2PI = 0.9189385332046727
# Bernoulli numbers over 2k(2k-1): the series of `stirling` in 1/x, 1/x³, ...
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
# atanh(s)/s = 1 + s² Q(s²) for s² ≤ 1/9, to the last bit of float64
ATANH = (
    0.33333333333333487,
    0.19999999999780063,
    0.14285714338330496,
    0.11111106278964857,
    0.09091130554209872,
    0.07686637438179002,
    0.0675117123587855,
    0.05161334635249541,
    0.08435350330548605,
)


@jax.custom_jvp
def sigmoid(z: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """The logistic function 1 / (1 + e^−z), from the same e^−|z| as `softplus`."""
    e = jnp.exp(-jnp.abs(z))
    return jnp.where(z >= 0, 1.0, e) / (1 + e)


@sigmoid.defjvp
def _sigmoid_jvp(primals, tangents):
    (z,), (dz,) = primals, tangents
    p = sigmoid(z)
    return p, p * sigmoid(-z) * dz


@jax.custom_jvp
def softplus(z: Float[Array, "*s"]) -> Float[Array, "*s"]:
    r"""The softplus log(1 + e^z) = max(z, 0) + log(1 + e), where e = e^−|z|.

    With $s = e/(2+e) \le 1/3$ the logarithm is $2\operatorname{atanh} s$: a short
    polynomial, which vectorises where log1p does not.
    """
    e = jnp.exp(-jnp.abs(z))
    s = e / (2 + e)
    u, q = s * s, jnp.zeros_like(s)
    for c in reversed(ATANH):
        q = q * u + c
    return jnp.maximum(z, 0.0) + 2 * (s + s * u * q)


@softplus.defjvp
def _softplus_jvp(primals, tangents):
    (z,), (dz,) = primals, tangents
    return softplus(z), sigmoid(z) * dz


def horizon(x: Float[Array, "*s"]) -> float:
    """The bound c of the ordinary log link, for this precision."""
    return 300.0 if x.dtype == jnp.float64 else 20.0


@jax.custom_jvp
def bounded(eta: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """ρ(η): the identity for |η| ≤ c, logarithmic beyond."""
    c = horizon(eta)
    beyond = jnp.maximum(jnp.abs(eta) - c, 0.0)
    return jnp.clip(eta, -c, c) + jnp.sign(eta) * jnp.log1p(beyond)


@bounded.defjvp
def _bounded_jvp(primals, tangents):
    (eta,), (slope,) = primals, tangents
    beyond = jnp.maximum(jnp.abs(eta) - horizon(eta), 0.0)
    return bounded(eta), slope / (1 + beyond)  # one product: no 0 · ∞


def unbounded(rho: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """The inverse of `bounded`."""
    c = horizon(rho)
    beyond = jnp.maximum(jnp.abs(rho) - c, 0.0)
    return jnp.clip(rho, -c, c) + jnp.sign(rho) * jnp.expm1(beyond)


@jax.custom_jvp
def standardised(
    gap: Float[Array, "*s"], log_scale: Float[Array, "*s"], bound: Float[Array, "*s"]
) -> Float[Array, "*s"]:
    """The ratio gap / scale, between −bound and bound, with a finite slope everywhere.

    Beyond the bound the slope is that at the bound, so that a loss which would overflow
    still says in which direction it falls.
    """
    return jnp.clip(gap * jnp.exp(-log_scale), -bound, bound)


@standardised.defjvp
def _standardised_jvp(primals, tangents):
    gap, log_scale, bound = primals
    z = standardised(gap, log_scale, bound)
    return z, jnp.exp(-log_scale) * tangents[0] - z * tangents[1]


def largest(x: Float[Array, "*s"], power: float | int = 1) -> float:
    """The number whose power is a sixteenth of the largest one of this precision."""
    return float((float(jnp.finfo(x.dtype).max) / 16) ** (1 / power))


def log1p_square(
    gap: Float[Array, "*s"], log_scale: Float[Array, "*s"]
) -> Float[Array, "*s"]:
    """The logarithm log(1 + u²) at u = gap / scale, where u and u² may overflow."""
    large = jnp.log(jnp.abs(gap)) > log_scale
    u = jnp.where(large, 0.0, gap) * jnp.exp(-jnp.where(large, 0.0, log_scale))
    log_u = jnp.log(jnp.abs(jnp.where(large, gap, 1.0)))
    log_u = log_u - jnp.where(large, log_scale, 0.0)
    beyond = 2 * log_u + jnp.log1p(jnp.exp(-2 * log_u))
    return jnp.where(large, beyond, jnp.log1p(u**2))


def log1p_minus(x: Float[Array, "*s"]) -> Float[Array, "*s"]:
    r"""The difference log(1 + x) − x, accurate (about $-x^2/2$) for small x.

    With $s = x/(2+x)$: $\log(1+x) = 2s + 2s^3/3 + \dots$ and $2s - x = -sx$.
    """
    small = jnp.abs(x) < 0.25
    near = jnp.where(small, x, 0.0)
    s = near / (2 + near)
    tail = sum(s ** (2 * j + 3) / (2 * j + 3) for j in range(8))
    far = jnp.where(small, 1.0, x)
    return jnp.where(small, 2 * tail - s * near, jnp.log1p(far) - far)


def expm1_minus(t: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """The difference exp(t) − 1 − t, accurate (about t²/2) for small t."""
    small = jnp.abs(t) < 0.5
    near, total = jnp.where(small, t, 0.0), jnp.ones_like(t)
    for j in range(15, 2, -1):
        total = 1 + near / j * total
    far = jnp.where(small, 1.0, t)
    return jnp.where(small, near**2 / 2 * total, jnp.expm1(far) - far)


def stirling(x: Float[Array, "*s"]) -> Float[Array, "*s"]:
    r"""The remainder of Stirling's formula for log Γ(x): about 1/(12x), for x > 0.

    $\log Γ(x) = (x - \tfrac12) \log x - x + \tfrac12 \log 2π + S(x)$. It is
    computed from logarithms alone, so that its derivatives are cheap to run and compile.
    """
    small = x < 8
    far, near = jnp.where(small, x + 8, x), jnp.where(small, x, 1.0)
    series = jnp.zeros_like(x)
    for c in reversed(STIRLING):
        series = series / far**2 + c
    # log Γ(x) = log Γ(x+8) − log x(x+1)⋯(x+7), with the powers of x together
    steps = jnp.log(math.prod(near + j for j in range(1, 8)))
    shift = (near + 7.5) * jnp.log(near + 8) - (near + 0.5) * jnp.log(near) - 8 - steps
    return series / far + jnp.where(small, shift, 0.0)


def log_rising(x: Float[Array, "*s"], d: Float[Array, "*s"]) -> Float[Array, "*s"]:
    r"""The difference $\log Γ(x+d) - \log Γ(x) - d \log x$ for d ≥ 0, also for large x."""
    gap = stirling(x + d) - stirling(x)
    return (x + d - 0.5) * jnp.log1p(d / x) - d + gap


def deviance(
    x: Float[Array, "*s"],
    m: Float[Array, "*s"],
    gap: Float[Array, "*s"],
    log_ratio: Float[Array, "*s"],
) -> Float[Array, "*s"]:
    r"""The divergence x log(x/m) − x + m for x ≥ 0 and m ≥ 0, accurate for x near m.

    With $v = (x-m)/(x+m)$ it is $(x-m)v + 2x(v^3/3 + v^5/5 + \dots)$ (Loader 2000).

    Args:
        x: the first number.
        m: the second number.
        gap: the difference x − m, as accurately as it is known.
        log_ratio: log(x/m), which may be any finite number where x is 0.
    """
    total = x + m
    near = jnp.abs(gap) < 0.15 * total
    v = jnp.where(near, gap, 0.0) / jnp.where(near, total, 1.0)
    series, v2 = jnp.zeros_like(v), v * v
    for j in range(6, -1, -1):
        series = series * v2 + 1 / (2 * j + 3)
    close = (
        v * jnp.where(near, gap, 0.0) + 2 * jnp.where(near, x, 0.0) * (v * v2) * series
    )
    apart = jnp.where(near, 0.0, x) * jnp.where(near, 0.0, log_ratio)
    return jnp.where(near, close, apart - jnp.where(near, 0.0, gap))
