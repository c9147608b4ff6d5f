"""Every estimator on every shape: time, memory and score beside scikit-learn's.

    python -m benchmarks.shapes                                  # all of it, for hours
    python -m benchmarks.shapes --only "Ridge;Lasso" --out runs/shapes-a.json
    python -m benchmarks.shapes --latency                        # rows 1 to 1,000
    python -m benchmarks.shapes --join runs/shapes-* --out benchmarks/shapes.json

Each side of a cell has a process of its own. A cell counts where scikit-learn needs at most
60 s for a fit; ours is given up after ten times that of the peer and 60 s. Seconds are those
of processors (wall clock beside them), cold is the first fit of a process and includes what
is compiled, warm is the best of the next ones. Memory is the largest resident set of the
process, libraries and data among it. `docs/figures/shapes.py` draws the heat map.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.shape_cells import SHAPES, SPARSE_SHAPES, TWINS, cell_data

MAX_PEER_SECONDS = 60.0
LATENCY_ROWS = (1, 10, 100, 1000)
LATENCY_SHAPE = (1000, 10)


def largest_resident() -> float:
    """The most megabytes of this process so far (Linux counts in kilobytes)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def spent(job: Any) -> tuple[Any, float, float]:
    """The result, seconds of processors, and seconds on the wall."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = job()
    return result, time.process_time() - cpu, time.perf_counter() - wall


def measure_side(name: str, side: str, n: int, d: int, is_sparse: bool) -> dict:
    """One side of a cell, in this process."""
    warnings.simplefilter("ignore")
    make = getattr(TWINS[name], side)
    X, y = cell_data(n, d, TWINS[name].target, is_sparse=is_sparse)
    train, test = np.arange(n) % 5 != 0, np.arange(n) % 5 == 0
    A, a, B, b = X[train], y[train], X[test], y[test]
    model, cold, cold_wall = spent(lambda: make().fit(A, a))
    warm, warm_wall = [cold], [cold_wall]
    for _ in range(3 if cold < 5 else 1):
        model, cpu, wall = spent(lambda: make().fit(A, a))
        warm.append(cpu)
        warm_wall.append(wall)
    few = np.arange(min(len(b), 2000))
    return {
        "cold_s": cold,
        "cold_wall_s": cold_wall,
        "warm_s": min(warm),
        "warm_wall_s": min(warm_wall),
        "memory_mb": largest_resident(),
        "score": float(model.score(B[few], b[few])),
    }


def latency_side(name: str, side: str) -> dict:
    """Median seconds to predict 1 to 1,000 rows, warm."""
    warnings.simplefilter("ignore")
    X, y = cell_data(*LATENCY_SHAPE, TWINS[name].target, is_sparse=False)
    model = getattr(TWINS[name], side)().fit(X, y)
    found = {}
    for rows in LATENCY_ROWS:
        part = X[:rows]
        model.predict(part)
        turns = [spent(lambda part=part: model.predict(part))[2] for _ in range(30)]
        found[str(rows)] = float(np.median(turns))
    return found


def run_side(arguments: list[str], limit: float) -> dict | None:
    """A side in a process of its own; None where it takes too long or fails."""
    command = [sys.executable, "-m", "benchmarks.shapes", "--side", *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        last = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
        return {"error": last[0][:300]}
    return json.loads(lines[-1])


def cells(names: list[str]) -> list[tuple[str, int, int, bool]]:
    """All cells of some estimators."""
    found = []
    for name in names:
        found += [(name, n, d, False) for n, d in SHAPES]
        if TWINS[name].takes_sparse:
            found += [(name, n, d, True) for n, d in SPARSE_SHAPES]
    return found


def run(names: list[str], most: int) -> list[dict]:
    """The cells of some estimators, one after the other."""
    rows = []
    for name, n, d, is_sparse in cells(names):
        if n * d > most:
            continue
        cell = [str(n), str(d), str(int(is_sparse))]
        limit = 6 * MAX_PEER_SECONDS
        peer = run_side([name, "peer", *cell], limit)
        row: dict[str, Any] = {"name": name, "n": n, "d": d, "sparse": is_sparse}
        if peer is None or "error" in peer or peer["warm_s"] > MAX_PEER_SECONDS:
            row["left_out"] = "scikit-learn fails or takes more than a minute"
        else:
            ours = run_side([name, "ours", *cell], limit + 10 * peer["cold_wall_s"])
            row |= {"ours": ours, "peer": peer}
            if ours and "error" not in ours:
                row["time_ratio"] = ours["warm_s"] / peer["warm_s"]
                row["cold_ratio"] = ours["cold_s"] / peer["cold_s"]
                row["memory_ratio"] = ours["memory_mb"] / peer["memory_mb"]
                row["score_gain"] = ours["score"] - peer["score"]
        print(json.dumps(row), file=sys.stderr, flush=True)
        rows.append(row)
    return rows


def run_latency(names: list[str]) -> list[dict]:
    """Single rows to a thousand, of each estimator."""
    rows = []
    for name in names:
        row: dict[str, Any] = {"name": name}
        for side in ("ours", "peer"):
            row[side] = run_side([name, side, "latency"], 300)
        print(json.dumps(row), file=sys.stderr, flush=True)
        rows.append(row)
    return rows


def joined(paths: list[Path]) -> list[dict]:
    """The cells of several reports or logs (a cell in a line); later ones replace earlier."""
    found = {}
    for path in paths:
        text = path.read_text()
        if path.suffix == ".json":
            rows = json.loads(text)["cells"]
        else:
            rows = [json.loads(line) for line in text.splitlines() if line[:1] == "{"]
        for row in rows:
            found[row["name"], row["n"], row["d"], row["sparse"]] = row
    names = list(TWINS)
    return sorted(found.values(), key=lambda row: names.index(row["name"]))


def rounded(value: Any) -> Any:
    """Numbers of a report to three digits."""
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    return float(f"{value:.3g}") if isinstance(value, float) else value


def as_lines(report: dict[str, list]) -> str:
    """A report as JSON, a row in a line."""
    parts = [
        f'"{key}": [\n' + ",\n".join(json.dumps(rounded(row)) for row in rows) + "\n]"
        for key, rows in report.items()
    ]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shapes")
    parser.add_argument("--only", help="names of estimators, separated by semicolons")
    parser.add_argument("--most", type=int, default=10**9, help="the most numbers in X")
    parser.add_argument("--latency", action="store_true")
    parser.add_argument("--join", type=Path, nargs="*")
    parser.add_argument("--side", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=Path("runs/shapes.json"))
    options = parser.parse_args()
    if options.side:
        name, side, *cell = options.side
        if cell == ["latency"]:
            print(json.dumps(latency_side(name, side)))
            return
        n, d, is_sparse = map(int, cell)
        print(json.dumps(measure_side(name, side, n, d, bool(is_sparse))))
        return
    names = options.only.split(";") if options.only else list(TWINS)
    report: dict[str, list] = {"cells": [], "latency": []}
    if options.join:
        report["cells"] = joined(options.join)
    elif options.latency:
        report["latency"] = run_latency(names)
    else:
        report["cells"] = run(names, options.most)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(as_lines(report))
    print(json.dumps(report))


if __name__ == "__main__":
    main()
