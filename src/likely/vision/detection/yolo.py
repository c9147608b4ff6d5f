"""YOLO: a grid of cells, each of which says what is centred in it, in one pass."""

from typing import Any, no_type_check

import numpy as np

from likely.base.settings import one_of, store
from likely.models.images.backbone import Backbone
from likely.vision.detection.anchors import anchors_of
from likely.vision.detection.detector import Detector
from likely.vision.detection.losses.grid import GridLoss
from likely.vision.detection.networks.grid import GridArchitecture
from likely.vision.detection.problem import DetectionProblem

LOSSES = ("likelihood", "squared")


class YOLODetector(Detector):
    """Objects in images by a grid of cells, in a single pass (You Only Look Once).

    Each cell says what is centred in it: the boxes, whether there is an object in them, and
    its class. As in the first version the boxes of a cell share their classes and are made
    from nothing; with `anchors` each box has classes of its own and changes an anchor.

    A part of the images is held out: the training keeps the weights of their lowest loss,
    and their detections calibrate the scores.

    Args:
        channels: the output channels of each stage of the network; s stages make cells of
            2^(s−1) by 2^(s−1) pixels.
        depth: convolutions of each stage after the first, one number for all or one for each;
            None is one in the first of them and then two.
        n_boxes: the boxes of a cell, where there are no anchors.
        anchors: how many anchors a cell has, whose sizes are found from the boxes of the fit;
            or (width, height) of each in shares of the sides of the image; None for none.
        loss: "likelihood": cross-entropies, and one minus the generalised IoU of boxes; or
            "squared": squared errors of everything, as in the first version.
        coordinates: the weight of errors of boxes.
        no_object: the weight of boxes without an object.
        activation: of hidden units, a name of `layers.ACTIVATIONS`.
        norm: "batch", "group" or None, after each convolution.
        image_size: (h, w) or one number for both, to which images are resized; None where all
            images have one size, which they keep.
        nms_threshold: boxes of a class that overlap by more than this IoU are one detection.
        min_score: detections with lower scores are not returned by `predict`.
        augment: a `BoxAugmentation`: how images are changed at random in training; "auto" for
            its defaults, None for no change.
        dtype: what to compute in, such as "bfloat16".
        alpha: strength of the Gaussian prior on the weights (not on the biases).
        solver: "adam", or a first-order solver of `likely.solvers`.
        learning_rate_init: of Adam.
        learning_rate: "constant", "cosine" (to zero at the end), "plateau", or a schedule of
            `likely.solvers`.
        batch_size: images in a minibatch.
        max_iter: epochs; "auto" is 60, or as many as make 3000 steps.
        clip_norm: the longest gradient, or None.
        weight_average: what is kept: None the last weights, a decay between 0 and 1 their
            exponential average, "uniform" the mean over the second half of the steps.
        early_stopping: whether to hold out a part of the images, to stop by and to calibrate
            by; "auto" does. With False scores are not calibrated and margins unknown.
        validation_fraction: how many, where `max_iter` is given.
        n_iter_no_change: epochs without a lower loss of held-out images before stopping.
        n_members: networks that are fitted as one program; their detections are merged.
        random_state: seed of first weights, batches, augmentation and the split.
        verbose: whether to show a progress bar.

    Attributes:
        classes_: the labels, sorted.
        canvas_: the shape of the images of the network, and how images are placed on it.
        calibration_: what held-out images say of scores and boxes.
        history_: the loss of each step, and of each look at the held-out images.
        loss_: the last training loss.
        n_iter_: epochs that were made.
        status_: how the training ended.
        n_parameters_: the parameters of a network.
    """

    channels: Any
    depth: Any
    activation: Any
    norm: Any
    n_boxes: Any
    anchors: Any
    loss: Any
    coordinates: Any
    no_object: Any
    dtype: Any

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        channels=(16, 32, 64, 128),
        depth=None,
        *,
        n_boxes=2,
        anchors=None,
        loss="likelihood",
        coordinates=5.0,
        no_object=0.5,
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
        clip_norm=None,
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
        return self._body.stride

    @property
    def _body(self) -> Backbone:
        return Backbone(self.channels, self.depth, self.activation, self.norm)

    def _problem(self, targets: np.ndarray) -> DetectionProblem:
        anchors = anchors_of(targets, self.anchors)
        n_boxes = len(anchors) if anchors else int(self.n_boxes)
        architecture = GridArchitecture(self._body, n_boxes, anchors, self.dtype)
        kind = one_of("loss", self.loss, LOSSES)
        h, w, _ = self.canvas_.shape
        loss = GridLoss(
            (h // self._stride, w // self._stride),
            kind,
            float(self.coordinates),
            float(self.no_object),
        )
        return DetectionProblem(architecture, loss, len(self.classes_))
