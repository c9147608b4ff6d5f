"""The density of the eigenvalues of a Hessian, on a log axis."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure


def hessian_spectrum(
    spectrum: Any, *, title: str = "Eigenvalues of the Hessian"
) -> Figure:
    """Draw the smoothed density with its error, and the largest eigenvalues one by one.

    Args:
        spectrum: from `diagnostics.hessian_spectrum`.
        title: the title of the figure.
    """
    drawn, (ax,) = figure(7.0, 3.6, title)
    x, density, error = spectrum.grid, spectrum.density, spectrum.density_error
    floor = 0.1 * density[density > 0].max() / spectrum.n_parameters
    ax.plot(x, np.maximum(density, floor), color=COLOURS[0], lw=1.6, label="density")
    low, high = (np.maximum(density + sign * error, floor) for sign in (-1, 1))
    ax.fill_between(x, low, high, color=COLOURS[0], alpha=0.25, lw=0)
    for i, value in enumerate(spectrum.values):
        ax.axvline(
            value,
            color=COLOURS[1],
            lw=1,
            ls="--",
            label=None if i else "largest eigenvalues",
        )
    ax.axvline(0, color=SOFT, lw=0.8)
    ax.set_yscale("log")
    ax.set(xlabel="eigenvalue", ylabel="density", ylim=(floor, None))
    ax.legend(frameon=False, fontsize="small", labelcolor=INK, loc="upper center")
    return drawn
