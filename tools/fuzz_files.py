"""Mutate model files and load them; kill processes that save them.

    python tools/fuzz_files.py mutants --count 100000 --workers 2
    python tools/fuzz_files.py kills --count 200

A mutant must load, or be refused by `files.FileError`, in a few seconds and with no
more memory than twice its size plus 200 MB; one that was not signed again must be
refused. A save that is killed must leave the old file or the new one, whole. Each case
is a function of its number: `--only 1234` repeats one.
"""

import argparse
import collections
import concurrent.futures
import copy
import functools
import hashlib
import json
import multiprocessing
import os
import random
import signal
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
GOLDEN = ROOT / "tests" / "golden" / "v1"
MAX_SECONDS = 30
MAX_EXTRA_MEGABYTES = 200

# Files, split and signed --------------------------------------------------------------

START = b'{"__metadata__":{"likely":"1 '
DIGEST = slice(8 + len(START), 8 + len(START) + 64)


def sign(data: bytes) -> bytes:
    """The bytes with their correct digest, so that they are not refused as damaged."""
    if len(data) < DIGEST.stop:
        return data
    blank = data[: DIGEST.start] + b"0" * 64 + data[DIGEST.stop :]
    digest = hashlib.sha256(blank).hexdigest().encode()
    return data[: DIGEST.start] + digest + data[DIGEST.stop :]


def split(data: bytes) -> tuple[dict, Any, bytes]:
    """The header (without metadata), the document and the tensors of a file."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    document = header.pop("__metadata__")["likely"].split(" ", 2)[2]
    return header, json.loads(document), data[8 + length :]


def join(header: Any, document: str, tensors: bytes) -> bytes:
    """A signed file of these parts."""
    text = json.dumps({"__metadata__": {"likely": f"1 {'0' * 64} {document}"}})
    rest = header if isinstance(header, str) else json.dumps(header)[1:-1]
    text = text.replace(": ", ":", 2)[:-1] + ("," + rest if rest else "") + "}"
    raw = text.encode("utf-8", "replace")
    return sign(len(raw).to_bytes(8, "little") + raw + tensors)


# Mutations of bytes -------------------------------------------------------------------


def flip(data: bytes, rng: random.Random) -> bytes:
    raw = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
    return bytes(raw)


def truncate(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def extend(data: bytes, rng: random.Random) -> bytes:
    return data + rng.randbytes(rng.choice((1, 8, 1000)))


def splice(data: bytes, rng: random.Random) -> bytes:
    other = rng.choice(corpus())
    return data[: rng.randrange(len(data))] + other[rng.randrange(len(other)) :]


def scramble(data: bytes, rng: random.Random) -> bytes:
    a = rng.randrange(len(data))
    b = min(len(data), a + rng.choice((1, 4, 16, 200)))
    middle = rng.choice((rng.randbytes(b - a), b"", data[a:b] * 2, bytes(b - a)))
    return data[:a] + middle + data[b:]


def lengthen(data: bytes, rng: random.Random) -> bytes:
    """Change the stated length of the header."""
    true = int.from_bytes(data[:8], "little")
    near = true + rng.choice((-8, -1, 1, 8))
    far = rng.choice((0, 1, 2**16, 2**24, 2**31, 2**32, 2**63, 2**64 - 1, len(data)))
    return rng.choice((near, far)).to_bytes(8, "little") + data[8:]


BYTE_MUTATIONS = (flip, flip, truncate, extend, splice, scramble, lengthen)

# Mutations of the JSON, signed --------------------------------------------------------

STRANGE_VALUES = (
    None,
    True,
    -1,
    0,
    2**31,
    2**48,
    2**63,
    2**64,
    1e308,
    -0.0,
    0.5,
    "",
    "x" * 5000,
    "\ud800",
    "__class__",
    "__reduce__",
    "os.system",
    "builtins:eval",
    [],
    {},
    [[]],
    [0] * 5000,
    {"object": {"class": "object", "fields": {}}},
    {"function": "system"},
    {"function": "hinge"},
    {"object": {"class": "Normal", "fields": {}}},
    {"estimator": {"class": "Ridge", "params": {}, "fitted": {"predict": 1}}},
    {"estimator": {"class": "Pipeline", "params": {"steps": 1}, "fitted": {}}},
    {"array": {"tensor": "coef_"}},
    {"dict": [[[], 1]]},
    {"dict": [[1, 1], [1, 1]]},
    {"float": "7ff0000000000000"},
    {"float": "zz"},
    {"objects": {"shape": [2**40, 0], "items": []}},
    {"jax": {"tensor": "coef_", "as": "str"}},
    {"key": {"generator": "rbg", "numbers": {"tensor": "coef_"}}},
)
DTYPES = ("BOOL", "U8", "I8", "F16", "BF16", "U32", "F32", "F64", "I64", "C64", "x")
KEYS = ("class", "fields", "params", "fitted", "tensor", "as", "order", "object")


def locations(node: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of a JSON value."""
    found, todo = [], [node]
    while todo:
        at = todo.pop()
        keys = at.keys() if isinstance(at, dict) else range(len(at))
        for key in list(keys):
            found.append((at, key))
            if isinstance(at[key], dict | list):
                todo.append(at[key])
    return found


