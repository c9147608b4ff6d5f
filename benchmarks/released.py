"""The ratios of the last release: what `python -m benchmarks` compares itself with.

`released.json` has one entry for each kind of machine: its processor, the number of cores, and
for each case the ratio that was measured there and the bar that was asked for. Ratios of
different processors differ, so a run is compared with the entry of its own kind, and with the
first entry where there is none.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from likely.workbench.bench.machine import cores, processor

FILE = Path(__file__).parent / "released.json"
MAX_FALL = 0.2
"""The share of a ratio that may be lost since the last release."""
TOLERANCE = 0.1
"""The share of a bar that noise, or another processor, may cost."""


def kind_of_machine() -> str:
    """The processor and the number of cores, in words."""
    n = cores()
    return f"{processor()}, {n} core{'s' * (n != 1)}"


def released(file: Path = FILE, kind: str | None = None) -> tuple[str, dict[str, Any]]:
    """The machine of the entry that this machine is compared with, and its cases."""
    machines = json.loads(file.read_text("utf-8")) if file.exists() else {}
    kind = kind or kind_of_machine()
    name = kind if kind in machines else next(iter(machines), "")
    return name, machines.get(name, {})


def compare(row: Mapping[str, Any], cases: Mapping[str, Any]) -> tuple[str, bool]:
    """What is to be said of a case, and whether it fails the run.

    A case fails where its answers differ, or where its ratio is below its bar by more than the
    tolerance. A ratio that fell by more than a fifth is named, and so is a bar that was lowered.
    """
    if "missing" in row:
        return f"not measured: {row['missing']} is not installed", False
    if not row["verified"]:
        return str(row.get("complaint") or "answers differ"), True
    said, bar, ratio = [], row.get("at_least") or 0.0, row["ratio"]
    fails = ratio < (1 - TOLERANCE) * bar
    if ratio < bar:
        said.append("below its bar" if fails else "below its bar, within tolerance")
    before = cases.get(row["name"])
    if before is None:
        said.append("new")
    else:
        if ratio < (1 - MAX_FALL) * before["ratio"]:
            said.append(f"fell by {1 - ratio / before['ratio']:.0%}")
        if bar < before["bar"]:
            said.append(f"the bar was {before['bar']:g}x")
    return ", ".join(said), fails


def record(rows: Iterable[Mapping[str, Any]], file: Path = FILE) -> None:
    """Write the ratios of verified cases as those of the last release on this machine."""
    machines = json.loads(file.read_text("utf-8")) if file.exists() else {}
    cases = machines.setdefault(kind_of_machine(), {})
    for row in rows:
        if row.get("verified"):
            ratio = float(f"{row['ratio']:.3g}")
            cases[row["name"]] = {"ratio": ratio, "bar": row.get("at_least") or 0}
    file.write_text(json.dumps(machines, indent=1) + "\n", "utf-8")
