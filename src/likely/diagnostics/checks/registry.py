"""The list of checks, in the order of their numbers."""

from collections.abc import Callable
from typing import NamedTuple

from likely.diagnostics.checks.calibration import miscalibrated
from likely.diagnostics.checks.claims import no_signal, too_few_rows
from likely.diagnostics.checks.collinearity import collinear
from likely.diagnostics.checks.convergence import not_converged
from likely.diagnostics.checks.coverage import wrong_coverage, wrong_coverage_in_parts
from likely.diagnostics.checks.dependence import entity_leakage, time_leakage
from likely.diagnostics.checks.dispersion import over_dispersed
from likely.diagnostics.checks.duplicates import copies
from likely.diagnostics.checks.edges import at_edge
from likely.diagnostics.checks.finding import Finding
from likely.diagnostics.checks.influential import decisive_rows
from likely.diagnostics.checks.leakage import leaks, perfect
from likely.diagnostics.checks.noise import noisy_labels
from likely.diagnostics.checks.separation import separated
from likely.diagnostics.checks.shift import drifted
from likely.diagnostics.checks.simpler import no_gain, simpler_is_better
from likely.diagnostics.checks.subject import Subject
from likely.diagnostics.checks.tails import heavy_tails


class Check(NamedTuple):
    """A numbered check."""

    code: str
    title: str
    run: Callable[[Subject], Finding | None]
    explains: tuple[str, ...] = ()
    """Checks whose findings follow from this one's, and are left out beside it."""


UNSUPPORTED = ("LK304", "LK401", "LK402", "LK403")
"""Findings of a model that predicts nothing, or not enough."""
UNRELIABLE = ("LK207", "LK301", "LK302", "LK303")
"""Findings about numbers that a better fit would change."""
CHECKS = (
    Check("LK101", "a column tells the target", leaks, ("LK102", "LK401")),
    Check("LK102", "too good to be true", perfect),
    Check("LK103", "copies of rows across a split", copies, ("LK102",)),
    Check("LK104", "rows of one group across a split", entity_leakage, UNSUPPORTED),
    Check("LK105", "neighbours in time across a split", time_leakage),
    Check("LK106", "drift", drifted),
    Check("LK107", "label noise", noisy_labels, ("LK301", "LK302")),
    Check("LK201", "separation", separated, ("LK205", "LK207", "LK301", "LK302")),
    Check("LK202", "collinearity", collinear),
    Check(
        "LK203", "over-dispersion", over_dispersed, ("LK302", "LK303", "LK207", "LK402")
    ),
    Check("LK204", "heavy tails", heavy_tails, ("LK301", "LK302")),
    Check("LK205", "not converged", not_converged, (*UNSUPPORTED, *UNRELIABLE)),
    Check("LK206", "a search that stopped at its edge", at_edge),
    Check("LK207", "single rows decide the fit", decisive_rows),
    Check("LK301", "miscalibration", miscalibrated, ("LK302",)),
    Check("LK302", "coverage", wrong_coverage),
    Check(
        "LK303", "coverage in parts of the rows", wrong_coverage_in_parts, ("LK204",)
    ),
    Check("LK304", "interpolation without gain", no_gain, ("LK301", *UNSUPPORTED)),
    Check("LK401", "a better simple model", simpler_is_better, ("LK402", "LK403")),
    Check("LK402", "too few rows for the claim", too_few_rows),
    Check("LK403", "no signal", no_signal),
)
"""All checks."""
CODES = {check.code: check for check in CHECKS}
