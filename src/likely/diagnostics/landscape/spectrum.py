r"""The spectrum of the Hessian of a loss at fitted weights.

Large eigenvalues are directions in which the loss is steep: gradient descent with a rate above
$2/λ_{\max}$ leaves along them. Of a network most eigenvalues are near 0, a few stand apart, and
negative ones say that the weights are not at a minimum.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError, check_choice
from likely.diagnostics.landscape.curvature import (
    MAX_EXACT,
    Eigenpairs,
    eigenpairs,
    row_errors,
)
from likely.diagnostics.landscape.sources import loss_surface
from likely.diagnostics.result import Result

GRID_POINTS, KERNEL_WIDTH = 400, 0.006
"""Points of the density, and the width of its kernel relative to that of the spectrum."""
NEGATIVE = 1e-4
"""Eigenvalues below minus this part of the largest count as negative."""


@dataclass(frozen=True, repr=False, eq=False)
class HessianSpectrum(Result):
    """Eigenvalues of the Hessian of a loss, in nats per squared unit of the weights."""

    n_parameters: int
    exact: bool
    """Whether the whole Hessian was computed."""
    values: Float[np.ndarray, " k"]
    """The largest eigenvalues, descending."""
    residuals: Float[np.ndarray, " k"]
    """The Hessian has an eigenvalue within this distance of each."""
    row_errors: Float[np.ndarray, " k"]
    """The standard error of each as a mean over rows."""
    lowest: float
    lowest_residual: float
    trace: float
    trace_error: float
    """The standard error over random starts; 0 where the trace is exact."""
    negative: float
    """The share of negative eigenvalues."""
    negative_error: float
    gradient: float
    """The norm of the gradient, which is 0 at a minimum."""
    grid: Float[np.ndarray, " g"]
    density: Float[np.ndarray, " g"]
    """The density of the eigenvalues at the points of the grid, smoothed."""
    density_error: Float[np.ndarray, " g"]

    @property
    def sharpness(self) -> float:
        """The largest eigenvalue."""
        return float(self.values[0])

    @property
    def verdict(self) -> str:
        """How steep, how curved in all, and whether it is a minimum."""
        found = "" if self.exact else f", found to {self.residuals[0]:.1g}"
        steepest = (
            f"The largest of {self.n_parameters:,} eigenvalues is {self.values[0]:.4g} "
            f"(± {self.row_errors[0]:.2g} over rows{found}): gradient descent needs a rate below "
            f"{2 / self.values[0]:.3g}."
            if self.values[0] > 0
            else f"The largest of {self.n_parameters:,} eigenvalues is {self.values[0]:.4g}."
        )
        whole = f"The trace is {self.trace:.4g}"
        whole += "." if self.exact else f" ± {self.trace_error:.2g}."
        share = f"{100 * self.negative:.3g}"
        share += "" if self.exact else f" ± {100 * self.negative_error:.1g}"
        below = -NEGATIVE * max(abs(self.values[0]), -self.lowest)
        if self.lowest + self.lowest_residual < below:
            kind = (
                f"{share} % of the eigenvalues are negative, the lowest {self.lowest:.3g}: these "
                "weights are not a minimum of the loss."
            )
        else:
            kind = "No eigenvalue is shown to be negative."
        return f"{steepest} {whole} {kind}"

    def table(self) -> dict[str, Any]:
        """The largest eigenvalues, the lowest, and the trace."""
        k = len(self.values)
        nothing = float("nan")
        return {
            "quantity": [f"eigenvalue {i + 1}" for i in range(k)] + ["lowest", "trace"],
            "value": [*self.values.tolist(), self.lowest, self.trace],
            "found to": [
                *self.residuals.tolist(), self.lowest_residual, self.trace_error
            ],
            "error over rows": [*self.row_errors.tolist(), nothing, nothing],
        }  # fmt: skip

    def plot(self) -> Any:
        """The density of the eigenvalues on a log axis, the largest ones marked."""
        from likely.plots import hessian_spectrum

        return hessian_spectrum(self)


def hessian_spectrum(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    n_values: int = 5,
    method: str = "auto",
    n_starts: int = 8,
    n_steps: int = 60,
    random_state: Any = 0,
    **source: Any,
) -> HessianSpectrum:
    """The spectrum of the Hessian of the loss at fitted weights.

    Args:
        model: a fitted network or linear model, or what else `loss_landscape` takes.
        X: inputs.
        y: targets.
        sample_weight: how often each row counts.
        n_values: how many of the largest eigenvalues are given one by one.
        method: "exact" (the whole Hessian), "lanczos", or "auto", by the number of weights.
        n_starts: random starts of Lanczos' method: more make the trace and the density surer.
        n_steps: products with the Hessian for each start: more make the eigenvalues surer.
        random_state: the seed of the starts.
        source: more about the model: see `loss_surface`.
    """
    check_choice("method", method, ("auto", "exact", "lanczos"))
    if min(n_values, n_steps) < 1 or n_starts < 2:
        raise InputError(
            "n_values and n_steps have to be at least 1, and n_starts at least 2."
        )
    surface = loss_surface(
        model, X, y, sample_weight, random_state=random_state, **source
    )
    p = surface.n_parameters
    found = eigenpairs(
        surface,
        min(n_values, p),
        exact=method == "exact" or (method == "auto" and p <= MAX_EXACT),
        n_starts=n_starts,
        n_steps=n_steps,
        random_state=random_state,
    )
    grid, *density = _density(found)
    return HessianSpectrum(
        p,
        found.exact,
        found.values,
        found.residuals,
        row_errors(surface, found.vectors),
        found.lowest,
        found.lowest_residual,
        *_mean(found.traces),
        *_mean(_negative(found)),
        float(np.linalg.norm(surface.gradient())),
        grid,
        *density,
    )


def _mean(values: Sequence[float] | np.ndarray) -> tuple[float, float]:
    """The mean of estimates and its standard error, 0 for one that is exact."""
    values = np.asarray(values)
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return float(values.mean()), float(error)


def _negative(found: Eigenpairs) -> np.ndarray:
    """The share of negative eigenvalues, by each start."""
    below = -NEGATIVE * max(abs(found.values[0]), -found.lowest)
    pairs = zip(found.nodes, found.weights, strict=True)
    return np.array([weights[nodes < below].sum() for nodes, weights in pairs])


def _density(found: Eigenpairs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A grid, the smoothed density on it, and its standard error."""
    low = min(nodes.min() for nodes in found.nodes)
    high = max(nodes.max() for nodes in found.nodes)
    width = (high - low) or max(abs(high), 1.0)
    h = KERNEL_WIDTH * width
    grid = np.linspace(low - 5 * h, high + 5 * h, GRID_POINTS)
    each = [
        np.exp(-0.5 * ((grid[:, None] - nodes) / h) ** 2) @ weights
        for nodes, weights in zip(found.nodes, found.weights, strict=True)
    ]
    density = np.stack(each) / (h * np.sqrt(2 * np.pi))
    several = len(each) > 1
    error = density.std(0, ddof=1) / np.sqrt(len(each)) if several else 0 * grid
    return grid, density.mean(0), error
