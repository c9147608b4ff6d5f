"""The package as a whole: a light import, names that resolve, documented modules."""

import ast
import re
import subprocess
import sys

import pytest
from ledger import ROOT

import likely

HEAVY = "equinox jax jaxlib matplotlib numba numpy numpyro optax pandas scipy sklearn"
SOURCES = sorted((ROOT / "src" / "likely").rglob("*.py"))


@pytest.mark.parametrize("module", ["likely", "likely.cli.main"])
def test_import_is_light(module):
    code = f"import sys, {module}; print(*({set(HEAVY.split())} & set(sys.modules)))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize("name", likely.__all__)
def test_public_name_resolves(name):
    assert getattr(likely, name) is not None
    assert name in dir(likely)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'unlikely'"):
        likely.unlikely  # noqa: B018


def test_every_module_has_a_docstring():
    undocumented = [
        str(path.relative_to(ROOT))
        for path in SOURCES
        if not ast.get_docstring(ast.parse(path.read_text("utf-8")))
    ]
    assert undocumented == []


def test_every_room_lists_its_public_names():
    """Each package's `__all__` names only what it has."""
    for path in SOURCES:
        if path.name == "__init__.py":
            parts = path.parent.relative_to(ROOT / "src").parts
            room = __import__(".".join(parts), fromlist=["__all__"])
            for name in getattr(room, "__all__", ()):
                assert getattr(room, name) is not None, f"{room.__name__}.{name}"


LEDGER_CODE = re.compile(r"\([A-QWX]\d{1,2}(?:[-, ]+[A-QWX]?\d+)*\)")
DIALECT = re.compile(
    r"\b(crowd|heated|seats|dealt)\b|recipe bends|the notes|lecture notes",
    re.IGNORECASE,
)


def docstrings(path):
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    tree = ast.parse(path.read_text("utf-8"))
    return [ast.get_docstring(n) or "" for n in ast.walk(tree) if isinstance(n, kinds)]


def test_docstrings_are_plain():
    """No codes of the ledger, no private words, no docstring that says nothing."""
    for path in SOURCES:
        for text in docstrings(path):
            assert not LEDGER_CODE.search(text), (path.name, text)
            assert not DIALECT.search(text), (path.name, text)
            assert text.rstrip(".") not in ("Of such", "The same", "All of them"), path


def test_constants_name_what_they_bound():
    vague = {
        "FEW",
        "LARGE",
        "LARGEST",
        "LEAST",
        "MANY",
        "MOST",
        "SHARE",
        "SMALL",
        "SOME",
    }
    for path in SOURCES:
        for node in ast.parse(path.read_text("utf-8")).body:
            targets = node.targets if isinstance(node, ast.Assign) else []
            names = {t.id for t in targets if isinstance(t, ast.Name)}
            assert not names & vague, (path.name, names)
