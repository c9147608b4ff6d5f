"""How well a detector does on each image of a test, and on all of them."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from likely.data import AnnotatedImages
from likely.evaluate import event_error
from likely.vision import Detections
from likely.vision.boxes import mean_average_precision
from likely.vision.detection.calibration import partners
from likely.vision.detection.detections import as_lists

MIN_SCORE = 0.5
"""The score from which on a detection counts in a case."""


@dataclasses.dataclass(frozen=True)
class Case:
    """One image of the test.

    Attributes:
        number: of the image in the test.
        name: its file.
        found: objects that were found.
        missed: objects that were not.
        false: detections that are no object.
        quality: the harmonic mean of precision and recall; 1 where there is nothing to find
            and nothing was found.
    """

    number: int
    name: str
    found: int
    missed: int
    false: int
    quality: float


def cases_of(test: AnnotatedImages, detections: Sequence[Detections]) -> list[Case]:
    """The cases of a test, from best to worst; of equal ones that with more objects first."""
    cases = []
    for i, each in enumerate(detections):
        sure = each.scores >= MIN_SCORE
        partner = partners(
            each.boxes[sure], each.labels[sure], each.scores[sure],
            test.boxes[i], test.labels[i],
        )  # fmt: skip
        found, false = int((partner >= 0).sum()), int((partner < 0).sum())
        missed = len(test.boxes[i]) - found
        total = 2 * found + missed + false
        name = test.names[i] if test.names else f"image {i}"
        quality = 2 * found / total if total else 1.0
        cases.append(Case(i, name, found, missed, false, quality))
    return sorted(cases, key=lambda c: (-c.quality, -c.found, c.missed + c.false))


def measured(
    test: AnnotatedImages, detections: Sequence[Detections], seed: int
) -> dict[str, Any]:
    """Numbers of a whole test: precision by class, with errors, and calibration.

    Args:
        test: images with boxes.
        detections: of all scores.
        seed: of the resamples of the errors.
    """
    lists = as_lists(list(detections))
    half = mean_average_precision(
        test.boxes, test.labels, **lists, iou_thresholds=0.5, random_state=seed
    )
    every = mean_average_precision(test.boxes, test.labels, **lists, n_resamples=0)
    right, p = [], []
    for each, boxes, labels in zip(detections, test.boxes, test.labels, strict=True):
        right.append(partners(each.boxes, each.labels, each.scores, boxes, labels) >= 0)
        p.append(each.scores)
    happened, scores = np.concatenate(right), np.concatenate(p)
    some = scores >= 0.05
    error = event_error(happened[some], scores[some]).value if some.any() else None
    return {
        "map50": _number(half.mean),
        "map50_error": _number(half.std_error),
        "map": _number(every.mean),
        "by_class": {str(k): _number(v) for k, v in half.by_class.items()},
        "calibration_error": None if error is None else _number(error),
    }


def _number(value: float) -> float | None:
    """A number as JSON has it; None for one that is not known."""
    return round(float(value), 4) if np.isfinite(value) else None
