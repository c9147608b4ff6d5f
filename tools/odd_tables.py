"""Odd tables of the kind that users have, most of which can be fitted.

A table is a function of its seed: columns of many kinds (numbers of every size, dates,
text in any script, booleans, constants, copies, only missing values, infinities), odd
names, few rows or many, any target; as text in some dialect, or Parquet
or Arrow.
"""

import csv
import datetime
import io
import math
import random
from collections.abc import Callable

import pyarrow as pa
from pyarrow import feather, parquet

NAMES = (
    "x", "X", "price", "größe", "日本", "a b", " padded ", "a,b", 'say "hi"', "a\nb", "1",
    "0x", "nan", "None", "true", "-", "x.y", "x[0]", "<b>bold</b>", "&amp;", "a=b", "y\t",
    "target", "weight", "row", "p(a)", "", "é" * 30, "🙂", "α", "x_" * 40, "{0}", "%s",
    "__class__", "\u200b", "شهر", "C:\\data", "mean", "intercept", "c" * 200,
)  # fmt: skip
WORDS = (
    "red", "green", "blue", "a b", "é", "日本", "yes", "no", "NULL", "x,y", 'q"q',
    "line\nbreak", "<i>", "0", "01", "1e5", "-", "🙂", " pad", "pad ", "nan ",
    "x" * 300, "=1+1", "True", "N/A?", "ß", "ＡＢ", "é", "\u0000"[:0] + "end",
)  # fmt: skip
MISSING = ("", "NA", "NaN", "null", "n/a", "?")

Cells = list[str]
Maker = Callable[[random.Random, int], Cells]


def _numbers(rng: random.Random, n: int) -> Cells:
    scale, shift = 10.0 ** rng.randint(-12, 12), rng.choice([0, 0, 1, 1e6, -1e9])
    return [repr(shift + scale * rng.gauss(0, 1)) for _ in range(n)]


def _ordinary(rng: random.Random, n: int) -> Cells:
    return [f"{rng.gauss(0, 1):.4f}" for _ in range(n)]


def _huge(rng: random.Random, n: int) -> Cells:
    power = rng.choice([150, 300, 307, -150, -300, -320])
    return [f"{rng.uniform(-9, 9):.3f}e{power}" for _ in range(n)]


def _heavy(rng: random.Random, n: int) -> Cells:
    return [repr(math.tan(math.pi * (rng.random() - 0.5))) for _ in range(n)]


def _infinite(rng: random.Random, n: int) -> Cells:
    odd = ("inf", "-inf", "Infinity", "1e400")
    return [rng.choice(odd) if rng.random() < 0.05 else x for x in _ordinary(rng, n)]


def _whole(rng: random.Random, n: int) -> Cells:
    top = rng.choice([1, 2, 5, 30, 1000, 10**15, 2**63 - 1, 10**25])
    low = rng.choice([0, 0, 1, -top])
    return [str(rng.randint(min(low, top), max(low, top))) for _ in range(n)]


def _codes(rng: random.Random, n: int) -> Cells:
    return [f"{rng.randint(0, 99):05}" for _ in range(n)]


def _rows(rng: random.Random, n: int) -> Cells:
    first = rng.choice([0, 1, 10**6])
    return [str(first + i) for i in range(n)]


def _uuid(rng: random.Random, n: int) -> Cells:
    return [f"{rng.getrandbits(64):016x}" for _ in range(n)]


def _words(rng: random.Random, n: int) -> Cells:
    some = rng.sample(WORDS, rng.choice([1, 2, 3, 8]))
    return [rng.choice(some) for _ in range(n)]


def _classes(rng: random.Random, n: int) -> Cells:
    some = rng.sample(WORDS, rng.choice([2, 2, 3, 4]))
    return [some[i % len(some)] for i in rng.sample(range(n), n)]


