"""Transformer layers: attention and an MLP, each with a norm and a shortcut."""

from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.layers.attention.multi_head import Cache, MultiHeadAttention
from likely.layers.composition.chain import Chain
from likely.layers.composition.padded import repack, unpack
from likely.layers.norms.layer_norm import LayerNorm
from likely.layers.norms.rms_norm import RMSNorm
from likely.layers.units.activations import Activation, activation
from likely.layers.units.dense import Dense
from likely.layers.units.dropout import Dropout
from likely.layers.units.gated import GatedMLP
from likely.layers.units.initializers import Initializer
from likely.typing import Key, State

NORMS = {"layer": LayerNorm, "rms": RMSNorm}


class TransformerLayer(eqx.Module):
    """x + attention(norm(x)), then x + mlp(norm(x)); or the norms after the sums.

    With `cross=True` a second attention in the middle looks at a context, as in a decoder
    that reads what an encoder has made.

    Args:
        size: of a position.
        n_heads: the number of heads.
        hidden: the hidden units of the MLP; four times the size where None.
        cross: whether there is cross-attention.
        norm_first: whether norms stand before attention and MLP, or after the sums.
        norm: "layer" or "rms".
        epsilon: of the norms.
        gated: whether the MLP is gated.
        activate: the activation of the MLP.
        dropout: the probability to drop a value of what is added.
        bias: whether linear maps have a bias.
        init: of linear maps.
        key: the random key of the initial weights.
        attention: settings of the self-attention, such as `causal` or `rotary`.
    """

    attention: MultiHeadAttention
    cross: MultiHeadAttention | None
    mlp: Any
    norms: tuple[Any, ...]
    drop: Dropout | None
    norm_first: bool = eqx.field(static=True)

    def __init__(
        self,
        size: int,
        n_heads: int,
        *,
        hidden: int | None = None,
        cross: bool = False,
        norm_first: bool = True,
        norm: str = "layer",
        epsilon: float = 1e-5,
        gated: bool = False,
        activate: Activation = "gelu",
        dropout: float = 0.0,
        bias: bool = True,
        init: Initializer = "xavier",
        key: Key,
        **attention: Any,
    ):
        if norm not in NORMS:
            raise InputError(f"norm is {norm!r}; give one of {', '.join(NORMS)}.")
        k1, k2, k3, k4 = jax.random.split(key, 4)
        shared: dict[str, Any] = {"bias": bias, "init": init}
        hidden = 4 * size if hidden is None else hidden
        self.attention = MultiHeadAttention(
            size, n_heads, **shared, **attention, key=k1
        )
        self.cross = (
            MultiHeadAttention(size, n_heads, **shared, key=k2) if cross else None
        )
        if gated:
            self.mlp = GatedMLP(size, hidden, activate=activate, **shared, key=k3)
        else:
            self.mlp = Chain(
                Dense(size, hidden, **shared, key=k3),
                activation(activate, hidden),
                Dense(hidden, size, **shared, key=k4),
            )
        self.norms = tuple(NORMS[norm](size, epsilon=epsilon) for _ in range(2 + cross))
        self.drop = Dropout(dropout) if dropout else None
        self.norm_first = norm_first

    def __call__(
        self,
        X: Any,
        *,
        context: Any = None,
        mask: Any = None,
        w=None,
        key: Key | None = None,
        state: State = None,
    ) -> tuple[Any, State]:
        """The positions after attention and MLP, in the form of the input.

        Args:
            X: (n, t, d), an array or `Padded`.
            context: what the cross-attention looks at.
            mask: (t, s) or (n, t, s), which positions may be looked at.
            w: is not used: rows are independent.
            key: of the dropout; None at inference.
            state: is passed on.
        """
        H, _ = unpack(X)
        keys = [None] * 6 if key is None else list(jax.random.split(key, 6))

        def look(layer: MultiHeadAttention, H, number: int, **options: Any):
            found, _ = layer(repack(H, X), key=keys[number], **options)
            return unpack(found)[0]

        H = self._add(H, 0, keys[3], lambda H: look(self.attention, H, 0, mask=mask))
        if self.cross is not None:
            if context is None:
                raise InputError("this layer has cross-attention; give it a context.")
            other = self.cross
            H = self._add(H, 1, keys[4], lambda H: look(other, H, 1, context=context))
        H = self._add(H, -1, keys[5], lambda H: self.mlp(H)[0])
        return repack(H, X), state

    def extend(
        self, X: Float[Array, "n t d"], cache: Cache, context: Any = None
    ) -> tuple[Float[Array, "n t d"], Cache]:
        """New positions after those in the cache, and the longer cache."""
        found: list[Cache] = []

        def look(H):
            Y, longer = self.attention.extend(H, cache)
            found.append(longer)
            return Y

        H = self._add(X, 0, None, look)
        if self.cross is not None:
            other = self.cross
            H = self._add(H, 1, None, lambda H: unpack(other(H, context=context)[0])[0])
        return self._add(H, -1, None, lambda H: self.mlp(H)[0]), found[0]

    def _add(self, H: Any, number: int, key: Key | None, block: Any) -> Any:
        """H + block(norm(H)), or norm(H + block(H))."""
        norm = self.norms[number].of
        added = block(norm(H) if self.norm_first else H)
        added = added if self.drop is None else self.drop(added, key=key)[0]
        return H + added if self.norm_first else norm(H + added)
