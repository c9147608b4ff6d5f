"""Linear regions of real networks beside the bounds: folded, random, and beyond a false bound."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from likely.base.settings import at_least
from likely.core.checks import InputError
from likely.core.random import seed_of
from likely.diagnostics.expressivity.assembly import assembled
from likely.diagnostics.expressivity.folding import folding_network
from likely.diagnostics.expressivity.region_bounds import (
    RegionBounds,
    printed_formula,
    region_bounds,
)
from likely.diagnostics.expressivity.region_count import count_regions
from likely.diagnostics.result import Result
from likely.evaluate.scores import Score

TILT = 0.01


@dataclass(frozen=True, repr=False, eq=False)
class RegionStudy(Result):
    """The linear regions of networks of some widths, counted exactly."""

    bounds: RegionBounds
    printed: int | None
    """The formula that is printed as an upper bound, for layers of equal widths."""
    folding: int
    """Of the folding network, inside the unit cube."""
    tilted: int
    """Of the folding network with tilted folds, everywhere."""
    random: Int[np.ndarray, " s"]
    """Of random networks."""
    networks: dict[str, Any]
    """The folding, the tilted and one random network."""

    @property
    def typical(self) -> Score:
        """The mean over random networks and its standard error."""
        error = self.random.std(ddof=1) / np.sqrt(len(self.random))
        return Score(float(self.random.mean()), float(error))

    @property
    def verdict(self) -> str:
        """What is reached, what is typical, and whether the printed bound holds."""
        b = self.bounds
        most = max(self.folding, self.tilted)
        reached = (
            "which is the most that is possible"
            if most == b.upper
            else f"of at most {b.upper:,} that are possible"
        )
        first = (
            f"A folding network has {most:,} linear regions, {reached}; random weights give "
            f"{self.typical.value:.3g} ± {self.typical.error:.1g}."
        )
        if self.printed is None or most <= self.printed or len(b.widths) == 1:
            return first
        return f"{first} The printed upper bound of {self.printed:,} does not hold."

    def table(self) -> dict[str, Any]:
        """Bounds and counts."""
        rows = {
            "bound from below, Montúfar": self.bounds.montufar,
            "bound from below": self.bounds.lower,
            "folding network, in the unit cube": self.folding,
            "folding network, tilted, everywhere": self.tilted,
            "random networks, mean": self.typical.value,
            "random networks, most": int(self.random.max()),
            "upper bound": self.bounds.upper,
        }
        if self.printed is not None:
            rows["printed as an upper bound"] = self.printed
        errors = [self.typical.error if "mean" in name else None for name in rows]
        return {"networks": list(rows), "regions": list(rows.values()), "error": errors}

    def plot(self) -> Any:
        """The regions of the folding, the tilted and one random network."""
        from likely.diagnostics.regions import linear_pieces, linear_regions
        from likely.plots import linear_regions as picture

        boxes = {"folding": (0.0, 1.0), "tilted": (-0.5, 1.5), "random": (-2.0, 2.0)}
        panels = {}
        for name, (low, high) in boxes.items():
            model = self.networks[name]
            if self.bounds.n_in == 1:
                panels[name] = linear_pieces(model, low, high)
            else:
                panels[name] = linear_regions(model, (low, high) * self.bounds.n_in)
        return picture(panels)


def region_study(
    n_in: int,
    widths: Sequence[int],
    *,
    n_random: int = 20,
    random_state: Any = 0,
) -> RegionStudy:
    """Count the linear regions of folding and of random ReLU networks, beside the bounds.

    Args:
        n_in: inputs, 1 or 2.
        widths: units of each hidden layer.
        n_random: random networks, with normal weights and biases.
        random_state: the seed of their weights.
    """
    if n_in not in (1, 2):
        raise InputError(
            f"n_in is {n_in}; regions are counted exactly for 1 or 2 inputs. "
            "`region_bounds` has formulas for more."
        )
    n_random = at_least("n_random", n_random, 2, whole=True)
    bounds = region_bounds(n_in, widths)
    folded, tilted = (folding_network(n_in, widths, tilt=t) for t in (0.0, TILT))
    rng = np.random.default_rng(seed_of(random_state))
    drawn = [_random(n_in, bounds.widths, rng) for _ in range(n_random)]
    equal = len(set(bounds.widths)) == 1
    return RegionStudy(
        bounds,
        printed_formula(n_in, bounds.widths[0], len(bounds.widths)) if equal else None,
        count_regions(folded.model, (0, 1) * n_in).linear,
        count_regions(tilted.model).linear,
        np.array([count_regions(model).linear for model in drawn]),
        {"folding": folded.model, "tilted": tilted.model, "random": drawn[0]},
    )


def _random(n_in: int, widths: tuple[int, ...], rng: np.random.Generator) -> Any:
    """A ReLU network with normal weights of He's variance, and normal biases."""
    sizes = (n_in, *widths, 1)
    layers = [
        (rng.normal(size=(a, b)) * np.sqrt(2 / a), rng.normal(size=b))
        for a, b in zip(sizes, sizes[1:], strict=False)
    ]
    return assembled(layers)[1]
