"""`likely bench`: this machine against the peers that are installed."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from likely.core.progress import Bar
from likely.workbench.bench.page import page
from likely.workbench.bench.run import Bench, run_bench

PAGE, NUMBERS = "bench.html", "bench.json"


def bench_with_progress(
    only: Sequence[str], out: Path, *, minutes: float, size: float
) -> Bench:
    """Measure with a progress bar; the page and the numbers are written to a folder."""
    shown = sys.stderr.isatty()
    with Bar(description="measuring", enabled=shown, transient=True) as bar:

        def notify(title: str, number: int, total: int) -> None:
            bar.update(description=title, completed=number, total=total)
            if not shown:
                print(f"{number + 1} of {total}: {title}", file=sys.stderr)

        found = run_bench(only, minutes=minutes, size=size, notify=notify)
    out.mkdir(parents=True, exist_ok=True)
    (out / PAGE).write_text(page(found), encoding="utf-8")
    text = json.dumps(found.to_dict(), indent=1) + "\n"
    (out / NUMBERS).write_text(text, encoding="utf-8")
    return found
