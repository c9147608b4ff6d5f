"""Two thousand damaged tables: each is read, or refused with a sentence."""

import importlib.util
from collections import Counter

import pytest
from ledger import ROOT


@pytest.fixture(scope="module")
def fuzz():
    spec = importlib.util.spec_from_file_location("fuzz", ROOT / "tools/fuzz_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "part", [0, 1, *(pytest.param(p, marks=pytest.mark.slow) for p in (2, 3))]
)
def test_damaged_tables_are_read_or_refused(part, fuzz, tmp_path):
    fuzz.warm_up(tmp_path)
    seeds = range(1_000_000 + part * 500, 1_000_000 + (part + 1) * 500)
    outcomes = Counter(fuzz.check(seed, tmp_path) for seed in seeds)
    assert outcomes.total() == 500
    assert min(outcomes["encoded"], outcomes["refused"]) > 50
