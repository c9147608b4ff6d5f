r"""Spans in sequences of labels, such as the names in a text, and how many of them are found.

The label of a position says how it belongs to a span: `B-PER` begins one of kind PER, `I-PER`
is inside, `E-PER` ends it, `S-PER` is one by itself, `O` is outside of all. A span counts as found
only if its beginning, its end and its kind are right:

$$\text{precision} = \frac{\text{found}}{\text{predicted}}, \qquad
  \text{recall} = \frac{\text{found}}{\text{true}}, \qquad
  F_1 = \frac{2 \cdot \text{found}}{\text{predicted} + \text{true}}.$$

Labels that contradict each other are read as leniently as conlleval and seqeval read them: a
span that begins with `I-PER` begins there, and one whose kind changes is two.
"""

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from likely.core.checks import InputError, check_choice, check_weights

OUTSIDE = "O"
PREFIXES = "BIES"
AVERAGES = ("micro", "macro", "weighted")

Span = tuple[int, int, str]
"""The first position, the one after the last, and the kind."""


class SpanScores(NamedTuple):
    """How well spans were found; arrays by kind where there is no average."""

    precision: Any
    recall: Any
    f1: Any
    support: Any
    """How many true spans there are."""
    kinds: tuple[str, ...]
    """The kinds of spans, sorted."""


def spans_of(labels: Any) -> list[Span]:
    """The spans in one sequence of labels: (start, end, kind), the end not included.

    Args:
        labels: `O`, `B-kind`, `I-kind`, `E-kind`, `S-kind`, or the letters alone.

    Examples:
        >>> lk.evaluate.spans_of(["O", "B-PER", "I-PER", "O", "B-LOC"])
        [(1, 3, 'PER'), (4, 5, 'LOC')]
    """
    found, start = [], 0
    before, kind_before = OUTSIDE, ""
    for i, label in enumerate([*labels, OUTSIDE]):
        letter, kind = split_label(label, i)
        new = kind != kind_before or letter in "BSO" or before in "ESO"
        if new and before != OUTSIDE:
            found.append((start, i, kind_before))
        if new:
            start = i
        before, kind_before = letter, kind
    return found


def split_label(label: Any, position: int = 0) -> tuple[str, str]:
    """The letter and the kind of a label; `_` is the kind of a letter alone.

    Args:
        label: such as `B-PER`.
        position: where it stands, to say so.
    """
    if not is_span_label(label):
        raise InputError(
            f"the label {label!r} at position {position} is none of a span; give O, or a kind "
            "after B-, I-, E- or S-, such as B-PER."
        )
    return label[0], label[2:] or "_"


def is_span_label(label: Any) -> bool:
    """Whether a label is `O`, or says how a position belongs to a span."""
    if not isinstance(label, str):
        return False
    return label == OUTSIDE or (label[:1] in PREFIXES and label[1:2] in ("", "-"))


def span_labels(spans: Any, n: int) -> list[str]:
    """The labels of n positions, `B-kind`, `I-kind` or `O`: the inverse of `spans_of`.

    Args:
        spans: (start, end, kind), the end not included; they may not overlap.
        n: the number of positions.

    Examples:
        >>> lk.evaluate.span_labels([(1, 3, "PER")], 4)
        ['O', 'B-PER', 'I-PER', 'O']
    """
    labels = [OUTSIDE] * n
    for start, end, kind in spans:
        if not 0 <= start < end <= n:
            raise InputError(
                f"a span goes from {start} to {end}; of {n} positions it has at least one, "
                f"0 <= start < end <= {n}."
            )
        taken = next((i for i in range(start, end) if labels[i] != OUTSIDE), None)
        if taken is not None:
            raise InputError(
                f"two spans hold position {taken}; a position has one label: leave one out."
            )
        labels[start:end] = [f"B-{kind}", *[f"I-{kind}"] * (end - start - 1)]
    return labels


def span_f1(
    y_true: Any,
    y_pred: Any,
    average: str | None = "micro",
    *,
    sample_weight: Any = None,
) -> Any:
    """F₁ of the spans in sequences of labels; see `span_scores`.

    Examples:
        >>> truth, found = [["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "I-PER", "O", "O"]]
        >>> round(float(lk.evaluate.span_f1(truth, found)), 3)
        0.667
    """
    return span_scores(y_true, y_pred, average, sample_weight=sample_weight).f1


def span_scores(
    y_true: Any,
    y_pred: Any,
    average: str | None = "micro",
    *,
    sample_weight: Any = None,
) -> SpanScores:
    """Precision, recall and F₁ of the spans in sequences of labels.

    What would be 0/0 is 0: precision where nothing is predicted, recall where there is nothing.

    Args:
        y_true: a list of labels for each sequence.
        y_pred: as many labels.
        average: "micro" counts all spans alike, "macro" is the mean over kinds, "weighted" the
            mean by how many true spans there are of a kind; None: one number for each kind.
        sample_weight: how often each sequence counts.

    Examples:
        >>> truth, found = [["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "I-PER", "O", "O"]]
        >>> scores = lk.evaluate.span_scores(truth, found)
        >>> print(scores.precision, scores.recall)
        1.0 0.5
    """
    if average is not None:
        check_choice("average", average, AVERAGES)
    kinds, counts = _counted(y_true, y_pred, sample_weight)
    if average == "micro":
        counts = counts.sum(0, keepdims=True)
    right, predicted, true = counts.T
    precision, recall = _ratio(right, predicted), _ratio(right, true)
    f1 = _ratio(2 * right, predicted + true)
    if average is None:
        return SpanScores(precision, recall, f1, true, kinds)
    share = true if average == "weighted" else np.ones(len(true))
    means = [float(_ratio(m @ share, share.sum())) for m in (precision, recall, f1)]
    return SpanScores(means[0], means[1], means[2], float(true.sum()), kinds)


def _counted(y_true: Any, y_pred: Any, sample_weight: Any) -> tuple[tuple, np.ndarray]:
    """The kinds, and (kinds, 3) how many spans are found, predicted and true."""
    if len(y_true) != len(y_pred):
        raise InputError(
            f"y_true has {len(y_true)} sequences and y_pred {len(y_pred)}; give as many."
        )
    counters = Counter(), Counter(), Counter()
    w = check_weights(sample_weight, len(y_true))
    for i, (true, predicted) in enumerate(zip(y_true, y_pred, strict=True)):
        if w[i] == 0:
            continue
        if len(true) != len(predicted):
            raise InputError(
                f"sequence {i} has {len(true)} labels in y_true and {len(predicted)} in "
                "y_pred; give one for each position of both."
            )
        there, said = set(_spans_in(true, i)), set(_spans_in(predicted, i))
        for counter, spans in zip(counters, (there & said, said, there), strict=True):
            for span in spans:
                counter[span[2]] += w[i]
    kinds = tuple(sorted(counters[1] | counters[2]))
    counts = [[counter[kind] for counter in counters] for kind in kinds]
    return kinds, np.array(counts, np.float64).reshape(len(kinds), 3)


def _spans_in(labels: Any, row: int) -> list[Span]:
    try:
        return spans_of(labels)
    except InputError as error:
        raise InputError(f"in sequence {row}, {error}") from None


def _ratio(a: Any, b: Any) -> Any:
    return np.divide(a, b, out=np.zeros_like(np.asarray(b, np.float64)), where=b > 0)
