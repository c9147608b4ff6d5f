r"""Multilayer perceptrons as estimators: y | x ~ p(y | f(x; φ)) with f a perceptron.

All that is not particular to perceptrons and tables is in `estimators.networks`.
"""

from functools import partial
from typing import Any, no_type_check

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from likely.core.checks import InputError
from likely.estimators.networks.core import AbstractNetwork, class_family, keep
from likely.estimators.networks.families import family_of
from likely.estimators.networks.table import (
    TableNetwork,
    categories_of,
    category_columns,
    coded,
    learn_codes,
)
from likely.estimators.shell import AbstractClassifier, AbstractRegressor
from likely.families import AbstractFamily
from likely.models import MLP
from likely.preprocess import OrdinalEncoder
from likely.typing import Batch

SHALLOW = 3
"""Hidden layers up to which a signal that fades does no harm."""


class AbstractPerceptron(AbstractNetwork):
    """What both have: layers, and categories as learned vectors."""

    hidden_layer_sizes: Any
    activation: Any
    norm: Any
    dropout: Any
    residual: Any
    init: Any
    categories: Any
    embedding_size: Any
    category_columns_: list[int]
    encoder_: OrdinalEncoder | None

    def _network(self) -> TableNetwork:
        shallow = np.size(self.hidden_layer_sizes) <= SHALLOW
        perceptron = MLP(
            self.hidden_layer_sizes,
            self.activation,
            norm=self.norm,
            dropout=float(self.dropout),
            residual=self.residual,
            init=self.init if self.init != "auto" else "uniform" if shallow else "he",
        )
        if self.encoder_ is None:
            return TableNetwork(perceptron)
        found = categories_of(
            self.category_columns_, self.encoder_, self.embedding_size
        )
        return TableNetwork(perceptron, found)

    def _plain(self) -> tuple[int, ...]:
        return tuple(self.category_columns_)

    def _batch(self, X: Any, y: Any, sample_weight: Any, **options: Any) -> Batch:
        if options.get("reset", True):
            self.category_columns_ = category_columns(X, self.categories)
            self.encoder_ = None
            if self.category_columns_:
                self.encoder_ = learn_codes(X, self.category_columns_, sample_weight)
        return super()._batch(self._prepared(X), y, sample_weight, **options)

    def _prepared(self, X: Any) -> Any:
        if self.encoder_ is None:
            return X
        return coded(X, self.category_columns_, self.encoder_)