def disturb(tree: Any, rng: random.Random) -> Any:
    """Change a few entries of a JSON value."""
    tree = copy.deepcopy(tree)
    for _ in range(rng.choice((1, 1, 2, 5))):
        found = locations(tree)
        if not found:
            return rng.choice(STRANGE_VALUES)
        at, key = rng.choice(found)
        other = rng.choice(found)
        change = rng.randrange(5)
        if change == 0:
            at[key] = copy.deepcopy(rng.choice(STRANGE_VALUES))
        elif change == 1:
            at[key] = copy.deepcopy(other[0][other[1]])
        elif change == 2:
            del at[key]
        elif change == 3 and isinstance(at, dict):
            name = rng.choice((*KEYS, "__dict__", str(other[1]), f"{key}_"))
            at[name] = at.pop(key)
        else:
            at[key] = rng.choice(({"tuple": [at[key]]}, [at[key]], {key: at[key]}))
    return tree


def edit_document(data: bytes, rng: random.Random) -> bytes:
    header, document, tensors = split(data)
    return join(header, json.dumps(disturb(document, rng)), tensors)


def edit_header(data: bytes, rng: random.Random) -> bytes:
    header, document, tensors = split(data)
    return join(disturb(header, rng), json.dumps(document), tensors)


def edit_entry(data: bytes, rng: random.Random) -> bytes:
    """Change the entry of one tensor."""
    header, document, tensors = split(data)
    entry = header[rng.choice(list(header))]
    kind = rng.choice(("dtype", "shape", "data_offsets"))
    if kind == "dtype":
        entry["dtype"] = rng.choice(DTYPES)
    else:
        sizes = (0, 1, 2, 3, -1, 2**20, 2**31, 2**40, 2**62, 2**64, 1.0, True, None)
        count = rng.choice((0, 1, 2, 3, 33, 1000))
        entry[kind] = [rng.choice(sizes) for _ in range(count)]
    return join(header, json.dumps(document), tensors)


def repeat_key(data: bytes, rng: random.Random) -> bytes:
    """Repeat a key in one object."""
    header, document, tensors = split(data)
    text, rest = json.dumps(document), json.dumps(header)[1:-1]
    if rng.random() < 0.3 and rest:
        return join(f"{rest},{rest}", text, tensors)
    cuts = [i for i, c in enumerate(text) if c == "{" and text[i + 1] == '"']
    at = rng.choice(cuts) + 1
    key = text[at : text.index('"', at + 1) + 1]
    return join(
        header, f"{text[:at]}{key}:{rng.choice((0, '[]'))},{text[at:]}", tensors
    )


