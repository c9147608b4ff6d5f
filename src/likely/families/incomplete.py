r"""Incomplete gamma functions and Student's t, accurate for large parameters too.

JAX sums series whose length grows like √a and whose terms cancel. Above a = 1000
Temme's uniform expansion is used, with $\tfrac12 t^2 = λ - 1 - \log λ$ at
$λ = x/a$, t and λ − 1 of the same sign:

$$Q(a, x) = \tfrac12 \operatorname{erfc}\bigl(t \sqrt{a/2}\bigr)
  + \frac{e^{-a t^2/2}}{\sqrt{2πa}} \sum_k \frac{C_k(t)}{a^k} .$$
"""

import jax.numpy as jnp
from jax.scipy import special
from jaxtyping import Array, Float

from likely.core.numerics import log1p_minus

MIN_TEMME_A = 1000.0
MIN_HILL_DF = 10_000.0
# The Taylor coefficients of C₀, C₁, C₂ (Temme 1979).
TEMME = (
    (
        -1 / 3, 1 / 12, -2 / 135, 1 / 864, 1 / 2835, -139 / 777600, 1 / 25515,
        -571 / 261273600, -281 / 151559100, 8.296711340953086e-07,
        -1.7665952736826078e-07, 6.707853543401498e-09, 1.0261809784240308e-08,
        -4.382036018453353e-09, 9.14769958223679e-10,
    ),
    (
        -1 / 540, -1 / 288, 1 / 378, -77 / 77760, 1 / 4860, -4.018775720164609e-07,
        -1.809855033448998e-05, 7.64916091608111e-06, -1.6120900894563446e-06,
        4.647127802807434e-09, 1.378633446915721e-07, -5.752545603517705e-08,
    ),
    (
        25 / 6048, -139 / 51840, 1 / 1296, 2.0093878600823045e-06,
        -1.0736653226365161e-04, 5.2923448829120125e-05, -1.2760635188618728e-05,
        3.4235787340961381e-08, 1.3721957309062933e-06,
    ),
)  # fmt: skip


def gamma_cdf(
    a: Float[Array, "*n"], x: Float[Array, "*n"]
) -> tuple[Float[Array, "*n"], Float[Array, "*n"]]:
    """P(a, x) and Q(a, x) = 1 − P(a, x), each accurate where it is small; x ≥ 0."""
    large = a > MIN_TEMME_A
    small_a, small_x = jnp.where(large, 1.0, a), jnp.where(large, 1.0, x)
    below, above = _temme(
        jnp.where(large, a, MIN_TEMME_A), jnp.where(large, x, MIN_TEMME_A)
    )
    return (
        jnp.where(large, below, special.gammainc(small_a, small_x)),
        jnp.where(large, above, special.gammaincc(small_a, small_x)),
    )


def _temme(a: Array, x: Array) -> tuple[Array, Array]:
    """P(a, x) and Q(a, x) for large a, by Temme's expansion."""
    excess = jnp.clip(x / a - 1, -1 + jnp.finfo(a.dtype).eps, 1e3)
    half = -log1p_minus(excess)  # t²/2
    t = jnp.sign(excess) * jnp.sqrt(2 * half)
    near = jnp.clip(t, -1.5, 1.5)
    series = jnp.zeros_like(a)
    for coefficients in reversed(TEMME):
        series = series / a + _polynomial(coefficients, near)
    correction = jnp.exp(-a * half) / jnp.sqrt(2 * jnp.pi * a) * series
    root = jnp.sqrt(a * half)
    tail = 0.5 * special.erfc(root) + jnp.where(t < 0, -correction, correction)
    return jnp.where(t < 0, tail, 1 - tail), jnp.where(t < 0, 1 - tail, tail)


def _polynomial(coefficients: tuple[float, ...], x: Array) -> Array:
    """The polynomial with these coefficients, the constant first, at x."""
    total = jnp.zeros_like(x)
    for c in reversed(coefficients):
        total = total * x + c
    return total


def student_cdf(df: Float[Array, "*n"], z: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """The cdf P(T ≤ z) of Student's t, accurate in both tails and the centre."""
    lower = jnp.where(df > MIN_HILL_DF, _hill(df, z), _beta_tail(df, z))  # P(T ≤ −|z|)
    return jnp.where(z > 0, 1 - lower, lower)


def _beta_tail(df: Array, z: Array) -> Array:
    """P(T ≤ −|z|), from the side of the beta function that does not cancel."""
    df = jnp.minimum(df, MIN_HILL_DF)
    u = (z / jnp.sqrt(df)) ** 2
    central = jnp.abs(z) < 1
    a, b = jnp.where(central, 0.5, df / 2), jnp.where(central, df / 2, 0.5)
    beta = special.betainc(a, b, jnp.where(central, u / (1 + u), 1 / (1 + u)))
    return 0.5 * jnp.where(central, 1 - beta, beta)


def _hill(df: Array, z: Array) -> Array:
    """P(T ≤ −|z|) for large df: the normal deviate of the same rank (Hill 1970)."""
    a = jnp.maximum(df, MIN_HILL_DF) - 0.5
    b = 48 * a**2
    s = jnp.sqrt(a * jnp.log1p((z / jnp.sqrt(a + 0.5)) ** 2))
    higher = (((4 * s**2 + 33) * s**2 + 240) * s**2 + 855) * s
    deviate = s + (s**3 + 3 * s) / b - higher / (10 * b * (b + 0.8 * s**4 + 100))
    return special.ndtr(-deviate)
