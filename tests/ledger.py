"""The coverage ledger, `docs/coverage.toml`: the public names and tests of each row."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def read_ledger() -> dict[str, dict]:
    """Row id -> {"api": dotted names, "tests": "tests/file.py::test_name", "slow": more}."""
    return tomllib.loads((ROOT / "docs" / "coverage.toml").read_text("utf-8"))


def named_tests(kind: str = "tests") -> set[str]:
    """Those that every run has to include, or, of kind "slow", that the slow run has."""
    return {test for row in read_ledger().values() for test in row.get(kind, ())}
