"""From the settings of an autoregressive density, where they are open, to its network."""

from typing import Any

from likely.base.settings import at_least, one_of
from likely.base.training.options import IMAGES, TABLES, is_auto
from likely.core.checks import InputError
from likely.generative.autoregressive.any_order import MaskedTableProblem
from likely.generative.autoregressive.columns import CodedColumns
from likely.generative.autoregressive.image_problem import ImageProblem
from likely.generative.autoregressive.pixel_cells import PixelCells
from likely.generative.defended import TRAINING_SHARE, training_noise
from likely.generative.pixels import PixelCode
from likely.preprocess import TableCodec

TABLE_LIMITS = TABLES._replace(
    ensemble_rows=5000, ensemble_entries=64, batch_rows=256, rate=3e-3, alpha=1.0
)
IMAGE_LIMITS = IMAGES._replace(
    ensemble_rows=0,
    epochs=16,
    rate=2e-3,
    alpha=0.0,
    clip_norm=1.0,
    learning_rate="cosine",
)
MANY_ROWS = 2000
"""Rows from which networks of tables are wider."""


def table_problem(model: Any, codec: TableCodec, n: int) -> MaskedTableProblem:
    """What is learned of a table of n rows.

    Args:
        model: the estimator, whose settings count.
        codec: of the table.
        n: how many rows there are.
    """
    return MaskedTableProblem(
        CodedColumns.of(codec, n_components=_whole(model, "n_components", 4)),
        _whole(model, "hidden", 64 if n < MANY_ROWS else 128),
        _whole(model, "n_hidden", 2),
        float(at_least("dropout", model.dropout)),
        one_of("order", model.order, ("any", "given")) == "any",
        training_noise(model.noise, n),
        1.0 if model.share == 1 else TRAINING_SHARE,
    )


def image_problem(model: Any, code: PixelCode) -> ImageProblem:
    """What is learned of images.

    Args:
        model: the estimator, whose settings count.
        code: of the pixels.
    """
    if not code.levels:
        raise InputError(
            "the pixels have no levels: they are any numbers; round them and give levels=, "
            "or use NormalizingFlow."
        )
    height, width, channels = code.shape
    block = _whole(model, "block", 1 if height == 1 else width * channels)
    if code.size % block:
        raise InputError(
            f"block is {block}, which does not divide the {code.size} pixels of an image."
        )
    return ImageProblem(
        PixelCells(code.levels, _whole(model, "n_components", 8)),
        code.size // block,
        block,
        _whole(model, "size", 128),
        _whole(model, "n_layers", 3),
        _whole(model, "n_heads", 4),
        _whole(model, "hidden", 256),
        float(at_least("dropout", model.dropout)),
    )


def _whole(model: Any, name: str, default: int) -> int:
    """A setting that is a whole number, or open."""
    value = getattr(model, name)
    return default if is_auto(value) else at_least(name, value, 1, whole=True)
