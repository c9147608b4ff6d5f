"""The settings of a run as data, which are written as TOML and read back the same.

A run is a function of its spec and its data. `likely fit --spec spec.toml` repeats it.
"""

import dataclasses
import json
import os
import shlex
import tomllib
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from likely.core.checks import InputError, suggestion

EFFORTS = ("quick", "normal", "thorough")
VERSION = 1


@dataclasses.dataclass(frozen=True)
class Spec:
    """The settings of `likely fit`.

    Attributes:
        data: a file, or the name of a bundled data set.
        target: the column to predict; the last one where empty.
        family: how the target is distributed; inferred from its values where empty.
        models: names of models to compare; all that fit the target where empty.
        folds: the number of folds of cross-validation.
        effort: "quick", "normal" or "thorough".
        seed: of the folds and of the models.
        coverage: of intervals and sets.
        kinds: kinds of columns, which override those that are inferred.
        drop: columns to leave out.
        weight: a column that says how often each row counts.
        groups: a column whose rows stay together in a fold.
        time: a column of times; the past predicts the future.
        event: a column that says whether the event happened at the time that is the
            target (1, yes), or had not happened until then (0, no).
    """

    data: str = "diabetes"
    target: str = ""
    family: str = ""
    models: tuple[str, ...] = ()
    folds: int = 5
    effort: str = "normal"
    seed: int = 0
    coverage: float = 0.9
    kinds: Mapping[str, str] = dataclasses.field(default_factory=dict)
    drop: tuple[str, ...] = ()
    weight: str = ""
    groups: str = ""
    time: str = ""
    event: str = ""

    def __post_init__(self):
        _check(dataclasses.asdict(self))

    def to_toml(self) -> str:
        """The spec as TOML, without settings that are empty."""
        lines = [f"version = {VERSION}"]
        tables = []
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value in ("", (), {}):
                continue
            if isinstance(value, Mapping):
                pairs = [f"{_toml(k)} = {_toml(v)}" for k, v in value.items()]
                tables += ["", f"[{field.name}]", *pairs]
            else:
                lines.append(f"{field.name} = {_toml(value)}")
        return "\n".join([*lines, *tables]) + "\n"

    @classmethod
    def from_toml(cls, text: str) -> "Spec":
        """The spec in a TOML text, which `to_toml` or a person wrote."""
        try:
            content: dict[str, Any] = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"the spec is not TOML: {error}.") from error
        version = content.pop("version", VERSION)
        if version != VERSION:
            raise InputError(f"the spec has version {version}; this is {VERSION}.")
        return cls.from_dict(content)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Spec":
        """The spec of settings as TOML or JSON has them."""
        content = dict(content)
        known = {field.name for field in dataclasses.fields(cls)}
        unknown = sorted(set(content) - known)
        if unknown:
            near = suggestion(unknown[0], sorted(known), "it may have")
            raise InputError(f"the spec has {unknown[0]!r}; {near}")
        for name in ("models", "drop"):
            if isinstance(content.get(name), list):
                content[name] = tuple(content[name])
        if isinstance(content.get("coverage"), int):
            content["coverage"] = float(content["coverage"])
        _check(content)
        return cls(**content)

    @classmethod
    def read(cls, path: str | PathLike) -> "Spec":
        """The spec in a file; a file of data that it names is found from its folder."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeError) as error:
            raise InputError(f"{str(path)!r} cannot be read ({error}).") from error
        found = cls.from_toml(text)
        beside = Path(path).parent / found.data
        return (
            dataclasses.replace(found, data=str(beside)) if beside.exists() else found
        )

    def seen_from(self, folder: Path) -> "Spec":
        """The spec with the path of its data as seen from a folder."""
        path = Path(self.data)
        if not path.exists():
            return self
        seen = Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
        return dataclasses.replace(self, data=seen)

    def command(self) -> str:
        """The command that gives this spec, without settings that are the default."""
        words = ["likely", "fit", self.data]
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name == "data" or value in (field.default, {}):
                continue
            if field.name == "kinds":
                values = [f"{column}={kind}" for column, kind in value.items()]
            elif field.name == "models":
                values = [",".join(value)]
            else:
                values = value if isinstance(value, tuple) else [value]
            option = "--kind" if field.name == "kinds" else f"--{field.name}"
            words += [word for each in values for word in (option, str(each))]
        return shlex.join(words)


def _are_texts(value: Any) -> bool:
    texts = value.values() if isinstance(value, Mapping) else value
    return all(isinstance(text, str) for text in texts)


def _is_anything(value: Any) -> bool:
    return True


_COLUMN = (str, _is_anything, "the name of a column")
_RULES: dict[str, tuple[type, Callable[[Any], bool], str]] = {
    "data": (str, bool, "a file or the name of a data set"),
    "target": _COLUMN,
    "family": (str, _is_anything, "the name of a family"),
    "models": (tuple, _are_texts, "names of models"),
    "folds": (int, lambda v: 2 <= v <= 100, "a whole number from 2 to 100"),
    "effort": (str, EFFORTS.__contains__, f"one of {', '.join(EFFORTS)}"),
    "seed": (int, lambda v: 0 <= v < 2**63, "a whole number, 0 or above"),
    "coverage": (float, lambda v: 0 < v < 1, "a number between 0 and 1"),
    "kinds": (Mapping, _are_texts, "kinds by the names of columns"),
    "drop": (tuple, _are_texts, "names of columns"),
    "weight": _COLUMN,
    "groups": _COLUMN,
    "time": _COLUMN,
    "event": _COLUMN,
}
"""The type of each setting, what its value has to fulfil, and what to give."""


def _check(settings: Mapping[str, Any]) -> None:
    """Refuse settings of the wrong type or outside of their range."""
    for name, value in settings.items():
        kind, fits, what = _RULES[name]
        if not isinstance(value, kind) or isinstance(value, bool) or not fits(value):
            if name == "effort":
                what = suggestion(value, EFFORTS, "one of").removesuffix(".")
            end = "" if what.endswith("?") else "."
            raise InputError(f"{name} is {value!r}; give {what}{end}")
    if settings.get("groups") and settings.get("time"):
        raise InputError("groups and time are both given; give one of them.")


def _toml(value: Any) -> str:
    """A text, a number or a tuple of texts as TOML, which is JSON but for character 127."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
