"""The page of a bench: the comparisons, their scores, the machine."""

from likely.core.written_numbers import counted
from likely.workbench.bench.run import Bench
from likely.workbench.report.document import document
from likely.workbench.report.markup import paragraph, table

EXPLAINED = (
    "Seconds of the clock; each side in a process of its own, in turns, the best of three. A "
    "ratio above 1 is in our favour. The first call of a process includes what is compiled or "
    "read from the compilation cache, and imports; it is not part of the ratio."
)


def page(bench: Bench) -> str:
    """The whole result as an HTML file."""
    machine = bench.machine
    facts = f"{machine['processor']}, {counted(machine['cores'], 'core')}"
    parts = [
        ("Times", paragraph(EXPLAINED, "soft") + _times(bench)),
        ("Scores of rows that were not fitted", _scores(bench)),
        ("Versions", _versions(bench)),
    ]
    verdict = "".join(map(paragraph, bench.sentences))
    body = "".join(f"<section><h2>{h}</h2>{text}</section>" for h, text in parts)
    inside = f'<div class="verdict">{verdict}</div>{body}'
    return document("likely beside its peers on this machine", facts, inside)


def _times(bench: Bench) -> str:
    head = (
        "job", "peer", "ours", "peer's", "ratio", "first call, ours", "first call, peer's",
    )  # fmt: skip
    rows = [
        [
            row["title"],
            row["peer"],
            *(f"{row[name]:.3g} s" for name in ("ours_s", "peer_s")),
            f"{row['ratio']:.2f}x",
            *(f"{row[name]:.2g} s" for name in ("cold_ours_s", "cold_peer_s")),
        ]
        for row in bench.rows
    ]
    return table(head, rows, "The time of each job, compiled.", text=(0,))


def _scores(bench: Bench) -> str:
    head = ("job", "peer", "score", "ours", "peer's", "verdict")
    rows = [
        [
            row["title"], row["peer"], row["score"], f"{row['score_ours']:.5g}",
            f"{row['score_peer']:.5g}", "equal" if row["verified"] else "differ",
        ]
        for row in bench.rows
    ]  # fmt: skip
    return table(head, rows, "A time counts where scores are equal.", text=(0,))


def _versions(bench: Bench) -> str:
    rows = list(bench.machine["versions"].items())
    return table(("package", "version"), rows, "What was installed.")
