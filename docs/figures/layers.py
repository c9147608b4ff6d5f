"""Draw docs/images/layers_*.svg: activations, and the linear regions of ReLU networks."""

from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
from matplotlib.collections import PolyCollection

from likely.diagnostics import linear_pieces, linear_regions
from likely.layers import activation, compose
from likely.models import mlp
from likely.plots.style import COLOURS, INK, SOFT, figure

FOLDER = Path(__file__).parents[1] / "images"
PANELS = {
    "with a kink": ("relu", ("leaky_relu", 0.1), "elu"),
    "smooth": ("softplus", "gelu", "silu"),
    "bounded": ("sigmoid", ("sigmoid", 4.0), "tanh", "heaviside"),
    "not monotone": ("polynomial", "sin"),
}


def name(spec) -> str:
    """The label of an activation, from its setting."""
    return spec if isinstance(spec, str) else "{}, {:g}".format(*spec)


def activations():
    """Draw activations and, dotted in the same colours, their derivatives."""
    drawn, axes = figure(11, 3.1, columns=4)
    s = jnp.linspace(-3, 3, 601)
    for ax, (title, specs) in zip(axes, PANELS.items(), strict=True):
        for i, spec in enumerate(specs):
            layer = activation(spec, 1)
            slope = jax.vmap(jax.grad(lambda s, f=layer: f(s)[0]))(s)
            ax.plot(s, layer(s)[0], color=COLOURS[i], lw=2, label=name(spec))
            ax.plot(s, slope, color=COLOURS[i], lw=1, ls=":")
        ax.axhline(0, color=SOFT, lw=0.5, zorder=0)
        ax.set(title=title, xlabel="s", ylim=(-1.3, 3.1))
        corner = "lower right" if title == "not monotone" else "upper left"
        ax.legend(frameon=False, loc=corner, fontsize=8)
    axes[0].set_ylabel("σ(s), and dotted σ'(s)")
    return drawn


def with_numbers(model, *values):
    """The network with these weights and biases."""
    leaves = [jnp.asarray(v, jnp.float32) for v in values]
    return jax.tree.unflatten(jax.tree.structure(model), leaves)


def zigzag():
    """A network that goes up, down and up again over [0, 1]."""
    model = mlp((1, 3, 1), key=jax.random.key(0))
    return with_numbers(
        model, np.ones((1, 3)), [0, -1 / 3, -2 / 3], [[3], [-6], [6]], [0]
    )


def regions():
    """Draw the pieces of a network and of its composition, and the regions of a plane."""
    drawn, axes = figure(11, 3.4, columns=3)
    once, twice = zigzag(), compose(zigzag(), zigzag())
    for ax, model, title in zip(
        axes, (once, twice), ("three pieces", "composed: 3 × 3 = 9"), strict=False
    ):
        pieces = linear_pieces(model, 0, 1)
        ax.plot(pieces.x, pieces.y, color=COLOURS[0], lw=2)
        ax.plot(pieces.joints, pieces.y[1:-1], "o", color=COLOURS[1], ms=4)
        ax.axhline(0.3, color=SOFT, lw=0.8)
        at = pieces.preimages(0.3)
        ax.plot(at, np.full(len(at), 0.3), "|", color=INK, ms=9, mew=1.5)
        ax.set(title=title, xlabel="x", ylabel="y", ylim=(-0.05, 1.05))
    model = mlp((2, 8, 8, 1), key=jax.random.key(5))
    shifts = jax.random.normal(jax.random.key(6), (2, 8)) * 0.7
    W1, _, W2, _, W3, b3 = jax.tree.leaves(model)
    model = with_numbers(model, W1, shifts[0], W2, shifts[1], W3, b3)
    found = linear_regions(model, (-3, 3, -3, 3))
    slopes = np.array([np.hypot(*r.weight[:, 0]) for r in found])
    shown = PolyCollection(
        [r.corners for r in found], array=slopes, cmap="viridis", edgecolor="w", lw=0.8
    )
    ax = axes[2]
    ax.add_collection(shown)
    ax.set(
        xlim=(-3, 3), ylim=(-3, 3), aspect="equal", xlabel="x₁", ylabel="x₂",
        title=f"2-8-8-1: {len(found)} regions",
    )  # fmt: skip
    drawn.colorbar(shown, ax=ax, label="steepness")
    return drawn


def main() -> None:
    """Draw both figures."""
    matplotlib.rcParams["svg.hashsalt"] = "likely"
    FOLDER.mkdir(exist_ok=True)
    for draw in (activations, regions):
        path = FOLDER / f"layers_{draw.__name__}.svg"
        draw().savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
