"""Processor time that each folder of tests may take, from an empty compilation cache.

`make test` prints what each took and fails when one took `TOLERANCE` times as much. It
is time of the processor, not of the clock: other programs on the machine do not count.
The kernels of trees are compiled in whatever folder needs them first.
"""

import os
from collections.abc import Iterator, Mapping

BUDGETS = {
    "analysis": 20,
    "autodiff": 135,
    "cli": 50,
    "core": 40,
    "data": 25,
    "diagnostics": 135,
    "errata": 15,
    "estimators": 175,
    "evaluate": 15,
    "families": 55,
    "files": 90,
    "generative": 75,
    "inference": 45,
    "information": 25,
    "latent": 35,
    "laws": 625,
    "layers": 110,
    "models": 50,
    "objectives": 15,
    "plots": 15,
    "preprocess": 20,
    "probability": 25,
    "selection": 60,
    "solvers": 195,
    "test_architecture.py": 10,
    "test_contributing.py": 25,
    "test_coverage_ledger.py": 5,
    "test_docstring_examples.py": 30,
    "test_docs.py": 175,
    "test_golden_predictions.py": 75,
    "test_house.py": 5,
    "test_recipe.py": 20,
    "test_tracing.py": 25,
    "text": 50,
    "trees": 40,
    "vision": 40,
    "workbench": 65,
}
TOLERANCE = 2.5
"""From one processor to another the time of the same tests differs by up to two."""


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
