"""`python -m benchmarks [NAME ...]`: measure, print a table, write JSON.

Each ratio stands beside its bar and the ratio of the last release (`released.json`). The exit
status is 1 where answers differ, or where a ratio is below its bar by more than a tenth.
"""

import argparse
import importlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.harness import measure
from benchmarks.released import compare, kind_of_machine, record, released

MODULES = (
    "spine",
    "search",
    "lasso",
    "linear",
    "tables",
    "trees",
    "svm",
    "training",
    "networks",
    "layers",
    "convolution",
    "sequences",
    "tokenizers",
    "word_vectors",
    "manifolds",
    "clusters",
    "hidden_markov",
    "information",
    "autodiff",
    "factors",
    "bias_variance",
    "generative",
    "detection",
    "startup",
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"any of {', '.join(MODULES)}")
    parser.add_argument("--out", type=Path, default=Path("runs/bench.json"))
    parser.add_argument(
        "--record", action="store_true", help="write the ratios to released.json"
    )
    options = parser.parse_args()
    rows = []
    for name in options.names or MODULES:
        module = importlib.import_module(f"benchmarks.{name}")
        if hasattr(module, "CASES"):
            for case, spec in module.CASES.items():
                rows.append(measure(module.__name__, case, spec))
        else:
            rows += module.run()
    machine, cases = released()
    fails = show(rows, cases)
    here = kind_of_machine()
    print(f"measured on {here}; the last release: {machine or 'not measured'}")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    report = {"machine": here, "rows": rows}
    options.out.write_text(json.dumps(report, indent=2) + "\n")
    if options.record:
        record(rows)
    return int(fails)


def show(rows: list[dict], cases: Mapping[str, dict]) -> bool:
    """Print a line for each case; whether one of them fails.

    Args:
        rows: of measurements.
        cases: the ratios of the last release, by name.
    """
    heads = (
        "benchmark", "ours", "peer", "ratio", "bar", "released", "cpu", "cold",
        "answers", "verdict",
    )  # fmt: skip
    table, fails = Table(*heads), False
    for row in rows:
        verdict, failed = compare(row, cases)
        fails |= failed
        measured = [""] * 8 if "missing" in row else _cells(row, cases)
        table.add_row(row["name"], *measured, verdict)
    Console().print(table)
    return fails


def _cells(row: dict, cases: Mapping[str, dict]) -> list[str]:
    """The numbers of a row that was measured."""
    before, cold = cases.get(row["name"]), row.get("cold_ours_s")
    cpu = row["cpu_peer_s"] / row["cpu_ours_s"] if "cpu_ours_s" in row else None
    return [
        f"{row['ours_s']:.4g} s",
        f"{row['peer_s']:.4g} s",
        f"{row['ratio']:.2f}x",
        f"{row['at_least']:g}x" if row.get("at_least") else "",
        f"{before['ratio']:.2f}x" if before else "",
        f"{cpu:.2f}x" if cpu else "",
        f"{cold:.2g} s" if cold else "",
        f"equal{_within(row)}" if row["verified"] else "differ",
    ]


def _within(row: dict) -> str:
    gap = row.get("difference")
    return "" if gap is None else f" within {gap:.1e}"


if __name__ == "__main__":
    sys.exit(main())
