"""Does `likely fit` keep its seconds? Planned against measured, for tables of many shapes.

    python -m benchmarks.budgets [--effort quick] [--kinds real,count] [--shapes 300x10,...]

Each run is a process of its own with an empty compilation cache (kernels of trees are
kept). The columns are the seconds that the plan expects of one core, the processor seconds
that were measured, the wall seconds, and when the linear model was known.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

KINDS = ("real", "positive", "count", "binary", "classes")
SHAPES = (
    "300x10",
    "1000x20",
    "8000x100",
    "20000x30",
    "100000x50",
    "300x2000",
    "1000x5000",
)


def table(kind: str, n: int, d: int) -> dict:
    """Columns of numbers, a tenth of them categories, and a target of this kind."""
    rng = np.random.default_rng(0)
    words = min(d // 10, 5)
    X = rng.normal(size=(n, d - words))
    f = X[:, 0] + np.sin(2 * X[:, 1]) + 0.2 * X[:, :10].sum(1)
    columns: dict = {f"x{j}": X[:, j] for j in range(d - words)}
    for j in range(words):
        size = (3, 5, 10, 20, 60)[j]
        codes = rng.integers(0, size, n)
        f = f + 0.3 * rng.normal(size=size)[codes]
        columns[f"c{j}"] = np.array([f"level {i}" for i in range(size)])[codes]
    targets = {
        "real": lambda: f + rng.normal(size=n),
        "positive": lambda: np.exp(f + 0.5 * rng.normal(size=n)),
        "count": lambda: rng.negative_binomial(2, 1 / (1 + np.exp(0.5 * f))),
        "binary": lambda: np.where(f + rng.logistic(size=n) > 0, "yes", "no"),
        "classes": lambda: np.array(list("abcdefghij"))[
            (np.outer(f, np.linspace(-1, 1, 10)) + rng.gumbel(size=(n, 10))).argmax(1)
        ],
    }
    return {**columns, "target": targets[kind]()}


def measured(kind: str, n: int, d: int, effort: str) -> dict:
    """One run in this process."""
    start = time.monotonic()
    from likely import workbench
    from likely.core.host import tune_host

    tune_host()
    first: dict[str, float] = {}

    def note(event) -> None:
        if event.kind == "done" and event.model != "null model":
            first.setdefault("first", time.monotonic() - start)

    with tempfile.TemporaryDirectory() as folder:
        source = table(kind, n, d)
        result = workbench.run(
            source, "target", effort=effort, out=f"{folder}/run", notify=note
        )
    spent = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "models": len(result.rows),
        "processor": spent.ru_utime + spent.ru_stime,
        "wall": time.monotonic() - start,
        **first,
    }


def expected(kind: str, n: int, d: int, effort: str) -> float:
    """The seconds of one core that the plan expects."""
    from likely.workbench.candidates import candidates_for
    from likely.workbench.plan import planned
    from likely.workbench.spec import Spec
    from likely.workbench.table import prepare, read

    spec = Spec(data="frame", target="target", effort=effort)
    rows = prepare(spec, read(table(kind, n, d), "target"))
    return planned(spec, rows, candidates_for(rows.target.kind, ())).seconds


def main() -> None:
    """Run every kind of target on every shape, and print a line for each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.budgets")
    parser.add_argument("--effort", default="quick")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        kind, n, d = options.one
        print(json.dumps(measured(kind, int(n), int(d), options.effort)))
        return
    print(f"{'table':24} models planned processor  wall  first answer")
    for shape in options.shapes.split(","):
        n, d = map(int, shape.split("x"))
        for kind in options.kinds.split(","):
            with tempfile.TemporaryDirectory() as cache:
                command = [sys.executable, "-m", "benchmarks.budgets"]
                command += ["--effort", options.effort, "--one", kind, str(n), str(d)]
                done = subprocess.run(
                    command,
                    env={**os.environ, "JAX_COMPILATION_CACHE_DIR": cache},
                    capture_output=True,
                    text=True,
                    check=True,
                )
            found = json.loads(done.stdout.splitlines()[-1])
            planned = expected(kind, n, d, options.effort)
            print(
                f"{kind + ' ' + shape:24} {found['models']:6} {planned:7.0f} "
                f"{found['processor']:9.0f} {found['wall']:5.0f} "
                f"{found.get('first', float('nan')):13.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
