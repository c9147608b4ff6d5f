"""Draw docs/images/diffusion-*: schedules, ways from noise to rows, digits and their strips.

`python docs/figures/diffusion.py [schedules paths digits]`; digits take some minutes.
"""

import argparse
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_moons

import likely as lk
from likely import data
from likely.plots.style import COLOURS, INK, figure

FOLDER = Path(__file__).parents[1] / "images"


def save(drawn: Figure, name: str) -> None:
    matplotlib.rcParams["svg.hashsalt"] = "likely"
    drawn.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})


def schedules() -> None:
    """What is left of a row, and the noise, at each time."""
    drawn, axes = figure(9.0, 3.0, columns=2)
    for ax, kind in zip(axes, ("cosine", "linear"), strict=True):
        steps = lk.NoiseSchedule(kind)
        t = np.arange(steps.n_steps + 1)
        ax.plot(t, steps.signal, color=COLOURS[0], label="signal")
        ax.plot(t, steps.noise, color=COLOURS[1], label="noise")
        ax.set_title(kind, fontsize=10, color=INK)
        ax.set_xlabel("time t")
    axes[0].legend(frameon=False)
    save(drawn, "diffusion-schedules")


def paths() -> None:
    """Points on their way from noise to two moons."""
    X, _ = make_moons(2000, noise=0.06, random_state=0)
    model = lk.Diffusion(random_state=0).fit(X)
    frames = model.sample_path(600, n_frames=5, random_state=0)
    drawn, axes = figure(13.0, 2.7, columns=5)
    for k, ax in enumerate(axes):
        ax.scatter(
            *frames[:, k].T, s=3, color=COLOURS[0], linewidths=0, rasterized=True
        )
        ax.set(xticks=[], yticks=[], xlim=(-3.2, 3.2), ylim=(-3.2, 3.2))
        last = k + 1 == len(axes)
        ax.set_title("new rows" if last else f"frame {k + 1}", fontsize=10, color=INK)
    save(drawn, "diffusion-paths")


def write(rows: np.ndarray, columns: int, name: str) -> None:
    """Images of points between −1 and 1 as a grid, dark on white, six pixels for one."""
    from matplotlib.image import imsave

    rows = np.pad(rows, ((0, 0), (1, 1), (1, 1)), constant_values=-1.0)
    n, h, w = rows.shape
    picture = rows.reshape(n // columns, columns, h, w).transpose(0, 2, 1, 3)
    picture = picture.reshape(n // columns * h, columns * w)
    large = np.kron(127.5 * (1 - np.clip(picture, -1, 1)), np.ones((6, 6)))
    imsave(FOLDER / f"{name}.png", large, cmap="gray", vmin=0, vmax=255)


def digits() -> None:
    """Digits of 8 x 8 pixels: noise that is added, noise that is removed, new ones."""
    table = data.digits()
    X = np.asarray(table.X, float).reshape(-1, 8, 8)
    y = np.asarray(table.y).astype(int)
    model = lk.Diffusion(random_state=0).fit(X[:1500], given=y[:1500])
    bound = model.bound(X[1500:], given=y[1500:], n_draws=16)
    print(f"bound {bound.mean:.1f} ± {bound.error:.2f} nats, {model.n_iter_} epochs")
    times = [0, 100, 200, 300, 400, 500, 600, 700, 850, 1000]
    forth = [model.noised(X[:4], t, random_state=t)[..., 0] for t in times]
    back = model.sample_path(6, given=np.arange(6), n_frames=10, random_state=0)
    write(np.stack(forth, 1).reshape(-1, 8, 8), 10, "diffusion-noised")
    write(back.reshape(-1, 8, 8), 10, "diffusion-strip")
    asked = np.tile(np.arange(10), 6)
    for guidance in (0.0, 2.0):
        new = model.sample(60, given=asked, guidance=guidance, random_state=1)
        end = "-guided" if guidance else ""
        write(new / 8 - 1, 10, f"diffusion-digits{end}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["schedules", "paths", "digits"])
    for name in parser.parse_args().names:
        {"schedules": schedules, "paths": paths, "digits": digits}[name]()
