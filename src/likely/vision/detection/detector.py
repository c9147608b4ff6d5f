"""The face of every detector: images with boxes in, boxes with calibrated scores out."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar

import equinox as eqx
import jax
import numpy as np
from jax.sharding import Mesh
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from likely.base.rows import weights_of
from likely.base.training.members import Network
from likely.base.training.options import IMAGES, Limits, TrainingOptions
from likely.base.training.trainer import Observers, member_of, stacked
from likely.base.training.unsupervised import HeldOutRows, train_unsupervised
from likely.core.checks import InputError
from likely.core.precision import precision_of
from likely.core.rows import pad_rows
from likely.files import save
from likely.solvers.training import Callback, Checkpoints
from likely.typing import Batch
from likely.vision.boxes import MeanAveragePrecision, mean_average_precision
from likely.vision.detection.augmentation import BoxAugmentation
from likely.vision.detection.calibration import (
    UNCALIBRATED,
    DetectionCalibration,
    calibrate,
)
from likely.vision.detection.detections import Detections, as_lists, selected
from likely.vision.detection.images import ImageCanvas, checked_images
from likely.vision.detection.networks.candidates import Candidates
from likely.vision.detection.objects import (
    checked_boxes,
    checked_labels,
    classes_of,
    codes_of,
)
from likely.vision.detection.problem import DetectionProblem
from likely.vision.detection.targets import packed, unpacked

MAX_TOGETHER = 128
"""Images that go through the networks together."""
DETECTORS = IMAGES._replace(
    epochs=60,
    steps=3000,
    ensemble_rows=0,
    batch_rows=32,
    rate=2e-3,
    learning_rate="cosine",
)
"""How detectors are trained where their settings leave that open."""


class Detector(BaseEstimator, ABC):
    """What every detector offers; one writes `_problem` and `_stride`."""

    _limits: ClassVar[Limits] = DETECTORS
    image_size: Any
    augment: Any
    nms_threshold: Any
    min_score: Any
    phi_: Network
    n_iter_: int
    classes_: np.ndarray
    canvas_: ImageCanvas
    calibration_: DetectionCalibration

    @abstractmethod
    def _problem(self, targets: np.ndarray) -> DetectionProblem:
        """The network and its loss, for packed targets."""

    @property
    @abstractmethod
    def _stride(self) -> int:
        """The sides of a cell of the network, in pixels."""

    def fit(
        self,
        images: Any,
        boxes: Any,
        labels: Any,
        sample_weight: Any = None,
        *,
        validation: tuple[Any, Any, Any] | None = None,
        callbacks: Callback | Sequence[Callback] = (),
        checkpoints: Checkpoints | str | PathLike | None = None,
        resume: bool = False,
        mesh: Mesh | None = None,
    ):
        """Learn from images with boxes.

        Args:
            images: (n, h, w) or (n, h, w, c), or a list of images; bytes become numbers
                from 0 to 1.
            boxes: for each image (k, 4) corners (x0, y0, x1, y1) in pixels.
            labels: for each image (k,) what is in the boxes.
            sample_weight: (n,) how often each image counts.
            validation: other images, boxes and labels, to stop early and to calibrate by;
                some of those above where None.
            callbacks: functions of an `Event`; one that returns True ends the fit.
            checkpoints: a folder to save the run in, or `Checkpoints`.
            resume: whether to go on from there.
            mesh: devices that share each batch; several members share them anyway.
        """
        given = checked_images(images)
        self.canvas_ = ImageCanvas.of(given, self.image_size, self._stride)
        corners = checked_boxes(boxes, given)
        names = checked_labels(labels, corners)
        self.classes_ = classes_of(names)
        batch = self._batch(given, corners, names, sample_weight)
        batch = Batch(*(a[batch.w > 0] for a in batch))
        other = None if validation is None else self._others(*validation, batch)
        if other is None:
            batch, other = self._split(batch)
        held = train_unsupervised(
            self,
            self._problem(batch.y),
            batch,
            limits=self._limits,
            validation=other,
            observers=Observers(callbacks, checkpoints, resume, mesh),
            augment=self._augmentation(),
        )
        self.calibration_ = self._calibrated(held)
        return self

    def _batch(
        self, images: list[np.ndarray], boxes: Any, labels: Any, sample_weight: Any
    ) -> Batch:
        """Images on the canvas, packed targets, weights."""
        canvas = self.canvas_
        shares = [
            canvas.shares(b, image) for b, image in zip(boxes, images, strict=True)
        ]
        codes = codes_of(labels, self.classes_)
        w = weights_of(sample_weight, len(images))
        return Batch(canvas.place(images), packed(shares, codes), np.asarray(w))

    def _others(self, images: Any, boxes: Any, labels: Any, like: Batch) -> Batch:
        """Validation images, with as many rows of targets as the images of the fit."""
        given = checked_images(images)
        corners = checked_boxes(boxes, given)
        batch = self._batch(given, corners, checked_labels(labels, corners), None)
        return batch._replace(y=_with_slots(batch.y, like.y.shape[1]))

    def _split(self, batch: Batch) -> tuple[Batch, Batch | None]:
        """Images to learn from, and others where the training is told how long it is."""
        options = TrainingOptions.of(self)
        if options.cross_fitted or options.early_stopping is False or len(batch.w) < 2:
            return batch, None
        return options.split(batch)

    def _augmentation(self) -> Any:
        if isinstance(self.augment, str):
            if self.augment != "auto":
                raise InputError(
                    f'augment is {self.augment!r}; give "auto", None, or a '
                    "`vision.BoxAugmentation`."
                )
            return BoxAugmentation()
        return self.augment

    def _calibrated(self, held: HeldOutRows) -> DetectionCalibration:
        """The calibration by images that a member has not seen."""
        phi = stacked(self.phi_)
        detections, objects = [], []
        for member in range(len(phi.solution.loss)):
            rows = held.of(member)
            if rows is None or (member and held.fold is None):
                continue
            own = phi if held.fold is None else stacked(member_of(phi, member))
            detections += self._selected(rows.x, own)
            boxes, codes, present = unpacked(rows.y)
            objects += [
                (b[p > 0], c[p > 0])
                for b, c, p in zip(boxes, codes, present, strict=True)
            ]
        return calibrate(detections, objects) if detections else UNCALIBRATED

    # Predicting ------------------------------------------------------------------------

    def predict(
        self,
        images: Any,
        *,
        min_score: float | None = None,
        coverage: float | None = None,
    ) -> list[Detections]:
        """What is found in each image: boxes, labels, calibrated scores.

        Args:
            images: as in `fit`.
            min_score: detections with lower scores are left out; that of the settings
                where None.
            coverage: the probability with which boxes with margins hold their objects; None
                for no margins.
        """
        check_is_fitted(self, "phi_")
        given = checked_images(images)
        least = float(self.min_score if min_score is None else min_score)
        found = self._selected(self.canvas_.place(given), stacked(self.phi_))
        results = []
        for (shares, codes, probs), image in zip(found, given, strict=True):
            scores = self.calibration_.scores(probs)
            keep = scores >= least
            boxes = self.canvas_.pixels(shares[keep], image)
            margins = None
            if coverage is not None:
                margins = self.calibration_.margins(boxes, coverage)
            results.append(
                Detections(boxes, self.classes_[codes[keep]], scores[keep], margins)
            )
        return results

    def evaluate(
        self,
        images: Any,
        boxes: Any,
        labels: Any,
        sample_weight: Any = None,
        **options: Any,
    ) -> MeanAveragePrecision:
        """Mean average precision, by class and with its error.

        Args:
            images: as in `fit`.
            boxes: for each image (k, 4) corners.
            labels: for each image (k,) labels.
            sample_weight: (n,) how often each image counts.
            options: of `vision.boxes.mean_average_precision`.
        """
        found = self.predict(images, min_score=0.0)
        options.setdefault("iou_thresholds", 0.5)
        return mean_average_precision(
            boxes, labels, **as_lists(found), sample_weight=sample_weight, **options
        )

    def score(
        self, images: Any, boxes: Any, labels: Any, sample_weight: Any = None
    ) -> float:
        """Mean average precision where a detection has to overlap its object by half."""
        return self.evaluate(images, boxes, labels, sample_weight, n_resamples=0).mean

    def save(
        self, path: str | PathLike, *, card: Mapping[str, Any] | None = None
    ) -> None:
        """Save to a file that holds no code; `likely.load` brings it back."""
        save(self, path, card=card)

    @property
    def n_parameters_(self) -> int:
        """The number of parameters of a network."""
        phi = stacked(self.phi_)
        leaves = jax.tree.leaves(eqx.filter(phi.solution.model, eqx.is_inexact_array))
        return sum(leaf[0].size for leaf in leaves)

    def _selected(
        self, X: np.ndarray, phi: Network
    ) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Detections of each image, in shares of the canvas."""
        threshold, found = float(self.nms_threshold), []
        for start in range(0, len(X), MAX_TOGETHER):
            part = X[start : start + MAX_TOGETHER]
            with precision_of(phi.solution.model):
                boxes, probs = map(np.asarray, _candidates(phi, pad_rows(part)))
            found += [
                selected(boxes[:, i], probs[:, i], threshold) for i in range(len(part))
            ]
        return found


@eqx.filter_jit
def _candidates(phi: Network, X: Any) -> Candidates:
    """The candidates of every member."""

    def one(phi: Network) -> Candidates:
        found = phi.solution
        return found.model.detect(phi.scaling.inputs(X), found.state)

    return eqx.filter_vmap(one)(phi)


def _with_slots(targets: np.ndarray, slots: int) -> np.ndarray:
    """Targets with at least so many rows for each image."""
    n, now, _ = targets.shape
    if now >= slots:
        return targets
    absent = np.tile(np.array([-1.0, 0.0, 0.0, 1.0, 1.0]), (n, slots - now, 1))
    return np.concatenate([targets, absent], 1)
