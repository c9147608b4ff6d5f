"""Draw docs/images/attention_*: diagrams, maps, scaling, positions and ablation."""

import itertools
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
from matplotlib.patches import FancyBboxPatch

from likely import diagnostics, layers, models, plots
from likely.objectives.next_token import NextTokenLikelihood
from likely.plots.style import COLOURS, INK, SOFT, figure
from likely.solvers import AdamW, Constant
from likely.typing import Batch

FOLDER = Path(__file__).parents[1] / "images"
LOSS = NextTokenLikelihood(23.0)


def save(drawn, name):
    """Save a figure."""
    drawn.savefig(FOLDER / f"attention_{name}.svg", metadata={"Date": None})


def repeated(n, rng):
    """(n, 24) random tokens of 16, which repeat after 5 to 12."""
    tokens = rng.permuted(np.tile(np.arange(16), (n, 1)), axis=1)
    period = rng.integers(5, 13, size=(n, 1))
    return np.take_along_axis(tokens, np.arange(24)[None] % period, 1).astype(np.int32)


def trained(rng):
    """A decoder of two layers that has learned to copy."""
    X = jnp.asarray(repeated(8192, rng))
    model = models.Transformer(
        16,
        32,
        2,
        2,
        kind="decoder",
        context=24,
        positions="relative",
        hidden=64,
        init="xavier",
        key=jax.random.key(0),
    )
    solver = AdamW(Constant(5e-3), steps=800, batch_size=64)
    batch = Batch(X, None, jnp.ones(len(X)))
    return solver.minimize(LOSS, model, batch, key=jax.random.key(1)).model


def inside(rng):
    """Draw the maps and the ablation of a trained decoder."""
    model = trained(rng)
    print(diagnostics.induction_test(model, length=12, key=jax.random.key(2)))
    tokens = np.tile(rng.permutation(16)[:8], (1, 2)).astype(np.int32)
    maps = diagnostics.attention_maps(model, tokens)
    letters = ["abcdefghijklmnop"[i] for i in tokens[0]]
    save(plots.attention_maps(maps, tokens=letters), "maps")
    held_out = jnp.asarray(repeated(256, np.random.default_rng(1)))
    batch = Batch(held_out, None, jnp.ones(256))
    loss = eqx.filter_jit(lambda model: LOSS(model, batch)[0])
    found = diagnostics.ablation(model, loss, blocks=("attention", "mlp", "head"))
    print(found)
    save(plots.ablation(found, label="rise of the loss, nats per token"), "ablation")


def positions():
    """Draw the sinusoids of 100 positions."""
    drawn, (ax,) = figure(7.0, 3.0)
    vectors = layers.sinusoidal_positions(100, 48).T
    shown = ax.imshow(vectors, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
    ax.set(xlabel="position n", ylabel="entry of π")
    drawn.colorbar(shown, ax=ax, shrink=0.8)
    save(drawn, "positions")


def box(ax, x, y, text, colour=0, width=0.8):
    """Draw a box with a text around (x, y)."""
    frame = FancyBboxPatch(
        (x - width / 2, y - 0.19), width, 0.38, boxstyle="round,pad=0.04",
        fc=f"{COLOURS[colour]}22", ec=COLOURS[colour], lw=1.2,
    )  # fmt: skip
    ax.add_patch(frame)
    ax.text(x, y, text, ha="center", va="center", fontsize=9, color=INK)


def arrow(ax, *points):
    """Draw an arrow through points."""
    x, y = zip(*points, strict=True)
    ax.plot(x[:-1], y[:-1], color=SOFT, lw=1.2, zorder=0)
    style = {"arrowstyle": "-|>", "color": SOFT, "lw": 1.2, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", points[-1], points[-2], arrowprops=style, zorder=0)


def diagrams():
    """Draw how attention, its heads, and a transformer layer compute."""
    drawn, axes = figure(11.0, 5.0, columns=3)
    titles = ("attention: t positions of size d", "h heads", "a transformer layer")
    for ax, title in zip(axes, titles, strict=True):
        ax.set_axis_off()
        ax.set(xlim=(-1.6, 1.6), ylim=(-0.4, 5.4))
        ax.set_title(title, fontsize=10, color=INK)
    ax = axes[0]
    for x, name in ((-1, "Q = XW$_q$"), (0, "K = XW$_k$"), (1, "V = XW$_v$")):
        arrow(ax, (0, 0.2), (x, 0.5), (x, 0.8))
        box(ax, x, 1.05, name)
    box(ax, 0, 0, "X   (t, d)", 6)
    arrow(ax, (-1, 1.28), (-1, 1.6), (-0.6, 2.0))
    arrow(ax, (0, 1.28), (-0.4, 2.0))
    box(ax, -0.5, 2.25, "QKᵀ/√d   (t, t)", 2, 1.5)
    arrow(ax, (-0.5, 2.48), (-0.5, 3.0))
    box(ax, -0.5, 3.25, "softmax over keys", 2, 1.5)
    arrow(ax, (-0.5, 3.48), (-0.1, 4.0))
    arrow(ax, (1, 1.28), (1, 3.4), (0.3, 4.0))
    box(ax, 0.1, 4.25, "mixtures of values   (t, d)", 1, 2.2)
    ax = axes[1]
    box(ax, 0, 0, "X   (t, d)", 6)
    for x, name in ((-1.1, "head 1"), (0, "head 2"), (1.1, "head h")):
        arrow(ax, (0, 0.2), (x, 0.8), (x, 1.6))
        box(ax, x, 1.9, f"{name}\n(t, d/h)", 0)
        arrow(ax, (x, 2.2), (x, 2.6), (0, 3.0))
    ax.text(0.55, 1.9, "…", ha="center", color=INK)
    box(ax, 0, 3.25, "side by side   (t, d)", 2, 1.8)
    arrow(ax, (0, 3.48), (0, 4.0))
    box(ax, 0, 4.25, "linear map   (t, d)", 1, 1.8)
    ax = axes[2]
    steps = ("X   (t, d)", "norm", "attention", "+", "norm", "MLP", "+")
    heights = np.linspace(0, 4.9, len(steps))
    for y, name in zip(heights, steps, strict=True):
        box(ax, 0, y, name, 1 if name == "+" else 6 if name[0] == "X" else 0, 1.1)
    for low, high in itertools.pairwise(heights):
        arrow(ax, (0, low + 0.23), (0, high - 0.23))
    for i in (0, 3):
        low, high = heights[i] + 0.35, heights[i + 3]
        arrow(ax, (0, low), (1.2, low), (1.2, high), (0.6, high))
    save(drawn, "diagrams")


def main() -> None:
    """Draw all figures."""
    matplotlib.rcParams["svg.hashsalt"] = "likely"
    study = diagnostics.scaling_study(draws=1000, key=jax.random.key(0))
    print(study)
    save(plots.scaling_study(study), "scaling")
    positions()
    diagrams()
    inside(np.random.default_rng(0))


if __name__ == "__main__":
    main()
