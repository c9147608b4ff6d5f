"""Do the numbered checks name planted faults, and stay silent where there is none?

    python -m benchmarks.checks                              tables that were kept back
    python -m benchmarks.checks development                  where the thresholds were set
    python -m benchmarks.checks development_real             the same: real tables
    python -m benchmarks.checks development_more             the same: more of both kinds

`--part 1/2` runs every second table, so that two processes share them. A fault counts as named
where its check is among the findings; a table without a fault counts as a false alarm where there
is any finding at all, warning or note. One line for each table, then the totals as JSON.
"""

import argparse
import importlib
import json
import os
import time
import warnings
import zlib

import numpy as np

from benchmarks.check_tables.case import Case
from likely.diagnostics import check


def findings(case: Case, seed: int) -> tuple[tuple[str, ...], list[str], float]:
    """The findings of a table, their sentences, and the processor seconds."""
    rng = np.random.default_rng([seed, zlib.crc32(case.name.encode())])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = case.make(rng)
        start = sum(os.times()[:4])
        found = check(made.model, made.X, made.y, **made.options)
    seconds = sum(os.times()[:4]) - start
    return found.codes, [f.text for f in found.findings], seconds


def run(module: str, seeds: range, only: str = "", part: tuple[int, int] = (1, 1)):
    """The tables of a set, or some of them."""
    tables = importlib.import_module(f"benchmarks.check_tables.{module}")
    cases = [*tables.FAULTS, *tables.CLEAN][part[0] - 1 :: part[1]]
    cases = [case for case in cases if not only or only in (case.name, case.code)]
    named, alarms, seconds = 0, 0, 0.0
    start = time.time()
    for seed in seeds:
        for case in cases:
            codes, sentences, took = findings(case, seed)
            seconds += took
            right = case.code in codes if case.code else not codes
            named += bool(case.code) and right
            alarms += not case.code and not right
            mark = "  " if right else "!!"
            print(
                f"{mark} {case.code or '-':6s} {case.name:34s} {took:6.1f} s  {codes}",
                flush=True,
            )
            for code, text in zip(codes, sentences, strict=True):
                if code != case.code:
                    print(f"              {code} {text}")
    found = {
        "tables": module,
        "faults": len(seeds) * sum(bool(case.code) for case in cases),
        "named": named,
        "without fault": len(seeds) * sum(not case.code for case in cases),
        "false alarms": alarms,
        "processor seconds": round(seconds, 1),
        "seconds": round(time.time() - start, 1),
    }
    print(json.dumps(found))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "tables",
        nargs="?",
        default="counted",
        choices=("counted", "development", "development_real", "development_more"),
    )
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--only", default="", help="a name, or a code")
    parser.add_argument("--part", default="1/1", help="such as 1/2: every second one")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.seeds)
    number, parts = map(int, options.part.split("/"))
    run(options.tables, seeds, options.only, (number, parts))


if __name__ == "__main__":
    main()
