r"""Networks of images as estimators: y | x ~ p(y | f(x; φ)) with f convolutional."""

from typing import Any, ClassVar, no_type_check

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from likely.core.checks import InputError
from likely.estimators.images.pictures import flat_images, image_shape, is_pictures
from likely.estimators.networks.core import AbstractNetwork, class_family, keep
from likely.estimators.networks.families import family_of
from likely.estimators.shell import AbstractClassifier, AbstractRegressor
from likely.families import AbstractFamily
from likely.models import CNN, ResNet
from likely.typing import Batch


class AbstractImages(AbstractNetwork):
    """What all have: rows are images, and channels are scaled as wholes."""

    _inputs: ClassVar[str] = "channels"
    _at_once: ClassVar[int | None] = 512
    image_shape: Any
    network: Any
    image_shape_: tuple[int, int, int]
    """(h, w, c) of the images of the fit."""

    def inside(self, X: Any, member: int = 0) -> tuple[Any, Any, np.ndarray]:
        """The network, its running statistics, and the images as it gets them.

        That is what `diagnostics.feature_maps`, `diagnostics.class_activation` and the like take.

        Args:
            X: images.
            member: which of the networks, where there are several.
        """
        rows, phi = self._rows(X), self.phi_
        if np.ndim(phi.solution.loss):
            phi = jax.tree.map(lambda a: a[member] if eqx.is_array(a) else a, phi)
        scaled = (rows - phi.scaling.center) / phi.scaling.scale
        model, state = jax.tree.map(
            lambda a: jnp.asarray(a) if eqx.is_array(a) else a,
            (phi.solution.model, phi.solution.state),
        )
        return model, state, scaled.astype(np.float32)

    def _batch(self, X: Any, y: Any, sample_weight: Any, **options: Any) -> Batch:
        if is_pictures(X):
            if options.get("reset", True):
                self.image_shape_ = image_shape(X, self.image_shape)
            X = flat_images(X, self.image_shape_)
        return super()._batch(X, y, sample_weight, **options)

    def _prepared(self, X: Any) -> Any:
        return flat_images(X, self.image_shape_) if is_pictures(X) else X

    def _expand(self, X: np.ndarray, w: np.ndarray | None = None) -> np.ndarray:
        return X.reshape(len(X), *self.image_shape_)

    def _shape(self) -> tuple[int, ...]:
        return self.image_shape_

    def _noisy(self) -> bool:
        network = self._network()
        dropped = bool(getattr(network, "dropout", 0.0))
        return dropped or getattr(network, "norm", None) == "batch"


class AbstractConvolutional(AbstractImages):
    """What convolutional networks have: stages, then a perceptron."""

    channels: Any
    hidden: Any
    size: Any
    pool: Any
    pooling: Any
    head: Any
    activation: Any
    norm: Any
    dropout: Any
    dtype: Any

    def _network(self) -> Any:
        if self.network is not None:
            return self.network
        return CNN(
            self.channels,
            size=self.size,
            pool=self.pool,
            pooling=self.pooling,
            head=self.head,
            hidden=self.hidden,
            activation=self.activation,
            norm=self.norm,
            dropout=float(self.dropout),
            dtype=self.dtype,
        )


