"""Train from a file that does not fit and print the anonymous memory it took.

Usage: python tools/stream_memory.py [GIB] [--folder FOLDER]     (default: 4 GiB)

The kernel may drop pages of the mapped file at any time; what counts is the memory that
it cannot drop (RssAnon), which a thread measures all the time.
"""

import argparse
import json
import tempfile
import threading
import time
from pathlib import Path

import jax
import numpy as np

from likely.families import Normal
from likely.models import mlp
from likely.objectives import NegativeLogLikelihood
from likely.objectives.rows import Normalisation
from likely.solvers import Adam
from likely.solvers.training import Stream, Training

COLUMNS, BATCH = 256, 1024


def anonymous() -> int:
    """Bytes of anonymous memory of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("this kernel does not report RssAnon.")


class Watch(threading.Thread):
    """A thread that records the largest anonymous memory."""

    def __init__(self):
        super().__init__(daemon=True)
        self.largest, self.stopped = 0, False

    def run(self):
        while not self.stopped:
            self.largest = max(self.largest, anonymous())
            time.sleep(0.01)


def write(path: Path, size: int) -> int:
    """Write a .npy file of about this size, part by part; its number of rows."""
    rng = np.random.default_rng(0)
    part = rng.normal(size=(2**14, COLUMNS)).astype(np.float32)
    parts = max(1, size // part.nbytes)
    rows = np.lib.format.open_memmap(
        path, "w+", np.float32, shape=(parts * len(part), COLUMNS)
    )
    for i in range(parts):
        rows[i * len(part) : (i + 1) * len(part)] = part
        rows.flush()
    return len(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("gib", nargs="?", type=float, default=4.0)
    parser.add_argument("--folder", default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "x.npy"
        n = write(path, int(options.gib * 2**30))
        before, watch = anonymous(), Watch()
        watch.start()
        x = np.load(path, mmap_mode="r")
        stream = Stream(x, np.broadcast_to(np.float32(1), n))
        weight = Normalisation(*map(np.float32, (1.0, stream.total_weight)))
        objective = NegativeLogLikelihood(Normal(1.0), None, weight)
        steps = n // BATCH
        training = Training(Adam(1e-3, steps=steps, batch_size=BATCH))
        model = mlp((COLUMNS, 32, 1), key=jax.random.key(0))
        began = time.perf_counter()
        found = training.minimize(objective, model, stream, key=jax.random.key(1))
        took = time.perf_counter() - began
        watch.stopped = True
        watch.join()
    result = {
        "file_gib": n * COLUMNS * 4 / 2**30,
        "anonymous_gib": watch.largest / 2**30,
        "before_gib": before / 2**30,
        "steps": int(found.status.steps),
        "loss": float(found.loss),
        "seconds": took,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