def nest(data: bytes, rng: random.Random) -> bytes:
    """Insert brackets, many levels deep."""
    header, document, tensors = split(data)
    deep = rng.choice((50, 90, 101, 1000, 20_000))
    opening, closing = rng.choice((("[", "]"), ('{"tuple":[', "]}"), ('{"a":', "}")))
    inner = opening * deep + "1" + closing * rng.choice((deep, 0))
    if rng.random() < 0.3:
        return join(f'"x":{inner}', json.dumps(document), tensors)
    return join(header, with_object(document, inner), tensors)


def inflate(data: bytes, rng: random.Random) -> bytes:
    """Insert a few megabytes of JSON that need much memory."""
    header, document, tensors = split(data)
    unit = rng.choice(
        ("[]", "{}", '""', "1", "12345", '"ab"', '{"a":1}', "[[[]]]", "1.5")
    )
    count = rng.choice((100_000, 300_000, 600_000, 1_500_000))
    bomb = "[" + ",".join([unit] * count) + "]"
    if rng.random() < 0.2:
        bomb = "{" + ",".join(f'"{i}":0' for i in range(count // 3)) + ',"0":0}'
    if rng.random() < 0.2:
        bomb = '"' + rng.choice(("x", "\U0001f600", '\\"')) * count + '"'
    return join(header, with_object(document, bomb), tensors)


def with_object(document: dict, text: str) -> str:
    """The document with any JSON in place of its object."""
    return json.dumps(document | {"object": "HERE"}).replace('"HERE"', text)


def change_version(data: bytes, rng: random.Random) -> bytes:
    version = rng.choice((b"0", b"2", b"-1", b"1.0", b"9" * 5000, b"", b"\\u0031"))
    return data.replace(b'"likely":"1 ', b'"likely":"' + version + b" ", 1)


def signed_bytes(data: bytes, rng: random.Random) -> bytes:
    return sign(rng.choice(BYTE_MUTATIONS)(data, rng))


SIGNED_MUTATIONS = (
    *[edit_document] * 8,
    *[edit_header] * 2,
    *[edit_entry] * 3,
    *[signed_bytes] * 4,
    repeat_key,
    nest,
)


@functools.cache
def corpus() -> tuple[bytes, ...]:
    """The files that are mutated."""
    return tuple(path.read_bytes() for path in sorted(GOLDEN.glob("*.likely")))


class Mutant(NamedTuple):
    data: bytes
    kind: str
    must_fail: bool


def mutant(number: int) -> Mutant:
    """The mutant of this number."""
    rng = random.Random(number)
    data = rng.choice(corpus())
    if number % 500 == 7:
        return Mutant(inflate(data, rng), "signed inflate", False)
    if rng.random() < 0.4:
        change: Callable = rng.choice(BYTE_MUTATIONS)
        new = change(data, rng)
        return Mutant(new, change.__name__, new not in corpus())
    change = rng.choice((*SIGNED_MUTATIONS, change_version))
    return Mutant(change(data, rng), f"signed {change.__name__}", False)


# Loading them -------------------------------------------------------------------------


class Outcome(NamedTuple):
    number: int
    kind: str
    result: str
    """"loaded", "refused", or a description of the failure."""
    seconds: float
    excess: float
    """Megabytes beyond twice the file."""


def try_load(number: int, folder: Path) -> Outcome:
    """Load one mutant, and measure time and memory."""
    from likely import files

    case = mutant(number)
    path = folder / f"{os.getpid()}.likely"
    path.write_bytes(case.data)
    before, start = memory(reset=True), time.process_time()
    signal.alarm(MAX_SECONDS)
    try:
        files.load(path)
        result = "must not load" if case.must_fail else "loaded"
    except files.FileError:
        result = "refused"
    except BaseException:
        result = traceback.format_exc()
    finally:
        signal.alarm(0)
    seconds = time.process_time() - start
    excess = memory() - before - 2 * len(case.data) / 2**20
    if result in ("loaded", "refused") and excess > MAX_EXTRA_MEGABYTES:
        result = f"took {excess:.0f} MB more than twice its size"
    return Outcome(number, case.kind, result, seconds, excess)


def memory(reset: bool = False) -> float:
    """The highest memory of this process since the last reset, in megabytes."""
    try:
        if reset:
            Path("/proc/self/clear_refs").write_text("5")
        status = Path("/proc/self/status").read_text()
    except OSError:  # not Linux
        return 0.0
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def try_many(numbers: range) -> list[Outcome]:
    warnings.simplefilter("error")
    signal.signal(signal.SIGALRM, _too_slow)
    warm_up()
    with tempfile.TemporaryDirectory() as folder:
        return [try_load(number, Path(folder)) for number in numbers]


@functools.cache
def warm_up() -> None:
    """Import all classes that files may name, so that only loading is measured."""
    from likely import files
    from likely.files import table

    for name in table.CLASSES:
        table.class_of(name)
    for path in GOLDEN.glob("*.likely"):
        files.load(path)


def _too_slow(*_: Any) -> None:
    raise TimeoutError(f"more than {MAX_SECONDS} seconds")


def fuzz(count: int, workers: int) -> int:
    """Load many mutants; returns how many failed."""
    if workers == 1:
        return report(try_many(range(count)))
    spawn = multiprocessing.get_context("spawn")
    parts = [range(i, min(i + 500, count)) for i in range(0, count, 500)]
    outcomes: list[Outcome] = []
    with concurrent.futures.ProcessPoolExecutor(workers, mp_context=spawn) as pool:
        for done in pool.map(try_many, parts):
            outcomes += done
    return report(outcomes)


def report(outcomes: list[Outcome]) -> int:
    """Print the outcomes; returns how many mutants failed."""
    good = ("loaded", "refused")
    tally = collections.Counter(
        (o.kind, o.result) for o in outcomes if o.result in good
    )
    for (kind, result), n in sorted(tally.items()):
        print(f"{n:8,}  {kind}: {result}")
    bad = [o for o in outcomes if o.result not in good]
    for outcome in bad[:10]:
        print(f"\ncase {outcome.number} ({outcome.kind}): {outcome.result}")
    slowest, largest = (max(map(f, outcomes)) for f in (_seconds, _excess))
    print(
        f"{len(outcomes):,} mutants, {len(bad)} failures; the slowest took "
        f"{slowest:.2f} s of the processor, the largest {largest:.0f} MB beyond twice its size"
    )
    return len(bad)


def _seconds(outcome: Outcome) -> float:
    return outcome.seconds


def _excess(outcome: Outcome) -> float:
    return outcome.excess


# Killing saves ------------------------------------------------------------------------


def kill_saves(count: int, seed: int = 0) -> int:
    """Kill processes that save; returns how many left a damaged file."""
    import numpy as np

    from likely import files

    warnings.filterwarnings("ignore", message="os.fork", category=RuntimeWarning)
    rng, bad, old = random.Random(seed), 0, -1
    versions: list[int] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.likely"
        files.save({"n": old, "x": np.full(200_000, old)}, path)
        for _ in range(count):
            child = os.fork()
            if child == 0:
                save_forever(path, old)
            time.sleep(rng.uniform(0, 0.2))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            try:
                found = files.load(path)
                whole = (found["x"] == found["n"]).all() and found["n"] >= old
            except files.FileError as error:
                print(error)
                whole = False
            bad += not whole
            old = max(old, found["n"]) if whole else old
            versions.append(old)
        left = len(list(Path(folder).glob(".*.tmp")))
    print(
        f"{count} kills, {bad} files not whole; {len(set(versions))} different files "
        f"were found, and {left} kills came between opening and renaming"
    )
    return bad


def save_forever(path: Path, number: int) -> None:
    """Save one model after another, until killed."""
    import numpy as np

    from likely import files

    while True:
        number += 1
        value = {"n": number, "x": np.full(200_000, number)}
        files.save(value, path, card=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("mutants", "kills"))
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", type=int, help="repeat one mutant")
    options = parser.parse_args()
    if options.only is not None:
        print(try_many(range(options.only, options.only + 1))[0])
    elif options.what == "mutants":
        raise SystemExit(min(fuzz(options.count, options.workers), 1))
    else:
        raise SystemExit(min(kill_saves(options.count), 1))


if __name__ == "__main__":
    main()
