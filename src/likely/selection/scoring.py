r"""Scores of held-out rows, where more is better: nats, or any score of scikit-learn.

By default a fit is judged by the mean of $\log p(y_i \mid x_i)$ over the rows held out, that is
by minus its nats. A name or a function as scikit-learn has them (`scoring="r2"`) judges
predictions instead. The scores of many fits of one compiled program are computed together.
"""

from collections.abc import Callable
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier

from likely.base.learning import held_out_etas
from likely.base.predictor import Predictor
from likely.core.checks import InputError
from likely.evaluate.cross_validation import Splits
from likely.families import Normal, Predictive, StudentT
from likely.selection.members import held_out_nll, is_point_regressor
from likely.selection.programs import Fits
from likely.selection.refits import TableRows, fit_rows, inner_scale

PLAIN_MEANS = ("Predictor._mean", "NetworkPredictor._mean")
"""Methods that give the mean of the distribution at the fitted parameters."""


class Scoring(NamedTuple):
    """How fits are judged."""

    name: str
    """What is shown: "nats", or the name of the score."""
    scorer: Any = None
    """A function of a fitted estimator, X and y; None for nats."""

    @classmethod
    def of(cls, scoring: Any) -> "Scoring":
        """What the parameter `scoring` of a search means."""
        if scoring is None or isinstance(scoring, str) and scoring == "nats":
            return cls("nats")
        if isinstance(scoring, str):
            from sklearn.metrics import get_scorer, get_scorer_names

            if scoring not in get_scorer_names():
                raise InputError(
                    f"scoring is {scoring!r}; give None for held-out nats, a score of "
                    "scikit-learn such as 'r2' or 'neg_log_loss', or a function of an "
                    "estimator, X and y."
                )
            return cls(scoring, get_scorer(scoring))
        if not callable(scoring):
            raise InputError(
                f"scoring is {scoring!r}; give None, one name, or one function."
            )
        return cls(getattr(scoring, "__name__", str(scoring)), scoring)

    def of_model(
        self,
        model: Any,
        new: TableRows,
        *,
        classes: np.ndarray | None = None,
        scale: Any = 1.0,
    ) -> float:
        """The score of one fitted estimator on rows that it has not seen.

        Args:
            model: the estimator.
            new: the rows, all of them present.
            classes: all labels, sorted; None where y is a number.
            scale: the standard deviation of a point regressor, for its nats.
        """
        if self.scorer is None:
            given = {"classes": classes, "scale": scale}
            return -held_out_nll(model, new.X, new.y, new.w, **given)
        if (new.w == 1).all():
            return float(self.scorer(model, new.X, new.y))
        if not _takes_weights(self.scorer):
            raise InputError(
                f"the scoring function {self.name} takes no sample_weight; give one that "
                "does, or leave the weights out."
            )
        return float(self.scorer(model, new.X, new.y, sample_weight=new.w))

    def on_folds(
        self,
        estimator: Any,
        rows: TableRows,
        splits: Splits,
        classes: np.ndarray | None = None,
    ) -> list[float]:
        """The score of each fold, by a copy that is fitted to its training rows.

        Args:
            estimator: the predictor; it is not changed.
            rows: all rows; those of weight zero are left out.
            splits: the indices of the training and of the held-out rows of each fold.
            classes: all labels, sorted; None where y is a number.
        """
        found = []
        for train, held_out in splits:
            known, new = rows.part(train), rows.part(held_out)
            model = fit_rows(estimator, known)
            with_scale = self.scorer is None and is_point_regressor(model)
            scale = inner_scale(estimator, known) if with_scale else 1.0
            found.append(self.of_model(model, new, classes=classes, scale=scale))
        return found

    def judges_programs(self, model: Any) -> bool:
        """Whether a score needs no more than predictions at the fitted parameters.

        A function of one's own may look at anything in an estimator.
        """
        if self.scorer is None:
            return True
        return hasattr(self.scorer, "_score_func") and _predicts_plainly(model)

    def of_fits(self, fits: Fits) -> Float[np.ndarray, "m j"] | None:
        """The scores of every setting on every fold of a program, or None: see above."""
        if self.scorer is None:
            return -fits.nll
        model, family = fits.model, fits.problem.learner.family
        relearned = fits.problem.relearn is not None
        if relearned or family.multivariate or isinstance(family, StudentT):
            return None
        etas, rows = held_out_etas(fits.problem, fits.phi, fits.held_out)
        flat = np.asarray(etas, np.float64).reshape(-1, etas.shape[-1])
        if is_classifier(model):
            predicted = Predictive(family, flat, model.classes_).probs
            quick = CLASS_SCORES.get(self.name)
        else:
            normal = type(family) is Normal
            predicted = flat[:, 0] if normal else Predictive(family, flat).mean
            quick = NUMBER_SCORES.get(self.name)
        predicted = predicted.reshape(*etas.shape[:-1], *predicted.shape[1:])
        diverged = np.isnan(fits.nll)
        if quick is not None:
            scores = quick(predicted, rows.y.astype(rows.w.dtype), rows.w)
        else:
            scores = self._one_by_one(model, predicted, rows.y, rows.w, ~diverged)
        return np.where(diverged, np.nan, scores)

    def _one_by_one(self, model: Any, predicted: Any, y: Any, w: Any, which: Any):
        """Scores of predictions by scikit-learn's scorer."""
        scores, classes = np.zeros(which.shape), getattr(model, "classes_", None)
        for i, j in np.argwhere(which):
            here = w[j] > 0
            if classes is None:
                stand_in, target = Numbers(predicted[i, j, here]), y[j, here]
            else:
                stand_in = Probabilities(predicted[i, j, here], classes)
                target = classes[y[j, here].astype(int)]
            new = TableRows(np.zeros((here.sum(), 1)), target, w[j, here])
            scores[i, j] = self.of_model(stand_in, new)
        return scores


