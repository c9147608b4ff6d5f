"""Draw docs/images/autodiff_*: a network forward and back, and checkpointing."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from likely.autodiff import depth_profile, trace
from likely.core import float64
from likely.plots import checkpoint_timeline, computation_graph
from likely.plots.style import figure, series

FOLDER = Path(__file__).parents[1] / "images"


def network(W1, b1, W2, b2, x, y):  # noqa: PLR0917
    """A 2-1-2 network with half the squared error."""
    z1 = W1 @ x + b1
    a1 = jnp.tanh(z1)
    z2 = W2 @ a1 + b2
    a2 = jax.nn.sigmoid(z2)
    L = 0.5 * jnp.sum((a2 - y) ** 2)
    return L


def deep(x):
    """A chain of 32 steps."""
    for _ in range(32):
        x = jnp.sin(x)
    return x.sum()


def save(drawn, name):
    """Save a figure."""
    drawn.savefig(FOLDER / f"autodiff_{name}.svg", metadata={"Date": None})


def main() -> None:
    """Draw all figures."""
    FOLDER.mkdir(exist_ok=True)
    W1, b1 = np.array([[0.5, -0.4]]), np.array([0.1])
    W2, b2 = np.array([[0.7], [-0.2]]), np.array([0.0, 0.2])
    x, y = np.array([1.0, 2.0]), np.array([1.0, 0.0])
    with float64():
        recorded = trace(network, W1, b1, W2, b2, x, y, argnums=(0, 1, 2, 3))
    save(computation_graph(recorded), "network")
    recorded.save_html(FOLDER / "autodiff_network.html")
    run = trace(deep, np.linspace(0, 1, 1000, dtype=np.float32)).checkpointed()
    save(checkpoint_timeline(run), "checkpointing")

    scales = (1.0, 1.5, 2.0, 3.0)
    profile = depth_profile(scales, key=jax.random.key(0))
    drawn, axes = figure(8.4, 3.2, columns=2)
    sides = {"pre-activations": profile.activations, "gradients": profile.gradients}
    for ax, (name, rows) in zip(axes, sides.items(), strict=True):
        for i, scale in enumerate(scales):
            layers = np.arange(1, len(rows[i]) + 1)
            style = {**series(i), "markevery": 10}
            ax.semilogy(layers, rows[i], **style, label=f"σ² = {scale:g}")
        ax.set(xlabel="layer", ylabel=f"variance of {name}")
        ax.legend(frameon=False, fontsize="small")
    save(drawn, "depth")


if __name__ == "__main__":
    main()
