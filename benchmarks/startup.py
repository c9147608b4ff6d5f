"""What a user waits for before the first number: imports, the help text, a first fit."""

import os
import subprocess
import sys
import tempfile
import time

LIMITS = {
    "import likely": ([sys.executable, "-c", "import likely"], 0.3),
    "likely --help": ([sys.executable, "-m", "likely", "--help"], 0.6),
    "from likely import Ridge": ([sys.executable, "-c", "from likely import Ridge"], 3),
}

FIRST_FIT = """
import time, warnings
import numpy as np
from likely import {name}
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(500, 10))
y = X[:, 0] + rng.normal(size=500)
y = y if "{name}" == "MLPRegressor" else (y > 0).astype(int)
begin = time.process_time()
{name}({options}).fit(X, y)
print(time.process_time() - begin)
"""
EMPTY, FILLED = 4.0, 1.5
"""Seconds of process time that a first fit may take without and with a cache."""
FITS = [
    ("MLPRegressor", "", 1),
    ("MLPClassifier", "", 1),
    ("MLPRegressor", "solver='adam', max_iter=20", 0),
]
"""A class, its options, and whether the limit is asked for or only shown beside."""


def run() -> list[dict]:
    """Each against the limit it has to keep."""
    return [*_commands(), *_first_fits()]


def _commands() -> list[dict]:
    """Best of five by the clock."""
    rows = []
    for name, (command, limit) in LIMITS.items():
        times = []
        for _ in range(5):
            start = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            times.append(time.perf_counter() - start)
        rows.append(_row(name, min(times), limit))
    return rows


def _first_fits() -> list[dict]:
    """Process time after the import, each in a new process; the middle of three."""
    rows = []
    for name, options, asked in FITS:
        empty, filled = [], []
        for _ in range(3):
            with tempfile.TemporaryDirectory() as folder:
                empty.append(_first_fit(name, options, folder))
                filled.append(_first_fit(name, options, folder))
        title = f"first fit of {name}({options}), "
        rows.append(_row(title + "no cache", sorted(empty)[1], EMPTY, asked))
        rows.append(_row(title + "filled cache", sorted(filled)[1], FILLED, asked))
    return rows


def _first_fit(name: str, options: str, cache: str) -> float:
    code = FIRST_FIT.format(name=name, options=options)
    environment = {**os.environ, "LIKELY_CACHE_DIR": cache, "LIKELY_CACHE": "on"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment
    )
    return float(done.stdout)


def _row(name: str, seconds: float, limit: float, asked: int = 1) -> dict:
    return {
        "name": f"{name} (peer: its limit)",
        "ours_s": seconds,
        "peer_s": limit,
        "ratio": limit / seconds,
        "at_least": asked,
        "verified": True,
    }
