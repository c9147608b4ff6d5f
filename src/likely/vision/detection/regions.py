"""R-CNN, Fast R-CNN and Faster R-CNN: proposals first, then what is in each of them."""

from typing import Any, no_type_check

import numpy as np

from likely.base.settings import at_least, store
from likely.models.images.backbone import Backbone
from likely.vision.detection.anchors import anchors_of
from likely.vision.detection.detector import Detector
from likely.vision.detection.losses.regions import RegionLoss
from likely.vision.detection.networks.regions import RegionArchitecture
from likely.vision.detection.problem import DetectionProblem

CHOICES = 4
"""Boxes that are looked at for each proposal that is made."""


def region_problem(detector: Any, targets: np.ndarray, kind: str) -> DetectionProblem:
    """The network of regions that the settings of a detector describe, and its loss.

    Args:
        detector: with its settings.
        targets: packed.
        kind: "crops", "map" or "proposals".
    """
    count = at_least("n_proposals", detector.n_proposals, 1, whole=True)
    architecture = RegionArchitecture(
        body_of(detector),
        anchors_of(targets, detector.anchors),
        kind,
        count,
        CHOICES * count,
        at_least("pool", detector.pool, 1, whole=True),
        at_least("hidden", detector.hidden, 1, whole=True),
        detector.dtype,
    )
    loss = RegionLoss(float(detector.coordinates), float(detector.background))
    return DetectionProblem(architecture, loss, len(detector.classes_))


def body_of(detector: Any) -> Backbone:
    """The layers from images to features."""
    return Backbone(
        detector.channels, detector.depth, detector.activation, detector.norm
    )


class FasterRCNNDetector(Detector):
    """Objects in images by proposals that a network makes, and what is in each of them.

    The image becomes one map of features; a small network slides over it and proposes boxes;
    the features of each proposal (RoI align) say its class and move its box. All is trained
    together.

    The other arguments and the attributes are those of `YOLODetector`.

    Args:
        channels: the output channels of each stage of the network; s stages make cells of
            2^(s−1) by 2^(s−1) pixels.
        depth: convolutions of each stage after the first, one number for all or one for each;
            None is one in the first of them and then two.
        anchors: how many anchors a position has, whose sizes are found from the boxes of the
            fit; or (width, height) of each in shares of the sides of the image.
        n_proposals: proposals of an image.
        pool: the sides of the features of a proposal.
        hidden: units of the head.
        coordinates: the weight of errors of boxes.
        background: the weight of proposals without an object.
    """

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        channels=(16, 32, 64),
        depth=None,
        *,
        anchors=3,
        n_proposals=24,
        pool=6,
        hidden=128,
        coordinates=1.0,
        background=1.0,
        activation="relu",
        norm="batch",
        image_size=None,
        nms_threshold=0.45,
        min_score=0.1,
        augment="auto",
        dtype=None,
        alpha=1.0,
        solver="adam",
        learning_rate_init=2e-3,
        learning_rate="cosine",
        batch_size=32,
        max_iter: Any = "auto",
        clip_norm=10.0,
        weight_average=None,
        early_stopping: Any = "auto",
        validation_fraction=0.1,
        n_iter_no_change=20,
        n_members: Any = 1,
        random_state=0,
        verbose=False,
    ):
        store(self, locals())

    @property
    def _stride(self) -> int:
        return body_of(self).stride

    def _problem(self, targets: np.ndarray) -> DetectionProblem:
        return region_problem(self, targets, "proposals")


class FastRCNNDetector(Detector):
    """Objects in images by windows whose features come from one map.

    As `FasterRCNNDetector`, but proposals are windows in which the brightness changes more than
    around them; no network makes them. What has no edges is not proposed.

    The other arguments and the attributes are those of `FasterRCNNDetector`.

    Args:
        anchors: the sizes of windows: how many are found from the boxes of the fit, or
            (width, height) of each in shares of the sides of the image.
        n_proposals: proposals of an image.
    """

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        channels=(16, 32, 64),
        depth=None,
        *,
        anchors=5,
        n_proposals=64,
        pool=6,
        hidden=128,
        coordinates=1.0,
        background=1.0,
        activation="relu",
        norm="batch",
        image_size=None,
        nms_threshold=0.45,
        min_score=0.1,
        augment="auto",
        dtype=None,
        alpha=1.0,
        solver="adam",
        learning_rate_init=2e-3,
        learning_rate="cosine",
        batch_size=32,
        max_iter: Any = "auto",
        clip_norm=10.0,
        weight_average=None,
        early_stopping: Any = "auto",
        validation_fraction=0.1,
        n_iter_no_change=20,
        n_members: Any = 1,
        random_state=0,
        verbose=False,
    ):
        store(self, locals())

    @property
    def _stride(self) -> int:
        return body_of(self).stride

    def _problem(self, targets: np.ndarray) -> DetectionProblem:
        return region_problem(self, targets, "map")


class RCNNDetector(Detector):
    """Objects in images by windows that are cut out, each for itself.

    Windows in which the brightness changes more than around them are cut out, resized and sent
    through a network, one by one: the oldest and slowest of the family, kept to be compared
    with `FastRCNNDetector`, which does the same with one pass.

    The other arguments and the attributes are those of `FastRCNNDetector`.

    Args:
        channels: the output channels of each stage of the network of a window.
        depth: convolutions of each stage after the first.
        pool: the sides to which windows are resized, in pixels.
    """

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        channels=(16, 32, 64),
        depth=1,
        *,
        anchors=5,
        n_proposals=64,
        pool=24,
        hidden=128,
        coordinates=1.0,
        background=1.0,
        activation="relu",
        norm="batch",
        image_size=None,
        nms_threshold=0.45,
        min_score=0.1,
        augment="auto",
        dtype=None,
        alpha=1.0,
        solver="adam",
        learning_rate_init=2e-3,
        learning_rate="cosine",
        batch_size=32,
        max_iter: Any = "auto",
        clip_norm=10.0,
        weight_average=None,
        early_stopping: Any = "auto",
        validation_fraction=0.1,
        n_iter_no_change=20,
        n_members: Any = 1,
        random_state=0,
        verbose=False,
    ):
        store(self, locals())

    @property
    def _stride(self) -> int:
        return 4

    def _problem(self, targets: np.ndarray) -> DetectionProblem:
        return region_problem(self, targets, "crops")
