r"""Tags: a class for each position of a sequence."""

from typing import Any, no_type_check

import numpy as np
from scipy.special import logsumexp

from likely.base.labels import codes_of, encode_labels, smallest_set
from likely.base.rows import weights_of
from likely.base.settings import store
from likely.base.training.options import Limits
from likely.core.checks import InputError
from likely.estimators.networks.predictor import NetworkPredictor
from likely.estimators.sequence.inputs import SequenceInputs
from likely.estimators.sequence.network import SequenceNetwork
from likely.estimators.sequence.sequences import limits_of, network_of
from likely.families import AbstractFamily, Categorical, Predictive
from likely.typing import Batch


class SequenceTagger(NetworkPredictor):
    r"""$y_p \mid x \sim$ Categorical(softmax $f(x)_p$) for each position p of a sequence x.

    The loss is the mean over all positions of all rows. Rows come as for `SequenceClassifier`,
    and so are the other arguments and the attributes; y has the labels of each row's positions,
    as an array (n, t) or a list of lists. A position whose label is None is read, but it is
    neither learned from nor judged. Predictions have the form of X: arrays for arrays, lists of
    arrays for lists.

    Args:
        bidirectional: whether recurrent layers also read from the last position to the first,
            so that a label can depend on what follows.

    Examples:
        >>> X = np.random.default_rng(0).normal(size=(60, 5, 1)).astype(np.float32)
        >>> model = lk.SequenceTagger("rnn", 4, max_iter=5).fit(X, (X[..., 0] > 0).astype(int))
        >>> len(model.predict(X[:3]))
        3
    """

    _kind = SequenceInputs(256)
    _positions = True
    _allows_outputs = True

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        architecture="lstm",
        size=64,
        *,
        n_layers=1,
        n_heads=4,
        bidirectional=True,
        dropout=0.0,
        tokens="auto",
        min_count=2,
        dtype=None,
        pretrained: Any = None,
        trainable: Any = "all",
        alpha: Any = "auto",
        solver="adam",
        learning_rate_init: Any = "auto",
        learning_rate: Any = "auto",
        batch_size: Any = "auto",
        max_iter: Any = "auto",
        tol=1e-5,
        clip_norm: Any = "auto",
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

    @property
    def _limits(self) -> Limits:
        return limits_of(self)

    def _architecture(self) -> SequenceNetwork:
        return network_of(self, each=True)

    def _target(self, y: np.ndarray) -> tuple[AbstractFamily, int]:
        return Categorical(len(self.classes_)), 0

    @property
    def _predicts_classes(self) -> bool:
        return True

    # Rows ------------------------------------------------------------------------------

    def _batch(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        first: bool = True,
        known: bool = False,
        name: str = "y",
    ) -> Batch:
        w = weights_of(sample_weight, len(X))
        labels = _labels(X, y, w, name)
        counted = np.concatenate(
            [row[_labelled(row)] for row, each in zip(labels, w, strict=True) if each]
        )
        if counted.dtype == object and all(isinstance(each, str) for each in counted):
            counted = counted.astype(str)
        if not known:
            self.classes_ = encode_labels(counted)[0]
        else:
            codes_of(counted, self.classes_, name)
        any_label = np.repeat(self.classes_[:1], len(w))
        batch = super()._batch(X, any_label, sample_weight, first=first, known=True)
        codes = np.full(batch.x.shape[:2], np.nan)
        for i in np.flatnonzero(w > 0):
            here = np.flatnonzero(_labelled(labels[i]))
            codes[i, here] = np.searchsorted(self.classes_, labels[i][here])
        codes[w == 0] = codes[np.argmax(w > 0)]
        return batch._replace(y=codes)

    def _validation_rows(self, X: Any, y: Any, w: Any) -> Batch | None:
        if X is None:
            return None
        if y is None:
            raise InputError("X_val is given without y_val; give both.")
        return self._batch(X, y, w, first=False, known=True, name="y_val")

    # Predicting ------------------------------------------------------------------------

    def predict(self, X: Any) -> Any:
        """The most probable label of each position, in the form of X."""
        return _formed(X, [self.classes_[p.argmax(1)] for p in self._each_log_prob(X)])

    def predict_proba(self, X: Any) -> Any:
        """(t, c) probabilities of the positions of each row, in the form of X."""
        return _formed(X, [np.exp(p) for p in self._each_log_prob(X)])

    def predict_log_proba(self, X: Any) -> Any:
        """(t, c) log-probabilities of the positions of each row, in the form of X."""
        return _formed(X, self._each_log_prob(X))

    def predict_set(self, X: Any, coverage: float = 0.9) -> Any:
        """(t, c) booleans: the fewest labels that hold this much probability."""
        sets = [smallest_set(np.exp(p), coverage) for p in self._each_log_prob(X)]
        return _formed(X, sets)

    def predict_dist(self, X: Any) -> Predictive:
        """p(y | x) of each position: those of all rows, one after another."""
        logs = np.concatenate(self._each_log_prob(X))
        return Predictive(self.family_, logs, self.classes_)

    def nll(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The mean loss of a position, in nats."""
        logs, codes, w = self._judged(X, y, sample_weight)
        own = np.take_along_axis(logs, codes[:, None], 1)[:, 0]
        return float(-np.average(own, weights=w))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of positions whose label is predicted."""
        logs, codes, w = self._judged(X, y, sample_weight)
        return float(np.average(logs.argmax(1) == codes, weights=w))

    def _judged(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Log-probabilities, codes and weights of all positions of rows that count."""
        w = weights_of(sample_weight, len(X))
        here = np.flatnonzero(w > 0)
        labels = _labels(X, y, w, "y")
        kept = X if len(here) == len(w) else _taken(X, here)
        logs = self._each_log_prob(kept)
        masks = [_labelled(labels[i]) for i in here]
        logs = [row[mask] for row, mask in zip(logs, masks, strict=True)]
        found = [labels[i][mask] for i, mask in zip(here, masks, strict=True)]
        codes = codes_of(np.concatenate(found), self.classes_, "y").astype(int)
        lengths = [len(row) for row in logs]
        return np.concatenate(logs), codes, np.repeat(w[here], lengths)

    def _each_log_prob(self, X: Any) -> list[np.ndarray]:
        """(t, c) log-probabilities of each row's positions, the mixture of the members."""
        inputs = self._inputs(X)
        etas = self._etas(inputs)
        logs = etas - logsumexp(etas, axis=-1, keepdims=True)
        logs = logsumexp(logs, axis=0) - np.log(len(etas))
        lengths = inputs[..., -1].sum(1).astype(int)
        return [row[:t] for row, t in zip(logs, lengths, strict=True)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.three_d_array = False, True
        return tags


def _labels(X: Any, y: Any, w: np.ndarray, name: str) -> list[np.ndarray]:
    """The labels of each row, as many as it has positions."""
    if len(y) != len(X):
        raise InputError(
            f"X has {len(X)} rows but {name} has {len(y)}; give the labels of each row."
        )
    labels = [np.asarray(row) for row in y]
    for i, (row, found) in enumerate(zip(X, labels, strict=True)):
        if w[i] and found.shape != (len(row),):
            raise InputError(
                f"row {i} of X has {len(row)} positions and that of {name} labels of shape "
                f"{found.shape}; give one label for each position."
            )
    return labels


def _labelled(row: np.ndarray) -> np.ndarray:
    """(t,) booleans: the positions that have a label."""
    if row.dtype != object:
        return np.ones(len(row), bool)
    return np.array([label is not None for label in row], bool)


def _taken(X: Any, rows: np.ndarray) -> Any:
    return X[rows] if hasattr(X, "ndim") else [X[i] for i in rows]


def _formed(X: Any, rows: list[np.ndarray]) -> Any:
    """One array for an array, a list of arrays for anything else."""
    return np.stack(rows) if getattr(X, "ndim", 1) > 1 else rows
