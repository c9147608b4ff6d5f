"""Mutated files load or are refused: no crash, no hang, no other error, no bomb."""

import re
import subprocess
import sys

from files.forging import fuzz
from ledger import ROOT


def test_mutants():
    """In a process of its own, so that a crash is a failure and memory is its own."""
    command = [sys.executable, ROOT / "tools" / "fuzz_files.py", "mutants"]
    command += ["--count", "3000", "--workers", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3,000 mutants, 0 failures" in done.stdout
    # some are signed and have nothing wrong with them: all the code is reached
    assert re.search(r"signed edit_document: loaded", done.stdout)
    assert re.search(r"signed inflate: refused", done.stdout)


def test_a_mutant_is_a_function_of_its_number():
    assert fuzz.mutant(11) == fuzz.mutant(11)
    assert fuzz.mutant(11) != fuzz.mutant(12)
