"""Run the comparisons that this machine has the packages for."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from likely.core.checks import InputError
from likely.workbench.bench.cases import CASES, JOBS, MODULE, PACKAGES
from likely.workbench.bench.machine import cores, processor, versions
from likely.workbench.bench.turns import measure


@dataclass(frozen=True)
class Bench:
    """What was measured.

    Attributes:
        machine: the processor, the number of cores, versions.
        rows: a dictionary for each comparison.
        left_out: the comparisons that were not made, with the reason.
        settings: of the run.
    """

    machine: dict[str, Any]
    rows: list[dict[str, Any]]
    left_out: dict[str, str]
    settings: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data."""
        return {
            "machine": self.machine,
            "settings": self.settings,
            "rows": self.rows,
            "left_out": self.left_out,
        }

    @property
    def table(self) -> list[dict[str, Any]]:
        """A short line for each comparison, for a terminal."""
        return [
            {
                "job": row["job"],
                "peer": row["peer"],
                "ours, s": row["ours_s"],
                "peer, s": row["peer_s"],
                "ratio": f"{row['ratio']:.2f}x",
                "first call, s": f"{row['cold_ours_s']:.2g} / {row['cold_peer_s']:.2g}",
                "scores": "equal" if row["verified"] else "differ",
            }
            for row in self.rows
        ]

    @property
    def sentences(self) -> list[str]:
        """What to know first."""
        n = len(self.rows)
        faster = sum(row["ratio"] > 1 for row in self.rows)
        differ = [row["name"] for row in self.rows if not row["verified"]]
        return [
            f"{faster} of {n} comparisons are faster here than the peer, once compiled; "
            "a ratio above 1 is in our favour.",
            *(
                f"{name}: the scores differ, so the times do not count."
                for name in differ
            ),
            *(
                f"left out: {name}, because {why}."
                for name, why in self.left_out.items()
            ),
        ]


def run_bench(
    only: Sequence[str] = (),
    *,
    minutes: float | int = 5.0,
    size: float | int = 1.0,
    notify: Callable[[str, int, int], Any] | None = None,
) -> Bench:
    """Measure this machine against the peers that are installed.

    Each side of a comparison has a process of its own; they take turns, three times once they
    have compiled, and the best time of each counts.

    Args:
        only: names of jobs; all of them where none is named.
        minutes: no further comparison begins after so many.
        size: the share of the rows of each table, such as 0.1 for a quick look.
        notify: called before each comparison with its name, its number and their number.
    """
    names = _chosen(only)
    if not minutes > 0 or not 0 < size <= 1:
        raise InputError(
            f"minutes is {minutes:g} and size {size:g}; give minutes above 0 and a size "
            "above 0 and at most 1."
        )
    until, rows, left_out = time.monotonic() + 60 * minutes, [], {}
    cases = [name for name in CASES if name.partition(", ")[0] in names]
    for number, name in enumerate(cases):
        job, _, package = name.partition(", ")
        if find_spec(PACKAGES[package]) is None:
            left_out[name] = f"{package} is not installed"
            continue
        if rows and time.monotonic() > until:
            left_out[name] = f"the {minutes:g} minutes were over"
            continue
        if notify is not None:
            notify(JOBS[job].title, number, len(cases))
        try:
            found = measure(MODULE, name, CASES[name], size=size, until=until)
        except RuntimeError as error:
            left_out[name] = str(error)
            continue
        if "missing" in found:
            left_out[name] = f"{found['missing']} is not installed"
            continue
        ours, peer = (answer["score"] for answer in found.pop("answers"))
        rows.append({
            "job": job, "peer": package, "title": JOBS[job].title,
            "score": JOBS[job].score, "score_ours": ours, "score_peer": peer, **found,
        })  # fmt: skip
    machine = {"processor": processor(), "cores": cores(), "versions": versions()}
    settings = {"only": list(only), "minutes": minutes, "size": size}
    return Bench(machine, rows, left_out, settings)


def _chosen(only: Sequence[str]) -> set[str]:
    """The names of jobs, checked."""
    for name in only:
        if name not in JOBS:
            raise InputError(
                f"{name!r} is no job of the bench; take {', '.join(JOBS)}."
            )
    return set(only or JOBS)