class Numbers(RegressorMixin, BaseEstimator):
    """A regressor that has predicted already, for scorers of scikit-learn."""

    def __init__(self, mean: Any = None):
        self.mean = mean

    def predict(self, X: Any) -> Any:
        """What was predicted."""
        return self.mean


class Probabilities(ClassifierMixin, BaseEstimator):
    """A classifier that has predicted already, for scorers of scikit-learn."""

    def __init__(self, probs: Any = None, classes_: Any = None):
        self.probs, self.classes_ = probs, classes_

    def predict(self, X: Any) -> Any:
        """The most probable classes."""
        return self.classes_[self.probs.argmax(1)]

    def predict_proba(self, X: Any) -> Any:
        """What was predicted."""
        return self.probs


def _predicts_plainly(model: Any) -> bool:
    """Whether `predict` is the mean, or the most probable class, at the fitted φ."""
    cls = type(model)
    if not isinstance(model, Predictor) or cls.predict is not Predictor.predict:
        return False
    if is_classifier(model):
        plain = cls._probs is Predictor._probs
        return plain and getattr(model, "threshold", 0.5) == 0.5
    return cls._mean.__qualname__ in PLAIN_MEANS


def _takes_weights(scorer: Any) -> bool:
    if hasattr(scorer, "_score_func"):
        scorer = scorer._score_func
    return "sample_weight" in signature(scorer).parameters


# Scores of many fits at once -----------------------------------------------------------

Many = Float[np.ndarray, "m j s"]
Rows = Float[np.ndarray, "j s"]


def _mean(values: Many, w: Rows) -> np.ndarray:
    return np.einsum("mjs,js->mj", values, w / w.sum(1, keepdims=True))


def _neg_squares(mean: Many, y: Rows, w: Rows) -> np.ndarray:
    return -_mean((mean - y) ** 2, w)


def _neg_root(mean: Many, y: Rows, w: Rows) -> np.ndarray:
    return -np.sqrt(-_neg_squares(mean, y, w))


def _neg_absolute(mean: Many, y: Rows, w: Rows) -> np.ndarray:
    return -_mean(np.abs(mean - y), w)


def _r2(mean: Many, y: Rows, w: Rows) -> np.ndarray:
    """1 − Σ w r² / Σ w (y − ȳ)², with ȳ the mean of the rows held out."""
    share = w / w.sum(1, keepdims=True)
    centred = y - (share * y).sum(1, keepdims=True)
    spread = (share * centred**2).sum(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return 1 + _neg_squares(mean, y, w) / spread


def _codes(y: Rows) -> Int[np.ndarray, "j s"]:
    return y.astype(int)


def _accuracy(probs: np.ndarray, y: Rows, w: Rows) -> np.ndarray:
    return _mean((probs.argmax(-1) == _codes(y)).astype(float), w)


def _neg_log_loss(probs: np.ndarray, y: Rows, w: Rows) -> np.ndarray:
    codes = np.broadcast_to(_codes(y), probs.shape[:-1])
    p = np.take_along_axis(probs, codes[..., None], -1)[..., 0]
    tiny = np.finfo(p.dtype).eps
    return _mean(np.log(np.clip(p, tiny, 1 - tiny)), w)


NUMBER_SCORES: dict[str, Callable[..., np.ndarray]] = {
    "neg_mean_squared_error": _neg_squares,
    "neg_root_mean_squared_error": _neg_root,
    "neg_mean_absolute_error": _neg_absolute,
    "r2": _r2,
}
"""Scores of means that are computed for all fits together."""
CLASS_SCORES: dict[str, Callable[..., np.ndarray]] = {
    "accuracy": _accuracy,
    "neg_log_loss": _neg_log_loss,
}
"""Scores of probabilities that are computed for all fits together."""
