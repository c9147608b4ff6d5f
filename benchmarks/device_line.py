"""Where the CPU ends and the accelerator begins, for statistical models in double precision.

    python -m benchmarks.device_line

On a machine whose default JAX device is an accelerator: seconds of fits on either, for
problems of growing size. `likely.core.devices.MIN_ACCELERATOR_WORK` should be about the
work (rows times squared columns) from which the accelerator takes less time. Prints JSON.
"""

import json
import time
import warnings
from collections.abc import Callable

import jax
import numpy as np

import likely as lk
from likely.core import devices

SHAPES = [
    (100, 5),
    (1_000, 10),
    (2_000, 20),
    (5_000, 50),
    (20_000, 100),
    (100_000, 100),
    (100_000, 300),
]
MODELS: dict[str, Callable] = {
    "three classes": lambda X, y: lk.LogisticRegression(alpha=1.0).fit(
        X, np.digitize(y, [-5.0, 5.0])
    ),
    "huber": lambda X, y: lk.HuberRegressor().fit(X, y),
    "ridge": lambda X, y: lk.Ridge().fit(X, y),
}


def seconds(fit: Callable, X: np.ndarray, y: np.ndarray) -> float:
    """The shorter of two fits after one that compiles."""
    fit(X, y)
    found = []
    for _ in range(2):
        start = time.perf_counter()
        fit(X, y)
        found.append(time.perf_counter() - start)
    return min(found)


def main() -> None:
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    rows = []
    for n, d in SHAPES:
        X = rng.normal(size=(n, d))
        y = X @ rng.normal(size=d) + rng.normal(size=n)
        for name, fit in MODELS.items():
            row = {"model": name, "n": n, "d": d, "work": float(n) * d * d}
            for where, line in (("cpu", np.inf), ("default", 0.0)):
                devices.MIN_ACCELERATOR_WORK = line
                row[f"{where}_s"] = round(seconds(fit, X, y), 4)
            rows.append(row)
            print(json.dumps(row), flush=True)
    print(json.dumps({"default": str(jax.devices()[0]), "rows": rows}))


if __name__ == "__main__":
    main()
