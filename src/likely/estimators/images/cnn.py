r"""Networks of images as estimators: y | x ~ p(y | f(x; φ)) with f convolutional."""

from typing import Any, no_type_check

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from likely.base.pictures import flat_images, image_shape, is_pictures
from likely.base.settings import store
from likely.base.training.options import IMAGES
from likely.estimators.networks.predictor import NetworkPredictor
from likely.models import CNN, ResNet


class ImageInputs:
    """Rows that are images; each channel is scaled as a whole."""

    scaling: str = "channels"

    def __init__(self, max_rows: int):
        self.max_rows: int | None = max_rows

    def learn(self, estimator: Any, X: Any, sample_weight: Any) -> None:
        """Set `image_shape_`, (h, w, c) of the images of the fit."""
        if is_pictures(X):
            given = getattr(estimator, "image_shape", None)
            estimator.image_shape_ = image_shape(X, given)

    def table(self, estimator: Any, X: Any) -> Any:
        """Rows of h·w·c numbers."""
        return flat_images(X, estimator.image_shape_) if is_pictures(X) else X

    def shaped(
        self, estimator: Any, X: np.ndarray, given: Any, w: np.ndarray | None
    ) -> np.ndarray:
        """(n, h, w, c)."""
        return X.reshape(len(X), *estimator.image_shape_)

    def shape(self, estimator: Any) -> tuple[int, ...]:
        """(h, w, c)."""
        return estimator.image_shape_

    def plain(self, estimator: Any) -> tuple[int, ...]:
        """None: all channels are scaled."""
        return ()


def convolutional(estimator: Any) -> Any:
    """The architecture that the settings of a convolutional network describe."""
    if estimator.network is not None:
        return estimator.network
    return CNN(
        estimator.channels,
        size=estimator.size,
        pool=estimator.pool,
        pooling=estimator.pooling,
        head=estimator.head,
        hidden=estimator.hidden,
        activation=estimator.activation,
        norm=estimator.norm,
        dropout=float(estimator.dropout),
        dtype=estimator.dtype,
    )


class CNNClassifier(ClassifierMixin, NetworkPredictor):
    r"""y | x ~ Categorical(softmax f(x)), for two classes Bernoulli, with f convolutional.

    Images come as (n, h, w) or (n, h, w, c), or flat with `image_shape`; bytes become
    numbers from 0 to 1. Each channel is centred and scaled as a whole.

    By default a tenth of the images (a fifth of at most 500) is held out: the training
    stops when their loss no longer falls, with a warning where it still falls at the limit
    of 40 epochs or 1500 steps, and their predictions calibrate the probabilities. Up to 500
    images of at most 256 numbers train five members, each of which holds out other images.
    A network that is told how long to train (`max_iter`, `early_stopping`), whose solver is
    "lbfgs" or a solver of one's own, or with `bootstrap`, `warm_start` or validation rows,
    is trained as told.

    Args:
        channels: what each stage makes; a stage convolves, applies the activation and pools.
        hidden: widths of the perceptron after the stages.
        image_shape: (h, w) or (h, w, c) of flat rows; one that follows may be -1.
        size: of the filters, for all stages or for each.
        pool: windows of the pooling, for all stages or for each; 0 is none.
        pooling: "max", "min" or "mean".
        head: "flatten" hands all positions to the perceptron, "mean" their mean.
        activation: of hidden units, a name of `layers.ACTIVATIONS`.
        norm: "batch", "group" or None, after each convolution.
        dropout: probability to drop a hidden unit of the perceptron in training.
        network: another architecture in place of the above, such as
            `models.alexnet()`.
        augment: a `layers.Augmentation`: how images are changed at random in training.
        dtype: what to compute in, such as "bfloat16".
        pretrained: a fitted network whose body (all but the last layer), with the units of its
            inputs, is where the weights begin: an estimator of the same architecture, or
            `MaskedPretraining`. The prior then is around these weights.
        trainable: what is trained: "all"; "head", the last layer, on frozen features; a number
            of blocks before it too; "bias"; "adapters" (bottlenecks after blocks) or "low_rank"
            (changes W + AB of the matrices, merged at the end), each with the head; with
            a size: ("adapters", 8), ("low_rank", 8) or `layers.LowRank`.
        alpha: strength of the Gaussian prior on the weights (not on the biases); "auto" is 1
            with held-out images for each member, else 1e-4.
        solver: "adam" on minibatches, "lbfgs" on all rows, or "auto" by the size; or a
            solver of `likely.solvers`, with steps and rate of its own.
        learning_rate_init: of Adam; "auto" is 0.002 with held-out images for each member,
            else 0.001.
        learning_rate: "constant", "cosine" (to zero at the end), "plateau" (halved where
            the loss stays), or a schedule of `likely.solvers`.
        batch_size: rows in a minibatch; "auto" is 64 with held-out images for each member,
            else 200.
        max_iter: epochs of Adam, steps of L-BFGS; "auto" is 40, or as many as make 1500
            steps (500 without held-out images).
        tol: L-BFGS stops when no entry of the gradient is larger.
        clip_norm: the longest gradient, or None.
        weight_average: what is kept: None the last weights, a decay between 0 and 1 their
            exponential average, "uniform" the mean over the second half of the steps.
        early_stopping: whether to hold out the same rows from all members and stop by them;
            "auto" as described above.
        validation_fraction: how many, with `early_stopping=True`.
        n_iter_no_change: epochs without a lower validation loss before stopping; where each
            member holds out rows of its own, short epochs count together, 20 steps as one.
        n_members: networks that are fitted as one program; the prediction is the mixture.
            "auto" as described above, and 1 where the training is told otherwise.
        bootstrap: whether each member sees its own draw of the rows.
        warm_start: whether `fit` goes on from the weights of the last one.
        random_state: seed of first weights, batches, augmentation and the split.
        verbose: whether to show a progress bar.

    Attributes:
        image_shape_: (h, w, c) of the images.
        history_: the loss of each step, and of each look at the validation rows.
        loss_: the last training loss.
        n_iter_: epochs of Adam, or steps of L-BFGS, that were made.
        status_: how it ended.
        n_parameters_: the parameters of a network.
        n_trainable_: how many of them were trained.

    Examples:
        >>> X = np.random.default_rng(0).random((40, 8, 8))
        >>> y = (X[:, :4].mean(axis=(1, 2)) > 0.5).astype(int)
        >>> model = lk.CNNClassifier((4,), (8,), solver="adam", max_iter=2, n_members=1).fit(X, y)
        >>> model.predict_proba(X[:3]).shape
        (3, 2)
    """

    _kind = ImageInputs(512)
    _limits = IMAGES

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        channels=(16, 32),
        hidden=(64,),
        *,
        image_shape=None,
        size=3,
        pool=2,
        pooling="max",
        head="flatten",
        activation="relu",
        norm=None,
        dropout=0.0,
        network=None,
        augment=None,
        dtype=None,
        pretrained: Any = None,
        trainable: Any = "all",
        alpha: Any = "auto",
        solver="auto",
        learning_rate_init: Any = "auto",
        learning_rate="constant",
        batch_size: Any = "auto",
        max_iter: Any = "auto",
        tol=1e-5,
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
        return convolutional(self)


