"""A network of texts beside its linear baseline, both judged on the same held-out texts."""

import warnings
from typing import Any, NamedTuple

import numpy as np

from likely.base.held_out import held_out_shares
from likely.evaluate import mean_score, paired_difference
from likely.text.models.supervised.baseline import groups_of
from likely.text.models.supervised.sparse_linear import with_every_class

MIN_ROWS = 20
"""Rows from which on some are held out to compare by."""
FEW_ROWS, PARTS_OF_FEW, PARTS = 500, 5, 10
"""Of few rows a fifth is held out, of more a tenth."""


class Judged(NamedTuple):
    """How well a model predicts held-out texts."""

    nats: float
    """The mean of −log p per row."""
    score: float
    """Accuracy for classes, the root of the mean squared error for numbers, F₁ for spans."""


class TextComparison(NamedTuple):
    """A network, the linear model of words, and the model without inputs, on held-out texts."""

    unit: str
    """What is judged: a "text" or a "word"."""
    count: float
    """How many of them were held out, by weight."""
    measure: str
    """What the scores are: "accuracy", "RMSE" or "span F1"."""
    network: Judged | None
    linear: Judged
    null: Judged
    difference: float
    """Nats per text, or word, of the network less those of the linear model."""
    error: float
    """The standard error of this difference, by the differences of the rows."""

    @property
    def network_is_better(self) -> bool:
        """Whether the network has fewer nats."""
        return self.network is not None and self.difference < 0

    def __str__(self) -> str:
        judged = {
            "network": self.network,
            "linear baseline": self.linear,
            "null model": self.null,
        }
        lines = [f"{self.count:g} held-out {self.unit}s"]
        lines.append(f"{'':18}{'nats':>9}  {self.measure}")
        lines += [
            f"{name:18}{each.nats:9.4f}  {each.score:.4f}"
            for name, each in judged.items()
            if each is not None
        ]
        return "\n".join([*lines, self.sentence])

    @property
    def sentence(self) -> str:
        """Which one is better, by how much, in words."""
        if self.network is None:
            gap = self.null.nats - self.linear.nats
            return (
                f"The linear model has {gap:.4f} nats per {self.unit} less than the null "
                "model."
            )
        better = "less" if self.network_is_better else "more"
        clear = abs(self.difference) > 2 * self.error
        return (
            f"The network has {abs(self.difference):.4f} ± {self.error:.4f} nats per {self.unit} "
            f"{better} than the linear baseline{'' if clear else ', which may be chance'}."
        )


def held_out(
    texts: list[str], y: np.ndarray, w: np.ndarray, n_classes: int
) -> np.ndarray | None:
    """(n,) the share of each row that is held out to compare by; None where rows are few.

    It depends on the contents of the rows alone: a row of weight 2 is the row twice, and equal
    texts are held out together.

    Args:
        texts: checked, all of them with weight.
        y: codes of classes, or numbers.
        w: how often each row counts.
        n_classes: 0 for numbers.
    """
    total = w.sum()
    if total < MIN_ROWS:
        return None
    parts = PARTS_OF_FEW if total <= FEW_ROWS else PARTS
    groups = groups_of(texts)[:, None].astype(float)
    share = held_out_shares(groups, y, w, parts)[0]
    share = with_every_class(share, y, n_classes) if n_classes else share
    kept, used = w @ (1 - share), w @ share
    return share if used > 1 and kept > 1 else None


def compared(
    logs: dict[str, np.ndarray | None],
    scores: dict[str, Any],
    w: np.ndarray,
    measure: str,
    groups: np.ndarray | None = None,
) -> TextComparison:
    """The comparison from what each model says of the held-out rows.

    Args:
        logs: log p(y | x) of each row, for "network" (or None), "linear" and "null".
        scores: of each.
        w: the weights of the rows.
        measure: what the scores are.
        groups: (n,) 0, 1, ...: rows that belong together, as words of a sentence do; the standard
            error is then that of a mean over groups.
    """
    judged: dict[str, Any] = {
        name: None if own is None else Judged(mean_score(-own, w).value, scores[name])
        for name, own in logs.items()
    }
    gap = (np.nan, np.nan)
    if logs["network"] is not None:
        gap = paired_difference(-logs["network"], -np.asarray(logs["linear"]), w)
        if groups is not None:
            each = np.asarray(logs["linear"]) - logs["network"] - gap[0]
            sums, n = np.bincount(groups, w * each), groups.max() + 1
            gap = gap[0], np.sqrt(sums @ sums * n / max(n - 1, 1)) / w.sum()
    return TextComparison(
        "text" if groups is None else "word",
        float(w.sum()),
        measure,
        judged["network"],
        judged["linear"],
        judged["null"],
        *map(float, gap),
    )


def keeps_network(comparison: TextComparison, *, automatic: bool) -> bool:
    """Whether the network is the model; one that was asked for and is worse warns.

    Args:
        comparison: with a network.
        automatic: whether the better one is to be taken.
    """
    if comparison.network_is_better:
        return True
    if not automatic and comparison.difference > comparison.error:
        warnings.warn(
            f'{comparison.sentence} Use architecture="auto" or "linear", or more texts.',
            stacklevel=4,
        )
    return not automatic


def described(estimator: Any, baseline: str) -> str:
    """A fitted estimator of texts in a few lines.

    Args:
        estimator: with `network_`, `comparison_` and `architecture_`.
        baseline: the linear model in a line.
    """
    lines = [f"linear: {baseline}, alpha {estimator.baseline_.fit.alpha:g}"]
    if estimator.network_ is not None:
        network = estimator.network_.network
        tokens = len(network.vocabulary_) + 1
        lines = [f"{estimator.architecture_}: {tokens:,} tokens, size {network.size}"]
        lines.append(network.status_)
    compared = estimator.comparison_
    lines.append("too few rows to compare by" if compared is None else str(compared))
    return "\n".join(lines)
