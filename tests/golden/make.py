"""Make the golden files: what this version writes, loaded by the tests from now on.

    python tests/golden/make.py tests/golden/v1

Each file holds an object, inputs, and what the object said about them. A golden file is
never made again: a new version of the format gets a folder of its own.
"""

import sys
from pathlib import Path

import jax
import numpy as np

import likely as lk
from likely import files, recipe
from likely.families import Categorical
from likely.models import mlp
from likely.objectives import GaussianPrior
from likely.solvers import Adam
from likely.typing import Batch

X = np.array(
    [[0.0, 1.0], [1.0, 0.5], [2.0, -1.0], [3.0, 0.25], [4.0, -0.5], [5.0, 2.0]]
)
Y = np.array([0.5, 1.0, 4.0, 3.5, 6.5, 4.0])
LABELS = np.array(["no", "no", "yes", "no", "yes", "yes"])


def ridge() -> dict:
    """An estimator of numbers."""
    estimator = lk.Ridge(alpha=0.5).fit(X, Y)
    lower, upper = estimator.predict_interval(X)
    said = {"predict": estimator.predict(X), "lower": lower, "upper": upper}
    return {"object": estimator, "X": X, "said": said}


def logistic() -> dict:
    """An estimator of classes that have names, with a solver inside."""
    estimator = lk.LogisticRegression(alpha=0.3).fit(X, LABELS)
    proba = estimator.predict_proba(X)
    return {
        "object": estimator,
        "X": X,
        "said": {"predict": estimator.predict(X), "predict_proba": proba},
    }


def network() -> dict:
    """A fit of the recipe: layers with running statistics, a prior, a solver."""
    rows = X.astype(np.float32)
    data = Batch(rows, np.array([0, 0, 1, 2, 1, 2], np.float32), np.ones(6, np.float32))
    model = mlp([2, 4, 3], norm="batch", key=jax.random.key(0))
    solver = Adam(0.05, steps=20)
    prior = GaussianPrior(0.1)
    key = jax.random.key(1)
    fit = recipe.fit(Categorical(3), model, data, prior=prior, solver=solver, key=key)
    value = {"fit": fit, "solver": solver, "prior": prior, "key": key}
    return {"object": value, "X": rows, "said": {"probs": fit(rows).probs}}


def values() -> dict:
    """Plain values and arrays of every kind."""
    return {
        "nothing": None,
        "truth": (True, False),
        "whole": [0, -1, 2**63 - 1],
        "floats": [0.1, -0.0, 1e308, 5e-324, float("inf"), float("-inf"), float("nan")],
        "text": 'naïve \U0001f600 "quoted" back\\slash',
        "keys": {2: "whole", 2.5: "real", None: "none", np.int64(3): "NumPy"},
        "arrays": {name: np.arange(6).astype(name).reshape(2, 3) for name in DTYPES},
        "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "complex": np.array([1 + 2j, -0.5j]),
        "words": np.array(["a", "é", "\U0001f600 long"]),
        "bytes": np.array([b"a", b"\x00bc"]),
        "dates": np.array(["2024-02-29", "NaT"], "datetime64[D]"),
        "objects": np.array(["a", None, 1, 2.5, True], object),
        "empty": np.zeros((0, 3)),
        "scalar": np.float32(0.1),
        "jax": jax.numpy.arange(3, dtype=jax.numpy.bfloat16),
        "key": jax.random.key(7),
        "functions": [jax.nn.relu, jax.numpy.tanh],
    }


DTYPES = ("bool", "int8", "uint8", "int32", "int64", "uint64", "float16", "float32")
GOLDEN = {"ridge": ridge, "logistic": logistic, "network": network, "values": values}


def main() -> None:
    folder = Path(sys.argv[1])
    for name, make in GOLDEN.items():
        path = folder / f"{name}.likely"
        if path.exists():
            raise SystemExit(f"{path} is there already; golden files stay as they are.")
        files.save(make(), path, card=False)
        print(path, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
