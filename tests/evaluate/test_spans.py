"""Spans in labels, and how many are found: seqeval's numbers."""

import json
import warnings

import numpy as np
import pytest
from ledger import ROOT

from likely.core.checks import InputError
from likely.evaluate import span_f1, span_labels, span_scores, spans_of

GOLDEN = json.loads((ROOT / "tests" / "golden" / "spans" / "seqeval.json").read_text())
LABELS = ["O", *"BIES", *(f"{letter}-{kind}" for letter in "BIES" for kind in "XYZ")]


@pytest.mark.parametrize(
    ("labels", "spans"),
    [
        ("", []),
        ("O O", []),
        ("B-PER I-PER O B-LOC", [(0, 2, "PER"), (3, 4, "LOC")]),
        ("B-PER B-PER I-PER", [(0, 1, "PER"), (1, 3, "PER")]),
        ("O I-PER I-PER", [(1, 3, "PER")]),  # IOB1: a span begins where it is first
        ("I-PER I-LOC", [(0, 1, "PER"), (1, 2, "LOC")]),
        ("B-PER I-LOC I-PER", [(0, 1, "PER"), (1, 2, "LOC"), (2, 3, "PER")]),
        ("S-PER B-PER I-PER E-PER O", [(0, 1, "PER"), (1, 4, "PER")]),
        ("B-PER E-PER E-PER", [(0, 2, "PER"), (2, 3, "PER")]),
        ("B I O", [(0, 2, "_")]),
        ("B-WORK-OF-ART I-WORK-OF-ART", [(0, 2, "WORK-OF-ART")]),
    ],
)
def test_spans_of_labels(labels, spans):
    assert spans_of(labels.split()) == spans


def test_labels_and_spans_are_inverse(rng):
    for _ in range(50):
        ends = np.sort(rng.choice(12, 6, replace=False)).tolist()
        kinds = rng.choice(["A", "B-C"], 3).tolist()
        spans = list(zip(ends[::2], ends[1::2], kinds, strict=True))
        assert spans_of(span_labels(spans, 12)) == spans


def checked(true, predicted, known):
    for average, theirs in known.items():
        own = span_scores(true, predicted, None if average == "None" else average)
        for ours, other in zip(own, theirs, strict=False):
            np.testing.assert_allclose(ours, other, atol=1e-12)


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: str(case["name"]))
def test_scores_are_those_that_seqeval_gave(case):
    checked(case["true"], case["predicted"], case["scores"])


def test_scores_are_seqevals_on_random_labels(rng):
    peer = pytest.importorskip("seqeval.metrics.sequence_labeling", reason="no seqeval")
    for _ in range(40):
        lengths = rng.integers(0, 9, 4)
        true = [rng.choice(LABELS, n).tolist() for n in lengths]
        predicted = [
            [label if rng.random() < 0.6 else str(rng.choice(LABELS)) for label in row]
            for row in true
        ]
        for row in true:
            known = [(a, b + 1, kind) for kind, a, b in peer.get_entities(row)]
            assert spans_of(row) == known
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores = {
                str(average): peer.precision_recall_fscore_support(
                    true, predicted, average=average
                )
                for average in ("micro", "macro", "weighted", None)
            }
        checked(true, predicted, scores)


def test_weights_are_repetition_and_absent_rows_hold_anything():
    true = [["B-X", "O"], ["B-Y", "I-Y"], ["O", "B-X"]]
    said = [["B-X", "O"], ["B-Y", "O"], ["B-X", "B-X"]]
    twice = [0, 0, 2]
    a = span_scores(true, said, "macro", sample_weight=[2, 0, 1])
    b = span_scores([true[i] for i in twice], [said[i] for i in twice], "macro")
    assert a == b
    garbage = [true[0], [3.0], true[2]]
    assert span_f1(garbage, said, sample_weight=[2, 0, 1]) == pytest.approx(6 / 7)


def test_nothing_to_find_and_nothing_found_is_zero():
    for average in ("micro", "macro", "weighted"):
        assert span_f1([["O"]], [["O"]], average) == 0.0
    assert len(span_f1([["O"]], [["O"]], None)) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: spans_of(["PER"]), "'PER' at position 0 is none of a span"),
        (lambda: spans_of([3]), "3 at position 0"),
        (lambda: span_f1([["O"]], [["O"], ["O"]]), "1 sequences and y_pred 2"),
        (lambda: span_f1([["O"]], [["O", "O"]]), "sequence 0 has 1 labels"),
        (
            lambda: span_f1([["O"], ["X"]], [["O"], ["O"]]),
            "in sequence 1, the label 'X'",
        ),
        (lambda: span_f1([["O"]], [["O"]], "mean"), "average is 'mean'"),
        (lambda: span_labels([(0, 3, "X")], 2), "from 0 to 3"),
        (lambda: span_labels([(0, 2, "X"), (1, 3, "Y")], 4), "hold position 1"),
    ],
)
def test_mistakes_are_sentences(call, message):
    with pytest.raises(InputError, match=message):
        call()
