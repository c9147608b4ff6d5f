"""Does `likely fit` keep its seconds? Planned against measured, for tables of many shapes.

    python -m benchmarks.budgets [--effort quick] [--kinds real,count] [--shapes 300x10,...]
                                 [--parts]

Each run is a process of its own with an empty compilation cache (kernels of trees are
kept). The columns are the seconds that the plan expects of one core, the processor seconds
that were measured, the wall seconds, those in which programs were traced and compiled, and
when the linear model was known. `--parts` prints the processor seconds of each step, with
those of compilation in brackets. Two shapes are tables of words: "levels" (1,200 rows, a
category of 142 levels) and "words" (8,000 rows, six categories of 10 to 3,000 levels).
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

KINDS = ("real", "positive", "zeros", "count", "binary", "classes", "ordinal")
SHAPES = (
    "300x10",
    "1000x20",
    "levels",
    "words",
    "8000x100",
    "20000x30",
    "100000x50",
    "300x2000",
    "1000x5000",
)
LEVELS = {"levels": (1200, 6, (142,)), "words": (8000, 6, (3000, 900, 300, 60, 25, 10))}
"""Rows, columns of numbers, and numbers of levels of tables of words."""
GRADES = ("very poor", "poor", "fair", "good", "very good")


def sizes(shape: str) -> tuple[int, int, tuple[int, ...]]:
    """The rows, the columns of numbers, and the numbers of levels of categories."""
    if shape in LEVELS:
        return LEVELS[shape]
    n, d = map(int, shape.split("x"))
    words = (3, 5, 10, 20, 60)[: d // 10]
    return n, d - len(words), words


def table(kind: str, shape: str) -> dict:
    """Columns of numbers, some categories, and a target of this kind."""
    rng = np.random.default_rng(0)
    n, d, words = sizes(shape)
    X = rng.normal(size=(n, d))
    f = X[:, 0] + np.sin(2 * X[:, 1]) + 0.2 * X[:, :10].sum(1)
    columns: dict = {f"x{j}": X[:, j] for j in range(d)}
    for j, size in enumerate(words):
        codes = rng.integers(0, size, n)
        f = f + 0.3 * rng.normal(size=size)[codes]
        columns[f"c{j}"] = np.array([f"level {i}" for i in range(size)])[codes]
    amount = np.exp(f + 0.5 * rng.normal(size=n))
    targets = {
        "real": lambda: f + rng.normal(size=n),
        "positive": lambda: amount,
        "zeros": lambda: np.where(f + rng.logistic(size=n) > 0.5, amount, 0.0),
        "count": lambda: rng.negative_binomial(2, 1 / (1 + np.exp(0.5 * f))),
        "binary": lambda: np.where(f + rng.logistic(size=n) > 0, "yes", "no"),
        "ordinal": lambda: np.array(GRADES)[
            np.digitize(f + rng.logistic(size=n), [-3, -1, 1, 3])
        ],
        "classes": lambda: np.array(list("abcdefghij"))[
            (np.outer(f, np.linspace(-1, 1, 10)) + rng.gumbel(size=(n, 10))).argmax(1)
        ],
    }
    return {**columns, "target": targets[kind]()}


def measured(kind: str, shape: str, effort: str) -> dict:
    """One run in this process."""
    start = time.monotonic()
    import jax

    from likely import workbench
    from likely.core.host import tune_host

    tune_host()
    compiling, first = [0.0], {}
    parts: list[tuple[str, float, float]] = [("imports", 0.0, 0.0)]

    def compiled(name: str, seconds: float, **_) -> None:
        if name.startswith("/jax/core/compile"):
            compiling[0] += seconds

    def note(event) -> None:
        if event.kind == "done" and event.model != "null model":
            first.setdefault("first", time.monotonic() - start)
        step = f"{event.kind} {event.model or event.text} {event.fold}"
        parts.append((step, time.process_time(), compiling[0]))

    jax.monitoring.register_event_duration_secs_listener(compiled)
    with tempfile.TemporaryDirectory() as folder:
        source = table(kind, shape)
        result = workbench.run(
            source, "target", effort=effort, out=f"{folder}/run", notify=note
        )
    parts.append(("end", time.process_time(), compiling[0]))
    spent = resource.getrusage(resource.RUSAGE_SELF)
    pairs = zip(parts[:-1], parts[1:], strict=True)
    return {
        "models": len(result.rows),
        "processor": spent.ru_utime + spent.ru_stime,
        "wall": time.monotonic() - start,
        "compiling": compiling[0],
        **first,
        "parts": [(a[0], b[1] - a[1], b[2] - a[2]) for a, b in pairs],
    }


def expected(kind: str, shape: str, effort: str) -> float:
    """The seconds of one core that the plan expects."""
    from likely.workbench.candidates import candidates_for
    from likely.workbench.plan import planned
    from likely.workbench.spec import Spec
    from likely.workbench.table import prepare, read

    spec = Spec(data="frame", target="target", effort=effort)
    rows = prepare(spec, read(table(kind, shape), "target"))
    return planned(spec, rows, candidates_for(rows.target.kind, ())).seconds


def main() -> None:
    """Run every kind of target on every shape, and print a line for each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.budgets")
    parser.add_argument("--effort", default="quick")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--parts", action="store_true")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measured(*options.one, options.effort)))
        return
    print(f"{'table':24} models planned processor  wall  compiling  first answer")
    for shape in options.shapes.split(","):
        for kind in options.kinds.split(","):
            with tempfile.TemporaryDirectory() as cache:
                command = [sys.executable, "-m", "benchmarks.budgets"]
                command += ["--effort", options.effort, "--one", kind, shape]
                done = subprocess.run(
                    command,
                    env={**os.environ, "JAX_COMPILATION_CACHE_DIR": cache},
                    capture_output=True,
                    text=True,
                    check=True,
                )
            found = json.loads(done.stdout.splitlines()[-1])
            planned = expected(kind, shape, options.effort)
            print(
                f"{kind + ' ' + shape:24} {found['models']:6} {planned:7.0f} "
                f"{found['processor']:9.0f} {found['wall']:5.0f} "
                f"{found['compiling']:10.0f} {found.get('first', float('nan')):13.0f}",
                flush=True,
            )
            for step, seconds, compiling in found["parts"] if options.parts else ():
                if seconds > 0.1:
                    print(f"    {seconds:6.1f} ({compiling:5.1f})  {step}")


if __name__ == "__main__":
    main()
