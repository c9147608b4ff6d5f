"""Test the readers with mutated tables: each is read, or refused with a sentence.

    python tools/fuzz_tables.py --count 20000

Tables of many kinds are damaged at random: encodings, marks, ragged rows, headers
twice, one row, nothing but missing values, huge integers, dates, quotes, zero bytes,
bytes flipped, cut, doubled. Reading, inferring a schema and encoding must neither crash
nor hang, raise nothing but `InputError`, and take no more memory than twice the file and
200 MB. Workers are separate processes, so that a crash is noticed and its seed reported.
"""

import argparse
import gzip
import io
import json
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from pyarrow import feather, parquet

MAX_SECONDS = 30.0
MAX_EXTRA_BYTES = 200 << 20
ODD_CELLS = (
    "", "NA", "NaN", "None", "0", "-1", "007", "1e400", "-1e-400", "9" * 25, "0x1F",
    "true", "yes", "2024-02-30", "31/12/1999", "12/11/10", "2024-01-01T00:00:00Z",
    "99999-01-01", "1,5", '"', '""', "'", "a\nb", "x" * 3000, "é", "日本", "\ufeff",
    "=1+1", "inf", " 7 ", "\t", "\\N", "٣", "1_000", "$5", "-", "+", ".", "$1,234.50",
    "1.234,5", "12%", "(3)", "25-34", "75k+", "<10", "5 kg", "−4", "1 234", "€2M",
)  # fmt: skip


def cell(rng: random.Random) -> str:
    kind = rng.randrange(6)
    if kind == 0:
        return str(rng.randint(-(10 ** rng.randint(1, 20)), 10 ** rng.randint(1, 20)))
    if kind == 1:
        return repr(rng.gauss(0, 10 ** rng.randint(-3, 6)))
    if kind == 2:
        return rng.choice(["red", "green", "blue"])
    if kind == 3:
        return (
            f"{rng.randint(1, 3000):04}-{rng.randint(1, 13):02}-{rng.randint(1, 31):02}"
        )
    if kind == 4:
        return rng.choice(ODD_CELLS)
    if kind == 5 and rng.random() < 0.3:
        return f"${rng.randint(0, 10**6):,}"
    return "".join(rng.choices("abcde \"',;\n\t0123456789", k=rng.randint(0, 12)))


def grid(rng: random.Random) -> list[list[str]]:
    """A table of text with columns of different kinds, and some odd cells."""
    rows, columns = rng.choice([0, 1, 2, 5, 30, 30]), rng.choice([1, 2, 3, 8])
    seeds = [rng.random() for _ in range(columns)]
    header = [rng.choice(["a", "b", "price", "", "a", " x ", "ü"]) for _ in seeds]
    body = []
    for _ in range(rows):
        kinds = (random.Random(seed + rng.randrange(3) / 7) for seed in seeds)
        body.append([cell(rng if rng.random() < 0.1 else kind) for kind in kinds])
    return [header, *body]


SPECIAL_CHARACTERS = set(',;\t|"\n\r')


def as_text(rng: random.Random) -> bytes:
    """The table as CSV in some dialect, not always a proper one."""
    delimiter, quote = rng.choice(",;\t|,"), rng.random() < 0.9
    newline = rng.choice(["\n", "\r\n", "\r", "\n\n"])
    lines = []
    for row in grid(rng):
        escaped = (c.replace('"', '""' if rng.random() < 0.98 else '"') for c in row)
        cells = [
            f'"{c}"' if quote and set(c) & SPECIAL_CHARACTERS else c for c in escaped
        ]
        if rng.random() < 0.01:
            cells = cells[:-1] if rng.random() < 0.5 else [*cells, "extra"]
        lines.append(delimiter.join(cells))
    if rng.random() < 0.1:
        lines[:0] = rng.choice([["sep=;"], ["Report 2024", ""], ["", ""], ["a,b", ","]])
    text = newline.join(lines) + (newline if rng.random() < 0.8 else "")
    encodings = ["utf-8"] * 5 + [
        "utf-8-sig",
        "utf-16",
        "utf-16-le",
        "utf-32",
        "latin-1",
    ]
    return text.encode(rng.choice(encodings), errors="replace")


