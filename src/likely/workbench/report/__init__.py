"""The report: one HTML page that works offline and runs no script."""

from likely.core.written_numbers import counted
from likely.workbench.report import quality, sections
from likely.workbench.report.contents import Report
from likely.workbench.report.document import document
from likely.workbench.report.markup import escape
from likely.workbench.report.style import FRAGMENT
from likely.workbench.report.verdict import verdict as verdict_of

PARTS = (
    ("ladder", "Comparison of models", sections.comparison),
    ("findings", "Findings", sections.findings),
    ("simple", "Coefficients of a linear model", sections.coefficients),
    ("calibration", "Calibration and coverage", quality.calibration),
    ("classes", "Classes and decisions", quality.decisions),
    ("rows", "Groups and rows", sections.rows),
    ("columns", "Importance and effects of columns", sections.importance),
    ("learning", "Would more rows help?", sections.learning),
    ("data", "The data", sections.data),
    ("reproduce", "How to reproduce this", sections.reproduce),
)


def page(report: Report) -> str:
    """The whole report as an HTML file."""
    title = f"{report.target.name} in {report.data.name}"
    parts = [part for part in PARTS if part[0] != "classes" or report.classes]
    links = "".join(f'<a href="#{name}">{escape(head)}</a>' for name, head, _ in parts)
    body = "".join(
        f'<section id="{name}"><h2>{escape(head)}</h2>{make(report)}</section>'
        for name, head, make in parts
    )
    facts = ", ".join(
        [
            counted(report.data.rows, "row"),
            counted(len(report.data.columns), "column"),
            counted(report.spec.folds, "fold"),
            f"seed {report.spec.seed}",
        ]
    )
    verdict = f'<div class="verdict">{_verdict(report)}</div>'
    nav = f'<nav aria-label="Sections">{links}</nav>'
    return document(title, facts, f"{verdict}{nav}{body}")


def fragment(report: Report) -> str:
    """The verdict and the comparison of models as HTML, for notebooks."""
    inside = f"{_verdict(report)}{sections.comparison(report)}"
    return f'<style>{FRAGMENT}</style><div class="likely">{inside}</div>'


def _verdict(report: Report) -> str:
    first = {f.sentences for f in report.findings if f.first}
    return "".join(
        f"<p{' class=alarm' if sentence in first else ''}>{escape(sentence)}</p>"
        for sentence in verdict_of(report)
    )


__all__ = ["fragment", "page"]
