"""Findings about models compared: worse than none, or no better than a simpler one."""

from collections.abc import Iterator

from likely import evaluate
from likely.core.written_numbers import with_error
from likely.diagnostics.checks.finding import Finding
from likely.workbench.findings.measured import Measured
from likely.workbench.report.facts import Winner


def overfitting_findings(found: Measured) -> Iterator[Finding]:
    """Models that are worse than the null model, or none that is better."""
    ladder = found.ladder
    null = ladder.held_out["null"]
    worse: list[str] = []
    for name, predictions in ladder.held_out.items():
        w = ladder.table.w[predictions.rows]
        gap = evaluate.paired_difference(predictions.loss, null.loss, w)
        if name in ladder.candidates and gap.value > 2 * gap.error > 0:
            worse.append(ladder.candidates[name].label)
    if worse:
        text = f"Worse than the null model on held-out rows: {', '.join(worse)}."
        advice = "They overfit: there is too little signal, or there are too few rows."
        if ladder.table.group_name:
            advice += " New groups may also differ from those that they know."
        yield Finding("overfitting", "note", text, advice)
    elif found.winner.name == "null":
        text = "No model is better than the null model: the columns do not predict the target."
        advice = "Try other columns, or more rows."
        yield Finding("signal", "warning", text, advice, code="LK403")


def simpler_findings(winner: Winner) -> Iterator[Finding]:
    """A simpler model that is as good within error."""
    simpler = winner.simpler
    if simpler is None or simpler.name == "null":
        return
    text = (
        f"A simpler model is as good within error: the {simpler.label} is "
        f"{with_error(simpler.behind, simpler.error)} nats per row behind the "
        f"{winner.label}."
    )
    advice = f"To use it instead, fit with --models {simpler.name}."
    yield Finding("simpler model", "note", text, advice, code="LK401")