def as_arrow(rng: random.Random) -> bytes:
    """A small table in Parquet, Feather or as an Arrow stream."""
    n = rng.choice([0, 1, 20])
    table = pa.table(
        {
            "n": pa.array([rng.gauss(0, 1) for _ in range(n)]),
            "i": pa.array([rng.randrange(5) for _ in range(n)]),
            "s": pa.array(
                [rng.choice(["u", "v", None]) for _ in range(n)], pa.string()
            ),
            "d": pa.array([rng.randrange(10**9) for _ in range(n)], pa.timestamp("s")),
        }
    )
    out = io.BytesIO()
    kind = rng.randrange(4)
    if kind == 0:
        parquet.write_table(table, out)
    elif kind == 1:
        feather.write_feather(table, out)
    elif kind == 2:
        feather.write_feather(table, out, compression="uncompressed")
    else:
        with pa.ipc.new_stream(out, table.schema) as writer:
            writer.write_table(table)
    return out.getvalue()


def as_json(rng: random.Random) -> bytes:
    """The table as JSON records, one a line or in a list."""
    header, *body = grid(rng)
    records = [json.dumps(dict(zip(header, row, strict=True))) for row in body]
    return (
        "\n".join(records) if rng.random() < 0.5 else f"[{','.join(records)}]"
    ).encode()


def flip(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice([1, 1, 3, 20])):
        if data:
            data[rng.randrange(len(data))] = rng.randrange(256)


def insert(data: bytearray, rng: random.Random) -> None:
    start = rng.randrange(len(data) + 1)
    data[start:start] = rng.choice(
        [b"\0", b"\0\0\0", b'"', b'"""', b",,,", b"\n", b"\r", b"\xff\xfe"]
    )


def cut(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(len(data) + 1) :]


def remove(data: bytearray, rng: random.Random) -> None:
    start = rng.randrange(len(data) + 1)
    del data[start : start + rng.choice([1, 2, 10, 100])]


def double(data: bytearray, rng: random.Random) -> None:
    start = rng.randrange(len(data) + 1)
    data[start:start] = data[start : start + rng.choice([1, 10, 100])] * rng.choice(
        [1, 2, 50]
    )


MUTATIONS: tuple[Callable, ...] = (flip, insert, cut, remove, double)
EXTENSIONS = ("csv", "csv", "tsv", "txt", "parquet", "arrow", "csv.gz")


def mutant(seed: int) -> tuple[str, bytes]:
    """A file name and its content, a function of the seed."""
    rng = random.Random(seed)
    kind = rng.random()
    if kind < 0.03:
        data = bytearray(
            rng.choice([b"", b"\n", b"\r\n \n", b"\0" * 9, b",", b'"', b"a"])
        )
    elif kind < 0.06:
        data = bytearray(rng.randbytes(rng.choice([1, 10, 1000, 10000])))
    else:
        make = as_arrow if kind < 0.25 else as_json if kind < 0.35 else as_text
        data = bytearray(make(rng))
    for _ in range(rng.choice([0, 0, 1, 1, 2, 5])):
        rng.choice(MUTATIONS)(data, rng)
    content = bytes(data)
    if rng.random() < 0.05:
        packed = bytearray(gzip.compress(content, mtime=0))
        if rng.random() < 0.5:
            rng.choice(MUTATIONS)(packed, rng)
        content = bytes(packed)
    return f"table.{rng.choice(EXTENSIONS)}", content


