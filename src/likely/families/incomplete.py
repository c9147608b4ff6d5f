r"""Incomplete gamma and beta functions and Student's t, for small and large parameters.

JAX's own lose digits where their parameters are large, because the prefactor
$x^a (1-x)^b / B(a, b)$ is the exponential of a difference of large numbers. Here it is
computed from divergences (`core.numerics.deviance`) and remainders of Stirling's formula, none
of which cancel, also in single precision. The smaller tail is this prefactor times a continued
fraction (Didonato and Morris 1992), whose length grows like the root of the smaller
parameter. Where both parameters are large the incomplete gamma function is given by Temme's
uniform expansion, with $\tfrac12 t^2 = λ - 1 - \log λ$ at $λ = x/a$, t and λ − 1 of the
same sign:

$$Q(a, x) = \tfrac12 \operatorname{erfc}\bigl(t \sqrt{a/2}\bigr)
  + \frac{e^{-a t^2/2}}{\sqrt{2πa}} \sum_k \frac{C_k(t)}{a^k} ,$$

and the incomplete beta function by Gauss's rule for the integral of the density.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy import special
from jaxtyping import Array, Bool, Float

from likely.core.numerics import deviance, expm1_minus, log1p_minus, stirling

MIN_TEMME_A = 1000.0
MIN_GAUSS_AB = 1000.0
MAX_FRACTION_STEPS = 400
NODES, WEIGHTS = np.polynomial.legendre.leggauss(32)
GAUSS_DEPTH = 48.0
"""How far, in nats, the density falls over the range of Gauss's rule."""
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
    a: Float[Array, "*n"],
    x: Float[Array, "*n"],
    log_x: Float[Array, "*n"] | None = None,
) -> tuple[Float[Array, "*n"], Float[Array, "*n"]]:
    """P(a, x) and Q(a, x) = 1 − P(a, x), each accurate where it is small; a > 0, x ≥ 0.

    Give log x too where x may be too small for its precision: P(a, x) is about xᵃ.
    """
    large = a > MIN_TEMME_A
    if log_x is None:
        log_x = jnp.log(x)
    pairs = (
        _temme(jnp.where(large, a, MIN_TEMME_A), jnp.where(large, x, MIN_TEMME_A)),
        _gamma_fraction(
            *(jnp.where(large, b, c) for b, c in ((1.0, a), (1.0, x), (0.0, log_x)))
        ),
    )
    below, above = (
        jnp.where(large, far, near) for far, near in zip(*pairs, strict=True)
    )
    return below, above


def _gamma_fraction(a: Array, x: Array, log_x: Array) -> tuple[Array, Array]:
    """P(a, x) and Q(a, x) by continued fractions: the limits of those of `beta_cdf`."""
    gap, empty = a - x, jnp.isneginf(log_x)
    log_ratio = jnp.log(a) - jnp.where(empty, 0.0, log_x)
    scale = 0.5 * jnp.log(a / (2 * jnp.pi)) - stirling(a)
    front = jnp.exp(scale - deviance(a, x, gap, log_ratio))  # xᵃ e⁻ˣ / Γ(a)
    lower = gap > -1  # the side on which the fraction is short
    zero, one = jnp.zeros_like(a), jnp.ones_like(a)
    tail = front * _fraction(
        jnp.where(lower, 1 / a, zero),
        jnp.where(lower, zero, one),
        jnp.where(lower, x, a),
        jnp.where(lower, gap, -gap),
    )
    return _both(lower, tail, empty)


def beta_cdf(
    a: Float[Array, "*n"], b: Float[Array, "*n"], logit: Float[Array, "*n"]
) -> tuple[Float[Array, "*n"], Float[Array, "*n"]]:
    r"""The incomplete beta function $I_x(a, b)$ at $x = σ(\text{logit})$, and 1 minus it.

    Each is accurate where it is small; a > 0 and b > 0. The logit says how near x is to
    either end, also where x itself would round to 0 or 1.
    """
    x, y = jax.nn.sigmoid(logit), jax.nn.sigmoid(-logit)
    gap, total = a * y - b * x, a + b  # gap = a − (a + b) x = (a + b) y − b
    share = jnp.log(a) - jnp.log(total), jnp.log(b) - jnp.log(total)
    spread = deviance(a, total * x, gap, share[0] + jax.nn.softplus(-logit))
    spread += deviance(b, total * y, -gap, share[1] + jax.nn.softplus(logit))
    scale = 0.5 * (jnp.log(a) + share[1] - jnp.log(2 * jnp.pi))
    scale -= stirling(a) + stirling(b) - stirling(total)
    front = jnp.exp(scale - spread)  # xᵃ yᵇ / B(a, b)
    lower = gap + y > x  # the side on which the fraction is short
    a, b = jnp.where(lower, a, b), jnp.where(lower, b, a)
    x, y = jnp.where(lower, x, y), jnp.where(lower, y, x)
    gap = jnp.where(lower, gap, -gap)
    large = jnp.minimum(a, b) > MIN_GAUSS_AB

    def by_gauss(_: None) -> Array:
        return jnp.where(large, _gauss(a, b, x, y, gap), small())

    def small() -> Array:
        keep = lambda value, other: jnp.where(large, other, value)  # noqa: E731
        return _fraction(
            keep(1 / a, 0.5), keep(x, 0.5), keep(b * x, 1.0), keep(gap, 0.0)
        )

    factor = jax.lax.cond(large.any(), by_gauss, lambda _: small(), None)
    return _both(lower, front * factor, jnp.zeros_like(lower))


