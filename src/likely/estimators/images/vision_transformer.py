r"""Images as sequences of patches: y | x ~ p(y | f(x; φ)) with f a transformer."""

from typing import Any, no_type_check

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
from sklearn.base import ClassifierMixin

from likely.base.settings import at_least, store
from likely.base.training.options import ATTENTION
from likely.core.checks import InputError
from likely.estimators.images.cnn import ImageInputs
from likely.estimators.networks.predictor import NetworkPredictor
from likely.layers import Chain, Dense, MixedPrecision
from likely.models.sequence.vision_transformer import VisionTransformer
from likely.models.settings import setting
from likely.typing import Key

MAX_PATCHES = 64
"""Patches of an image, where the settings leave that open."""
MAX_SINGLE_PIXELS = 1024
"""Pixels up to which each is a patch where no larger patch fits."""


class PatchNetwork(eqx.Module):
    """The settings of a vision transformer, as plain data; `build` makes the network."""

    size: int = setting(64)
    n_layers: int = setting(2)
    n_heads: int = setting(4)
    patch: int | str = setting("auto")
    pool: str = setting("mean")
    dropout: float = setting(0.0)
    dtype: str | None = setting(None)

    def __check_init__(self):
        for name in ("size", "n_layers", "n_heads"):
            at_least(name, getattr(self, name), 1, whole=True)
        if self.size % self.n_heads:
            raise InputError(
                f"size is {self.size} and n_heads {self.n_heads}; give a size that is a "
                "multiple of the heads, which share it."
            )

    def build(self, shape: tuple[int, ...], n_out: int, *, key: Key) -> Any:
        """The network from images (h, w, c) to n_out entries of η."""
        first, last = jax.random.split(key)
        inside = VisionTransformer(
            shape,
            0,
            self.size,
            self.n_layers,
            self.n_heads,
            patch=patch_of(self.patch, shape[0], shape[1]),
            pool=self.pool,
            dropout=self.dropout,
            key=first,
        )
        inside = eqx.tree_at(
            lambda model: model.positions.weight,
            inside,
            replace_fn=_as_large_as_patches,
        )
        head = Dense(self.size, n_out, init="uniform", key=last)
        model = Chain(inside, head)
        return model if self.dtype is None else MixedPrecision(model, self.dtype)


def _as_large_as_patches(W: Float[Array, "t d"]) -> Float[Array, "t d"]:
    """Vectors of places with entries of variance 1, as those of standardised patches."""
    return W / jnp.maximum(W.std(), 1e-6)


def patch_of(given: Any, height: int, width: int) -> int:
    """The side of the patches of an image.

    Args:
        given: a number; or "auto", the least of at least 2 pixels that divides both sides and
            makes at most `MAX_PATCHES` patches.
        height: of the image.
        width: of the image.
    """
    if given != "auto":
        side = at_least("patch", given, 1, whole=True)
        if height % side or width % side:
            raise InputError(
                f"patch is {side} and the images have {height} x {width} pixels; give a side "
                "that divides both, or cut or pad the images."
            )
        return side
    for side in range(2, min(height, width)):
        few = (height // side) * (width // side) <= MAX_PATCHES
        if few and not height % side and not width % side:
            return side
    if height * width <= MAX_SINGLE_PIXELS:
        return 1
    raise InputError(
        f"the images have {height} x {width} pixels, and no patch divides both sides into at "
        f"most {MAX_PATCHES} patches; give patch=, or cut or pad the images."
    )


class VisionTransformerClassifier(ClassifierMixin, NetworkPredictor):
    r"""y | x ~ Categorical(softmax f(x)), for two classes Bernoulli, with f a vision transformer.

    An image is cut into square patches, each becomes a vector with a learned vector of its
    place, and layers of attention let all patches see each other. The other arguments and the
    attributes are those of `CNNClassifier`; training goes on for up to 20 epochs or 1500 steps,
    at a rate that falls to zero.

    A transformer has to learn what a convolution knows: that neighbours belong together. With
    few images `CNNClassifier` is better.

    Args:
        size: of the state of a patch.
        n_layers: the number of layers.
        n_heads: of the attention; they share the size.
        patch: the side of a patch in pixels; "auto" is the least of at least 2 that divides both
            sides and makes at most 64 patches: 2 for 8 x 8 pixels, 4 for 28 x 28.
        pool: "mean" of all patches, or "class": a further position that looks at them.
        dropout: the probability to drop a value in training.
    """

    _kind = ImageInputs(256)
    _limits = ATTENTION
    size: Any
    n_layers: Any
    n_heads: Any
    patch: Any
    pool: Any
    dropout: Any
    dtype: Any

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        size=64,
        n_layers=2,
        *,
        n_heads=4,
        patch: Any = "auto",
        pool="mean",
        dropout=0.0,
        image_shape=None,
        augment=None,
        dtype=None,
        pretrained: Any = None,
        trainable: Any = "all",
        alpha: Any = "auto",
        solver="auto",
        learning_rate_init: Any = "auto",
        learning_rate: Any = "auto",
        batch_size: Any = "auto",
        max_iter: Any = "auto",
        tol=1e-5,
        clip_norm: Any = "auto",
        weight_average=None,
        early_stopping: Any = "auto",
        validation_fraction=0.1,
        n_iter_no_change=10,
        n_members: Any = "auto",
        bootstrap=False,
        warm_start=False,
        random_state=0,
        verbose=False,
    ):
        store(self, locals())

    def _architecture(self) -> PatchNetwork:
        return PatchNetwork(
            self.size,
            self.n_layers,
            self.n_heads,
            self.patch,
            self.pool,
            float(self.dropout),
            self.dtype,
        )
