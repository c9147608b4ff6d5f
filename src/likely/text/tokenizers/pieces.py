r"""The pieces of a text that merges do not cross: words with the space before them, mostly.

`regex` knows the letters and digits of all scripts ($\p{L}$, $\p{N}$); Python's `re` does not.
"""

import re
from functools import cached_property
from typing import Any

import regex

from likely.core.checks import InputError

GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""GPT-2's pattern: endings such as 's, and letters, digits or marks after at most a space."""
GPT2_ASCII = re.compile(
    r"'(?:[sdmt]|ll|ve|re)| ?[A-Za-z]+| ?[0-9]+| ?[^\t-\r A-Za-z0-9]+"
    r"|[\t-\r ]+(?![^\t-\r ])|[\t-\r ]+"
)
"""The same for ASCII, where Python's `re` knows all there is, and is twice as fast."""
WHITESPACE = r"\w+|[^\w\s]+"
"""Words, and marks side by side; white space belongs to no piece."""


class Pieces:
    """How texts are split.

    Args:
        pattern: "gpt2", "whitespace", None for texts that stay whole, or a regular
            expression whose matches are pieces, and so is what is between them.
    """

    def __init__(self, pattern: Any):
        if pattern is not None and not isinstance(pattern, str):
            raise InputError(
                f"pattern is {pattern!r}; give 'gpt2', 'whitespace', a regular "
                "expression, or None for none."
            )
        self.pattern = pattern

    @property
    def lossless(self) -> bool:
        """Whether the pieces together are the text."""
        return self.pattern != "whitespace"

    @cached_property
    def _compiled(self) -> Any:
        named = {"gpt2": GPT2, "whitespace": WHITESPACE}
        pattern: Any = named.get(self.pattern or "", self.pattern)
        try:
            return regex.compile(pattern)
        except regex.error as error:
            raise InputError(
                f"pattern is {pattern!r}, which is no regular expression: {error}."
            ) from None

    def check(self) -> "Pieces":
        """Refuse a pattern that is none."""
        if self.pattern is not None:
            _ = self._compiled
        return self

    def __call__(self, text: str) -> list[str]:
        """The pieces of a text, none of them empty."""
        if self.pattern is None:
            return [text] if text else []
        if self.pattern == "gpt2" and text.isascii():
            return GPT2_ASCII.findall(text)
        if self.pattern in ("gpt2", "whitespace"):
            return self._compiled.findall(text)
        return [text[start:end] for start, end in self.spans(text)]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where the pieces are: the characters [start, end) of each."""
        if self.pattern is None:
            return [(0, len(text))] if text else []
        found, end = [], 0
        for match in self._compiled.finditer(text):
            if match.start() > end and self.lossless:
                found.append((end, match.start()))
            if match.end() > match.start():
                found.append(match.span())
            end = match.end()
        return (
            [*found, (end, len(text))] if end < len(text) and self.lossless else found
        )
