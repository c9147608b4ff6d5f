"""How well do generative models learn real tables?

`python -m benchmarks.generated_tables NAME ...` takes tables that come inside scikit-learn and
statsmodels: diabetes, wine, breast_cancer, anes96, fair, randhie. For each it compares all
families on one split (asked for: at most three minutes on two cores), then measures

    imputation   nats per hidden cell of the best model that knows single cells, beside the mean
                 and nearest neighbours, each with a normal or categorical error fitted on
                 other held-out rows; asked for: better than both on four of six
    synthetic    held-out R² or AUC of predictors that learned from rows of the best model,
                 over that of the real rows; asked for: at least 0.9 on four of six

and writes `runs/generated_tables.json`. `--models quick` leaves the networks out.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import log_ndtr
from sklearn import datasets

import likely as lk
from likely import diagnostics
from likely.base.table_rows import take
from likely.diagnostics.generators.compare_densities import split_table
from likely.evaluate import Score, paired_difference

TARGETS = {
    "diabetes": "target",
    "wine": "target",
    "breast_cancer": "target",
    "anes96": "PID",
    "fair": "affair",
    "randhie": "mdvis",
}
"""The column that each table is there to predict."""
HIDDEN = 0.2
"""The share of cells that is hidden."""
JUDGED = 1000
"""Held-out rows whose cells are judged; each half fits the errors for the other."""
PEERS = ("mean", "neighbours")
NEIGHBORS = (5, 15)
"""Numbers of neighbours, of which the better is taken."""
BLENDS = np.array([0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0])
"""Shares of marginal frequencies in those of neighbours."""


def load(name: str) -> pd.DataFrame:
    """A table by its name."""
    if name in ("wine", "breast_cancer"):
        return getattr(datasets, f"load_{name}")(as_frame=True).frame
    if name == "diabetes":
        found: Any = datasets.load_diabetes(as_frame=True, scaled=False)
        return found.frame
    import statsmodels.api as sm

    frame = getattr(sm.datasets, name).load_pandas().data
    if name == "fair":  # as in the examples of statsmodels: was there an affair?
        frame = frame.assign(affair=(frame.affairs > 0).astype(int))
        frame = frame.drop(columns="affairs")
    return frame


class Cells(NamedTuple):
    """Hidden cells of some rows, in codes of the table."""

    V: np.ndarray
    hidden: np.ndarray
    half: np.ndarray
    """Which rows fit errors; the others are judged."""


def numbers_log_p(column: Any, v: np.ndarray, guess: np.ndarray, fit: np.ndarray):
    """log p of cells under normal errors around guesses, in the units of the column.

    Args:
        column: the code of the column.
        v: (n,) codes.
        guess: (n,) what is guessed, in the units of the column.
        fit: (n,) the cells that the error is fitted on.
    """
    x = column.decoded(v) if column.kind != "category" else v
    error = x[fit] - guess[fit]
    s = max(float(np.sqrt(np.mean(error**2))), 1e-3 * float(np.std(x)) + 1e-12)
    z = (x - guess) / s
    if column.kind in ("whole", "count"):
        half = 0.5 / s
        upper, lower = log_ndtr(half - np.abs(z)), log_ndtr(-half - np.abs(z))
        return upper + np.log(-np.expm1(lower - upper))
    return -0.5 * z**2 - np.log(s) - 0.5 * np.log(2 * np.pi)


def by_means(codec: Any, T: np.ndarray, cells: Cells) -> np.ndarray:
    """(n, q) log p of hidden cells by the mean, or the frequencies, of the column."""
    found = np.full(cells.V.shape, np.nan)
    for j, column in enumerate(codec.columns):
        at = cells.hidden[:, j] & ~np.isnan(cells.V[:, j])
        v, known = cells.V[at, j], T[~np.isnan(T[:, j]), j]
        if column.kind == "category":
            found[at, j] = np.log(frequencies(known, column.n_levels))[v.astype(int)]
            continue
        guess = np.full(len(v), column.decoded(known).mean())
        found[at, j] = numbers_log_p(column, v, guess, cells.half[at])
    return found


def frequencies(codes: np.ndarray, levels: int) -> np.ndarray:
    counts = np.bincount(codes.astype(int), minlength=levels) + 1.0
    return counts / counts.sum()


def by_neighbors(codec: Any, T: np.ndarray, cells: Cells, k: int) -> np.ndarray:
    """(n, q) log p of hidden cells by the k nearest training rows, of what is seen."""
    levels = np.array([c.kind == "category" for c in codec.columns])
    scale = np.where(levels, 1.0, np.nanstd(T, 0) + 1e-12)
    seen = np.where(cells.hidden, np.nan, cells.V)
    near = np.empty((len(seen), k), int)
    for i, row in enumerate(seen):
        gap = np.where(levels, (row != T) * 1.0, ((T - row) / scale) ** 2)
        gap = np.where(np.isnan(T) | np.isnan(row), np.nan, gap)
        near[i] = np.argsort(np.nanmean(gap, 1), kind="stable")[:k]
    found = np.full(cells.V.shape, np.nan)
    for j, column in enumerate(codec.columns):
        at = cells.hidden[:, j] & ~np.isnan(cells.V[:, j])
        v, values = cells.V[at, j], T[near[at], j]
        known = T[~np.isnan(T[:, j]), j]
        if column.kind != "category":
            guess = np.nanmean(column.decoded(values), 1)
            guess = np.where(np.isnan(guess), column.decoded(known).mean(), guess)
            found[at, j] = numbers_log_p(column, v, guess, cells.half[at])
            continue
        share = np.nanmean(np.where(np.isnan(values), np.nan, values == v[:, None]), 1)
        usual = frequencies(known, column.n_levels)[v.astype(int)]
        share = np.where(np.isnan(share), usual, share)
        logs = np.log(np.outer(1 - BLENDS, share) + np.outer(BLENDS, usual))
        best = logs[:, cells.half[at]].mean(1).argmax() if cells.half[at].any() else -1
        found[at, j] = logs[best]
    return found


def imputation(comparison: Any, frame: pd.DataFrame, seed: int = 0) -> dict[str, Any]:
    """Nats per hidden cell of our best model, of means and of neighbours."""
    split, _ = split_table(frame, 0.25, seed)
    held = take(split.held_out, np.arange(min(JUDGED, len(split.held_out))))
    rng = np.random.default_rng(seed)
    hidden = rng.random((len(held), split.codec.q)) < HIDDEN
    hidden[hidden.all(1), 0] = False
    ours = {}
    for trial in comparison.judged:
        able = hasattr(trial.model, "cell_log_prob") or hasattr(trial.model, "impute")
        if able and trial.name != "independent columns":
            own = [split.codec.names.index(n) for n in trial.model.codec_.names]
            ours[trial.name] = np.full(hidden.shape, np.nan)
            logs = diagnostics.cell_log_probs(trial.model, held, hidden[:, own])
            ours[trial.name][:, own] = logs
    T, V = split.codec.encode(split.train), split.codec.encode(held)
    found = {name: np.full(hidden.shape, np.nan) for name in ("best", *PEERS)}
    chosen = []
    for side in (0, 1):
        half = np.arange(len(V)) % 2 == side
        cells = Cells(V, hidden, half)
        neighbors = [by_neighbors(split.codec, T, cells, k) for k in NEIGHBORS]
        chosen.append(max(ours, key=lambda name, h=half: np.nanmean(ours[name][h])))
        found["best"][~half] = ours[chosen[-1]][~half]
        found["mean"][~half] = by_means(split.codec, T, cells)[~half]
        nearest = max(neighbors, key=lambda a, h=half: np.nanmean(a[h]))
        found["neighbours"][~half] = nearest[~half]
    gaps = {name: gap(found[name], found["best"]) for name in PEERS}
    return {
        "model": " and ".join(dict.fromkeys(chosen)),
        "nats": {k: -float(np.nanmean(v)) for k, v in {**ours, **found}.items()},
        "worse_by": {name: [g.value, g.error] for name, g in gaps.items()},
        "better": bool(all(g.value > 0 for g in gaps.values())),
    }


def gap(peer: np.ndarray, own: np.ndarray) -> Score:
    """Nats per cell by which a peer is worse, with the error over rows."""
    here = np.isfinite(own).sum(1)
    rows = here > 0
    losses = [np.nansum(-a[rows], 1) for a in (peer, own)]
    found = paired_difference(*losses)
    return Score(found.value / here[rows].mean(), found.error / here[rows].mean())


def judge(name: str, models: Any) -> dict[str, Any]:
    """Everything about one table."""
    frame = load(name)
    wall, cpu = time.perf_counter(), time.process_time()
    found = lk.compare_densities(models, frame)
    took = time.perf_counter() - wall, time.process_time() - cpu
    print(f"\n{name} {frame.shape}\n{found}\n", flush=True)
    filled = imputation(found, frame)
    split, _ = split_table(frame, 0.25, 0)
    new = found.best.sample(len(split.train), random_state=1)
    taught = diagnostics.train_on_synthetic(
        new, split.train, split.held_out, target=TARGETS[name]
    )
    print(taught, "\n", json.dumps(filled, indent=1), flush=True)
    return {
        "table": name,
        "seconds": round(took[0], 1),
        "processor_seconds": round(took[1], 1),
        "best": found.judged[0].name,
        "imputation": filled,
        "synthetic": {
            "measure": taught.measure,
            "learner": taught.names[taught.best],
            "real": taught.real[taught.best].value,
            "synthetic": taught.synthetic[taught.best].value,
            "ratio": taught.ratio,
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(TARGETS))
    parser.add_argument("--models", default="all", help="all, quick, or names")
    parser.add_argument("--out", type=Path, default=Path("runs/generated_tables.json"))
    options = parser.parse_args()
    words = {"all": None, "quick": "quick"}
    models = words.get(options.models, options.models.split(","))
    rows = [judge(name, models) for name in options.names]
    for row in rows:
        print(
            f"{row['table']:14s} {row['seconds']:6.1f} s (processor "
            f"{row['processor_seconds']:.0f}), best {row['best']}; imputation by "
            f"{row['imputation']['model']} better: {row['imputation']['better']}; "
            f"synthetic {row['synthetic']['measure']} ratio "
            f"{row['synthetic']['ratio']:.3f}"
        )
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
