"""From the settings of a flow, where they are left open, to its networks."""

from typing import Any

from likely.base.settings import at_least
from likely.base.training.options import IMAGES, TABLES, is_auto
from likely.core.checks import InputError
from likely.generative.autoregressive.columns import CodedColumns
from likely.generative.defended import TRAINING_SHARE, training_noise
from likely.generative.flows.image_model import ImageFlowProblem
from likely.generative.flows.mixed_table import TableFlowProblem
from likely.models.flows.image_flow import ImageFlow
from likely.models.flows.table_flow import TableFlow
from likely.preprocess import TableCodec

TABLE_LIMITS = TABLES._replace(
    ensemble_rows=5000, ensemble_entries=64, batch_rows=256, rate=1e-3, alpha=1.0
)
IMAGE_LIMITS = IMAGES._replace(
    ensemble_rows=0,
    epochs=13,
    rate=2e-3,
    alpha=0.0,
    clip_norm=1.0,
    learning_rate="cosine",
)
MAX_AUTOREGRESSIVE = 64
"""Columns up to which each is mapped by all before it; beyond, halves map each other."""
MANY_ROWS = 2000
"""Rows from which networks are wider."""


def table_problem(model: Any, codec: TableCodec, n: int) -> TableFlowProblem:
    """What is learned of a table of n rows.

    Args:
        model: the estimator, whose settings count.
        codec: of the table.
        n: how many rows there are.
    """
    discrete = tuple(map(bool, codec.discrete))
    if all(discrete):
        raise InputError(
            "no column has numbers with fractions, so that there is nothing for a flow to "
            "map; use AutoregressiveDensity, or kinds= to call columns numbers."
        )
    columns = CodedColumns.of(codec, codec.discrete) if any(discrete) else None
    d = discrete.count(False)
    kind = model.kind
    if is_auto(kind):
        kind = "autoregressive" if d <= MAX_AUTOREGRESSIVE else "coupling"
    settings = TableFlow(
        kind=kind,
        function=model.function,
        n_layers=_whole(model, "n_layers", 2 if kind == "autoregressive" else 6),
        hidden=_whole(model, "hidden", 64 if n < MANY_ROWS else 128),
        n_hidden=_whole(model, "n_hidden", 2),
        n_bins=_whole(model, "n_bins", 8),
        mixing=model.mixing,
        base=model.base,
        dropout=float(at_least("dropout", model.dropout)),
    )
    share = 1.0 if model.share == 1 else TRAINING_SHARE
    noise = training_noise(model.noise, n)
    return TableFlowProblem(settings, columns, discrete, noise, share)


def image_problem(model: Any, levels: int) -> ImageFlowProblem:
    """What is learned of images.

    Args:
        model: the estimator, whose settings count.
        levels: of the pixels; 0 where they are any numbers.
    """
    kind = "autoregressive" if is_auto(model.kind) else model.kind
    by_pixel = kind == "autoregressive"
    settings = ImageFlow(
        kind=kind,
        function=model.function,
        n_layers=_whole(model, "n_layers", 2 if by_pixel else 4),
        hidden=_whole(model, "hidden", 192 if by_pixel else 64),
        n_bins=_whole(model, "n_bins", 8),
    )
    return ImageFlowProblem(settings, levels)


def _whole(model: Any, name: str, default: int) -> int:
    """A setting that is a whole number, or open."""
    value = getattr(model, name)
    return default if is_auto(value) else at_least(name, value, 1, whole=True)
