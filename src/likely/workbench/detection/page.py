"""The report of a detector: one HTML page with its best and its worst cases."""

from collections.abc import Mapping, Sequence
from typing import Any

from likely.core.written_numbers import counted
from likely.workbench.detection.cases import MIN_SCORE, Case
from likely.workbench.report.document import document
from likely.workbench.report.markup import escape, figure, grid, paragraph, table

MAX_NOTES = 50
"""Notes about files that are shown; the others are counted."""


def sentences(report: Mapping[str, Any]) -> list[str]:
    """What to know first."""
    measured = report["measured"]
    found = [
        f"mean average precision {_shown(measured['map50'])} ± "
        f"{_shown(measured['map50_error'])} at an overlap of half "
        f"({_shown(measured['map'])} by COCO's rule), on "
        f"{counted(report['test'], 'image')} that the detector has not seen."
    ]
    if measured["calibration_error"] is not None:
        found.append(
            "the share of right detections differs from their scores by "
            f"{100 * measured['calibration_error']:.1f} % on average."
        )
    if report["notes"]:
        found.append(
            f"{counted(len(report['notes']), 'note')} about the files in the report."
        )
    return found


def page(
    report: Mapping[str, Any],
    best: Sequence[tuple[Case, str]],
    worst: Sequence[tuple[Case, str]],
) -> str:
    """The whole report as an HTML file.

    Args:
        report: the content of `report.json`.
        best: the best cases, with their pictures.
        worst: the worst cases, with their pictures.
    """
    title = (
        f"Detector of {counted(len(report['classes']), 'class')} in {report['data']}"
    )
    verdict = "".join(map(paragraph, sentences(report)))
    legend = (
        f"Dashed white: what is there. Orange: what was detected, with a score of at least "
        f"{MIN_SCORE:g}."
    )
    sections = [
        ("The worst cases", paragraph(legend, "soft") + grid(_figures(worst))),
        ("The best cases", grid(_figures(best))),
        ("Classes", _classes(report)),
        ("The files", _notes(report["notes"])),
        ("How to reproduce this", f"<pre>{escape(report['command'])}</pre>"),
    ]
    body = "".join(
        f"<section><h2>{head}</h2>{text}</section>" for head, text in sections
    )
    facts = ", ".join(
        [
            counted(report["fit"] + report["test"], "image"),
            counted(report["objects"], "box", "boxes"),
            f"{report['epochs']} epochs",
            f"seed {report['seed']}",
        ]
    )
    inside = f'<div class="verdict">{verdict}</div>{body}'
    return document(title, facts, inside, images=True)


def _figures(cases: Sequence[tuple[Case, str]]) -> list[str]:
    return [
        figure(svg, f"{c.name}: {c.found} found, {c.missed} missed, {c.false} false")
        for c, svg in cases
    ]


def _classes(report: Mapping[str, Any]) -> str:
    rows = [
        [name, report["counts"].get(name, 0), _shown(value)]
        for name, value in report["measured"]["by_class"].items()
    ]
    head = ("class", "boxes of the fit", "average precision")
    return table(head, rows, "Average precision at an overlap of half.")


def _notes(notes: Sequence[str]) -> str:
    if not notes:
        return paragraph("All files were read as they are.")
    more = len(notes) - MAX_NOTES
    shown = "".join(paragraph(note) for note in notes[:MAX_NOTES])
    return shown + (paragraph(f"... and {more} more.") if more > 0 else "")


def _shown(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3f}"
