"""The house in numbers: rooms, files, ancestors, and who imports whom."""

import ast
import inspect
import statistics
from collections import defaultdict

import pytest
from ledger import ROOT
from sklearn.base import BaseEstimator

import likely

SOURCE = ROOT / "src" / "likely"
FILES = sorted(SOURCE.rglob("*.py"))
MAX_FILES = 30
ONE_KIND = {"families"}
"""Rooms whose files are all of one kind need no sub-rooms."""
MAX_ANCESTORS = 2
MAX_MEDIAN_LINES = 120
MAX_LINES = 480


def module_of(path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path) -> set[str]:
    """The modules of ours that a file imports when it is loaded."""
    found = set()
    for node in ast.parse(path.read_text("utf-8")).body:  # not those inside functions
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{a.name}" for a in node.names)}
    return {name for name in found if name.startswith("likely.")}


def cycle(graph: dict[str, set[str]]) -> list[str]:
    """The names along one cycle, or none."""
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        for other in sorted(graph.get(name, ())):
            if found := visit(other, [*path, name]):
                return found
        done.add(name)
        return []

    for name in sorted(graph):
        if found := visit(name, []):
            return found
    return []


def test_no_import_cycles_between_rooms_or_files():
    modules = {module_of(path): path for path in FILES}
    files = {m: imported(path) & modules.keys() - {m} for m, path in modules.items()}
    for name, others in files.items():  # a package is not a cycle with its own files
        files[name] = {o for o in others if not name.startswith(f"{o}.")}
    rooms = defaultdict(set)
    for name, others in files.items():
        room = name.split(".")[1] if "." in name else ""
        rooms[room] |= {o.split(".")[1] for o in others} - {room}
    assert cycle(dict(rooms)) == []
    assert (
        cycle({m: {o for o in others if o != "likely"} for m, others in files.items()})
        == []
    )


def public_classes() -> list[type]:
    rooms = ("estimators", "latent", "preprocess", "selection", "text", "vision")
    found = {
        getattr(room, name)
        for room in (getattr(likely, name) for name in rooms)
        for name in room.__all__
    }
    return sorted(
        (c for c in found if inspect.isclass(c) and issubclass(c, BaseEstimator)),
        key=lambda c: c.__name__,
    )


@pytest.mark.parametrize("cls", public_classes(), ids=lambda c: c.__name__)
def test_a_public_class_has_at_most_two_ancestors_of_ours(cls):
    ours = [c for c in cls.__mro__[1:] if c.__module__.startswith("likely")]
    assert len(ours) <= MAX_ANCESTORS, [c.__name__ for c in ours]


def test_rooms_are_small():
    for folder in {path.parent for path in FILES} - {
        SOURCE / name for name in ONE_KIND
    }:
        count = sum(1 for path in folder.glob("*.py") if path.name != "__init__.py")
        assert count <= MAX_FILES, f"{folder.name} has {count} files: make sub-rooms"


def test_files_are_short():
    lines = {path: path.read_text("utf-8").count("\n") for path in FILES}
    longest = max(lines, key=lines.__getitem__)
    assert lines[longest] <= MAX_LINES, (longest.name, lines[longest])
    own = [n for path, n in lines.items() if path.name != "__init__.py"]
    assert statistics.median(own) <= MAX_MEDIAN_LINES
