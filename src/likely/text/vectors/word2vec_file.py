"""Word vectors in the text format of word2vec: "n d", then a word and its numbers a line."""

from os import PathLike
from pathlib import Path

import numpy as np

from likely.core.checks import InputError


def write_word2vec(path: str | PathLike, words: list, vectors: np.ndarray) -> None:
    """Write words and their vectors, with digits enough to read the same numbers.

    Args:
        path: the file, written anew.
        words: without white space in them, which the format uses between words and numbers.
        vectors: (V, d) a row for each word.
    """
    names = [str(word) for word in words]
    for name in names:
        if not name or name.split() != [name]:
            raise InputError(
                f"the word {name!r} is empty or has white space in it, which the format of "
                "word2vec has no place for; use save."
            )
    lines = [f"{len(names)} {vectors.shape[1]}"]
    for name, vector in zip(names, np.asarray(vectors, np.float32), strict=True):
        lines.append(f"{name} {' '.join(map(str, vector))}")
    Path(path).write_text("\n".join(lines) + "\n", "utf-8", newline="\n")


def read_word2vec(path: str | PathLike) -> tuple[list[str], np.ndarray]:
    """Words and (V, d) their vectors; a word that comes twice counts once, as it came first.

    Args:
        path: a file in the text format of word2vec; without its first line, that of GloVe.
    """
    with Path(path).open("rb") as file:
        lines = [_text(line, k) for k, line in enumerate(file, 1)]
    lines = [line.rstrip(" \r\n") for line in lines]
    first = lines[0].split(" ") if lines else []
    header = len(first) == 2 and all(part.isdecimal() for part in first)
    if not first or (header and len(lines) < 2):
        raise InputError(f"{path} has no words.")
    size = int(first[1]) if header else len(first) - 1
    found: dict[str, np.ndarray] = {}
    numbered = [(k, line) for k, line in enumerate(lines, 1) if line][header:]
    for k, line in numbered:
        word, *numbers = line.rsplit(" ", size)  # a word may have spaces in it
        vector = _vector(numbers, size)
        if vector is None or not word:
            raise InputError(
                f"line {k} of {path} is not a word and {size} numbers; give a text file of "
                "word2vec or GloVe (not a binary one)."
            )
        found.setdefault(word, vector)
    if header and len(numbered) != int(first[0]):
        raise InputError(
            f"{path} has {len(numbered)} words, and its first line says {first[0]}; the file "
            "is damaged or not complete."
        )
    return list(found), np.array(list(found.values()), np.float32)


def _text(line: bytes, number: int) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(
            f"line {number} is not UTF-8; give a text file of word2vec (not a binary one)."
        ) from None


def _vector(numbers: list[str], size: int) -> np.ndarray | None:
    try:
        vector = np.array(numbers, np.float32)
    except ValueError:
        return None
    return vector if len(vector) == size and np.isfinite(vector).all() else None
