import subprocess
import sys

import pytest

PROGRAM = """
import resource
import sys
import numpy as np
import likely as lk

kept = "tune" in sys.argv and lk.tune_host()
for _ in range(2):
    np.ones(8_000_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    np.ones(8_000_000)
print(int(bool(kept)), resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(*arguments: str) -> tuple[int, int]:
    command = [sys.executable, "-c", PROGRAM, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    kept, count = map(int, done.stdout.split())
    return kept, count


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc only")
def test_tuned_process_keeps_its_memory():
    _, plain = faults()
    kept, tuned = faults("tune")
    assert kept
    assert tuned < plain / 10
