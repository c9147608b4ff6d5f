"""The report: one HTML page that works offline and runs no script."""

from typing import Any

from likely.workbench.report import sections
from likely.workbench.report.sections import escape
from likely.workbench.report.style import CSS, FRAGMENT

PARTS = (
    ("ladder", "Comparison of models", sections.comparison),
    ("findings", "Findings", sections.findings),
    ("simple", "Coefficients of a linear model", sections.coefficients),
    ("calibration", "Calibration and coverage", sections.calibration),
    ("columns", "Importance and effects of columns", sections.importance),
    ("data", "The data", sections.data),
    ("reproduce", "How to reproduce this", sections.reproduce),
)
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
)


def page(result: Any) -> str:
    """The whole report as an HTML file."""
    report = result.report
    title = f"{report['target']['name']} in {report['data']['name']}"
    links = "".join(f'<a href="#{name}">{escape(head)}</a>' for name, head, _ in PARTS)
    body = "".join(
        f'<section id="{name}"><h2>{escape(head)}</h2>{make(result)}</section>'
        for name, head, make in PARTS
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{CSS}</style></head><body><main>"
        f"<h1>{escape(title)}</h1>"
        f'<p class="soft">{report["data"]["rows"]} rows, '
        f"{len(report['data']['columns'])} columns, {report['spec']['folds']} folds, "
        f"seed {report['spec']['seed']}</p>"
        f'<div class="verdict">{_verdict(result)}</div>'
        f'<nav aria-label="Sections">{links}</nav>{body}</main></body></html>\n'
    )


def fragment(result: Any) -> str:
    """The verdict and the comparison of models as HTML, for notebooks."""
    inside = f"{_verdict(result)}{sections.comparison(result)}"
    return f'<style>{FRAGMENT}</style><div class="likely">{inside}</div>'


def _verdict(result: Any) -> str:
    return "".join(f"<p>{escape(sentence)}</p>" for sentence in result.verdict)


__all__ = ["fragment", "page"]
