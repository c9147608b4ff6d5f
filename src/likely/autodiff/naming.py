"""Names of values: the variable in the source if there is one, else v7 for step 7."""

from collections.abc import Sequence

from likely.autodiff.program import RESULT
from likely.autodiff.source import Stack, variable_names


def name_steps(
    stacks: Sequence[Stack],
    outputs: Sequence[Sequence[int]],
    results: Sequence[int],
    taken: set[str],
) -> tuple[dict[int, str], set[int]]:
    """A name for each value that a step computes.

    Args:
        stacks: the call stacks of the steps, in order.
        outputs: the values that each step computes.
        results: the values that the function returns.
        taken: the names of the arguments.

    Returns:
        The names, and the values whose name comes from the source.
    """
    names: dict[int, str] = {}
    chosen: list[int] = []
    found = variable_names(stacks)
    for number, (made, name) in enumerate(zip(outputs, found, strict=True), start=1):
        names |= {
            i: f"v{number}" + (f".{k + 1}" if k else "") for k, i in enumerate(made)
        }
        if name is not None and len(made) == 1:
            names[made[0]] = name
            chosen.append(made[0])
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
