r"""Segmentation: a class for each pixel, by a U-Net."""

from typing import Any, no_type_check

import numpy as np
from scipy.special import logsumexp

from likely.base.labels import codes_of
from likely.base.pictures import shape_of
from likely.base.predictor import rows_that_count
from likely.base.settings import store
from likely.base.training.options import IMAGES
from likely.core.checks import InputError
from likely.estimators.images.cnn import ImageInputs
from likely.estimators.networks.predictor import NetworkPredictor
from likely.evaluate import intersection_over_union
from likely.families import AbstractFamily, Categorical, Predictive
from likely.models import UNet
from likely.typing import Batch


class UNetSegmenter(NetworkPredictor):
    r"""$y_p \mid x \sim$ Categorical(softmax $f(x)_p$) for each pixel p, f a U-Net.

    The loss is the mean over pixels. Images come as for `CNNClassifier`, targets
    as (n, h, w) labels. The other arguments and the attributes are those of
    `CNNClassifier`; augmentation moves images and targets alike.

    Args:
        widths: the channels of each level, finest first; each level halves the positions.
        norm: "batch", "group" or None, after each convolution.
        up: "transposed", "nearest" or "bilinear".

    Examples:
        >>> X = np.random.default_rng(0).random((20, 8, 8))
        >>> y = (X > 0.5).astype(int)  # a class for each pixel
        >>> model = lk.UNetSegmenter((4,), max_iter=2).fit(X, y)
        >>> model.predict(X[:3]).shape
        (3, 8, 8)
    """

    _kind = ImageInputs(128)
    _limits = IMAGES
    _positions = True
    _allows_outputs = True
    network: Any
    widths: Any
    activation: Any
    norm: Any
    up: Any
    dtype: Any

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        widths=(16, 32),
        *,
        activation="relu",
        norm=None,
        up="transposed",
        network=None,
        augment=None,
        dtype=None,
        pretrained: Any = None,
        trainable: Any = "all",
        alpha: Any = "auto",
        solver="adam",
        learning_rate_init: Any = "auto",
        learning_rate="constant",
        batch_size=32,
        max_iter: Any = "auto",
        clip_norm=None,
        weight_average=None,
        early_stopping: Any = "auto",
        validation_fraction=0.1,
        n_iter_no_change=10,
        n_members: Any = "auto",
        bootstrap=False,
        warm_start=False,
        random_state=0,
        verbose=False,
    ):
        store(self, locals())

    def _architecture(self) -> Any:
        if self.network is not None:
            return self.network
        return UNet(
            self.widths,
            activation=self.activation,
            norm=self.norm,
            up=self.up,
            dtype=self.dtype,
        )

    def _target(self, y: np.ndarray) -> tuple[AbstractFamily, int]:
        return Categorical(len(self.classes_)), 0

    @property
    def _predicts_classes(self) -> bool:
        return True

    def _batch(self, X: Any, y: Any, sample_weight: Any, **options: Any) -> Batch:
        y = np.asarray(y)
        shape = shape_of(X)
        if len(shape) < 3 or y.shape != shape[:3]:
            raise InputError(
                f"y has shape {y.shape} and X {shape}; give images (n, h, w) or "
                "(n, h, w, c) and a label for each of their pixels, (n, h, w)."
            )
        flat = y.reshape(len(y), -1)
        batch = super()._batch(X, flat, sample_weight, **options)
        return batch._replace(y=batch.y.reshape(y.shape))

    def predict_dist(self, X: Any) -> Predictive:
        """p(y | x) of each pixel: those of all images, one after another."""
        logs = self._log_probs(X)
        flat = logs.reshape(-1, logs.shape[-1])
        return Predictive(self.family_, flat, self.classes_)

    def nll(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The mean loss of a pixel, in nats."""
        X, y, w, _ = rows_that_count(X, y, sample_weight)
        codes = codes_of(y, self.classes_, "y").astype(int)
        logs = np.take_along_axis(self._log_probs(X), codes[..., None], -1)
        rows = -logs.reshape(len(logs), -1).mean(1)
        return float(np.average(rows, weights=w))

    def _probs(self, X: Any) -> np.ndarray:
        """(n, h, w, c) probabilities of each pixel."""
        return np.exp(self._log_probs(X))

    def _log_probs(self, X: Any) -> np.ndarray:
        """(n, h, w, c) log-probabilities, the mixture of the members."""
        etas = self._etas(self._inputs(X))
        logs = etas - logsumexp(etas, axis=-1, keepdims=True)
        return logsumexp(logs, axis=0) - np.log(len(etas))

    def overlap(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """Intersection over union of each class, in the order of `classes_`."""
        true = codes_of(np.asarray(y), self.classes_, "y")
        found = self._log_probs(X).argmax(-1)
        return intersection_over_union(true, found, len(self.classes_), sample_weight)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The mean over classes of intersection over union."""
        return float(np.nanmean(self.overlap(X, y, sample_weight)))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.three_d_array = False, True
        return tags
