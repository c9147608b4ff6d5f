"""Draw docs/images/autoencoder-*.png and vae-*: digits rebuilt, denoised, drawn; maps; a ring.

`python docs/figures/autoencoders.py [ring latent rebuilt digits] [--data FOLDER]`; the model of
digits takes some minutes on two cores.
"""

import argparse
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.image import imsave

import likely as lk
from likely import data
from likely.plots.style import COLOURS, INK, figure

FOLDER = Path(__file__).parents[1] / "images"
CODE = 16
"""The length of the code of a digit."""


def save(drawn: Figure, name: str) -> None:
    matplotlib.rcParams["svg.hashsalt"] = "likely"
    drawn.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})


def write(rows: list[np.ndarray], name: str, scale: int = 2) -> None:
    """Rows of images with numbers from 0 to 1, dark on white, with gaps between the rows."""
    lines = []
    for images in rows:
        n, h, w = images.shape
        lines += [images.transpose(1, 0, 2).reshape(h, n * w), np.zeros((3, n * w))]
    pixels = np.clip(np.concatenate(lines[:-1]), 0, 1)
    large = np.kron(pixels, np.ones((scale, scale)))
    imsave(FOLDER / f"{name}.png", 1 - large, cmap="gray", vmin=0, vmax=1)


def digits(folder: str | None) -> np.ndarray:
    """(10000, 28, 28) digits of black and white pixels, 0 and 1."""
    X = np.asarray(data.mnist("test", path=folder).X).reshape(-1, 28, 28)
    return (X > 127).astype(float)


def ring() -> None:
    """Normal points, and what g makes of them."""
    Z = np.random.default_rng(0).normal(size=(800, 2))
    drawn, axes = figure(8.4, 2.9, columns=3)
    shown = {"z": Z, "g(z), α = 2": lk.gaussian_ring(Z, 2.0)}
    shown["g(z), α = 10"] = lk.gaussian_ring(Z, 10.0)
    for ax, (title, points) in zip(axes, shown.items(), strict=True):
        ax.scatter(*points.T, s=3, color=COLOURS[0], linewidths=0)
        ax.set(xticks=[], yticks=[], aspect="equal")
        ax.set_title(title, fontsize=10, color=INK)
    save(drawn, "vae-ring")


def latent() -> None:
    """Codes of two numbers of the small digits, and what a grid of codes decodes to."""
    found = data.digits()
    X, y = found.X.reshape(-1, 8, 8) / 16, np.asarray(found.y)
    settings = {"channels": None, "family": "normal", "image_shape": (8, 8)}
    model = lk.VAE(2, (128,), max_iter=150, early_stopping=False, **settings)
    model.fit(X.reshape(len(X), -1))
    Z = model.transform(X.reshape(len(X), -1))
    drawn, (left, right) = figure(9.0, 4.2, columns=2)
    for k in range(10):
        points = Z[y == found.y.dtype.type(k)]
        left.scatter(
            *points.T, s=5, color=COLOURS[k % len(COLOURS)], alpha=0.6, linewidths=0
        )
        left.text(*np.median(points, 0), str(k), fontsize=13, weight="bold", color=INK)
    left.set(xticks=[-2, 0, 2], yticks=[-2, 0, 2], xlabel="z1", ylabel="z2")
    left.set_title("where digits are", fontsize=10, color=INK)
    ticks = np.linspace(-2.2, 2.2, 14)
    grid = np.stack(np.meshgrid(ticks, ticks[::-1]), -1).reshape(-1, 2)
    pixels = model.decode(grid, means=True).reshape(14, 14, 8, 8)
    whole = pixels.transpose(0, 2, 1, 3).reshape(14 * 8, 14 * 8)
    right.imshow(whole, cmap="gray_r", vmin=0, vmax=1, extent=(-2.4, 2.4, -2.4, 2.4))
    right.set(xticks=[], yticks=[])
    right.set_title("what codes decode to", fontsize=10, color=INK)
    save(drawn, "vae-latent")


def rebuilt(folder: str | None) -> None:
    """Digits, and what is rebuilt of them; noisy ones, and what is denoised."""
    X = digits(folder)
    learn, other = X[:4000], X[8000:8020]
    settings = {"max_iter": 40, "early_stopping": False, "n_components": CODE}
    plain = lk.Autoencoder(**settings).fit(learn)
    flat = learn.reshape(len(learn), -1)
    best = lk.PCA(CODE).fit(flat)
    linear = best.inverse_transform(best.transform(other.reshape(20, -1)))
    rows = [other, linear.reshape(-1, 28, 28), plain.reconstruct(other)]
    write(rows, "autoencoder-rebuilt")
    noisy = other + 0.3 * np.random.default_rng(0).normal(size=other.shape)
    denoise = lk.Autoencoder(noise=1.0, **settings).fit(learn)
    write([other, noisy, denoise.reconstruct(noisy)], "autoencoder-denoised")
    steps = lk.decode_neighbors(plain, other[1:2], np.linspace(0, 10, 20))
    drawn = lk.decode_random(plain, 20, X=learn)
    write([drawn, np.concatenate(steps)], "autoencoder-codes")


def of_digits(folder: str | None) -> None:
    """A variational autoencoder of 8,000 digits, saved aside for its pictures."""
    X = digits(folder)
    model = lk.VAE(CODE, verbose=True).fit(X[:8000])
    bound = model.bound(X[8000:])
    print(f"held-out bound: {bound.mean:.2f} ± {bound.error:.2f} nats")
    pictures_of(model, X[8000:])


def pictures_of(model: lk.VAE, X: np.ndarray) -> None:
    """New digits as drawn and as probabilities, walks between codes, filled halves."""
    means = lk.decode_random(model, 40)
    write(
        [*model.sample(20, random_state=0)[None], means[:20], means[20:]], "vae-digits"
    )
    walk = np.concatenate(lk.decode_neighbors(model, X[:1], np.linspace(0, 4, 20)))
    ends = model.transform(X[[2, 7]])
    line = ends[0] + np.linspace(0, 1, 20)[:, None] * (ends[1] - ends[0])
    write([walk, model.decode(line, means=True)], "vae-walks")
    half = X[:20].copy()
    half[:, 14:] = np.nan
    filled = np.mean(model.impute(half, n_draws=20), 0)
    write([X[:20], np.nan_to_num(half, nan=0.25), filled], "vae-filled")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    every = ["ring", "latent", "rebuilt", "digits"]
    parser.add_argument("names", nargs="*", default=every)
    parser.add_argument("--data", default=None, help="the folder of the digits")
    options = parser.parse_args()
    for name in options.names:
        if name in ("ring", "latent"):
            {"ring": ring, "latent": latent}[name]()
        else:
            {"rebuilt": rebuilt, "digits": of_digits}[name](options.data)
