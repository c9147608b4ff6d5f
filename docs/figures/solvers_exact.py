"""Draw docs/images/solvers_exact.svg: three solvers in Rosenbrock's valley."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from likely.solvers import BFGS, Newton, SteepestDescent, minimize

plt.rcParams["svg.hashsalt"] = "likely"


def rosenbrock(x):
    return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2


x, y = np.meshgrid(np.linspace(-1.6, 1.4, 80), np.linspace(-0.6, 1.7, 80))
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
levels = np.geomspace(0.3, 1000, 8)
left.contour(x, y, rosenbrock(np.stack([x, y])), levels, colors="0.8", linewidths=0.7)
for name, solver in (
    ("steepest descent, golden section", SteepestDescent(60, path=True)),
    ("BFGS", BFGS(path=True)),
    ("Newton", Newton(path=True)),
):
    found = minimize(rosenbrock, [-1.2, 1.0], solver=solver)
    points = found.trace.model[: int(found.status.steps) + 1].round(3)
    left.plot(*points.T, ".-", linewidth=1, markersize=3)
    right.semilogy(found.trace.loss[: len(points)].clip(1e-20), label=name)
left.plot(1, 1, "k*")
left.set(xlabel="$x_1$", ylabel="$x_2$")
right.set(xlabel="step", ylabel="loss", ylim=(1e-18, 100))
right.legend(frameon=False, loc="center right")
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
folder = Path(__file__).parents[1] / "images"
figure.savefig(folder / "solvers_exact.svg", metadata={"Date": None})
