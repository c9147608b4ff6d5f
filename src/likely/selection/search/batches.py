"""Settings that go together: they share all but the numbers that a program takes.

Groups depend on the settings alone, so that a search that is resumed goes on with the same
ones, and its numbers are the same to the last bit.
"""

from collections.abc import Sequence
from numbers import Real
from typing import Any

from sklearn.pipeline import Pipeline

from likely.selection.programs import program_parameters, with_params
from likely.selection.search.description import text_of

MAX_SETTINGS = 64
"""Settings that are fitted together, and lost together when a search is killed."""

Setting = dict[str, Any]


def batches(estimator: Any, settings: Sequence[Setting]) -> list[list[int]]:
    """The positions of settings that one program can fit; others are alone.

    Args:
        estimator: whose settings they are.
        settings: the values of its parameters.
    """
    found = []
    names = program_names(estimator)
    for start in range(0, len(settings), MAX_SETTINGS):
        together: dict[str, list[int]] = {}
        for i in range(start, min(start + MAX_SETTINGS, len(settings))):
            fixed = fixed_part(settings[i], names)
            key = str(i)
            if names and fixed is not None and _is_program(estimator, fixed, names):
                key = text_of(sorted(fixed.items()))
            together.setdefault(key, []).append(i)
        found += together.values()
    return found


def program_names(estimator: Any) -> set[str]:
    """The parameters of an estimator, or of the last step of a pipeline, that vary at once."""
    prefix = ""
    while isinstance(estimator, Pipeline):
        name, estimator = estimator.steps[-1]
        prefix += f"{name}__"
    try:
        return {f"{prefix}{name}" for name in program_parameters(estimator)}
    except Exception:  # its own settings are refused; a setting may replace them
        return set()


def fixed_part(setting: Setting, names: set[str]) -> Setting | None:
    """What is no argument of the program; None where an argument is no number."""
    numbers = [v for k, v in setting.items() if k in names]
    if not all(isinstance(v, Real) and not isinstance(v, bool) for v in numbers):
        return None
    return {k: v for k, v in setting.items() if k not in names}


def _is_program(estimator: Any, fixed: Setting, names: set[str]) -> bool:
    """Whether settings with this part in common are one program."""
    if not fixed:
        return True
    try:
        return program_names(with_params(estimator, fixed)) == names
    except Exception:  # settings that are refused fail as trials, each alone
        return False