def attempt(path: Path) -> str:
    """Read a table, infer its schema and encode it; returns the outcome."""
    from likely.core import InputError
    from likely.data import Schema, open_table, read_table
    from likely.preprocess import TableEncoder

    try:
        table = read_table(path)
        rows = sum(len(chunk) for chunk in open_table(path))
    except InputError as error:
        if str(path) not in str(error):
            raise RuntimeError(f"the sentence names no file: {error}") from error
        return "refused"
    assert rows == len(table), f"{rows} rows in chunks, {len(table)} in all"
    schema = Schema.infer(table)
    assert Schema.from_json(schema.to_json()) == schema
    try:
        encoded = TableEncoder(schema=schema).fit(table).transform(table)
    except InputError:
        return "read"
    assert len(encoded) == rows
    return "encoded"


def memory(key: str) -> int:
    """Bytes of this process: `VmRSS` now, `VmHWM` at most since `reset_peak`."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) << 10
    return 0


def reset_peak() -> None:
    if Path("/proc/self/clear_refs").exists():
        Path("/proc/self/clear_refs").write_text("5")


def check(seed: int, folder: Path) -> str:
    """Try one mutant and measure its memory; an error names the seed."""
    name, content = mutant(seed)
    path = folder / name
    path.write_bytes(content)
    reset_peak()
    before = memory("VmRSS")
    try:
        outcome = attempt(path)
    except Exception as error:
        raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}") from error
    used = memory("VmHWM") - before
    assert used <= 2 * len(content) + MAX_EXTRA_BYTES, f"seed {seed}: {used >> 20} MB"
    return outcome


def warm_up(folder: Path) -> None:
    """Import and allocate what stays in memory, so that it counts for no table."""
    (folder / "warm.csv").write_text("a,b\n" + "1,x\n2,y\n" * 20)
    assert attempt(folder / "warm.csv") == "encoded"


def worker(seeds: range, results) -> None:
    with tempfile.TemporaryDirectory() as folder:
        warm_up(Path(folder))
        for seed in seeds:
            results.put(("start", seed, ""))
            try:
                results.put(("done", seed, check(seed, Path(folder))))
            except AssertionError as error:
                results.put(("failed", seed, str(error)))
    results.put(("end", -1, ""))


def campaign(first: int, count: int, workers: int) -> tuple[Counter, list[str]]:
    """Try all seeds in several processes; returns the outcomes and the failures."""
    outcomes, wrong = Counter(), []
    for start in range(first, first + count, 2000):
        jobs = []
        context = multiprocessing.get_context("spawn")
        for w in range(workers):
            seeds = range(start + w, min(start + 2000, first + count), workers)
            results = context.Queue()
            process = context.Process(target=worker, args=(seeds, results))
            process.start()
            jobs.append((process, results))
        for process, results in jobs:
            watch(process, results, outcomes, wrong)
        print(f"{sum(outcomes.values())} tables: {dict(outcomes)}", file=sys.stderr)
    return outcomes, wrong


def watch(process, results, outcomes: Counter, wrong: list[str]) -> None:
    """Collect the reports of a worker; a crash or a hang is reported with its seed."""
    current, deadline = -1, time.monotonic() + 4 * MAX_SECONDS
    while True:
        try:
            event, seed, text = results.get(timeout=1.0)
        except Exception:  # an empty queue, under a name of its own
            crashed, hung = not process.is_alive(), time.monotonic() > deadline
            if crashed or hung:
                wrong.append(f"seed {current}: {'crash' if crashed else 'hang'}")
                process.kill()
                return
            continue
        deadline = time.monotonic() + MAX_SECONDS
        if event == "end":
            process.join()
            return
        current = seed
        if event == "done":
            outcomes[text] += 1
        elif event == "failed":
            wrong.append(text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    outcomes, wrong = campaign(options.first, options.count, options.workers)
    print(f"{sum(outcomes.values())} tables, {len(wrong)} wrong: {dict(outcomes)}")
    print("\n".join(wrong[:20]))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
