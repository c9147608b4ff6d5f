r"""Rows whose label is probably wrong, by predictions of models that did not see them.

Labels are taken for noisy copies of the truth: a row of true class k is called j with
probability $T_{kj}$ (confident learning; Northcutt, Jiang and Chuang, 2021). A row counts for
class k where its held-out probability of k is at least the mean $t_k$ of that probability
over the rows called k; the counts of (called j, counted for k), scaled to the number of rows
called j, estimate the joint distribution of called and true class, with no more noise than
the surest rows show (`ceiling`). Given T, the true
probabilities $p$ follow from the held-out ones $q = T^\top p$, and by Bayes

$$P(\text{true} \ne j \mid \text{called } j, x) = 1 - \frac{T_{jj}\, p_j(x)}{q_j(x)} .$$

Candidates are the rows where this is above one half; its mean over them is the share of
candidates that are expected to be wrong. Rows in a region where classes truly mix are no
noise, and no method can tell the two apart without an assumption: here it is that somewhere
each class is nearly pure.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from likely.base.labels import codes_of
from likely.base.rows import weights_of
from likely.core.checks import InputError
from likely.core.written_numbers import counted, percent
from likely.diagnostics.result import Result
from likely.diagnostics.rows.ceiling import Ceiling, ceiling
from likely.diagnostics.rows.held_out import (
    check_classifier,
    cross_fitted,
    fold_numbers,
)

MIN_PROBABILITY = 1e-9
MIN_SHARE, MIN_SKILL = 0.04, 0.6
"""The least share of wrong labels that is worth a word, and the least share of errors that
a model has to avoid to tell noise from classes that mix."""


@dataclass(frozen=True, repr=False, eq=False)
class LabelNoise(Result):
    """Which labels are probably wrong.

    Attributes:
        candidates: the numbers of rows whose label is more likely wrong than right, the
            surest first.
        probability: (n,) how likely the label of each row is wrong.
        suggested: (n,) the label that is likeliest instead.
        labels: (n,) the labels that were given.
        joint: (c, c) shares of rows by the label that they have and the one that is true.
        classes: the labels, in the order of `joint`.
        ceiling: how often labels contradict the model where it is surest, with an error
            and a p-value: the evidence that there is noise at all.
        level: the probability of finding noise where there is none.
    """

    candidates: Int[np.ndarray, " m"]
    probability: Float[np.ndarray, " n"]
    suggested: np.ndarray
    labels: np.ndarray
    joint: Float[np.ndarray, "c c"]
    classes: np.ndarray
    ceiling: Ceiling
    level: float

    @property
    def expected_precision(self) -> float:
        """The share of candidates that are expected to be wrong."""
        if not len(self.candidates):
            return float("nan")
        return float(self.probability[self.candidates].mean())

    @property
    def noise_share(self) -> float:
        """The share of labels that are estimated to be wrong."""
        return float(1 - np.trace(self.joint))

    @property
    def shown(self) -> bool:
        """Whether there is evidence of noise beyond classes that mix."""
        found = self.ceiling
        tells = found.skill >= MIN_SKILL and found.share >= MIN_SHARE
        return bool(tells and found.p_value < self.level)

    @property
    def verdict(self) -> str:
        """Whether labels look wrong, how many, and how sure that is."""
        where = f"where the model is surest {self.ceiling.sentence}"
        if not self.shown:
            more = ""
            if len(self.candidates):
                more = (
                    f" {counted(len(self.candidates), 'row')} look odd, which classes that "
                    "mix explain as well."
                )
            return f"No label noise shown: {where}.{more}"
        if not len(self.candidates):
            return f"Some labels look wrong ({where}), but no row stands out."
        return (
            f"{counted(len(self.candidates), 'label')} are probably wrong, of which about "
            f"{percent(self.expected_precision, 0)} are expected to be so: {where}."
        )

    def table(self) -> dict[str, Any]:
        """The candidates, the surest first."""
        rows = self.candidates
        return {
            "row": rows,
            "label": [str(label) for label in self.labels[rows]],
            "suggested": [str(label) for label in self.suggested[rows]],
            "P(wrong)": self.probability[rows],
        }

    def plot(self) -> Any:
        """How often labels agree over the confidence, and the candidates by class."""
        from likely.plots import label_noise_map

        return label_noise_map(self)


def label_noise(
    estimator: Any,
    X: Any = None,
    y: Any = None,
    *,
    cv: int = 5,
    sample_weight: Any = None,
    groups: Any = None,
    probs: Any = None,
    level: float = 0.01,
    random_state: int = 0,
) -> LabelNoise:
    """Find labels that are probably wrong.

    Args:
        estimator: any classifier with probabilities, of `likely` or scikit-learn; copies of
            it are fitted. The better it predicts, the more wrong labels can be told. None
            where `probs` are given.
        X: (n, d) inputs.
        y: (n,) labels.
        cv: the number of folds: each row is judged by a fit without its fold.
        sample_weight: how often each row counts.
        groups: what each row belongs to; rows of a group are held out together.
        probs: (n, c) held-out probabilities, classes sorted, instead of `estimator` and X.
        level: the probability of finding noise where there is none.
        random_state: a seed for the folds.
    """
    if y is None:
        raise InputError("y is None; give the labels.")
    y = np.asarray(y)
    w = weights_of(sample_weight, len(y))
    classes = np.unique(y[w > 0])
    if len(classes) < 2:
        raise InputError("y has one class only; label noise needs two or more.")
    if probs is None:
        check_classifier(estimator, "label_noise")
        options: dict[str, Any] = {"groups": groups, "random_state": random_state}
        filled = np.where(w > 0, y, classes[0])
        fold = fold_numbers(filled, w, cv, classes=True, **options)
        found = cross_fitted(estimator, X, filled, w, fold, classes=classes).rows
        codes, q = found.y.astype(int), found.mean
    else:
        q = np.asarray(probs, np.float64)
        if q.shape != (len(y), len(classes)):
            raise InputError(
                f"probs has shape {q.shape}; give ({len(y)}, {len(classes)}), a column for "
                "each label, sorted."
            )
        codes = codes_of(np.where(w > 0, y, classes[0]), classes, "y").astype(int)
    here = w > 0
    top = ceiling(codes[here], q[here], w[here])
    joint = scaled_noise(confident_joint(codes, q, w), top.share)
    P = posterior(codes, q, joint)
    wrong = np.where(w > 0, 1 - P[np.arange(len(y)), codes], 0.0)
    P[np.arange(len(y)), codes] = -1.0
    candidates = np.flatnonzero(wrong > 0.5)
    candidates = candidates[np.argsort(-wrong[candidates], kind="stable")]
    suggested = classes[P.argmax(1)]
    return LabelNoise(candidates, wrong, suggested, y, joint, classes, top, level)


def confident_joint(
    codes: Int[np.ndarray, " n"],
    q: Float[np.ndarray, "n c"],
    w: Float[np.ndarray, " n"],
) -> Float[np.ndarray, "c c"]:
    """The shares of rows called j (rows) that are truly of class k (columns).

    Args:
        codes: the label of each row, as a number from 0.
        q: held-out probabilities of the classes.
        w: how often each row counts.
    """
    n, c = q.shape
    total = np.bincount(codes, w, c)
    t = np.array([w @ ((codes == k) * q[:, k]) for k in range(c)])
    t = t / np.maximum(total, 1e-300)
    reached = np.where(q >= t, q, -1.0)
    sure = reached.max(1) >= 0
    counts = np.zeros((c, c))
    np.add.at(counts, (codes[sure], reached.argmax(1)[sure]), w[sure])
    counts += np.diag(np.where(counts.sum(1) > 0, 0.0, 1.0))
    shares = counts / counts.sum(1, keepdims=True) * total[:, None]
    return shares / shares.sum()


def scaled_noise(
    joint: Float[np.ndarray, "c c"], share: float
) -> Float[np.ndarray, "c c"]:
    """The joint shares with at most this much off the diagonal.

    Where classes truly mix, rows count for other classes without any noise; what the
    surest rows show is a bound on how much of it is noise.
    """
    noise = 1 - np.trace(joint)
    if not share < noise:
        return joint
    kept = joint * share / noise
    return kept + np.diag(joint.sum(1) - kept.sum(1))


def posterior(
    codes: Int[np.ndarray, " n"],
    q: Float[np.ndarray, "n c"],
    joint: Float[np.ndarray, "c c"],
) -> Float[np.ndarray, "n c"]:
    """(n, c) how likely each class is the true one, given the label and the inputs.

    Args:
        codes: the label of each row.
        q: held-out probabilities of being called each class.
        joint: shares of rows by label and true class.
    """
    T = (joint / np.maximum(joint.sum(0), MIN_PROBABILITY)).T  # (true, called)
    T = np.where(joint.sum(0)[:, None] > 0, T, np.eye(len(T)))
    try:
        p = q @ np.linalg.inv(T)
    except np.linalg.LinAlgError:
        p = q
    p = np.maximum(p, MIN_PROBABILITY)
    p = p / p.sum(1, keepdims=True)
    found = p * T[:, codes].T
    return found / np.maximum(found.sum(1, keepdims=True), 1e-300)
