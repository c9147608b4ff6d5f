"""The coverage ledger, `docs/coverage.toml`: the public names and tests of each row."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def read_ledger() -> dict[str, dict]:
    """Row id -> {"api": dotted names, "tests": "tests/file.py::test_name"}."""
    return tomllib.loads((ROOT / "docs" / "coverage.toml").read_text("utf-8"))


def named_tests() -> set[str]:
    return {test for row in read_ledger().values() for test in row["tests"]}
