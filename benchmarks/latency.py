"""Milliseconds to predict a single row, warm, of every predictor of a table.

    python -m benchmarks.latency

The estimators and their settings are those of the tests (`tests/registries/estimators.py`).
Prints JSON, the slowest last; the bar is 1 ms. `benchmarks.shapes --latency` has
scikit-learn's beside it.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np

MAX_SECONDS = 1e-3
KINDS = ("numbers", "positive", "nonnegative", "counts", "classes")


def targets(kind: str, z: np.ndarray) -> np.ndarray:
    """Targets of a kind that depend on z."""
    if kind == "classes":
        return (z > 0).astype(int)
    if kind == "counts":
        return np.round(np.exp(0.5 * z))
    return z if kind == "numbers" else np.exp(0.5 * z)


def seconds(model, row: np.ndarray, turns: int = 30) -> float:
    """The median over calls, after two that may compile."""
    found = []
    for i in range(turns + 2):
        start = time.perf_counter()
        model.predict(row)
        if i > 1:
            found.append(time.perf_counter() - start)
    return float(np.median(found))


def main() -> None:
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from registries.estimators import ESTIMATORS  # pyright: ignore[reportMissingImports]

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    z, rows = X[:, 0] + 0.5 * rng.normal(size=60), []
    for name, entry in ESTIMATORS.items():
        if entry.kind not in KINDS or entry.slow:
            continue
        try:
            model = entry.make().fit(X, targets(entry.kind, z))
            row = {"name": name, "ms": round(1e3 * seconds(model, X[:1]), 4)}
        except Exception as error:  # noqa: BLE001 (one that fails is a row, too)
            row = {"name": name, "error": str(error)[:200]}
        print(json.dumps(row), file=sys.stderr, flush=True)
        rows.append(row)
    rows.sort(key=lambda row: row.get("ms", 0.0))
    slow = [row["name"] for row in rows if row.get("ms", 0.0) > 1e3 * MAX_SECONDS]
    print(json.dumps({"slower_than_1_ms": slow, "rows": rows}))


if __name__ == "__main__":
    main()
