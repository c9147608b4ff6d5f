r"""The vision transformer: an image as a sequence of patches."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.core.checks import InputError, check_choice
from likely.layers.attention.positions import LearnedPositions
from likely.layers.attention.transformer import NORMS, TransformerLayer
from likely.layers.composition.padded import Padded, repack, unpack
from likely.layers.units.dense import Dense
from likely.layers.units.dropout import Dropout
from likely.layers.units.initializers import GaussianInit
from likely.models.sequence.recurrent_network import mean_position
from likely.models.sequence.transformer import GPT2_INIT, transformer_layers
from likely.typing import Key, State


class VisionTransformer(eqx.Module):
    """A transformer encoder from images (n, h, w, c) to η of each image.

    An image is cut into square patches; each becomes a vector by a linear map, with a learned
    vector of its place added. η is a linear map of a further position, the class token, or of
    the mean of all patches.

    Args:
        shape: of an image, (h, w, c); the patch has to divide h and w.
        n_out: the entries of η; 0 for the pooled state itself.
        size: the size of a position inside.
        n_layers: the number of layers.
        n_heads: the number of heads of attention.
        patch: the side of a patch, in pixels.
        pool: "class" or "mean".
        dropout: the probability to drop a value of the embedding and of what layers add.
        norm: "layer" or "rms".
        epsilon: of the norms.
        key: the random key of the initial weights.
        settings: more settings of `TransformerLayer`: hidden, gated, activate, bias, ...
    """

    patches: Dense
    class_token: Float[Array, " size"] | None
    positions: LearnedPositions
    drop: Dropout | None
    layers: tuple[TransformerLayer, ...]
    norm: Any
    output: Dense | None
    shape: tuple[int, ...] = eqx.field(static=True)
    patch: int = eqx.field(static=True)

    def __init__(
        self,
        shape: Sequence[int],
        n_out: int,
        size: int,
        n_layers: int,
        n_heads: int,
        *,
        patch: int = 16,
        pool: str = "class",
        dropout: float = 0.0,
        norm: str = "layer",
        epsilon: float = 1e-6,
        key: Key,
        **settings: Any,
    ):
        check_choice("pool", pool, ("class", "mean"))
        check_choice("norm", norm, NORMS)
        if len(shape) != 3 or shape[0] % patch or shape[1] % patch:
            raise InputError(
                f"an image has shape {tuple(shape)} and a patch {patch} pixels; give "
                "(height, width, channels), both sides a multiple of the patch."
            )
        k1, k2, k3, k4 = jax.random.split(key, 4)
        numbers = patch * patch * shape[2]
        count = (shape[0] // patch) * (shape[1] // patch) + (pool == "class")
        self.patches = Dense(numbers, size, init=GaussianInit(1 / numbers), key=k1)
        self.class_token = jnp.zeros(size) if pool == "class" else None
        self.positions = LearnedPositions(count, size, key=k2)
        self.drop = Dropout(dropout) if dropout else None
        settings = {"init": GPT2_INIT, **settings}
        self.layers = transformer_layers(
            size, n_layers, n_heads, norm=norm, epsilon=epsilon, dropout=dropout,
            key=k3, **settings,
        )  # fmt: skip
        self.norm = NORMS[norm](size, epsilon=epsilon)
        self.output = Dense(size, n_out, init=GPT2_INIT, key=k4) if n_out else None
        self.shape, self.patch = tuple(shape), patch

    def __call__(
        self, X: Any, *, w=None, key: Key | None = None, state: State = None
    ) -> tuple[Float[Array, "n k"], State]:
        """η of each image.

        Args:
            X: (n, h, w, c) images, or patches as `cut` makes them, `Padded` where some of
                them are absent.
            w: is not used: rows are independent.
            key: of the dropout; None at inference.
            state: is passed on.
        """
        H, present = unpack(self.states(X, key=key))
        H = H[:, 0] if self.class_token is not None else mean_position(H, present)
        return (H if self.output is None else self.output.of(H)), state

    def cut(self, X: Any) -> Float[Array, "n t p"]:
        """The patches of each image, row by row; a patch is its pixels, channels last."""
        if X.shape[1:] != self.shape:
            raise InputError(
                f"the images have shape {X.shape[1:]}, this model is for {self.shape}."
            )
        (h, w, c), p = self.shape, self.patch
        X = jnp.asarray(X).reshape(len(X), h // p, p, w // p, p, c)
        return X.transpose(0, 1, 3, 2, 4, 5).reshape(len(X), -1, p * p * c)

    def states(self, X: Any, *, key: Key | None = None) -> Any:
        """The state of each patch after the last norm, the class token first.

        In the form of the input: an array, or `Padded` where patches are absent.
        """
        if not isinstance(X, Padded) and X.ndim == 4:
            X = self.cut(X)
        values, present = unpack(X)
        numbers = self.patches.weight.shape[0]
        table = self.positions.weight
        extra = self.class_token is not None
        if values.shape[1:] != (len(table) - extra, numbers):
            raise InputError(
                f"the patches have shape {values.shape}; this model takes images (rows, "
                f"{', '.join(map(str, self.shape))}) or patches (rows, "
                f"{len(table) - extra}, {numbers})."
            )
        H = self.patches.of(values)
        if self.class_token is not None:
            first = jnp.broadcast_to(
                self.class_token, (len(H), 1, len(self.class_token))
            )
            H = jnp.concatenate([first.astype(H.dtype), H], 1)
        if present is not None:
            present = jnp.pad(jnp.asarray(present), ((0, 0), (int(extra), 0)),
                              constant_values=True)  # fmt: skip
        n_keys = len(self.layers) + 1
        keys = [None] * n_keys if key is None else list(jax.random.split(key, n_keys))
        H = H + table[None].astype(H.dtype)
        H = H if self.drop is None else self.drop(H, key=keys[-1])[0]
        given = H if present is None else Padded(H, present)
        for layer, k in zip(self.layers, keys, strict=False):
            given, _ = layer(given, key=k)
        return repack(self.norm.of(unpack(given)[0]), given)
