r"""The demonstration: one data set, a few families, judged on rows they did not see.

Every line is the recipe with another family or model; a fold is a weight vector, so
the five fits of a line are one `vmap`. Scores are held-out nats: lower is better, and
a difference of 0.1 means that the truth was on average $e^{0.1}$ times likelier.
"""

import csv
import json
import time
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely import recipe
from likely.core.precision import float64
from likely.core.random import key_of
from likely.core.rows import pad
from likely.data import diabetes
from likely.families import AbstractFamily, Gamma, Normal, Predictive, StudentT
from likely.models import Linear, Null, Shared
from likely.solvers import LBFGS
from likely.typing import Batch, Key, Model

FOLDS = 5


def rungs(data: Batch) -> dict[str, tuple[AbstractFamily, Model]]:
    """The models to compare, simplest first, each with its start."""
    d, y, w = data.x.shape[1], jnp.asarray(data.y), jnp.asarray(data.w)
    mean, spread = Normal().marginal(y, w)
    log_mean, shape = Gamma().marginal(y, w)
    weight = jnp.zeros((d, 1))
    return {
        "null": (Normal(), Null(jnp.stack([mean, spread]))),
        "linear": (
            Normal(),
            Shared(Linear(weight, mean[None]), spread[None]),
        ),
        "linear, heavy tails": (
            StudentT(df=5.0),
            Shared(Linear(weight, mean[None]), spread[None]),
        ),
        "linear, modelled spread": (
            Normal(),
            Linear(jnp.zeros((d, 2)), jnp.stack([mean, spread])),
        ),
        "gamma, log link": (
            Gamma(),
            Shared(Linear(weight, log_mean[None]), shape[None]),
        ),
    }


def run(out: Path, seed: int = 0, force: bool = False) -> dict:
    """Fit every rung on five folds, write a result folder, return what it says.

    Args:
        out: folder for `result.json`, `predictions.csv` and `timing.json`.
        seed: shuffles the folds.
        force: whether a result already there may be overwritten.
    """
    if not force and (out / "result.json").exists():
        raise FileExistsError(f"{out} already holds a result; give force=True.")
    table = diabetes()
    rows, predictions, timing = [], {}, {}
    with float64():
        data = pad(Batch(table.X, np.asarray(table.y, np.float64), np.ones(len(table))))
        train = _folds(len(table), len(data.w), seed)
        before = None
        for name, (family, model) in rungs(data).items():
            start = time.perf_counter()
            losses, eta = _held_out(family, model, data, train, key_of(seed))
            losses = np.asarray(losses)[: len(table)]
            rows.append(_row(name, family, model, losses, before))
            predictions[name] = Predictive(family, np.asarray(eta)[: len(table)])
            timing[name] = time.perf_counter() - start
            before = losses
    best = min(rows, key=lambda row: row["nats"])["model"]
    result = {"data": "diabetes", "seed": seed, "folds": FOLDS, "best": best}
    result["rows"] = rows
    _write(out, result, timing, np.asarray(table.y), predictions[best])
    return result


@eqx.filter_jit
def _held_out(
    family: AbstractFamily, model: Model, data: Batch, train: Array, key: Key
) -> tuple[Float[Array, " n"], Float[Array, "n k"]]:
    """Each row's surprise and η under the fit that did not see it."""

    def one(t: Float[Array, " n"]):
        fit = recipe.fit(
            family, model, data._replace(w=data.w * t), solver=LBFGS(), key=key
        )
        eta, _ = fit.model(data.x)
        return -family.log_prob(eta, jnp.asarray(data.y)), eta

    losses, etas = jax.vmap(one)(train)
    held = 1 - train  # (folds, n), one 1 in each column
    return jnp.sum(held * losses, 0), jnp.einsum("jn,jnk->nk", held, etas)


def _folds(n: int, padded: int, seed: int) -> Float[Array, "j n"]:
    """Training weights: each row is 0 in exactly one fold."""
    fold = np.random.default_rng(seed).permutation(np.arange(padded) % FOLDS)
    fold[n:] = np.arange(padded - n) % FOLDS
    return jnp.asarray(np.arange(FOLDS)[:, None] != fold[None], jnp.float64)


def _row(name: str, family, model, losses: np.ndarray, before: np.ndarray | None):
    """One line of the table: score, its error, and the gain over the line before."""
    n = len(losses)
    gain = np.zeros(n) if before is None else before - losses
    leaves = jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array))
    return {
        "model": name,
        "family": type(family).__name__,
        "parameters": sum(leaf.size for leaf in leaves),
        "nats": float(losses.mean()),
        "error": float(losses.std(ddof=1) / np.sqrt(n)),
        "gain": float(gain.mean()),
        "gain error": float(gain.std(ddof=1) / np.sqrt(n)),
    }


def _write(out: Path, result: dict, timing: dict, y: np.ndarray, best: Predictive):
    """The result folder; what the clock says stays in a file of its own."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "result.json").write_text(json.dumps(result, indent=2) + "\n")
    (out / "timing.json").write_text(json.dumps(timing, indent=2) + "\n")
    low, high = best.interval(0.9)
    with (out / "predictions.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["y", "mean", "low_90", "high_90"])
        for row in zip(y, best.mean, low, high, strict=True):
            writer.writerow([f"{value:.6g}" for value in row])
