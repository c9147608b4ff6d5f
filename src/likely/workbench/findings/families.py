"""Findings about coefficients and about the family of the target."""

from collections.abc import Iterator

from likely.core.written_numbers import number
from likely.diagnostics.checks.collinearity import SPARED, Inflation
from likely.diagnostics.checks.dispersion import dispersion
from likely.diagnostics.checks.finding import Finding
from likely.workbench.findings.measured import LEVEL, Measured
from likely.workbench.report.measured import (
    Simple,
)


def coefficient_findings(
    simple: Simple, inflated: tuple[Inflation, ...]
) -> Iterator[Finding]:
    """Coefficients that are hard to read: collinear columns, separated classes."""
    for one in inflated:
        yield Finding(
            "collinearity", "note", one.sentence, SPARED, one.column, code="LK202"
        )
    for name, sentence in simple.warnings:
        if "Separation" in name or "separates" in sentence:
            corrected = (
                "The coefficients that are shown are finite by Firth's correction. "
                if simple.rows
                else "So no coefficients are shown. "
            )
            advice = (
                f"{corrected}The linear models that are compared have a small penalty. "
                "Check whether such a column contains the target; leave it out with "
                "--drop if it does."
            )
            yield Finding("separation", "warning", sentence, advice, code="LK201")
        elif not inflated and ("Collinear" in name or name == "Repeated"):
            advice = (
                "The predictions do not suffer; leave such columns out with --drop."
            )
            yield Finding("collinearity", "note", sentence, advice, code="LK202")


def dispersion_findings(found: Measured) -> Iterator[Finding]:
    """Counts that vary more than Poisson counts would."""
    table = found.ladder.table
    if table.target.kind != "count":
        return
    predictions = found.ladder.held_out[found.winner.name]
    y, w = table.y[predictions.rows], table.w[predictions.rows]
    ratio = dispersion(y, predictions.mean, w)
    if not ratio.shown(LEVEL):
        return
    text = (
        f"Around the predictions of the best model the counts vary {number(ratio.ratio)} times "
        "as much as Poisson counts would."
    )
    if table.target.family == "poisson":
        advice = (
            "Use --family negative_binomial, which allows for it; standard errors of "
            "Poisson regression are too small."
        )
        yield Finding("over-dispersion", "warning", text, advice, code="LK203")
    else:
        family = table.target.family.replace("_", " ")
        advice = f"The {family} family, which is used here, allows for that."
        yield Finding("over-dispersion", "note", text, advice, code="LK203")