class MLPRegressor(AbstractPerceptron, AbstractRegressor):
    r"""y | x ~ p(y | f(x)) with f a multilayer perceptron; N(f(x), σ²) unless told otherwise.

    y may have several columns: they are independent given x, and share the hidden layers.

    Args:
        hidden_layer_sizes: the width of each hidden layer.
        activation: of hidden units, a name of `layers.ACTIVATIONS`.
        family: "normal", "heteroscedastic" (a scale for each row), "student_t", "poisson",
            "negative_binomial", "gamma", "mixture" (of three normals), or a family of
            `likely.families`, all parameters of which the network then computes.
        alpha: strength of the Gaussian prior on the weights (not on the biases).
        solver: "lbfgs" on all rows, "adam" on minibatches, or "auto" by the size; or a
            solver of `likely.solvers`, with steps and rate of its own.
        learning_rate_init: of Adam.
        learning_rate: "constant", "cosine" (to zero at the end), "plateau" (halved where
            the loss stays), or a schedule of `likely.solvers`.
        batch_size: rows in a minibatch; "auto" is 200.
        max_iter: steps of L-BFGS, epochs of Adam.
        tol: L-BFGS stops when no entry of the gradient is larger.
        clip_norm: the longest gradient, or None.
        weight_average: what is kept: None the last weights, a decay between 0 and 1 their
            exponential average, "uniform" the mean over the second half of the steps.
        early_stopping: whether to hold out rows and stop by them.
        validation_fraction: how many.
        n_iter_no_change: epochs without a lower validation loss before stopping.
        norm: "batch", "layer" or None.
        dropout: probability to drop a hidden unit in training.
        residual: whether hidden layers are residual blocks; "zero" starts them at zero.
        init: how weights start, a name of `layers.INITIALIZERS`; "auto" is "uniform" for
            at most three hidden layers, which start almost flat, and He's for more.
        n_members: networks that are fitted, each from other weights and batches, as one
            program; the prediction is the mixture of theirs.
        bootstrap: whether each member sees its own draw of the rows.
        laplace: whether predictions include the uncertainty of the last layer's weights;
            a number is the precision of their prior, True chooses it by the evidence.
        categories: names or numbers of columns that hold categories; None takes those that
            a pandas or polars frame declares (categories, words).
        embedding_size: the length of the vector of a category, or "auto".
        warm_start: whether `fit` goes on from the weights of the last one.
        random_state: seed of first weights, batches, draws and the split.
        verbose: whether to show a progress bar.

    Attributes:
        history_: the loss of each step, and of each look at the validation rows.
        loss_: the last training loss, in nats on the scaled target.
        n_iter_: steps made.
        status_: how it ended.
        last_layer_: the posterior of the last weights, with `laplace`.
        encoder_: of the categories, or None.
    """

    family: Any

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        hidden_layer_sizes=(64,),
        activation="relu",
        *,
        family="normal",
        alpha=1e-4,
        solver="auto",
        learning_rate_init=1e-3,
        learning_rate="constant",
        batch_size="auto",
        max_iter=200,
        tol=1e-5,
        clip_norm=None,
        weight_average=None,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=10,
        norm=None,
        dropout=0.0,
        residual=False,
        init="auto",
        n_members=1,
        bootstrap=False,
        laplace=False,
        categories=None,
        embedding_size="auto",
        warm_start=False,
        random_state=0,
        verbose=False,
    ):
        keep(self, locals())

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> "MLPRegressor":
        """One pass of Adam over these rows, from where the weights are.

        Args:
            X: (n, d) inputs; the first rows settle the units of inputs and target.
            y: (n,) or (n, q) targets.
            sample_weight: how often each row counts.
        """
        self._partial(X, y, sample_weight, None)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """E[y | x] of each row."""
        return self._mean(self._rows(X))

    def _target(self, y: np.ndarray) -> tuple[AbstractFamily, int]:
        return family_of(self.family, y.shape[1] if y.ndim == 2 else None)

    def _encode_other(self, y: np.ndarray, name: str = "y_val") -> np.ndarray:
        return self._encode(y)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class MLPClassifier(AbstractPerceptron, AbstractClassifier):
    """y | x ~ Categorical(softmax f(x)), for two classes Bernoulli, with f a perceptron.

    The arguments (but for `family`) and attributes are those of `MLPRegressor`.
    """

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        hidden_layer_sizes=(64,),
        activation="relu",
        *,
        alpha=1e-4,
        solver="auto",
        learning_rate_init=1e-3,
        learning_rate="constant",
        batch_size="auto",
        max_iter=200,
        tol=1e-5,
        clip_norm=None,
        weight_average=None,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=10,
        norm=None,
        dropout=0.0,
        residual=False,
        init="auto",
        n_members=1,
        bootstrap=False,
        laplace=False,
        categories=None,
        embedding_size="auto",
        warm_start=False,
        random_state=0,
        verbose=False,
    ):
        keep(self, locals())

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> "MLPClassifier":
        """One pass of Adam over these rows, from where the weights are.

        Args:
            X: (n, d) inputs; the first rows settle their units.
            y: (n,) classes.
            classes: all that there will be; needed in the first call.
            sample_weight: how often each row counts.
        """
        if not hasattr(self, "phi_"):
            if classes is None:
                raise InputError(
                    "the first call of partial_fit needs classes, all that there will be."
                )
            self.classes_ = np.unique(classes)
        self._partial(X, y, sample_weight, partial(self._encode_other, name="y"))
        return self

    def _target(self, y: np.ndarray) -> tuple[AbstractFamily, int]:
        return class_family(self.classes_), 0

    def _encode_other(self, y: np.ndarray, name: str = "y_val") -> np.ndarray:
        check_classification_targets(y)
        unknown = sorted(set(np.unique(y).tolist()) - set(self.classes_.tolist()))
        if unknown:
            raise InputError(
                f"{name} has the class {unknown[0]!r}, which y does not have; leave such "
                "rows out."
                if name == "y_val"
                else f"{name} has the class {unknown[0]!r}, which is not among classes."
            )
        return np.searchsorted(self.classes_, y).astype(np.float64)
