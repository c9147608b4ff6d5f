"""A finding of a check: what was found, with numbers, and what to do."""

import dataclasses
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True)
class Finding:
    """A sentence about what was found, and one about what to do.

    Attributes:
        kind: a word for the subject.
        level: "warning" or "note".
        text: what was found.
        advice: what to do.
        column: the column that it is about, if it is about one.
        first: whether it has to be read before anything else.
        code: the number of the check, such as LK101; empty for what is no check.
        numbers: what was measured, by name.
    """

    kind: str
    level: str
    text: str
    advice: str
    column: str = ""
    first: bool = False
    code: str = ""
    numbers: Mapping[str, float | None] = dataclasses.field(default_factory=dict)

    @property
    def sentences(self) -> str:
        """Its number, what was found, and what to do."""
        number = f"{self.code}: " if self.code else ""
        return f"{number}{self.text} {self.advice}".rstrip()

    @property
    def anchor(self) -> str:
        """Where the page about the checks explains it: docs/checks.md#lk101."""
        return self.code.lower()


class DoesNotApply(Exception):  # noqa: N818
    """A check does not apply to this model, or lacks what it needs; the text says why."""
