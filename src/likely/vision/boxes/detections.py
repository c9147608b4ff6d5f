"""Detections and true objects of many images, arranged by class for average precision."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from likely.core.checks import InputError
from likely.vision.boxes.arrays import as_table, one_each, scores_of
from likely.vision.boxes.formats import area
from likely.vision.boxes.overlap import iou


class Objects(NamedTuple):
    """The true objects of an image: corners, labels, and which need not be found."""

    boxes: np.ndarray
    labels: np.ndarray
    ignored: np.ndarray


class Detections(NamedTuple):
    """The detections in an image: corners, labels, scores."""

    boxes: np.ndarray
    labels: np.ndarray
    scores: np.ndarray


class Protocol(NamedTuple):
    """The rules of a benchmark: thresholds, recalls to read at, who is matched with whom."""

    thresholds: np.ndarray
    recalls: np.ndarray
    strict: bool
    max_detections: int
    area_range: tuple[float, float]


class ClassOutcome(NamedTuple):
    """One class in all images: what became of its detections, by falling score."""

    outcome: np.ndarray
    """(t, d) int8, see `precision_kernel`."""
    image: np.ndarray
    """(d,) the image of each detection."""
    objects: np.ndarray
    """(n,) objects to be found in each image."""


def objects_of(boxes: Sequence, labels: Sequence, ignored: Any) -> list[Objects]:
    """The true objects of each image, checked."""
    if len(boxes) != len(labels):
        raise InputError(
            f"there are true boxes of {len(boxes)} images and true labels of "
            f"{len(labels)}; give both for each image."
        )
    if ignored is not None and len(ignored) != len(boxes):
        raise InputError(
            f"there are true boxes of {len(boxes)} images and ignored flags of "
            f"{len(ignored)}; give both for each image."
        )
    found = []
    for i, (b, k) in enumerate(zip(boxes, labels, strict=True)):
        table = as_table(b, f"true_boxes of image {i}")
        flags = np.zeros(len(table), bool) if ignored is None else ignored[i]
        flags = one_each(flags, len(table), f"ignored of image {i}").astype(bool)
        found.append(
            Objects(table, one_each(k, len(table), f"true_labels of image {i}"), flags)
        )
    return found


def detections_of(
    boxes: Sequence, labels: Sequence, scores: Sequence
) -> list[Detections]:
    """The detections of each image, checked."""
    if not len(boxes) == len(labels) == len(scores):
        raise InputError(
            f"there are boxes of {len(boxes)}, labels of {len(labels)} and scores of "
            f"{len(scores)} images; give all three for each image."
        )
    found = []
    for i, (b, k, s) in enumerate(zip(boxes, labels, scores, strict=True)):
        table = as_table(b, f"boxes of image {i}")
        label = one_each(k, len(table), f"labels of image {i}")
        found.append(Detections(table, label, scores_of(s, len(table))))
    return found


def class_outcome(
    label: Any, truth: Sequence[Objects], found: Sequence[Detections], rules: Protocol
) -> ClassOutcome:
    """What became of the detections of one class in all images."""
    parts = [_in_image(label, t, d, rules) for t, d in zip(truth, found, strict=True)]
    outcome = np.concatenate([p[0] for p in parts], 1)
    scores = np.concatenate([p[1] for p in parts])
    image = np.repeat(np.arange(len(parts)), [len(p[1]) for p in parts])
    order = np.argsort(-scores, kind="stable")
    objects = np.array([p[2] for p in parts], np.float64)
    return ClassOutcome(np.ascontiguousarray(outcome[:, order]), image[order], objects)


def _in_image(label: Any, truth: Objects, found: Detections, rules: Protocol) -> Any:
    """Outcome (t, d) and scores (d,) of detections, and the number of objects to find."""
    from likely.vision.boxes.precision_kernel import FALSE, IGNORED, find_partners

    mine, theirs = np.flatnonzero(found.labels == label), truth.labels == label
    mine = mine[np.argsort(-found.scores[mine], kind="stable")][: rules.max_detections]
    boxes, objects, regions = (
        found.boxes[mine],
        truth.boxes[theirs],
        truth.ignored[theirs],
    )
    ignored = regions | ~_within(area(objects), rules.area_range)
    last = np.argsort(ignored, kind="stable")
    objects, regions, ignored = objects[last], regions[last], ignored[last]
    overlaps = iou(boxes, objects)
    if regions.any() and not rules.strict:
        overlaps[:, regions] = _share_inside(boxes, objects[regions])
    outcome = np.zeros((len(rules.thresholds), len(boxes)), np.int8)
    find_partners(overlaps, ignored, regions, rules.thresholds, rules.strict, outcome)
    outside = ~_within(area(boxes), rules.area_range)
    outcome[(outcome == FALSE) & outside] = IGNORED
    return outcome, found.scores[mine], int((~ignored).sum())


def _within(values: np.ndarray, bounds: tuple[float, float]) -> np.ndarray:
    return (values >= bounds[0]) & (values <= bounds[1])


def _share_inside(boxes: np.ndarray, regions: np.ndarray) -> np.ndarray:
    """(d, g) the share of the area of each box that is inside each region."""
    low = np.maximum(boxes[:, None, :2], regions[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], regions[None, :, 2:])
    shared = np.prod(np.maximum(high - low, 0), -1)
    whole = area(boxes)[:, None]
    return np.divide(shared, whole, out=np.zeros_like(shared), where=whole > 0)