class CNNRegressor(RegressorMixin, NetworkPredictor):
    r"""y | x ~ N(f(x), σ²), or another family, with f convolutional and one learned σ.

    The other arguments and the attributes are those of `CNNClassifier`.

    Args:
        family: a name as in `MLPRegressor`, such as "heteroscedastic" or
            "poisson", or a family.

    Examples:
        >>> X = np.random.default_rng(0).random((40, 8, 8))
        >>> y = X[:, :4].mean(axis=(1, 2))
        >>> model = lk.CNNRegressor((4,), (8,), solver="adam", max_iter=2, n_members=1).fit(X, y)
        >>> model.predict(X[:3]).shape
        (3,)
    """

    _kind = ImageInputs(512)
    _limits = IMAGES
    _allows_outputs = True
    family: Any

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        channels=(16, 32),
        hidden=(64,),
        *,
        family="normal",
        image_shape=None,
        size=3,
        pool=2,
        pooling="max",
        head="flatten",
        activation="relu",
        norm=None,
        dropout=0.0,
        network=None,
        augment=None,
        dtype=None,
        pretrained: Any = None,
        trainable: Any = "all",
        alpha: Any = "auto",
        solver="auto",
        learning_rate_init: Any = "auto",
        learning_rate="constant",
        batch_size: Any = "auto",
        max_iter: Any = "auto",
        tol=1e-5,
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
        return convolutional(self)


class ResNetClassifier(ClassifierMixin, NetworkPredictor):
    r"""y | x ~ Categorical(softmax f(x)) with f a residual network.

    The other arguments and the attributes are those of `CNNClassifier`.

    Args:
        widths: the channels of each stage; each after the first halves the positions.
        blocks: residual blocks in a stage, for all stages or for each.
        norm: "batch", "group" or None, before each activation.
        zero: whether each block starts as the identity.

    Examples:
        >>> X = np.random.default_rng(0).random((40, 8, 8))
        >>> y = (X[:, :4].mean(axis=(1, 2)) > 0.5).astype(int)
        >>> model = lk.ResNetClassifier((4,), solver="adam", max_iter=2, n_members=1).fit(X, y)
        >>> model.predict_proba(X[:3]).shape
        (3, 2)
    """

    _kind = ImageInputs(512)
    _limits = IMAGES
    network: Any
    widths: Any
    blocks: Any
    activation: Any
    norm: Any
    zero: Any
    dropout: Any
    dtype: Any

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        widths=(16, 32, 64),
        blocks=1,
        *,
        image_shape=None,
        activation="relu",
        norm="batch",
        zero=False,
        dropout=0.0,
        network=None,
        augment=None,
        dtype=None,
        pretrained: Any = None,
        trainable: Any = "all",
        alpha: Any = "auto",
        solver="auto",
        learning_rate_init: Any = "auto",
        learning_rate="constant",
        batch_size: Any = "auto",
        max_iter: Any = "auto",
        tol=1e-5,
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
        return ResNet(
            self.widths,
            self.blocks,
            self.activation,
            norm=self.norm,
            zero=bool(self.zero),
            dropout=float(self.dropout),
            dtype=self.dtype,
        )
