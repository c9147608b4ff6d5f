"""Draw docs/images/solvers_first_order_*.svg: paths and traces in a narrow valley."""

from pathlib import Path

import jax.numpy as jnp
import matplotlib
import numpy as np

from likely import plots
from likely.solvers import Adam, Cosine, GradientDescent, Momentum, Nesterov
from likely.solvers.function import minimize

TURN = np.array([[0.8, -0.6], [0.6, 0.8]])


def valley(x):
    """Curvature 1 along a slanted valley and 25 across it, and a little wall."""
    along, across = TURN.T @ x
    return 0.5 * along**2 + 12.5 * across**2 + 0.1 * jnp.abs(along) ** 3


SOLVERS = {
    "gradient descent": GradientDescent(0.07, steps=60, path=True),
    "momentum": Momentum(0.01, 0.85, steps=60, path=True),
    "Nesterov": Nesterov(0.02, 0.75, steps=60, path=True),
    "Adam, cosine": Adam(Cosine(0.4, 60), steps=60, path=True),
}


def main() -> None:
    """Run the solvers and draw both pictures."""
    matplotlib.rcParams["svg.hashsalt"] = "likely"
    start = np.array([-2.6, -1.2])
    runs = {name: minimize(valley, start, solver=s) for name, s in SOLVERS.items()}
    folder = Path(__file__).parents[1] / "images"
    folder.mkdir(exist_ok=True)
    title = "Four solvers in a valley of condition 25"
    picture = plots.path(
        runs, valley, limits=((-3, 1), (-2.4, 0.9)), minimum=(0, 0), title=title
    )
    picture.savefig(folder / "solvers_first_order_paths.svg", metadata={"Date": None})
    picture = plots.trace(runs, title="The same runs, step by step")
    picture.savefig(folder / "solvers_first_order_traces.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