class CNNClassifier(AbstractConvolutional, AbstractClassifier):
    r"""y | x ~ Categorical(softmax f(x)), for two classes Bernoulli, with f convolutional.

    Images come as (n, h, w) or (n, h, w, c), or flat with `image_shape`; bytes become
    numbers from 0 to 1. Each channel is centred and scaled as a whole.

    Args:
        channels: what each stage makes; a stage convolves, bends and pools.
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
        alpha: strength of the Gaussian prior on the weights (not on the biases).
        solver: "adam" on minibatches, "lbfgs" on all rows, or "auto" by the size; or a
            solver of `likely.solvers`, with steps and rate of its own.
        learning_rate_init: of Adam.
        learning_rate: "constant", "cosine" (to zero at the end), "plateau" (halved where
            the loss stays), or a schedule of `likely.solvers`.
        batch_size: rows in a minibatch; "auto" is 200.
        max_iter: epochs of Adam, steps of L-BFGS.
        tol: L-BFGS stops when no entry of the gradient is larger.
        clip_norm: the longest gradient, or None.
        weight_average: what is kept: None the last weights, a decay between 0 and 1 their
            exponential average, "uniform" the mean over the second half of the steps.
        early_stopping: whether to hold out rows and stop by them.
        validation_fraction: how many.
        n_iter_no_change: epochs without a lower validation loss before stopping.
        n_members: networks that are fitted as one program; the prediction is the mixture.
        bootstrap: whether each member sees its own draw of the rows.
        warm_start: whether `fit` goes on from the weights of the last one.
        random_state: seed of first weights, batches, augmentation and the split.
        verbose: whether to show a progress bar.

    Attributes:
        image_shape_: (h, w, c) of the images.
        history_: the loss of each step, and of each look at the validation rows.
        loss_: the last training loss.
        n_iter_: steps made.
        status_: how it ended.
    """

    @no_type_check  # scikit-learn: settings are looked at in fit
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
        alpha=1e-4,
        solver="auto",
        learning_rate_init=1e-3,
        learning_rate="constant",
        batch_size="auto",
        max_iter=20,
        tol=1e-5,
        clip_norm=None,
        weight_average=None,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=10,
        n_members=1,
        bootstrap=False,
        warm_start=False,
        random_state=0,
        verbose=False,
    ):
        keep(self, locals())

    def _target(self, y: np.ndarray) -> tuple[AbstractFamily, int]:
        return class_family(self.classes_), 0

    def _encode_other(self, y: np.ndarray, name: str = "y_val") -> np.ndarray:
        return codes_of(y, self.classes_, name)


class CNNRegressor(AbstractConvolutional, AbstractRegressor):
    r"""y | x ~ N(f(x), σ²), or another family, with f convolutional and one learned σ.

    The other arguments and the attributes are those of `CNNClassifier`.

    Args:
        family: a name of `estimators.networks.families`, such as "heteroscedastic" or
            "poisson", or a family.
    """

    family: Any

    @no_type_check  # scikit-learn: settings are looked at in fit
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
        alpha=1e-4,
        solver="auto",
        learning_rate_init=1e-3,
        learning_rate="constant",
        batch_size="auto",
        max_iter=20,
        tol=1e-5,
        clip_norm=None,
        weight_average=None,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=10,
        n_members=1,
        bootstrap=False,
        warm_start=False,
        random_state=0,
        verbose=False,
    ):
        keep(self, locals())

    def _target(self, y: np.ndarray) -> tuple[AbstractFamily, int]:
        return family_of(self.family, y.shape[1] if y.ndim == 2 else None)

    def predict(self, X: Any) -> np.ndarray:
        """E[y | x] of each row."""
        return self._mean(self._rows(X))

    def _encode_other(self, y: np.ndarray, name: str = "y_val") -> np.ndarray:
        return self._encode(y)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class ResNetClassifier(AbstractImages, AbstractClassifier):
    r"""y | x ~ Categorical(softmax f(x)) with f a residual network.

    The other arguments and the attributes are those of `CNNClassifier`.

    Args:
        widths: the channels of each stage; each after the first halves the positions.
        blocks: residual blocks in a stage, for all stages or for each.
        norm: "batch", "group" or None, before each bend.
        zero: whether each block starts as the identity.
    """

    widths: Any
    blocks: Any
    activation: Any
    norm: Any
    zero: Any
    dropout: Any
    dtype: Any

    @no_type_check  # scikit-learn: settings are looked at in fit
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
        alpha=1e-4,
        solver="auto",
        learning_rate_init=1e-3,
        learning_rate="constant",
        batch_size="auto",
        max_iter=20,
        tol=1e-5,
        clip_norm=None,
        weight_average=None,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=10,
        n_members=1,
        bootstrap=False,
        warm_start=False,
        random_state=0,
        verbose=False,
    ):
        keep(self, locals())

    def _network(self) -> Any:
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

    def _target(self, y: np.ndarray) -> tuple[AbstractFamily, int]:
        return class_family(self.classes_), 0

    def _encode_other(self, y: np.ndarray, name: str = "y_val") -> np.ndarray:
        return codes_of(y, self.classes_, name)


def codes_of(y: np.ndarray, classes: np.ndarray, name: str) -> np.ndarray:
    """The number of each label; those that the fit had not are refused."""
    unknown = sorted(set(np.unique(y).tolist()) - set(classes.tolist()))
    if unknown:
        raise InputError(
            f"{name} has the class {unknown[0]!r}, which y does not have; leave such "
            "rows out."
        )
    return np.searchsorted(classes, y).astype(np.float64)
