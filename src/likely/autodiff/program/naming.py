"""Names of values: the variable in the source if there is one, else v7 for step 7."""

from collections.abc import Sequence

from likely.autodiff.program.program import RESULT, Step
from likely.autodiff.program.source import variable_names


def name_steps(
    steps: Sequence[Step], results: Sequence[int], taken: set[str]
) -> tuple[dict[int, str], set[int]]:
    """A name for each value that a step computes.

    Args:
        steps: the steps, in order.
        results: the values that the function returns.
        taken: the names of the arguments.

    Returns:
        The names, and the values whose name comes from the source.
    """
    names: dict[int, str] = {}
    chosen: list[int] = []
    found = variable_names([step.stack for step in steps])
    for step, name in zip(steps, found, strict=True):
        first, *others = step.outputs
        names[first] = f"v{step.number}"
        names |= {i: f"v{step.number}.{k}" for k, i in enumerate(others, 2)}
        if name is not None and not others:
            names[first] = name
            chosen.append(first)
    if len(results) == 1 and results[0] in names and results[0] not in chosen:
        names[results[0]] = RESULT
        chosen.append(results[0])
    names |= numbered({i: names[i] for i in chosen}, taken)
    return names, set(chosen)


def numbered(names: dict[int, str], taken: set[str]) -> dict[int, str]:
    """Number repeated names: h, h, h becomes h₁, h₂, h₃; names in `taken` too."""
    groups: dict[str, list[int]] = {}
    for i, name in names.items():
        groups.setdefault(name, []).append(i)
    return {
        i: name + _subscript(k) if len(group) > 1 or name in taken else name
        for name, group in groups.items()
        for k, i in enumerate(group, start=1)
    }


def _subscript(number: int) -> str:
    return "".join(chr(0x2080 + int(digit)) for digit in str(number))
