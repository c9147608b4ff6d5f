"""Odd tables through the command: fitted, or refused with a sentence."""

import importlib
from collections import Counter

import pytest
from ledger import ROOT


@pytest.fixture
def fuzz(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("fuzz_fit")


def check(fuzz, seeds, folder, models) -> Counter:
    found = Counter()
    for seed in seeds:
        outcome = fuzz.attempt(seed, folder, models).partition(":")[0]
        assert outcome in ("fitted", "refused"), f"seed {seed}: {outcome}"
        found[outcome] += 1
    return found


@pytest.mark.filterwarnings("ignore")
def test_a_few_odd_tables(fuzz, tmp_path):
    found = check(fuzz, range(100, 108), tmp_path, ("null",))
    assert found["fitted"] >= 3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_many_odd_tables(fuzz, tmp_path):
    found = check(fuzz, range(2000, 2150), tmp_path, fuzz.MODELS)
    assert found["fitted"] > 60
