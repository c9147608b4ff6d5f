"""Draw docs/images/image_networks_*: augmented digits, feature maps, signals."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import likely as lk
from likely import diagnostics, models
from likely.data import digits
from likely.layers import Augmentation
from likely.plots import images
from likely.plots.style import figure, series

FOLDER = Path(__file__).parents[1] / "images"


def save(drawn, name):
    """Save a figure."""
    drawn.savefig(FOLDER / f"image_networks_{name}.svg", metadata={"Date": None})


def augmentation(X) -> None:
    """Draw one digit and augmented versions of it."""
    eight = jnp.asarray(np.repeat(X[12:13], 8, 0), jnp.float32)
    change = Augmentation(shift=0.15, rotate=20.0, scale=0.2, erase=0.3)
    shown = np.array(change.images(eight, jax.random.key(1)))
    shown[0] = eight[0]
    save(
        images(shown, titles=["original", *[f"step {i}" for i in range(1, 8)]]),
        "augmentation",
    )


def inside(X, y) -> None:
    """Draw filters, feature maps and the class activation of a small network."""
    model = lk.CNNClassifier(
        (8, 16),
        (),
        head="mean",
        pool=(2, 0),
        max_iter=30,
        batch_size=50,
        learning_rate_init=0.01,
    ).fit(X[:1000], y[:1000])
    network, state, seen = model.unpack(X[1000:1001])
    label = int(y[1000])
    maps = diagnostics.feature_maps(network, seen, state=state)
    activation = diagnostics.class_activation(network, seen, label, state=state)
    filters = np.moveaxis(diagnostics.filters(network)[:, :, 0], -1, 0)
    filters = np.stack([np.kron(f, np.ones((3, 3)))[:8, :8] for f in filters])
    best = diagnostics.maximal_input(
        network, (8, 8, 1), label, state=state, key=jax.random.key(0)
    )
    rows = [*filters, *np.moveaxis(maps["layers[1]"][0], -1, 0)]
    rows += [seen[0, ..., 0], activation[0], best[..., 0]]
    titles = [f"filter {i}" for i in range(8)] + [f"map {i}" for i in range(8)]
    titles += [f"a {label}", "activation", "maximal"]
    save(images(np.stack(rows), titles=titles), "inside")


def signals() -> None:
    """Draw the variance through depth and the autocorrelation of gradients."""
    drawn, (left, right) = figure(8.4, 3.2, columns=2)
    rows = jax.random.normal(jax.random.key(1), (200, 50))
    for i, scale in enumerate((1.0, 2.0, 4.0)):
        model = models.mlp(
            (50, *[50] * 20, 50), init=("gaussian", scale / 50), key=jax.random.key(2)
        )
        seen = diagnostics.signal_profile(model, rows, key=jax.random.key(3))
        left.semilogy(
            seen.values[1::2], label=f"σ² = {scale:g}/width", markevery=4, **series(i)
        )
    left.set(xlabel="layer", ylabel="variance of pre-activations")
    t = jnp.linspace(-2, 2, 128)
    line = jnp.stack([t, jnp.ones(128)], 1)
    kinds = {
        "1 layer": (1, False),
        "24 layers": (24, False),
        "24, residual": (24, True),
    }
    for i, (name, (depth, residual)) in enumerate(kinds.items()):
        settings = models.MLP((64,) * depth, residual=residual)
        R = diagnostics.gradient_autocorrelation(
            lambda k, s=settings: s.build(2, 1, key=k),
            line,
            draws=200,
            key=jax.random.key(4),
        )
        right.plot(R[:64], label=name, markevery=8, **series(i))
    right.set(xlabel="lag", ylabel="autocorrelation of gradients")
    for ax in (left, right):
        ax.legend(frameon=False, fontsize="small")
    save(drawn, "signals")


def main() -> None:
    """Draw all figures."""
    data = digits()
    X, y = np.asarray(data.X).reshape(-1, 8, 8, 1), np.asarray(data.y)
    augmentation(X)
    inside(X, y)
    signals()


if __name__ == "__main__":
    main()
