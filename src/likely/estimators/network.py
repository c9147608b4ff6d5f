r"""Multilayer perceptrons as estimators: y | x ~ p(y | f(x; φ)) with f a perceptron."""

from typing import Any, no_type_check

import equinox as eqx
import numpy as np

from likely.core.checks import InputError
from likely.estimators.networks.core import AbstractNetwork, class_family, keep
from likely.estimators.shell import AbstractClassifier, AbstractRegressor
from likely.families import AbstractFamily, Normal
from likely.models import MLP
from likely.typing import Key


class TableNetwork(eqx.Module):
    """A perceptron on the columns of a table."""

    perceptron: MLP

    def build(self, shape: tuple[int, ...], n_out: int, *, key: Key) -> Any:
        """From rows of d numbers to n_out entries of η."""
        return self.perceptron.build(shape[0], n_out, key=key)


class AbstractPerceptron(AbstractNetwork):
    """What both have: layers."""

    hidden_layer_sizes: Any
    activation: Any
    norm: Any
    dropout: Any
    residual: Any

    def _network(self) -> TableNetwork:
        return TableNetwork(
            MLP(
                self.hidden_layer_sizes,
                self.activation,
                norm=self.norm,
                dropout=float(self.dropout),
                residual=self.residual,
            )
        )


class MLPRegressor(AbstractPerceptron, AbstractRegressor):
    r"""y | x ~ N(f(x), σ²) with f a multilayer perceptron and one learned σ.

    Args:
        hidden_layer_sizes: the width of each hidden layer.
        activation: of hidden units, a name of `layers.ACTIVATIONS`.
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
        n_members: networks that are fitted, each from other weights and batches, as one
            program; the prediction is the mixture of theirs.
        bootstrap: whether each member sees its own draw of the rows.
        warm_start: whether `fit` goes on from the weights of the last one.
        random_state: seed of first weights, batches, draws and the split.
        verbose: whether to show a progress bar.

    Attributes:
        history_: the loss of each step, and of each look at the validation rows.
        loss_: the last training loss, in nats on the scaled target.
        n_iter_: steps made.
        status_: how it ended.
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
        n_members=1,
        bootstrap=False,
        warm_start=False,
        random_state=0,
        verbose=False,
    ):
        keep(self, locals())

    def _target(self, y: np.ndarray) -> tuple[AbstractFamily, int]:
        return Normal(), 1

    def _encode_other(self, y: np.ndarray) -> np.ndarray:
        return y.astype(np.float64)


class MLPClassifier(AbstractPerceptron, AbstractClassifier):
    """y | x ~ Categorical(softmax f(x)), for two classes Bernoulli, with f a perceptron.

    The arguments and attributes are those of `MLPRegressor`.
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
        n_members=1,
        bootstrap=False,
        warm_start=False,
        random_state=0,
        verbose=False,
    ):
        keep(self, locals())

    def _target(self, y: np.ndarray) -> tuple[AbstractFamily, int]:
        return class_family(self.classes_), 0

    def _encode_other(self, y: np.ndarray) -> np.ndarray:
        unknown = sorted(set(np.unique(y).tolist()) - set(self.classes_.tolist()))
        if unknown:
            raise InputError(
                f"y_val has the class {unknown[0]!r}, which y does not have; leave such "
                "rows out."
            )
        return np.searchsorted(self.classes_, y).astype(np.float64)
