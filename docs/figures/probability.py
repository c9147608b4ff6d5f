"""Draw the pictures of the pages on tables, random variables and limits."""

from pathlib import Path

import matplotlib
import numpy as np

from likely import plots
from likely.families import Exponential, Gamma, Laplace
from likely.plots.style import COLOURS, INK, SOFT, figure
from likely.probability import Table, central_limit, random_variable, running_mean

IMAGES = Path(__file__).parents[1] / "images"
TITANIC = [[[4, 140], [13, 80], [89, 76]], [[118, 57], [154, 14], [387, 75]]]
LEVELS = [["women", "men"], ["1st", "2nd", "3rd"], ["lost", "saved"]]


def sum_of_two():
    """The density of a sum over a histogram of draws."""
    parts = {
        "Gamma": random_variable(Gamma(), concentration=2.5, rate=1.25),
        "Laplace": random_variable(Laplace(), loc=0.0, scale=1.0),
    }
    total = parts["Gamma"] + parts["Laplace"]
    drawn, (ax,) = figure(6.0, 3.6, "The density of a sum")
    draws = total.sample(20_000, random_state=0)
    ax.hist(draws, bins=80, range=(-4, 9), density=True, color=SOFT, alpha=0.5)
    z = np.linspace(-4, 9, 400)
    for colour, (name, part) in zip(COLOURS[1:], parts.items(), strict=False):
        ax.plot(z, part.pdf(z), color=colour, lw=1.0, ls="dashed", label=name)
    ax.plot(z, total.pdf(z), color=INK, lw=1.6, label="their sum")
    ax.set(xlabel="z", ylabel="density", xlim=(-4, 9))
    ax.legend(frameon=False)
    return drawn


def main() -> None:
    """Draw all of them."""
    matplotlib.rcParams["svg.hashsalt"] = "likely"
    titanic = Table.from_counts(TITANIC, ["sex", "class", "fate"], LEVELS)
    means = running_mean(Exponential(), 1000, paths=5, rate=1.0)
    sums = central_limit(Exponential(), (1, 2, 5, 10, 30, 100), rate=1.0)
    drawn = {
        "tables": plots.mosaic(titanic, title="Adult passengers of the Titanic"),
        "random-variables": sum_of_two(),
        "limits-large-numbers": plots.running_mean(means),
        "limits-central-limit": plots.central_limit(sums),
    }
    for name, one in drawn.items():
        one.savefig(IMAGES / f"{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
