"""Draw docs/images/regions-*.svg, approximation-*.svg and signals-*.svg."""

from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
from matplotlib.figure import Figure

import likely as lk
from likely import diagnostics, models, plots, solvers
from likely.autodiff.networks.depth import parameter_count
from likely.diagnostics.expressivity.assembly import assembled
from likely.diagnostics.expressivity.folding import zigzag
from likely.layers import compose
from likely.plots.style import COLOURS, figure

FOLDER = Path(__file__).parents[1] / "images"


def save(figure: Figure, name: str) -> None:
    matplotlib.rcParams["svg.hashsalt"] = "likely"
    figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})


def three_units():
    """5 − 3r(x) + 2r(x − 1) − 2r(2 − x), and a second output with the same joints."""
    inner = np.array([[1.0, 1.0, -1.0]]), [0.0, -1.0, 2.0]
    outer = np.array([[-3.0, 1.0], [2.0, -2.0], [-2.0, 0.5]]), [5.0, 1.0]
    return assembled([inner, outer])[1]


def units() -> None:
    """Shallow networks taken apart: of one input with its joints, of two inputs as maps."""
    found = diagnostics.unit_contributions(three_units(), -1, 3)
    save(found.plot(), "regions-units")
    rng = np.random.default_rng(4)
    plane = assembled(
        [
            (rng.normal(size=(2, 3)), 0.5 * rng.normal(size=3)),
            (rng.normal(size=(3, 1)), [0.0]),
        ]
    )[1]
    save(diagnostics.unit_contributions(plane, -2, 2).plot(), "regions-plane")


def folds() -> None:
    """A folded line and what is drawn on it, and a network of a plane followed by one."""
    fold = zigzag_network(3)
    drawn = diagnostics.polygonal_network([0, 0.3, 0.6, 1], [0, 1, 0.2, 0.6]).model
    panels = {
        "the input, folded": diagnostics.linear_pieces(fold, 0, 1),
        "drawn on the fold": diagnostics.linear_pieces(drawn, 0, 1),
        "unfolded": diagnostics.linear_pieces(compose(fold, drawn), 0, 1),
    }
    save(plots.linear_regions(panels), "regions-fold")
    rng = np.random.default_rng(7)
    inner = (rng.normal(size=(2, 3)), 0.3 * rng.normal(size=3))
    first = assembled([inner, (rng.normal(size=(3, 1)), [0.0])])[1]
    second = diagnostics.polygonal_network([-2, -0.5, 0.2, 1, 2], [1, -1, 1, -1, 1])
    box = (-2, 2, -2, 2)
    panels = {
        "network 1": diagnostics.linear_regions(first, box),
        "network 2": diagnostics.linear_pieces(second.model, -3, 3),
        "one after the other": diagnostics.linear_regions(
            compose(first, second.model), box
        ),
    }
    save(plots.linear_regions(panels), "regions-plane-composition")


def zigzag_network(n: int):
    """The fold of a line by n units."""
    made = zigzag(n)
    inner = made.signs[None], -made.signs * made.kinks
    return assembled([inner, (made.weights[:, None], [made.bias])])[1]


def planes() -> None:
    """Folded, tilted and random planes."""
    save(diagnostics.region_study(2, (6, 6)).plot(), "regions-folding")


def parameters() -> None:
    """The most regions of a line over the number of parameters."""
    counts = {}
    for depth in (1, 2, 3, 5):
        widths = range(3, 200 if depth == 1 else 25)
        counts[f"{depth} hidden layer{'s'[: depth > 1]}"] = [
            (
                parameter_count((1, *(w,) * depth, 1)),
                diagnostics.region_bounds(1, (w,) * depth).lower,
            )
            for w in widths
        ]
    save(plots.regions_by_parameters(counts), "regions-parameters")


def wave(x):
    """A wave with a corner."""
    return np.sin(3 * x) + 0.5 * np.abs(x)


def hills(x):
    """A smooth wave on a slope."""
    return np.sin(3 * x) + 0.25 * x**2


def growing() -> None:
    """One function by more and more units."""
    networks = [
        diagnostics.spline_network(hills, -2, 2, e, curvature=9.5)
        for e in (4.0, 1.0, 0.25, 0.05)
    ]
    save(plots.approximations(networks), "approximation-growing")


def approximation() -> None:
    """Networks that were built, efficiency, activations, depth."""
    save(
        diagnostics.interval_network(wave, -2, 2, 0.3, lipschitz=3.5).plot(),
        "approximation-steps",
    )

    def hill(X):
        return np.exp(-3 * ((X - 0.5) ** 2).sum(1))

    save(diagnostics.box_network(hill, [0, 0], [1, 1], 0.3).plot(), "approximation-box")
    save(
        diagnostics.ridge_network(hill, [0, 0], [1, 1], 0.1).plot(),
        "approximation-ridges",
    )
    study = diagnostics.approximation_study(np.sin, 0, 6, lipschitz=1.0, curvature=1.0)
    save(study.plot(), "approximation-efficiency")
    save(diagnostics.activation_study(wave, -2, 2).plot(), "approximation-activations")
    save(diagnostics.depth_table().plot(), "approximation-depth")
    save(diagnostics.depth_study().plot(), "approximation-trained")


def signals() -> None:
    """Variances through depth, and a network that saturates."""
    save(diagnostics.variance_propagation(init="xavier").plot(), "signals-variances")
    rng = np.random.default_rng(0)
    X = 10 * rng.normal(size=(300, 4))
    y = np.sin(X[:, 0])
    solver = solvers.Adam(0.05, steps=300, batch_size=64)
    model = lk.MLPRegressor((20, 20), "sigmoid", solver=solver).fit(X, y)
    save(diagnostics.saturation(model, X).plot(), "signals-saturation")


def shattered() -> None:
    """Gradients along a line of inputs, for shallow, deep and residual networks."""
    line = np.linspace(-2, 2, 256)[:, None] * [1.0, 0.3] + [0.0, 1.0]
    settings = {
        "1 layer": models.MLP((200,)),
        "24 layers": models.MLP((200,) * 24),
        "24 residual layers": models.MLP((200,) * 24, residual=True),
    }
    drawn, axes = figure(13.0, 3.0, columns=4)
    for i, (name, each) in enumerate(settings.items()):
        found = gradient_line(each, line)
        colour = COLOURS[i]
        axes[i].plot(found / np.abs(found).max(), color=colour, lw=1)
        axes[i].set_title(name, loc="left")
        axes[i].set(xlabel="place on the line", ylabel="gradient" if not i else "")
        R = diagnostics.gradient_autocorrelation(
            lambda key, each=each: each.build(2, 1, key=key),
            line,
            draws=40,
            key=jax.random.key(0),
        )
        axes[3].plot(R[:64], color=colour, lw=1.6, label=name)
    axes[3].set(xlabel="lag", ylabel="autocorrelation")
    axes[3].legend(frameon=False, fontsize="small")
    save(drawn, "signals-shattered")


def gradient_line(settings, line):
    """The gradient of one network along a line of inputs, in the direction of the line."""
    network = settings.build(2, 1, key=jax.random.key(1))
    X = jnp.asarray(line, jnp.float32)
    step = jnp.broadcast_to(X[-1] - X[0], X.shape)
    return np.asarray(jax.jvp(lambda X: network(X)[0][:, 0], (X,), (step,))[1])


if __name__ == "__main__":
    units()
    folds()
    planes()
    parameters()
    growing()
    approximation()
    signals()
    shattered()
