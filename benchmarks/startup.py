"""What a user waits for before the first number: imports and the help text."""

import subprocess
import sys
import time

LIMITS = {
    "import likely": ([sys.executable, "-c", "import likely"], 0.3),
    "likely --help": ([sys.executable, "-m", "likely", "--help"], 0.6),
    "from likely import Ridge": ([sys.executable, "-c", "from likely import Ridge"], 3),
}


def run() -> list[dict]:
    """Best of five of each, against the limit it has to keep."""
    rows = []
    for name, (command, limit) in LIMITS.items():
        times = []
        for _ in range(5):
            start = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            times.append(time.perf_counter() - start)
        rows.append(
            {
                "name": f"{name} (peer: its limit)",
                "ours_s": min(times),
                "peer_s": limit,
                "ratio": limit / min(times),
                "at_least": 1,
                "verified": True,
            }
        )
    return rows
