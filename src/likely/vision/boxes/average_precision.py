r"""Mean average precision: how well a detector ranks true boxes above false ones.

Detections of a class in all images are gone through by falling score. One is true if it
overlaps an object of its class, in its image, that no better one has found, by at least a
threshold of IoU. Precision p is the share of true ones so far, recall r the share of objects
found; made to fall, p(r) = max over r' ≥ r, and averaged,

    AP = 1/101 Σ p(r),  r = 0, 0.01, ..., 1     (COCO)
    AP = ∫ p(r) dr                              (VOC since 2010)
    AP = 1/11 Σ p(r),   r = 0, 0.1, ..., 1      (VOC 2007)

and then over classes, and for COCO over the thresholds 0.5, 0.55, ..., 0.95.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError, check_choice, check_weights
from likely.evaluate.assignment import generator_of
from likely.inference.bootstrap import resampled_weights
from likely.vision.boxes.detections import (
    Protocol,
    class_outcome,
    detections_of,
    objects_of,
)

PROTOCOLS = ("coco", "voc", "voc2007")
COCO_THRESHOLDS = np.linspace(0.5, 0.95, 10)


@dataclass(frozen=True)
class MeanAveragePrecision:
    """Mean average precision, with its error over images.

    Attributes:
        mean: over classes and thresholds; NaN if no image has an object.
        std_error: standard deviation of the mean over resamples of the images.
        resamples: (b,) the mean of each resample.
        classes: (c,) the labels of true objects.
        thresholds: (t,) the IoU a detection needs.
        table: (t, c) average precision.
        recalls: (r,) where precision was read; empty for "voc".
        curves: (t, c, r) precision there.
    """

    mean: float
    std_error: float
    resamples: Float[np.ndarray, " b"]
    classes: np.ndarray
    thresholds: Float[np.ndarray, " t"]
    table: Float[np.ndarray, "t c"]
    recalls: Float[np.ndarray, " r"]
    curves: Float[np.ndarray, "t c r"]

    @property
    def by_class(self) -> dict[Any, float]:
        """Average precision of each class, the mean over thresholds."""
        return dict(
            zip(self.classes.tolist(), self.table.mean(0).tolist(), strict=True)
        )

    @property
    def by_threshold(self) -> dict[float, float]:
        """Mean average precision at each threshold."""
        means = self.table.mean(1) if self.classes.size else self.table.sum(1) * np.nan
        keys = np.round(self.thresholds, 6).tolist()
        return dict(zip(keys, means.tolist(), strict=True))

    def interval(self, coverage: float = 0.9) -> tuple[float, float]:
        """The central interval of the resampled means."""
        tails = (1 - coverage) / 2, (1 + coverage) / 2
        low, high = np.nanquantile(self.resamples, tails)
        return float(low), float(high)

    def __str__(self) -> str:
        return (
            f"mAP {self.mean:.3f} ± {self.std_error:.3f} ({len(self.classes)} classes)"
        )


def mean_average_precision(
    true_boxes: Sequence,
    true_labels: Sequence,
    boxes: Sequence,
    labels: Sequence,
    scores: Sequence,
    *,
    protocol: str = "coco",
    iou_thresholds: Any = None,
    ignored: Sequence | None = None,
    area_range: tuple[float | int, float | int] = (0.0, np.inf),
    max_detections: int | None = None,
    sample_weight: Any = None,
    n_resamples: int = 200,
    random_state: Any = 0,
) -> MeanAveragePrecision:
    """Mean average precision of detections, with a bootstrap error over images.

    Args:
        true_boxes: for each image, (g, 4) corners of its objects, also (0, 4).
        true_labels: for each image, (g,) their classes.
        boxes: for each image, (d, 4) corners of the detections.
        labels: for each image, (d,) their classes.
        scores: for each image, (d,) their scores; only the order matters.
        protocol: "coco", "voc" or "voc2007"; the two of VOC let a detection go only to the
            object that it overlaps most.
        iou_thresholds: one or more; None for those of the protocol: 0.5, ..., 0.95 for
            COCO and 0.5 for VOC.
        ignored: for each image, (g,) whether an object need not be found: regions of
            many objects in COCO, difficult ones in VOC. Detections of them do not count.
        area_range: objects of an area outside it are ignored (0 to 32² are "small" ones
            in COCO).
        max_detections: the number, for each class and image, that is looked at; None for
            100 in COCO, and for all in VOC.
        sample_weight: (n,) how often each image counts.
        n_resamples: how many resamples of the images the error is made from.
        random_state: seed or NumPy generator for them.
    """
    truth = objects_of(true_boxes, true_labels, ignored)
    found = detections_of(boxes, labels, scores)
    if len(truth) != len(found):
        raise InputError(
            f"there are objects of {len(truth)} images but detections of {len(found)}; "
            "give both for each image, in the same order (empty arrays where there are none)."
        )
    w = check_weights(sample_weight, len(truth))
    rules = _rules(protocol, iou_thresholds, max_detections, area_range)
    present = np.flatnonzero(w > 0)
    truth, found, w = (
        [truth[i] for i in present],
        [found[i] for i in present],
        w[present],
    )
    resamples = resampled_weights(w, n_resamples, generator_of(random_state))
    weights = np.concatenate([w[None], resamples])
    kinds = np.unique(np.concatenate([t.labels[~t.ignored] for t in truth]))
    results = [
        _of_class(class_outcome(k, truth, found, rules), weights, rules) for k in kinds
    ]
    return _summary(kinds, results, rules, n_resamples)


def _rules(
    protocol: str, thresholds: Any, most: int | None, area_range: Any
) -> Protocol:
    check_choice("protocol", protocol, PROTOCOLS)
    coco = protocol == "coco"
    if thresholds is None:
        thresholds = COCO_THRESHOLDS if coco else 0.5
    limits = np.atleast_1d(np.asarray(thresholds, np.float64))
    if limits.ndim != 1 or not limits.size or not ((limits > 0) & (limits <= 1)).all():
        raise InputError(
            f"iou_thresholds is {thresholds}; give numbers above 0 and up to 1."
        )
    points = {"coco": 101, "voc": 0, "voc2007": 11}[protocol]
    most = (100 if coco else np.iinfo(np.int64).max) if most is None else most
    recalls = np.linspace(0.0, 1.0, points)
    return Protocol(
        limits,
        recalls,
        not coco,
        int(most),
        (float(area_range[0]), float(area_range[1])),
    )


def _of_class(one: Any, weights: np.ndarray, rules: Protocol) -> tuple:
    """Average precision (m, t) of a class for each weighting, and its curves (t, r)."""
    from likely.vision.boxes.precision_kernel import average_precisions

    shape = len(weights), len(rules.thresholds)
    result, curves = np.empty(shape), np.empty((*shape, len(rules.recalls)))
    average_precisions(
        one.outcome, one.image, one.objects, weights, rules.recalls, curves, result
    )
    return result, curves[0]


def _summary(
    kinds: np.ndarray, results: list, rules: Protocol, n_resamples: int
) -> MeanAveragePrecision:
    """Means over classes with objects; a class without any in a resample is left out of it."""
    t = len(rules.thresholds)
    tables = np.stack([r[0] for r in results] or [np.empty((n_resamples + 1, t))], -1)
    tables = tables[..., : len(kinds)]  # (m, t, c)
    some = np.isfinite(tables).all(1).sum(-1)
    sums = np.nansum(tables, (1, 2))
    means = np.where(some > 0, sums / np.maximum(some * t, 1), np.nan)
    again = means[1:]
    usable = np.isfinite(again)
    curves = [r[1] for r in results] or [np.empty((t, len(rules.recalls)))]
    keep = tables[0, 0] >= 0 if len(kinds) else np.zeros(0, bool)
    return MeanAveragePrecision(
        mean=float(means[0]),
        std_error=float(again[usable].std(ddof=1))
        if usable.sum() > 1
        else float("nan"),
        resamples=again,
        classes=kinds[keep],
        thresholds=rules.thresholds,
        table=tables[0][:, keep],
        recalls=rules.recalls,
        curves=np.stack(curves, 1)[:, : len(kinds)][:, keep],
    )
