"""The coverage ledger tells the truth: its names import, its tests exist.

That each named test also ran is checked when the whole suite ends (`conftest.py`).
"""

import ast
import functools
import importlib
import re

import pytest
from ledger import ROOT, named_tests, read_ledger

LEDGER = read_ledger()
COUNTS = {"W": 57, "Fig": 87} | {
    f"X00{i}-": count for i, count in enumerate((35, 29, 31, 20, 40))
}
"""How many worked numbers, figures and errata of each of the notes there are."""
API = sorted({name for row in LEDGER.values() for name in row["api"]})


def test_rows_are_well_formed():
    for row, entry in LEDGER.items():
        found = re.fullmatch(r"([A-Q]|W|Fig|X00[0-4]-)([1-9]\d?)", row)
        assert found, f"{row} is not a row of the ledger"
        assert int(found[2]) <= COUNTS.get(found[1], 99), f"{row} does not exist"
        assert set(entry) <= {"api", "tests", "slow", "note"}, f"{row} has unknown keys"
        assert entry["api"], f"{row} names no api"
        assert entry["tests"] or entry.get("slow"), f"{row} names no test"


def resolve(dotted: str):
    """The object a dotted name stands for, importing modules as far as they go."""
    found = importlib.import_module("likely")
    path = dotted.split(".")
    assert path[0] == "likely", f"{dotted} is not a name of likely"
    for i, name in enumerate(path[1:], start=2):
        try:
            found = getattr(found, name)
        except AttributeError:
            found = importlib.import_module(".".join(path[:i]))
    return found


@pytest.mark.parametrize("dotted", API)
def test_api_imports(dotted):
    resolve(dotted)


def functions(tree: ast.AST, prefix: str = "") -> set[str]:
    """The names of test functions, those in classes as `TestThis::test_that`."""
    found = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            found.add(prefix + node.name)
        elif isinstance(node, ast.ClassDef):
            found |= functions(node, f"{prefix}{node.name}::")
    return found


@functools.cache
def functions_of(file: str) -> set[str]:
    return functions(ast.parse((ROOT / file).read_text("utf-8")))


@pytest.mark.parametrize("test", sorted(named_tests() | named_tests("slow")))
def test_named_test_exists(test):
    file, _, name = test.partition("::")
    assert name in functions_of(file)
