"""Saving and loading: a fitted object in one file that holds no code."""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from likely.files import (
    arrays,
    card as cards,
    container,
    estimators,
    frozen_distributions,
    objects,
    plain,
    strict,
)
from likely.files.atomic import mode_of, replace
from likely.files.errors import FileError
from likely.files.walk import Loading, Saving

KINDS = {
    **plain.KINDS,
    **arrays.KINDS,
    **estimators.KINDS,
    **objects.KINDS,
    **frozen_distributions.KINDS,
}


def save(
    value: Any,
    path: str | os.PathLike,
    *,
    card: Mapping[str, Any] | Literal[False] | None = None,
) -> None:
    """Save an object: an estimator, a fit, a model, or plain values and arrays.

    An existing model file is replaced in one step; any other file is left alone. The
    card is also written beside it, to `path` with `.md` appended.

    Args:
        value: the object.
        path: the file, by custom `something.likely`.
        card: what the card should contain beyond what the object knows: data, schema,
            scores, seed, limits. False for no card.

    Raises:
        FileError: the object holds something that a file cannot (the message says
            where), or the file cannot be written.

    Examples:
        >>> lk.save(lk.Ridge().fit(np.arange(4.0)[:, None], np.arange(4.0)), "model.likely")
        >>> print(lk.load("model.likely").predict([[1.5]]).round(2))
        [1.5]
    """
    path = Path(path)
    beside = path.with_name(path.name + ".md")
    with _named_errors(path, "saved"):
        if card is not False:
            mode_of(beside, cards.is_ours)  # before anything is written
        about = None if card is False else cards.describe(value, card)
        text, tensors = _encoded(value, about)
        digest = replace(
            path, lambda file: container.write(file, text, tensors), container.is_ours
        )
        if about is not None:
            replace(
                beside,
                lambda file: cards.write(file, about, path.name, digest),
                cards.is_ours,
            )


def _encoded(value: Any, about: Any) -> tuple[str, dict[str, np.ndarray]]:
    """The document and the tensors of the file of an object."""
    walk = Saving(KINDS, {})
    document = {"versions": cards.versions()}
    document |= {"card": walk(about), "object": walk(value)}
    text = json.dumps(document, separators=(",", ":"))
    strict.check(text)
    return text, walk.tensors


def load(path: str | os.PathLike) -> Any:
    """Load what `save` saved, to the same bits.

    No file runs code: it can only name classes and functions of a table in this
    library, and every size is checked before memory is taken.

    Args:
        path: the file.

    Raises:
        FileError: the file is damaged, hostile, of another version, or does not exist.

    Examples:
        >>> lk.save({"threshold": 0.5}, "settings.likely")
        >>> lk.load("settings.likely")
        {'threshold': 0.5}
    """
    return _decoded(Path(path))["object"]


def read_card(path: str | os.PathLike) -> dict[str, Any]:
    """The card of a saved object, with the versions it was made with.

    Examples:
        >>> lk.save({"threshold": 0.5}, "settings.likely", card={"author": "me"})
        >>> lk.files.read_card("settings.likely")["author"]
        'me'
    """
    found = _decoded(Path(path))
    return {**(found["card"] or {}), "versions": found["versions"]}


def _decoded(path: Path) -> dict[str, Any]:
    """The object, the card and the versions in a file."""
    with _named_errors(path, "loaded"):
        content = container.read(path)
        found = strict.parse(content.document)
        if not isinstance(found, dict) or set(found) != {"versions", "card", "object"}:
            raise FileError("its document is not one of likely.")
        walk = Loading(KINDS, content.tensors)
        value, about = walk(found["object"]), walk(found["card"])
        if walk.tensors:
            raise FileError("it holds tensors that belong to nothing.")
        if not isinstance(about, dict | None) or not isinstance(
            found["versions"], dict
        ):
            raise FileError("its card is not one of likely.")
    return {"object": value, "card": about, "versions": found["versions"]}


@contextlib.contextmanager
def _named_errors(path: Path, what: str) -> Iterator[None]:
    """Turn any failure into a sentence that begins with the name of the file."""
    name = f"{str(path)!r} cannot be {what}"
    try:
        yield
    except FileError as error:
        raise FileError(f"{name}: {error}") from None
    except OSError as error:
        raise FileError(f"{name}: {error.strerror or error}.") from error
    except Exception as error:
        if what == "saved":
            raise
        # the rest: what a hostile file provokes in the constructor of a class
        raise FileError(
            f"{name}: it is not a file that likely wrote ({error})."
        ) from error
