r"""Multilayer perceptrons as estimators: y | x ~ p(y | f(x; φ)) with f a perceptron.

All that is not particular to perceptrons and tables is in `estimators.networks`.
"""

from typing import Any, no_type_check

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from likely.base.settings import store
from likely.core.checks import InputError
from likely.estimators.networks.predictor import NetworkPredictor
from likely.estimators.networks.table import TableNetwork, categories_of
from likely.models import MLP

MAX_SHALLOW_LAYERS = 3
"""Hidden layers up to which a signal that fades does no harm."""


def perceptron(estimator: Any) -> TableNetwork:
    """The architecture that the settings of a perceptron describe."""
    shallow = np.size(estimator.hidden_layer_sizes) <= MAX_SHALLOW_LAYERS
    init = estimator.init
    layers = MLP(
        estimator.hidden_layer_sizes,
        estimator.activation,
        norm=estimator.norm,
        dropout=float(estimator.dropout),
        residual=estimator.residual,
        init=init if init != "auto" else "uniform" if shallow else "he",
    )
    if estimator.encoder_ is None:
        return TableNetwork(layers)
    columns, encoder = estimator.category_columns_, estimator.encoder_
    return TableNetwork(
        layers, categories_of(columns, encoder, estimator.embedding_size)
    )


class MLPRegressor(RegressorMixin, NetworkPredictor):
    r"""y | x ~ p(y | f(x)) with f a multilayer perceptron; N(f(x), σ²) by default.

    y may have several columns: they are independent given x, and share the hidden layers.

    By default each of five members holds out a fifth of the rows, learns from the others by
    Adam and stops when its held-out loss no longer falls; predictions are the mixture of
    the members, with the scale (or the temperature of probabilities) that the held-out
    predictions ask for. Beyond 20,000 rows there is one member that holds out a tenth,
    beyond 2,000 columns one that holds out a fifth.
    A network that is told how long to train (`max_iter`, `early_stopping`), whose solver is
    "lbfgs" or a solver of one's own, or with `bootstrap`, `laplace`, `warm_start` or
    validation rows, is trained as told and not calibrated.

    Args:
        hidden_layer_sizes: the width of each hidden layer.
        activation: of hidden units, a name of `layers.ACTIVATIONS`.
        family: "normal", "heteroscedastic" (a scale for each row), "student_t", "poisson",
            "negative_binomial", "gamma", "mixture" (of three normals), or a family of
            `likely.families`, all parameters of which the network then computes.
        alpha: strength of the Gaussian prior on the weights (not on the biases); "auto" is 1
            with held-out rows for each member, else 1e-4.
        solver: "lbfgs" on all rows, "adam" on minibatches, or "auto", which is Adam with
            held-out rows for each member and otherwise goes by the size; or a solver of
            `likely.solvers`, with steps and rate of its own.
        learning_rate_init: of Adam; "auto" is 0.003 with held-out rows for each member,
            else 0.001.
        learning_rate: "constant", "cosine" (to zero at the end), "plateau" (halved where
            the loss stays), or a schedule of `likely.solvers`.
        batch_size: rows in a minibatch; "auto" is 200, or all of at most 512 rows with
            held-out rows for each member.
        max_iter: steps of L-BFGS, epochs of Adam; "auto" is 200, and with held-out rows for
            each member at least 2000 steps.
        tol: L-BFGS stops when no entry of the gradient is larger.
        clip_norm: the longest gradient, or None.
        weight_average: what is kept: None the last weights, a decay between 0 and 1 their
            exponential average, "uniform" the mean over the second half of the steps.
        early_stopping: whether to hold out the same rows from all members and stop by them;
            "auto" holds out other rows from each member, unless the training is told
            otherwise (see above).
        validation_fraction: how many, with `early_stopping=True`.
        n_iter_no_change: epochs without a lower validation loss before stopping; where each
            member holds out rows of its own, short epochs count together, 20 steps as one.
        norm: "batch", "layer" or None.
        dropout: probability to drop a hidden unit in training.
        residual: whether hidden layers are residual blocks; "zero" starts them at zero.
        init: how weights start, a name of `layers.INITIALIZERS`; "auto" is "uniform" for
            at most three hidden layers, which start almost flat, and He's for more.
        n_members: networks that are fitted, each from other weights and batches, as one
            program; the prediction is the mixture of theirs. "auto" is as described above,
            and 1 where the training is told otherwise.
        bootstrap: whether each member sees its own draw of the rows.
        laplace: whether predictions include the uncertainty of the last layer's weights;
            a number is the precision of their prior, True chooses it by the evidence.
        categories: names or numbers of columns that hold categories; None takes those that
            a pandas or polars frame declares (categories, words).
        embedding_size: the length of the vector of a category, or "auto".
        pretrained: a fitted network whose body (all but the last layer), with the units of its
            inputs, is where the weights begin: an estimator of the same architecture, or
            `MaskedPretraining`. The prior then is around these weights.
        trainable: what is trained: "all"; "head", the last layer, on frozen features; a number
            of blocks before it too; "bias"; "adapters" (bottlenecks after blocks) or "low_rank"
            (changes W + AB of the matrices, merged at the end), each with the head; with
            a size: ("adapters", 8), ("low_rank", 8) or `layers.LowRank`.
        warm_start: whether `fit` goes on from the weights of the last one.
        random_state: seed of first weights, batches, draws and the split.
        verbose: whether to show a progress bar.

    Attributes:
        history_: the loss of each step, and of each look at the validation rows.
        loss_: the last training loss, in nats on the scaled target.
        n_iter_: epochs of Adam, or steps of L-BFGS, that were made.
        status_: how it ended.
        n_parameters_: the parameters of a network.
        n_trainable_: how many of them were trained.
        last_layer_: the posterior of the last weights, with `laplace`.
        encoder_: of the categories, or None.

    Examples:
        >>> X = np.linspace(-2, 2, 100)[:, None]
        >>> model = lk.MLPRegressor((10,), alpha=1e-3, n_members=1).fit(X, np.sin(2 * X[:, 0]))
        >>> model.score(X, np.sin(2 * X[:, 0])) > 0.9
        True
    """

    _allows_outputs = True
    family: Any

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        hidden_layer_sizes=(100,),
        activation="relu",
        *,
        family="normal",
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
        norm=None,
        dropout=0.0,
        residual=False,
        init="auto",
        n_members: Any = "auto",
        bootstrap=False,
        laplace=False,
        categories=None,
        embedding_size="auto",
        pretrained: Any = None,
        trainable: Any = "all",
        warm_start=False,
        random_state=0,
        verbose=False,
    ):
        store(self, locals())

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> "MLPRegressor":
        """One pass of Adam over these rows, from where the weights are.

        Args:
            X: (n, d) inputs; the first rows settle the units of inputs and target.
            y: (n,) or (n, q) targets.
            sample_weight: how often each row counts.
        """
        return self._partial_fit(X, y, sample_weight, encoded=False)

    def _architecture(self) -> TableNetwork:
        return perceptron(self)


class MLPClassifier(ClassifierMixin, NetworkPredictor):
    """y | x ~ Categorical(softmax f(x)), for two classes Bernoulli, with f a perceptron.

    The arguments (but for `family`) and attributes are those of `MLPRegressor`.

    Examples:
        >>> X = np.linspace(-2, 2, 100)[:, None]
        >>> y = (np.abs(X[:, 0]) < 1).astype(int)
        >>> model = lk.MLPClassifier((10,), alpha=1e-3, n_members=1).fit(X, y)
        >>> model.score(X, y) > 0.9
        True
    """

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        hidden_layer_sizes=(100,),
        activation="relu",
        *,
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
        norm=None,
        dropout=0.0,
        residual=False,
        init="auto",
        n_members: Any = "auto",
        bootstrap=False,
        laplace=False,
        categories=None,
        embedding_size="auto",
        pretrained: Any = None,
        trainable: Any = "all",
        warm_start=False,
        random_state=0,
        verbose=False,
    ):
        store(self, locals())

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
        return self._partial_fit(X, y, sample_weight, encoded=True)

    def _architecture(self) -> TableNetwork:
        return perceptron(self)
