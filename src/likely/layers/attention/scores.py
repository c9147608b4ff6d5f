r"""Scaled dot-product attention: $\operatorname{softmax}(q k^\top / \sqrt{d})\, v$, over the keys.

On a GPU it is one fused kernel (cuDNN) where the shapes allow it; elsewhere two products with a
softmax between them, whose derivative $p\,(\dot p - \sum \dot p\, p)$ needs the probabilities only.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

HALVES = (jnp.bfloat16, jnp.float16)


def attention(
    q: Float[Array, "n t h d"],
    k: Float[Array, "n s g d"],
    v: Float[Array, "n s g e"],
    *,
    mask: Bool[Array, "#n #h #t s"] | None = None,
    bias: Float[Array, "#n #h t s"] | None = None,
    causal: bool = False,
    window: int | None = None,
    scale: float | None = None,
) -> Float[Array, "n t h e"]:
    """The values, averaged with weights by the match of queries and keys.

    Args:
        q: queries of h heads.
        k: keys of g heads; h/g heads of queries share one.
        v: values.
        mask: which keys a query may look at; where it may look at none, the result is 0.
        bias: added to the scores.
        causal: whether a query sees no key after its own position; with fewer queries than
            keys the last ones are aligned.
        window: a query sees the keys at most this many positions before it.
        scale: of the scores; 1/√d where None.
    """
    if _fused(q, k, v, window):
        return jax.nn.dot_product_attention(
            q, k, v, bias=bias, mask=mask, is_causal=causal, scale=scale,
            implementation="cudnn",
        )  # fmt: skip
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    (n, t, h, d), (s, g) = q.shape, k.shape[1:3]
    q = q * jnp.asarray(scale, q.dtype)
    if g == h:
        S = jnp.einsum("nthd,nshd->nhts", q, k)
    else:
        q = q.reshape(n, t, g, h // g, d)
        S = jnp.einsum("ntgrd,nsgd->ngrts", q, k).reshape(n, h, t, s)
    S = S if bias is None else S + bias.astype(S.dtype)
    P = softmax(S, _allowed(t, s, mask, causal=causal, window=window))
    if g == h:
        return jnp.einsum("nhts,nshe->nthe", P, v)
    P = P.reshape(n, g, h // g, t, s)
    return jnp.einsum("ngrts,nsge->ntgre", P, v).reshape(n, t, h, v.shape[-1])


def probabilities(
    q: Float[Array, "n t h d"], k: Float[Array, "n s g d"], **options: Any
) -> Float[Array, "n h t s"]:
    """The weights that `attention` gives to the keys, for those who want to see them."""
    g = k.shape[2]
    one = jnp.eye(k.shape[1], dtype=q.dtype)[None, :, None]
    v = jnp.broadcast_to(one, (len(q), k.shape[1], g, k.shape[1]))
    return jnp.swapaxes(attention(q, k, v, **options), 1, 2)


def _fused(q: Any, k: Any, v: Any, window: int | None) -> bool:
    """Whether cuDNN's kernel takes these arrays; decided when the program is traced."""
    halves = all(a.dtype in HALVES for a in (q, k, v))
    return jax.default_backend() == "gpu" and halves and window is None


def _allowed(t: int, s: int, mask: Any, *, causal: bool, window: int | None) -> Any:
    """Which keys each query may look at, or None for all."""
    if causal or window is not None:
        ahead = np.arange(s)[None] - np.arange(s - t, s)[:, None]
        near = ahead <= 0 if causal else np.ones((t, s), bool)
        if window is not None:
            near &= (ahead >= -window) & (ahead <= window)
        near = jnp.asarray(near)[None, None]
        mask = near if mask is None else mask & near
    return mask


def softmax(S: Float[Array, "*n s"], allowed: Any = None) -> Float[Array, "*n s"]:
    """Probabilities along the last axis, in at least float32; 0 where not allowed."""
    wide = jnp.promote_types(S.dtype, jnp.float32)
    scores = S.astype(wide)
    if allowed is None:
        return _softmax(scores).astype(S.dtype)
    P = _softmax(jnp.where(allowed, scores, jnp.finfo(wide).min))
    return jnp.where(allowed, P, 0).astype(S.dtype)


@jax.custom_jvp
def _softmax(S: Float[Array, "*n s"]) -> Float[Array, "*n s"]:
    """exp(S)/Σ exp(S)."""
    E = jnp.exp(S - S.max(-1, keepdims=True))
    return E / E.sum(-1, keepdims=True)


@_softmax.defjvp
def _softmax_jvp(primals, tangents):
    P, t = _softmax(*primals), tangents[0]
    return P, P * (t - (P * t).sum(-1, keepdims=True))