def _many_words(rng: random.Random, n: int) -> Cells:
    k = max(2, n // 2)
    return [f"w{int(k * rng.random() ** 3)}" for _ in range(n)]


def _text(rng: random.Random, n: int) -> Cells:
    return [" ".join(rng.choices(WORDS, k=rng.randint(0, 9))) for _ in range(n)]


def _booleans(rng: random.Random, n: int) -> Cells:
    pair = rng.choice([("true", "false"), ("True", "False"), ("yes", "no"), ("0", "1"),
                       ("T", "F"), ("y", "n"), ("YES", "no")])  # fmt: skip
    return [rng.choice(pair) for _ in range(n)]


def _dominated(rng: random.Random, n: int) -> Cells:
    return ["rare" if rng.random() < 0.03 else "common" for _ in range(n)]


def _constant(rng: random.Random, n: int) -> Cells:
    return [rng.choice(["7", "x", "0.0", "2020-01-01", "true"])] * n


def _missing(rng: random.Random, n: int) -> Cells:
    return [rng.choice(MISSING[:4])] * n


def _nearly_missing(rng: random.Random, n: int) -> Cells:
    return [f"{rng.gauss(0, 1):.2f}" if rng.random() < 0.05 else "" for _ in range(n)]


def _dates(rng: random.Random, n: int) -> Cells:
    layout = rng.choice(["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%dT%H:%M:%S"])
    start = datetime.datetime(rng.choice([1, 1900, 1970, 2020, 9000]), 1, 1)
    days = [rng.randint(0, rng.choice([1, 30, 3000])) for _ in range(n)]
    if rng.random() < 0.5:
        days.sort()
    return [(start + datetime.timedelta(d, 3600)).strftime(layout) for d in days]


def _mixed(rng: random.Random, n: int) -> Cells:
    makers = (_ordinary, _words, _dates, _whole)
    some = [rng.choice(makers)(rng, n) for _ in range(2)]
    return [rng.choice(some)[i] for i in range(n)]


def _skewed(rng: random.Random, n: int) -> Cells:
    return [repr(rng.lognormvariate(0, rng.choice([1, 3]))) for _ in range(n)]


def _counts(rng: random.Random, n: int) -> Cells:
    mean = rng.choice([0.1, 1, 20, 1000])
    return [str(int(rng.expovariate(1 / mean))) for _ in range(n)]


INPUTS: tuple[Maker, ...] = (
    _numbers, _ordinary, _ordinary, _huge, _heavy, _infinite, _whole, _codes, _rows,
    _uuid, _words, _words, _many_words, _text, _booleans, _dominated, _constant,
    _missing, _nearly_missing, _dates, _mixed, _skewed, _counts,
)  # fmt: skip
TARGETS: tuple[Maker, ...] = (
    _numbers, _numbers, _ordinary, _ordinary, _heavy, _whole, _classes, _classes,
    _classes, _booleans, _booleans, _skewed, _skewed, _counts, _counts, _counts,
    _huge, _huge, _dominated, _many_words, _mixed, _infinite, _words,
)  # fmt: skip


def grid(rng: random.Random) -> tuple[list[str], list[Cells], str]:
    """The names, the columns, and the name of the target."""
    n = rng.choice([5, 11, 20, 30, 30, 40, 40, 60, 60, 60, 100, 200])
    makers = [rng.choice(INPUTS) for _ in range(rng.choice([1, 1, 2, 3, 3, 5, 8]))]
    columns = [make(rng, n) for make in makers]
    if rng.random() < 0.1:
        columns.append(list(rng.choice(columns)))
    target = rng.choice(TARGETS)(rng, n)
    if rng.random() < 0.1 and _is_number(columns[0]):
        target = [f"{2 * float(x or 0) + 1}" for x in columns[0]]
    for column in columns:
        if rng.random() < 0.3:
            markers = rng.choice([MISSING[:1], MISSING[:4], MISSING])
            _make_missing(column, rng, markers, rng.choice([0.02, 0.3, 0.9]))
    if rng.random() < 0.15:
        _make_missing(target, rng, MISSING[:4], 0.1)
    place = rng.randrange(len(columns) + 1)
    columns.insert(place, target)
    names: list[str] = list(rng.sample(NAMES, len(columns)))
    if rng.random() < 0.05:
        names[-1] = names[0]
    alone = names.count(names[place]) == 1
    return names, columns, names[place].strip() if alone else ""


def _is_number(column: Cells) -> bool:
    try:
        return all(math.isfinite(2 * float(x) + 1) for x in column)
    except ValueError:
        return False


def _make_missing(
    column: Cells, rng: random.Random, markers: tuple, share: float
) -> None:
    for i in range(len(column)):
        if rng.random() < share:
            column[i] = rng.choice(markers)


def as_text(names: list[str], columns: list[Cells], rng: random.Random) -> bytes:
    """The table as valid CSV in some dialect."""
    out = io.StringIO()
    quoting = csv.QUOTE_ALL if rng.random() < 0.15 else csv.QUOTE_MINIMAL
    writer = csv.writer(
        out,
        delimiter=rng.choice(",,,;\t|"),
        lineterminator=rng.choice(["\n", "\n", "\r\n"]),
        quoting=quoting,
    )
    writer.writerow(names)
    writer.writerows(zip(*columns, strict=True))
    text = out.getvalue()
    if rng.random() < 0.1:
        text = text.rstrip("\r\n")
    encoding = rng.choice(["utf-8"] * 6 + ["utf-8-sig", "utf-8-sig", "utf-16"])
    return text.encode(encoding, errors="replace")


def as_arrow(names: list[str], columns: list[Cells], rng: random.Random) -> bytes:
    """The table as Parquet or Arrow, with numbers where every cell is one."""
    arrays = [pa.array([float(x) for x in c] if _is_number(c) else c) for c in columns]
    table = pa.table(arrays, names=names)
    out = io.BytesIO()
    if rng.random() < 0.5:
        parquet.write_table(table, out)
    else:
        feather.write_feather(table, out)
    return out.getvalue()


def odd_table(seed: int) -> tuple[str, bytes, str]:
    """A file name, its content, and the target, as a function of the seed."""
    rng = random.Random(seed)
    names, columns, target = grid(rng)
    if rng.random() < 0.1 and len(set(names)) == len(names):
        suffix = rng.choice(["parquet", "arrow"])
        content = as_arrow(names, columns, rng)
        kind = b"PAR1" if content[:4] == b"PAR1" else b""
        return f"table.{'parquet' if kind else suffix}", content, target
    return "table.csv", as_text(names, columns, rng), target
