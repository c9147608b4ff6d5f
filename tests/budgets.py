"""Processor time that each folder of tests may take, from an empty compilation cache.

`make test` prints what each took and fails when one took `TOLERANCE` times as much. It
is time of the processor, not of the clock: other programs on the machine do not count.
"""

import os
from collections.abc import Iterator, Mapping

BUDGETS = {
    "autodiff": 250,
    "cli": 90,
    "core": 60,
    "data": 50,
    "diagnostics": 40,
    "estimators": 350,
    "evaluate": 5,
    "families": 90,
    "files": 160,
    "inference": 80,
    "latent": 40,
    "laws": 800,
    "layers": 150,
    "models": 60,
    "objectives": 20,
    "plots": 20,
    "preprocess": 30,
    "selection": 100,
    "solvers": 350,
    "test_architecture.py": 10,
    "test_contributing.py": 20,
    "test_coverage_ledger.py": 5,
    "test_docs.py": 320,
    "test_golden_predictions.py": 120,
    "test_house.py": 8,
    "test_recipe.py": 50,
    "test_tracing.py": 60,
    "trees": 50,
    "workbench": 80,
}
TOLERANCE = 1.5


def processor_time() -> float:
    """Seconds that this process, its threads and the programs it started computed for."""
    return sum(os.times()[:4])


def folder_of(nodeid: str) -> str:
    """The first folder under tests/, or the file that is in none."""
    return nodeid.partition("::")[0].removeprefix("tests/").partition("/")[0]


def exceeded(seconds: Mapping[str, float]) -> list[str]:
    """The folders that took much more than their budget, or have none."""
    return [f for f, s in sorted(seconds.items()) if s > TOLERANCE * BUDGETS.get(f, 0)]


def table(seconds: Mapping[str, float]) -> Iterator[str]:
    """A line for each folder: what it took, and its budget."""
    for folder, took in sorted(seconds.items()):
        yield f"{took:8.0f} of {BUDGETS.get(folder, 0):4d}  {folder}"
    yield f"{sum(seconds.values()):8.0f} of {sum(BUDGETS.values()):4d}  in all"
