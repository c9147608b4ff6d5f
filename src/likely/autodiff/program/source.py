"""The source of a step: the user's file, line and expression, and the variable name.

JAX keeps the Python call stack of every primitive. A frame of it is a code object and
the instruction that ran, which is enough to find the source expression and, in the
instruction after it, the variable in which the result is stored. So a trace shows the
names of the source. Without a stack only these names and locations are missing.
"""

import dis
import functools
import linecache
import os
import sysconfig
from collections.abc import Sequence
from types import CodeType
from typing import Any, NamedTuple

import jax

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_LIKELY = os.path.dirname(_HERE)
_JAX = os.path.dirname(os.path.abspath(jax.__file__))
_LIBRARIES = tuple(
    {sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib")} | {_JAX}
)


class Frame(NamedTuple):
    """A code object and the instruction in it that was running."""

    code: CodeType
    instruction: int


class Where(NamedTuple):
    """A location in the user's source."""

    file: str
    line: int
    function: str
    code: str
    """The expression, if the source can be read."""

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}:{self.line}"


class Stack(NamedTuple):
    """The call stack of a step, innermost first."""

    user_frames: tuple[Frame, ...] = ()
    """The frames of the user's code."""
    all: tuple[Any, ...] = ()
    """All frames, including those of JAX, as comparable tracebacks."""

    def inside(self, outer: "Stack") -> "Stack":
        """This stack inside a call with the outer stack."""
        return Stack(self.user_frames + outer.user_frames, self.all + outer.all)


def stack_of(equation: Any) -> Stack:
    """The call stack of an equation; frames of libraries are not user frames."""
    traceback: Any = getattr(getattr(equation, "source_info", None), "traceback", None)
    if not hasattr(traceback, "raw_frames"):
        return Stack()
    pairs = zip(*traceback.raw_frames(), strict=True)
    user_frames = [
        Frame(code, at) for code, at in pairs if is_user_code(code.co_filename)
    ]
    return Stack(tuple(user_frames), (traceback,))


@functools.lru_cache(maxsize=4096)
def is_user_code(file: str) -> bool:
    """Whether a file belongs to the user or to this library, not to another library."""
    if file.startswith(_LIKELY):
        return not file.startswith(_HERE)
    return not (file.startswith(_LIBRARIES) or file.startswith("<@beartype"))


def is_jax(source: str) -> bool:
    """Whether "name at file:line" lies inside JAX."""
    return source.partition(" at ")[2].startswith(_JAX)


def where(frames: tuple[Frame, ...]) -> Where | None:
    """The location of the innermost frame."""
    if not frames:
        return None
    code, instruction = frames[0]
    line, last, start, end = next(
        (p for i, p in enumerate(code.co_positions()) if 2 * i == instruction),
        (None,) * 4,
    )
    text = linecache.getline(code.co_filename, line or 0).encode()
    one_line = line == last and start is not None
    shown = text[start:end] if one_line else text.strip()
    return Where(code.co_filename, line or 0, code.co_name, shown.decode())


def variable_names(stacks: Sequence[Stack]) -> list[str | None]:
    """The variable in which each result is stored, given the stacks of consecutive steps.

    One statement often has several steps; the last of them is its value. The same stack
    again is the next iteration of a loop around the statement.
    """
    keys = [_assignment(stack.user_frames) for stack in stacks]
    names: list[str | None] = []
    for i, key in enumerate(keys):
        goes_on = i + 1 < len(keys) and keys[i + 1] == key
        goes_on = goes_on and stacks[i + 1].all != stacks[i].all
        names.append(None if key is None or goes_on else key[0])
    return names


def _assignment(frames: tuple[Frame, ...]) -> tuple[str, tuple[Frame, ...]] | None:
    """(name, frames of the assigning statement), following values that are returned."""
    for i, frame in enumerate(frames):
        after = _next_instruction(*frame)
        if after is None or not after.opname.startswith(("STORE_", "RETURN_VALUE")):
            return None
        if after.opname != "RETURN_VALUE":
            name = after.argval[0] if isinstance(after.argval, tuple) else after.argval
            plain = isinstance(name, str) and "STORE_ATTR" not in after.opname
            return (name, frames[i:]) if plain else None
    return None


@functools.lru_cache(maxsize=4096)
def _next_instruction(code: CodeType, offset: int) -> dis.Instruction | None:
    return next((i for i in dis.get_instructions(code) if i.offset > offset), None)
