"""From the settings of a diffusion model, where they are left open, to its denoiser."""

from typing import Any

import numpy as np

from likely.base.settings import at_least, one_of
from likely.base.training.options import IMAGES, TABLES, is_auto
from likely.core.checks import InputError
from likely.generative.diffusion.denoisers import DENOISERS, DenoiserSettings
from likely.generative.diffusion.denoising import DiffusionProblem
from likely.generative.diffusion.levels import levels_of
from likely.generative.diffusion.schedule import NoiseSchedule
from likely.generative.diffusion.targets import TARGETS

TABLE_LIMITS = TABLES._replace(
    ensemble_rows=0,
    steps=4000,
    plain_steps=2000,
    batch_rows=256,
    rate=1e-3,
    alpha=0.0,
    clip_norm=1.0,
    learning_rate="cosine",
)
IMAGE_LIMITS = IMAGES._replace(
    ensemble_rows=0,
    epochs=30,
    steps=1500,
    rate=2e-3,
    alpha=0.0,
    clip_norm=1.0,
    learning_rate="cosine",
)
SIZES = {
    "mlp": (256, 256, 256),
    "unet": (32, 64),
    "transformer": (96, 4, 4),
}
FEW_ROWS, FEW_ROWS_HIDDEN = 300, (64, 64)
"""Rows below which a perceptron is smaller, and its widths."""
MIN_CUT_SIDE = 16
"""The side of images from which a U-Net works on patches of 2 x 2 pixels."""


def diffusion_problem(model: Any, codes: np.ndarray, w: np.ndarray) -> DiffusionProblem:
    """What is learned of rows.

    Args:
        model: the estimator, whose settings and cells count.
        codes: (n, ...) of the rows.
        w: (n,) their weights.
    """
    row = model.cells_.shape
    image = len(row) == 3
    kind = model.denoiser
    if is_auto(kind):
        kind = "unet" if image and min(row[:2]) >= 4 else "mlp"
    one_of("denoiser", kind, DENOISERS)
    if kind == "unet" and not image:
        raise InputError(
            'denoiser is "unet", which takes images; give "mlp" or "transformer" for '
            "tables, or image_shape= for flat images."
        )
    settings = DenoiserSettings(
        kind,
        _sizes(model.hidden, kind, len(w)),
        _patch(model.patch, row, kind) if image and kind != "mlp" else 1,
        float(at_least("dropout", model.dropout)),
    )
    schedule = NoiseSchedule(
        model.schedule, at_least("n_steps", model.n_steps, 2, whole=True)
    )
    target = one_of("target", model.target, TARGETS)
    levels = levels_of(model.cells_, codes, w) if target == "residual" else None
    return DiffusionProblem(settings, schedule, target, levels)


def _sizes(hidden: Any, kind: str, n: int) -> tuple[int, ...]:
    if is_auto(hidden):
        return FEW_ROWS_HIDDEN if kind == "mlp" and n < FEW_ROWS else SIZES[kind]
    sizes = tuple(at_least("hidden", h, 1, whole=True) for h in hidden)
    if kind == "transformer" and (len(sizes) != 3 or sizes[0] % sizes[2]):
        raise InputError(
            f"hidden is {tuple(hidden)}; of a transformer give (size of a position, "
            "layers, heads), the first a multiple of the last."
        )
    if not sizes:
        raise InputError("hidden is empty; give one size or more.")
    return sizes


def _patch(patch: Any, row: tuple[int, ...], kind: str) -> int:
    """The side of a patch; a transformer needs one that divides the sides of an image."""
    if kind == "unet":
        least = 2 if min(row[:2]) >= MIN_CUT_SIDE else 1
        return least if is_auto(patch) else at_least("patch", patch, 1, whole=True)
    if is_auto(patch):
        return next(p for p in (4, 7, 2, 3, 1) if not (row[0] % p or row[1] % p))
    side = at_least("patch", patch, 1, whole=True)
    if row[0] % side or row[1] % side:
        raise InputError(
            f"patch is {side} and images have {row[0]} x {row[1]} pixels; give a number "
            "that divides both."
        )
    return side
