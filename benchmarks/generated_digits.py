"""How well do generative models learn to write digits?

    python -m benchmarks.generated_digits [NAME ...] [--data FOLDER] [--out FOLDER]

trains each model on the first 8,000 of MNIST's test digits and judges it on the last 2,000:
nats (or a bound of them), bits per pixel, time, and a grid of new digits as a PNG file. A
convolutional network that reads held-out digits says how many of the new ones it reads as the
class that was asked for, where a model is conditional. Asked for: at most five minutes on two
cores each.

    python -m benchmarks.generated_digits gpu --data FOLDER --out FOLDER

is a conditional diffusion model for a GPU: under three minutes, and 95 % of its digits
are read as what was asked for. FOLDER holds `mnist-t10k-images.idx3.gz` and
`mnist-t10k-labels.idx1.gz`.
"""

import argparse
import inspect
import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import jax
import matplotlib as mpl
import numpy as np

mpl.use("Agg")

from matplotlib import pyplot

import likely as lk
from benchmarks.digits import network
from likely.data import read_idx

HERE = Path(__file__).resolve().parents[2] / "shared" / "data"
TRAIN, TEST = slice(0, 8000), slice(8000, 10_000)
MODELS: dict[str, Any] = {
    "vae": lambda **s: lk.VAE(32, **s),
    "flow": lambda **s: lk.NormalizingFlow(**s),
    "autoregressive": lambda **s: lk.AutoregressiveDensity(**s),
    "diffusion": lambda **s: lk.Diffusion(**s),
    "conditional": lambda **s: lk.Diffusion(**s),
    "gan": lambda **s: lk.GAN(**s),
    "conditional gan": lambda **s: lk.GAN(**s),
    "gpu": lambda **s: lk.Diffusion(
        **{"hidden": (64, 128, 256), "batch_size": 128, "max_iter": 120}
        | {"learning_rate": "cosine", "learning_rate_init": 1e-3}
        | {"clip_norm": 1.0, "weight_average": 0.999, "early_stopping": False}
        | s
    ),
}
ASKED = ("vae", "flow", "autoregressive", "diffusion")
GIVEN = ("conditional", "conditional gan", "gpu")
JUDGED = 500
"""Held-out digits whose nats are measured."""
GUIDANCE = (0.0, 1.0, 2.0)


class Digits(NamedTuple):
    """Images and their classes, to learn from and to judge by."""

    X: np.ndarray
    y: np.ndarray
    X_new: np.ndarray
    y_new: np.ndarray

    @classmethod
    def read(cls, folder: Path, rows: int) -> "Digits":
        """The first rows to learn from, and the last 2,000."""
        X = read_idx(folder / "mnist-t10k-images.idx3.gz")
        y = read_idx(folder / "mnist-t10k-labels.idx1.gz")
        return cls(X[TRAIN][:rows], y[TRAIN][:rows], X[TEST], y[TEST])


def grid(X: np.ndarray) -> np.ndarray:
    """Images as one picture, ten in a row."""
    rows = len(X) // 10
    X = X[: 10 * rows].reshape(rows, 10, *X.shape[1:3])
    return X.transpose(0, 2, 1, 3).reshape(rows * X.shape[2], -1)


def judge(name: str, digits: Digits, out: Path, settings: dict, quiet: bool) -> dict:
    """Train and judge one model."""
    wall, cpu = time.perf_counter(), time.process_time()

    def tell(event) -> None:
        if event.kind == "validation":
            print(
                f"  epoch {event.epoch:.0f}: {event.loss:.4f}, held-out "
                f"{event.validation:.4f}, {time.perf_counter() - wall:.0f} s",
                flush=True,
            )

    classes = name in GIVEN
    model = MODELS[name](**{"random_state": 0} | settings)
    callbacks = () if quiet else tell
    shared = {}
    if "mesh" in inspect.signature(model.fit).parameters and jax.device_count() > 1:
        shared["mesh"] = jax.make_mesh((jax.device_count(),), ("rows",))
    known = digits.y if classes else None
    model.fit(digits.X, given=known, callbacks=callbacks, **shared)
    trained = time.perf_counter() - wall, time.process_time() - cpu
    wanted = np.repeat(np.arange(10), 10)
    began = time.perf_counter()
    new = model.sample(100, given=wanted if classes else None, random_state=0)
    drawn = time.perf_counter() - began
    picture = out / f"{name.replace(' ', '-')}.png"
    pyplot.imsave(picture, grid(new), cmap="gray_r")
    found = {
        "model": name,
        "taxonomy": model.taxonomy,
        "epochs": model.n_iter_,
        "seconds": round(trained[0], 1),
        "core_seconds": round(trained[1], 1),
        "seconds_for_100": round(drawn, 1),
        "picture": str(picture),
    }
    return found | nats(model, digits, classes) | reading(model, digits, classes)


def nats(model: Any, digits: Digits, classes: bool) -> dict:
    """Held-out nats, of models that know them."""
    if model.taxonomy == "implicit":
        return {"collapsed": model.collapsed_, "missed": model.regions_.missed}
    X, y = digits.X_new[:JUDGED], digits.y_new[:JUDGED]
    known = {"given": y} if classes else {}
    if model.taxonomy == "bound":
        bound = model.bound(X, **known)
        value, more = -bound.mean, {"error_of_draws": round(bound.error, 2)}
    else:
        value, more = -float(np.mean(model.log_prob(X, **known))), {}
    pixels = X[0].size
    found = {"nats": round(value, 1), "bits_per_pixel": value / (pixels * np.log(2))}
    return found | more


def reading(model: Any, digits: Digits, classes: bool) -> dict:
    """How often a classifier reads a new digit as what was asked for."""
    if not classes:
        return {}
    reader = network(seed=0).fit(digits.X, digits.y)
    found = {"reader": round(reader.score(digits.X_new, digits.y_new), 4)}
    asked = np.repeat(np.arange(10), 100)
    for guidance in GUIDANCE:
        options = {"guidance": guidance} if isinstance(model, lk.Diffusion) else {}
        new = model.sample(len(asked), given=asked, random_state=1, **options)
        agreed = float((reader.predict(new) == asked).mean())
        found[f"agreement at guidance {guidance:g}"] = round(agreed, 4)
        if not options:
            break
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.generated_digits", description=__doc__
    )
    parser.add_argument("names", nargs="*", default=ASKED, help=", ".join(MODELS))
    parser.add_argument("--data", type=Path, default=HERE)
    parser.add_argument("--out", type=Path, default=Path("runs"))
    parser.add_argument("--rows", type=int, default=8000, help="digits to learn from")
    parser.add_argument("--set", default="{}", help="settings as JSON")
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument(
        "--devices", type=int, default=1, help="devices that the CPU is seen as"
    )
    options = parser.parse_args()
    if unknown := set(options.names) - set(MODELS):
        parser.error(f"there is no model {unknown.pop()!r}; give any of {list(MODELS)}")
    if options.devices > 1:
        lk.tune_host(devices=options.devices)
    digits = Digits.read(options.data, options.rows)
    options.out.mkdir(parents=True, exist_ok=True)
    settings = json.loads(options.set)
    for name in options.names:
        found = judge(name, digits, options.out, settings, options.quiet)
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
