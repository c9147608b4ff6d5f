"""Draw docs/images/convexity-witness.svg and bernstein.svg."""

from pathlib import Path

import jax.numpy as jnp
import matplotlib
import numpy as np
from matplotlib.figure import Figure

from likely import analysis, plots

DEGREES = (4, 16, 64, 256)


def save(figure: Figure, name: str) -> None:
    folder = Path(__file__).parents[1] / "images"
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})


def witness() -> None:
    """The chord below a function that is not convex."""

    def f(x):
        return (x[0] ** 2 - 1) ** 2 + 0.3 * x[0]

    verdict = analysis.convexity(f, -1.5, 1.5)
    title = "Not convex: a chord below the function"
    save(plots.convexity_witness(f, verdict, title=title), "convexity-witness")


def approximation() -> None:
    """Bernstein polynomials of a function with a corner."""

    def f(x):
        return jnp.abs(x - 0.4)

    found = [analysis.BernsteinPolynomial(f, n) for n in DEGREES]
    errors = [analysis.uniform_error(f, one).value for one in found]
    save(plots.bernstein(lambda x: np.abs(x - 0.4), found, errors), "bernstein")


def main() -> None:
    """Draw both."""
    matplotlib.rcParams["svg.hashsalt"] = "likely"
    witness()
    approximation()


if __name__ == "__main__":
    main()
