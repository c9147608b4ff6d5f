"""Tables against pandas and scikit-learn: read and encode, whole and in chunks.

    python -m benchmarks tables              a million rows; a file of 0.25 GB in chunks
    LIKELY_BENCH_GB=2 python -m benchmarks tables          the same with a file of 2 GB

The peer reads with pandas and encodes with a `ColumnTransformer` of `StandardScaler` and
`OneHotEncoder`; both sides must give the same columns. Streaming must stay below 1 GiB
of anonymous memory, including Python and all libraries.
"""

import atexit
import os
import shutil
import tempfile
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from benchmarks.harness import Answer, Case, close, measure

CATEGORY_COUNTS = (2, 3, 5, 8, 10, 12, 15, 20, 25, 30)
NUMBERS = [f"x{j}" for j in range(10)]
CATEGORIES = [f"c{j}" for j in range(10)]
CHUNK_ROWS = 100_000
GIGABYTES = float(os.environ.get("LIKELY_BENCH_GB", "0.25"))


def rows(n: int, seed: int) -> pa.Table:
    """n rows of ten numbers and ten categories."""
    rng = np.random.default_rng(seed)
    columns = {
        name: np.round(rng.normal(size=n) * 10 ** (j % 4), 6)
        for j, name in enumerate(NUMBERS)
    }
    for name, k in zip(CATEGORIES, CATEGORY_COUNTS, strict=True):
        names = np.array([f"level_{i}" for i in range(k)])
        columns[name] = pa.array(names[rng.integers(0, k, n)])
    return pa.table(columns)


def write(path: Path, at_least_rows: int = 0, at_least_bytes: int = 0) -> None:
    """Write a CSV file of at least so many rows, or so many bytes."""
    block, written = rows(CHUNK_ROWS, 0), 0
    with path.open("wb") as file:
        options = pacsv.WriteOptions(quoting_style="none")
        with pacsv.CSVWriter(file, block.schema, write_options=options) as writer:
            while written < at_least_rows or file.tell() < at_least_bytes:
                written += CHUNK_ROWS
                writer.write_table(rows(CHUNK_ROWS, written))


def scratch(**size: int) -> Path:
    """A temporary file that is removed when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="likely-bench-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    write(folder / "table.csv", **size)
    return folder / "table.csv"


def million() -> Path:
    return scratch(at_least_rows=1_000_000)


def large() -> Path:
    return scratch(at_least_bytes=int(GIGABYTES * 1e9))


def some(X) -> np.ndarray:
    """A thousand rows, evenly spaced, by which answers are compared."""
    rows = X[:: max(X.shape[0] // 1000, 1)]
    return rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)


# The whole table ----------------------------------------------------------------------


def whole_ours(path: Path) -> Answer:
    from likely.data import read_table
    from likely.preprocess import TableEncoder

    return {"rows": some(TableEncoder().fit_transform(read_table(path)))}


def whole_peer(path: Path) -> Answer:
    import pandas as pd
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = ("numbers", StandardScaler(), NUMBERS)
    encoder = ColumnTransformer([numbers, ("categories", OneHotEncoder(), CATEGORIES)])
    return {"rows": some(encoder.fit_transform(pd.read_csv(path)))}


# In chunks ----------------------------------------------------------------------------


class Anonymous:
    """The peak of anonymous memory of this process while a block runs, in bytes."""

    def __enter__(self) -> "Anonymous":
        self.peak, self.done = 0, threading.Event()
        self.watcher = threading.Thread(target=self._watch)
        self.watcher.start()
        return self

    def __exit__(self, *error) -> None:
        self.done.set()
        self.watcher.join()

    def _watch(self) -> None:
        while not self.done.wait(0.01):
            for line in Path("/proc/self/status").read_text().splitlines():
                if line.startswith("RssAnon"):
                    self.peak = max(self.peak, int(line.split()[1]) << 10)


def sums(blocks) -> np.ndarray:
    """Sums and sums of squares of every column, over blocks of rows."""
    total = 0.0
    for X in blocks:
        total = total + np.stack([X.sum(axis=0), np.einsum("ij,ij->j", X, X)])
    return np.asarray(total)


def chunks_ours(path: Path) -> Answer:
    from likely.data import open_table
    from likely.preprocess import TableEncoder

    with Anonymous() as memory:
        file = open_table(path)
        encoder = TableEncoder().fit(file)
        total = sums(encoder.transform(chunk) for chunk in file)
    return {"sums": total, "memory": np.array(memory.peak)}


def chunks_peer(path: Path) -> Answer:
    import pandas as pd
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    def chunks():
        return pd.read_csv(path, chunksize=CHUNK_ROWS)

    with Anonymous() as memory:
        scaler, seen = StandardScaler(), [set() for _ in CATEGORIES]
        for chunk in chunks():
            scaler.partial_fit(chunk[NUMBERS])
            for values, name in zip(seen, CATEGORIES, strict=True):
                values.update(chunk[name].unique())
        encoder = OneHotEncoder(
            categories=[sorted(s) for s in seen], sparse_output=False
        )

        def encoded(chunk):
            categories = encoder.fit_transform(chunk[CATEGORIES])
            return np.hstack([scaler.transform(chunk[NUMBERS]), categories])

        total = sums(map(encoded, chunks()))
    return {"sums": total, "memory": np.array(memory.peak)}


def verify_chunks(ours: Answer, peer: Answer) -> str | None:
    scale = np.abs(peer["sums"]).max(axis=1, keepdims=True)
    gap = float((np.abs(ours["sums"] - peer["sums"]) / scale).max())
    used = int(ours["memory"])
    print(f"anonymous memory: {used >> 20} MiB (the peer {int(peer['memory']) >> 20})")
    if gap > 1e-9:
        return f"sums differ by {gap:.1e}"
    return None if used < 1 << 30 else f"{used >> 20} MiB of anonymous memory"


CASES = {
    "table, 1M x 20": Case(
        million, whole_ours, whole_peer, close("rows", 1e-9), 1.0, 3
    ),
    f"table in chunks, {GIGABYTES:g} GB": Case(
        large, chunks_ours, chunks_peer, verify_chunks, 1.0, 1
    ),
}


def run() -> list[dict]:
    """Every case: name, ours_s, peer_s, ratio (the peer's time over ours), verified."""
    return [measure(__name__, name, case) for name, case in CASES.items()]
