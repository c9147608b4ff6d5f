"""All findings of a run, in the order in which they are to be read."""

from likely.diagnostics.checks.finding import Finding
from likely.workbench.findings.columns import (
    column_findings,
    pooled_levels_findings,
    text_findings,
)
from likely.workbench.findings.comparison import overfitting_findings, simpler_findings
from likely.workbench.findings.families import coefficient_findings, dispersion_findings
from likely.workbench.findings.intervals import (
    calibration_findings,
    coverage_findings,
    group_coverage_findings,
)
from likely.workbench.findings.leakage import (
    copy_findings,
    entity_findings,
    leakage_findings,
    too_good_findings,
)
from likely.workbench.findings.measured import Measured
from likely.workbench.findings.rows import (
    event_findings,
    more_rows_findings,
    noise_findings,
    row_findings,
)


def all_findings(found: Measured) -> tuple[Finding, ...]:
    """All findings of a run: what has to be read first, other warnings, notes."""
    table = found.ladder.table
    leaking = list(leakage_findings(table))
    findings = [
        *leaking,
        *([] if leaking else too_good_findings(found)),
        *column_findings(table, found.ladder.texts),
        *text_findings(found),
        *pooled_levels_findings(table),
        *row_findings(table),
        *copy_findings(table),
        *entity_findings(table),
        *event_findings(table),
        *coefficient_findings(found.simple, found.inflated),
        *dispersion_findings(found),
        *calibration_findings(found),
        *coverage_findings(found),
        *group_coverage_findings(found),
        *noise_findings(found),
        *overfitting_findings(found),
        *simpler_findings(found.winner),
        *more_rows_findings(found.learning_curve),
    ]
    return tuple(sorted(findings, key=lambda f: (not f.first, f.level != "warning")))
