"""Components as images, in a grid."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.core.checks import InputError
from likely.plots.images import images


def component_grid(
    components: Any,
    shape: tuple[int, int],
    *,
    columns: int = 8,
    signed: bool | None = None,
    title: str = "",
) -> Figure:
    """Draw each component as an image: red above zero, blue below, or grey.

    Args:
        components: (k, height · width) such as `PCA.components_` or `NMF.components_`.
        shape: height and width of an image.
        columns: the number of columns of the grid.
        signed: whether colours tell signs; None: where some entry is negative.
        title: the title of the figure.
    """
    C = np.asarray(components, np.float64)
    if C.ndim != 2 or C.shape[1] != int(np.prod(shape)):
        raise InputError(
            f"components has shape {C.shape}, which are not images of shape {shape}; give "
            f"{int(np.prod(shape))} numbers for each."
        )
    if signed is None:
        signed = bool((C < 0).any())
    if signed:
        C = C / np.maximum(np.abs(C).max(1, keepdims=True), 1e-300)
    return images(C.reshape(-1, *shape), columns=columns, signed=signed, title=title)
