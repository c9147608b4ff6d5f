"""LK107: labels that contradict the model where it is surest."""

import numpy as np

from likely.core.written_numbers import counted, percent
from likely.diagnostics.checks.finding import DoesNotApply, Finding
from likely.diagnostics.checks.subject import Subject
from likely.diagnostics.rows.label_noise import label_noise

MIN_SHARE = 0.06
"""The least share of contradicting labels: some of what people do is random too."""
MIN_DISTINCT = 8
"""Different confidences from which on a curve over them can be told from a step."""


def noise_finding(
    codes: np.ndarray, probs: np.ndarray, w: np.ndarray, level: float
) -> Finding | None:
    """The finding about wrong labels, from held-out probabilities.

    Args:
        codes: the class of each row, as a number from 0.
        probs: (n, c) held-out probabilities.
        w: how often each row counts.
        level: the probability of finding noise where there is none.
    """
    if len(np.unique(probs.max(1))) < MIN_DISTINCT:
        return None
    present = np.bincount(codes.astype(int), w, probs.shape[1]) > 0
    if present.sum() < 2:
        return None
    kept = np.searchsorted(np.flatnonzero(present), codes.astype(int))
    found = label_noise(
        None, y=kept, probs=probs[:, present], sample_weight=w, level=level
    )
    if not found.shown or found.ceiling.share < MIN_SHARE:
        return None
    k = len(found.candidates)
    some = ""
    if k:
        some = (
            f" {counted(k, 'row')} stand out, of which about "
            f"{percent(found.expected_precision, 0)} are expected to be wrong."
        )
    text = (
        f"Some labels look wrong, or a part of the outcome is random: where the model is "
        f"surest {found.ceiling.sentence}.{some}"
    )
    numbers = {
        "share": found.ceiling.share,
        "error": found.ceiling.error,
        "p": found.ceiling.p_value,
        "candidates": float(k),
    }
    advice = "Look at these rows (label_noise names them), and correct what is wrong."
    return Finding("label noise", "warning", text, advice, numbers=numbers)


def noisy_labels(subject: Subject) -> Finding | None:
    """Whether labels look wrong."""
    if not subject.has_probabilities:
        raise DoesNotApply("it has no probabilities of classes")
    rows = subject.held_out
    return noise_finding(rows.y, rows.mean, rows.w, subject.level)