def _both(lower: Bool[Array, "*n"], tail: Array, empty: Array) -> tuple[Array, Array]:
    """The lower and the upper tail from the smaller one; nothing is below where `empty`."""
    tail = jnp.clip(tail, 0.0, 1.0)
    below = jnp.where(empty, 0.0, jnp.where(lower, tail, 1 - tail))
    return below, jnp.where(empty, 1.0, jnp.where(lower, 1 - tail, tail))


def _fraction(inverse_a: Array, x: Array, bx: Array, gap: Array) -> Array:
    """The continued fraction of I_x(a, b) B(a, b) / (xᵃ (1−x)ᵇ), for gap = a − (a+b) x > −1.

    It is written in 1/a, x and b·x, so that the limits of b → ∞ with b·x = z, which is
    P(a, z), and of a → ∞ with x → 1, which is Q(b, z), are ordinary values.
    """
    eps = jnp.finfo(x.dtype).eps
    first = 1 + inverse_a

    def unfinished(carry) -> Array:
        n, _, _, r, before = carry
        moving = jnp.any(jnp.abs(r - before) > eps * jnp.abs(r))
        return (n < MAX_FRACTION_STEPS) & (moving | (n < 4))  # the first may be idle

    def advance(carry):
        n, a0, b0, r, _ = carry
        t = n * inverse_a
        p, s = 1 + t - inverse_a, 1 + 2 * t - inverse_a
        w = n * (bx - n * x)
        alpha = p * (p * x + bx * inverse_a) / s * (w / s)
        beta = (
            n + w * inverse_a / s + (1 + t) / (first + 2 * t) * (1 + gap + n * (2 - x))
        )
        above, under = alpha * a0 + beta * r, alpha * b0 + beta
        return n + 1, r / under, 1 / under, above / under, r

    start = first / (1 + gap)
    under = (1 + gap) / first
    one = jnp.asarray(1.0, x.dtype)
    carry = (one, jnp.zeros_like(x), 1 / under, start, jnp.zeros_like(x) - 1)
    return jax.lax.while_loop(unfinished, advance, carry)[3]


def _gauss(a: Array, b: Array, x: Array, y: Array, gap: Array) -> Array:
    r"""The integral $\frac1y \int_0^\infty e^{-as} (1 + ω (1 - e^{-s}))^{b-1} ds$, ω = x/y.

    It is I_x(a, b) B(a, b) / (xᵃ yᵇ), from t = x e⁻ˢ in the integral of the density,
    for large a and b, where the integrand falls like a normal tail.
    """
    odds = x / y
    slope = (gap + x) / y  # a − (b − 1) ω
    curve = (b - 1) * odds / y
    reach = 2 * GAUSS_DEPTH / (slope + jnp.sqrt(slope**2 + 2 * GAUSS_DEPTH * curve))
    reach = jnp.where(jnp.isfinite(reach), reach, 0.0)
    nodes, weights = (jnp.asarray(0.5 * v, a.dtype) for v in (1 + NODES, WEIGHTS))

    def add(i: Array, total: Array) -> Array:
        s = nodes[i] * reach
        fall = log1p_minus(-odds * jnp.expm1(-s)) - odds * expm1_minus(-s)
        return total + weights[i] * jnp.exp((b - 1) * fall - slope * s)

    return jax.lax.fori_loop(0, len(NODES), add, jnp.zeros_like(a)) * reach / y


def _temme(a: Array, x: Array) -> tuple[Array, Array]:
    """P(a, x) and Q(a, x) for large a, by Temme's expansion."""
    excess = jnp.clip((x - a) / a, -1 + jnp.finfo(a.dtype).eps, 1e3)
    half = -log1p_minus(excess)  # t²/2
    t = jnp.sign(excess) * jnp.sqrt(2 * half)
    near = jnp.clip(t, -1.5, 1.5)
    series = jnp.zeros_like(a)
    for coefficients in reversed(TEMME):
        series = series / a + _polynomial(coefficients, near)
    correction = jnp.exp(-a * half) / jnp.sqrt(2 * jnp.pi * a) * series
    root = jnp.sqrt(a * half)
    tail = 0.5 * special.erfc(root) + jnp.where(t < 0, -correction, correction)
    tail = jnp.clip(tail, 0.0, 1.0)
    return jnp.where(t < 0, tail, 1 - tail), jnp.where(t < 0, 1 - tail, tail)


def _polynomial(coefficients: tuple[float, ...], x: Array) -> Array:
    """The polynomial with these coefficients, the constant first, at x."""
    total = jnp.zeros_like(x)
    for c in reversed(coefficients):
        total = total * x + c
    return total


def student_cdf(df: Float[Array, "*n"], z: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """The cdf P(T ≤ z) of Student's t, accurate in both tails and the centre."""
    finfo = jnp.finfo(z.dtype)
    size = jnp.clip(jnp.abs(z), finfo.tiny, finfo.max)
    logit = jnp.log(df) - 2 * jnp.log(size)  # of 1 / (1 + z²/ν)
    lower = 0.5 * beta_cdf(0.5 * df, jnp.full_like(df, 0.5), logit)[0]  # P(T ≤ −|z|)
    return jnp.where(z > 0, 1 - lower, lower)
