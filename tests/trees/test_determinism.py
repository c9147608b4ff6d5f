"""The same bits at any number of threads and in any process."""

import hashlib
import os
import subprocess
import sys

import numpy as np

import likely as lk
from likely import families
from likely.files import save

CODE = """
import sys
sys.path.insert(0, sys.argv[1])
from trees.test_determinism import digests
print(*digests(int(sys.argv[2])))
"""


def digests(n_jobs: int) -> list[str]:
    """sha256 of fitted models (as files) and of their predictions."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 9))
    X[::11, 2] = np.nan
    X[:, 3] = rng.integers(0, 12, 20_000)
    y = (
        X[:, 0]
        + np.nan_to_num(X[:, 2]) * X[:, 1]
        + (X[:, 3] % 3 == 0)
        + rng.normal(size=20_000)
    )
    labels = np.digitize(y, [-1.0, 1.0])
    fits = [
        lk.RandomForestClassifier(6, n_jobs=n_jobs, oob_score=True).fit(X, labels),
        lk.RandomForestRegressor(4, n_jobs=n_jobs, max_features=3).fit(X, y),
        lk.GradientBoostingClassifier(
            n_estimators=6, n_jobs=n_jobs, categorical_features=[3]
        ).fit(X, labels),
        lk.GradientBoostingRegressor(
            families.Normal(), n_estimators=6, n_jobs=n_jobs, subsample=0.7
        ).fit(X, y),
        lk.GradientBoostingRegressor(n_estimators=6, n_jobs=n_jobs).fit(X, y),
    ]
    found = []
    for model in fits:
        arrays = [model.predict(X), model.predict_dist(X[:200]).eta]
        fitted = {k: v for k, v in vars(model).items() if k.endswith("_")}
        trees = fitted.pop("trees_")
        parts = [trees.nodes, trees.set_at, trees.value, trees.weight, trees.gain]
        parts += [trees.bins.cuts, trees.roots, trees.start]
        text = b"".join(np.ascontiguousarray(a).tobytes() for a in parts + arrays)
        found.append(hashlib.sha256(text).hexdigest())
    return found


def test_bits_do_not_depend_on_threads_or_processes():
    here = digests(1)
    assert digests(2) == here
    folder = os.path.dirname(os.path.dirname(__file__))
    command = [sys.executable, "-c", CODE, folder, "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == here


def test_files_are_the_same_bytes(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3_000, 8))
    y = X[:, 0] + rng.normal(size=3_000)
    written = set()
    for i in range(2):
        model = lk.GradientBoostingRegressor(n_estimators=5).fit(X, y)
        save(model, tmp_path / f"{i}.likely", card=False)
        written.add((tmp_path / f"{i}.likely").read_bytes())
    assert len(written) == 1


def test_kernels_are_kept_in_the_private_cache_and_load_late():
    code = (
        "import sys, likely.estimators; print('numba' in sys.modules);"
        "import likely.models.trees.kernels as k;"
        "print(k.add_leaves._cache.cache_path, len(k.add_leaves.signatures));"
        "import numba; print(repr(numba.config.CACHE_DIR))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    early, place, others = done.stdout.splitlines()
    assert early == "False"
    assert place.startswith(os.environ["LIKELY_CACHE_DIR"])
    assert place.endswith(" 1")
    assert others == "''"
