"""Model cards: a description of a model, for whoever uses its file later.

A card is a dict. What the object itself knows (class, family, inputs, classes,
parameters, seed) and the versions are filled in; data, schema, scores and limits are
given by whoever saves the model. It is kept inside the model file and, as Markdown,
beside it.
"""

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

import numpy as np

from likely import __version__

MARK = "<!-- model card, written by likely -->"
SECTIONS = ("data", "schema", "family", "scores", "seed", "limits")
"""The sections of every card; they are "not given" where nothing is known."""


def describe(value: Any, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """The card of an object, with what the user gave for it."""
    known = {name: _text(fact) for name, fact in _facts(value).items()}
    given = {str(name): _text(what) for name, what in (given or {}).items()}
    blank = dict.fromkeys(SECTIONS, "not given")
    return {"model": type(value).__name__, **blank, **known, **given}


def _facts(value: Any) -> dict[str, Any]:
    """The facts that an object knows about itself."""
    parameters = getattr(value, "get_params", lambda deep: {})(deep=False)
    solution = getattr(value, "solution", None)
    family = getattr(value, "family_", getattr(value, "family", None))
    facts = {
        "family": None if family is None else type(family).__name__,
        "inputs": getattr(value, "n_features_in_", None),
        "input names": getattr(value, "feature_names_in_", None),
        "classes": getattr(value, "classes_", None),
        "status": getattr(value, "status_", getattr(solution, "status", None)),
        "parameters": parameters or None,
        "seed": parameters.get("random_state"),
    }
    return {name: fact for name, fact in facts.items() if fact is not None}


def _text(what: Any) -> Any:
    """A value as text, or as a dict or list of text."""
    if isinstance(what, Mapping):
        return {str(name): _text(part) for name, part in what.items()}
    if isinstance(what, np.ndarray):
        what = what.tolist()
    if isinstance(what, Sequence) and not isinstance(what, str | bytes):
        return [_text(part) for part in what]
    return str(what)


def versions() -> dict[str, str]:
    """The versions of the packages that the file is made with."""
    found = {name: version(name) for name in ("jax", "numpy", "scikit-learn")}
    return {"likely": __version__, **found, "Python": platform.python_version()}


def write(file: IO[bytes], card: Mapping[str, Any], name: str, digest: str) -> None:
    """Write a card as Markdown."""
    parts = [MARK, f"# {card['model']}", f"`{name}` with digest `{digest}`."]
    for section, what in {**card, "versions": versions()}.items():
        if section != "model":
            parts += [f"## {section.capitalize()}", _markdown(what)]
    file.write(("\n\n".join(parts) + "\n").encode("utf-8", "replace"))


def _markdown(what: Any) -> str:
    if isinstance(what, Mapping):
        rows = [f"| {_cell(name)} | {_cell(part)} |" for name, part in what.items()]
        return "\n".join(["| | |", "|---|---|", *rows])
    return _cell(what)


def _cell(what: Any) -> str:
    """One line of text for a Markdown table."""
    if isinstance(what, Mapping):
        what = [f"{name}: {_cell(part)}" for name, part in what.items()]
    if isinstance(what, list):
        what = ", ".join(map(_cell, what))
    return " ".join(str(what).split()).replace("|", "\\|")


def is_ours(path: Path) -> bool:
    """Whether a file begins as a card of ours does."""
    with path.open("rb") as file:
        return file.read(len(MARK)) == MARK.encode()
