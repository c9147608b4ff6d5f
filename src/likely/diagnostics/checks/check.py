"""The checks of a fitted predictor and its data."""

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from likely.core.checks import InputError, suggestion
from likely.core.written_numbers import counted, listed
from likely.diagnostics.checks.finding import DoesNotApply, Finding
from likely.diagnostics.checks.inputs import subject_of
from likely.diagnostics.checks.registry import CHECKS, CODES, Check
from likely.diagnostics.checks.subject import Options, Subject
from likely.diagnostics.result import Result

CANNOT = (InputError, ValueError, np.linalg.LinAlgError, FloatingPointError)
"""Errors of data that a check cannot work with."""


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class CheckReport(Result):
    """What the checks found.

    Attributes:
        findings: warnings first, then notes, in the order of their numbers.
        quiet: the numbers of the checks that found nothing.
        not_run: why checks do not apply, by their number.
    """

    findings: tuple[Finding, ...]
    quiet: tuple[str, ...]
    not_run: Mapping[str, str]

    @property
    def codes(self) -> tuple[str, ...]:
        """The numbers of the checks that found something."""
        return tuple(finding.code for finding in self.findings)

    def __getitem__(self, code: str) -> Finding:
        """The finding of a check, such as `report["LK101"]`."""
        for finding in self.findings:
            if finding.code == code:
                return finding
        raise KeyError(
            f"{code} found nothing; {', '.join(self.codes) or 'no check'} did."
        )

    @property
    def verdict(self) -> str:
        """How many checks found something."""
        ran = counted(len(self.quiet) + len(self.findings), "check")
        if not self.findings:
            return f"Nothing to report: {ran} ran, {len(self.not_run)} do not apply."
        levels = [f.level for f in self.findings]
        said = [
            counted(levels.count(level), level)
            for level in ("warning", "note")
            if level in levels
        ]
        return (
            f"{listed(said).capitalize()} from {ran}; {len(self.not_run)} do not apply."
        )

    def table(self) -> dict[str, Any]:
        """The findings."""
        return {
            "check": [f.code for f in self.findings],
            "level": [f.level for f in self.findings],
            "about": [f.kind for f in self.findings],
            "finding": [f.text for f in self.findings],
        }

    def __str__(self) -> str:
        parts = [
            f"{f.code} {f.level}: {f.kind}\n  {f.text}\n  {f.advice}"
            for f in self.findings
        ]
        return "\n\n".join([self.verdict, *parts])

    __repr__ = __str__

    def plot(self) -> Any:
        """All checks with what they found."""
        from likely.plots import check_list

        titles = {check.code: check.title for check in CHECKS}
        return check_list(self, titles)


def check(
    model: Any,
    X: Any,
    y: Any,
    *,
    X_test: Any = None,
    y_test: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    time: Any = None,
    groups_test: Any = None,
    time_test: Any = None,
    skip: Sequence[str] = (),
    cv: int = 5,
    coverage: float = 0.9,
    level: float = 0.05,
    random_state: int = 0,
) -> CheckReport:
    """Check a fitted predictor and its data, and report only what matters.

    Where there are no test rows, copies of the model are fitted to folds of the rows, so that
    rows are judged by fits that did not see them: `cv` fits, and as many again where groups
    or times are given.

    Args:
        model: a fitted predictor of `likely` or scikit-learn, a pipeline, or a search.
        X: (n, d) the inputs that it was fitted to: an array or a frame.
        y: (n,) their targets.
        X_test: inputs of rows that it was not fitted to, if there are any.
        y_test: their targets.
        sample_weight: how often each row counts.
        groups: (n,) what each row belongs to: a person, a firm. Many groups are held out
            whole; in few ones coverage is checked.
        time: (n,) when each row was observed: numbers or dates.
        groups_test: the groups of the test rows.
        time_test: the times of the test rows.
        skip: numbers of checks to leave out, such as ("LK106",).
        cv: the number of folds.
        coverage: of the predictive intervals or sets that are checked.
        level: about the probability that a table without any fault has a finding. It is
            shared by all checks, and what is significant has to be large enough to matter.
        random_state: a seed for the folds.

    Examples:
        >>> table = lk.data.diabetes()
        >>> model = lk.LinearRegression().fit(table.X, table.y)
        >>> lk.check(model, table.X, table.y).codes
        ('LK202',)
    """
    options = Options(cv, coverage, level, random_state)
    known, new = (
        (X, y, sample_weight, groups, time),
        (X_test, y_test, groups_test, time_test),
    )
    subject = subject_of(model, known, new, options, len(CHECKS))
    for code in skip:
        if code not in CODES:
            known = suggestion(code, list(CODES), "the checks are")
            raise InputError(f"skip has {code!r}, which is no check; {known}")
    findings, quiet, not_run = {}, [], {}
    for one in CHECKS:
        if one.code in skip:
            not_run[one.code] = "left out"
            continue
        try:
            found = _run(one, subject)
        except DoesNotApply as reason:
            not_run[one.code] = str(reason)
            continue
        except CANNOT as error:
            not_run[one.code] = f"it could not be made: {error}"
            continue
        if found is None:
            quiet.append(one.code)
        else:
            findings[one.code] = dataclasses.replace(found, code=one.code)
    explained = {c for found in findings for c in CODES[found].explains if c != found}
    kept = [f for code, f in findings.items() if code not in explained]
    quiet = sorted([*quiet, *(code for code in findings if code in explained)])
    kept.sort(key=lambda f: (f.level != "warning", not f.first, f.code))
    return CheckReport(tuple(kept), tuple(quiet), not_run)


def _run(one: Check, subject: Subject) -> Finding | None:
    """A check, without the warnings of the fits that it makes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return one.run(subject)
