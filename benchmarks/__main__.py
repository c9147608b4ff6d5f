"""`python -m benchmarks [NAME ...]`: measure, print a table, write JSON."""

import argparse
import importlib
import json
import platform
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.harness import measure

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
    "startup",
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"any of {', '.join(MODULES)}")
    parser.add_argument("--out", type=Path, default=Path("runs/bench.json"))
    options = parser.parse_args()
    rows = []
    for name in options.names or MODULES:
        module = importlib.import_module(f"benchmarks.{name}")
        if hasattr(module, "CASES"):
            for case, spec in module.CASES.items():
                rows.append(measure(module.__name__, case, spec))
        else:
            rows += module.run()
    show(rows)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    report = {"machine": platform.processor() or platform.machine(), "rows": rows}
    options.out.write_text(json.dumps(report, indent=2) + "\n")


def show(rows: list[dict]) -> None:
    heads = ("benchmark", "ours", "peer", "ratio", "cpu", "asked", "cold", "answers")
    table = Table(*heads)
    for row in rows:
        cold = row.get("cold_ours_s")
        table.add_row(
            row["name"],
            f"{row['ours_s']:.4g} s",
            f"{row['peer_s']:.4g} s",
            f"{row['ratio']:.2f}x",
            f"{row['cpu_peer_s'] / row['cpu_ours_s']:.2f}x"
            if "cpu_ours_s" in row
            else "",
            f"{row['at_least']:g}x" if row.get("at_least") else "",
            f"{cold:.2g} s" if cold else "",
            f"equal{_within(row)}"
            if row["verified"]
            else str(row.get("complaint", "differ")),
        )
    Console().print(table)


def _within(row: dict) -> str:
    gap = row.get("difference")
    return "" if gap is None else f" within {gap:.1e}"


if __name__ == "__main__":
    main()
