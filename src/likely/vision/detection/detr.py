"""DETR: a transformer that says the set of objects at once."""

from typing import Any, no_type_check

import numpy as np

from likely.base.settings import at_least, store
from likely.core.checks import InputError
from likely.vision.detection.detector import Detector
from likely.vision.detection.losses.detr import SetLoss
from likely.vision.detection.networks.detr import DETRArchitecture
from likely.vision.detection.problem import DetectionProblem
from likely.vision.detection.regions import body_of


class DETRDetector(Detector):
    """Objects in images as a set, by a transformer (DEtection TRansformer).

    A decoder turns object queries into predictions, each of which is one object or none; in
    training the Hungarian method assigns objects to queries. It needs long training and is
    made for accelerators: on a few images, or on a laptop, take `YOLODetector`.

    The other arguments and the attributes are those of `YOLODetector`.

    Args:
        n_queries: how many objects an image may have at most, with room to spare.
        size: of a position inside of the transformer, a multiple of 4 and of the heads.
        n_encoders: layers of the encoder.
        n_decoders: layers of the decoder.
        n_heads: heads of attention.
        dropout: the probability to drop a value of what layers add, in training.
        distance: the weight of the distance of boxes.
        overlap: the weight of one minus their generalised IoU.
        no_object: the weight of queries without an object.
    """

    n_queries: Any
    size: Any
    n_encoders: Any
    n_decoders: Any
    n_heads: Any
    dropout: Any
    distance: Any
    overlap: Any
    no_object: Any
    dtype: Any

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        channels=(16, 32, 64, 128),
        depth=None,
        *,
        n_queries=25,
        size=128,
        n_encoders=2,
        n_decoders=3,
        n_heads=4,
        dropout=0.0,
        distance=5.0,
        overlap=2.0,
        no_object=0.1,
        activation="relu",
        norm="batch",
        image_size=None,
        nms_threshold=0.7,
        min_score=0.1,
        augment="auto",
        dtype=None,
        alpha=1.0,
        solver="adam",
        learning_rate_init=5e-4,
        learning_rate="cosine",
        batch_size=32,
        max_iter: Any = "auto",
        clip_norm=1.0,
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
        queries = at_least("n_queries", self.n_queries, 1, whole=True)
        if queries < targets.shape[1]:
            raise InputError(
                f"n_queries is {queries}, and images have up to {targets.shape[1]} objects; "
                "give more queries than objects, such as three times as many."
            )
        size = at_least("size", self.size, 4, whole=True)
        if size % 4 or size % int(self.n_heads):
            raise InputError(
                f"size is {size}; give a multiple of 4 and of n_heads, {self.n_heads}."
            )
        architecture = DETRArchitecture(
            body_of(self),
            queries,
            size,
            at_least("n_encoders", self.n_encoders, 0, whole=True),
            at_least("n_decoders", self.n_decoders, 1, whole=True),
            int(self.n_heads),
            float(self.dropout),
            self.dtype,
        )
        loss = SetLoss(float(self.distance), float(self.overlap), float(self.no_object))
        return DetectionProblem(architecture, loss, len(self.classes_))
