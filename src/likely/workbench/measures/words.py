"""The words of texts: what they gain, and which of them change the predictions most.

The effect of a word is how far the linear predictor moves when the word is in a text, with the
weight that it usually has there: log-odds of classes, logarithms of positive numbers and counts.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from likely import evaluate
from likely.workbench import fitted
from likely.workbench.candidates import TEXT
from likely.workbench.ladder import KEPT_FOLDS, Event, Ladder
from likely.workbench.measures.interactions import EDGE, on_linear_scale
from likely.workbench.report.measured import WordFacts

MAX_WORDS = 20
"""The largest number of words of a column that are listed."""
MAX_ROWS = 2000
"""Held-out rows of a fold by which the usual weight of a word is measured."""
LINEAR = ("linear", "penalised", "null")
"""The models without text that the one with text is compared with."""


class TextGain(NamedTuple):
    """What words gain over the best linear model without them."""

    over: str
    """The name of that model."""
    nats: float
    error: float


def text_gain(ladder: Ladder) -> TextGain | None:
    """The nats per row that words gain, if the model with text was compared."""
    found = ladder.held_out.get(TEXT.name)
    if found is None:
        return None
    w = ladder.table.w[found.rows]
    losses = {n: ladder.held_out[n].loss for n in LINEAR if n in ladder.held_out}
    over = min(losses, key=lambda name: float(w @ losses[name]))
    gap = evaluate.paired_difference(losses[over], found.loss, w)
    return TextGain(over, float(gap.value), float(gap.error))


def top_words(ladder: Ladder) -> tuple[WordFacts, ...]:
    """The words of each column of text that change the predictions most."""
    if TEXT.name not in ladder.held_out:
        return ()
    ladder.notify(Event("stage", text="words of texts"))
    numbers = range(min(KEPT_FOLDS, ladder.n_folds))
    folds = [_effects(ladder, number) for number in numbers]
    found: list[WordFacts] = []
    for column in ladder.plan.texts:
        words = sorted({word for fold in folds for word in fold.get(column, {})})
        every = [
            _word(ladder, column, w, [f.get(column, {}) for f in folds]) for w in words
        ]
        every.sort(key=lambda each: (-_size(each), each.word))
        found += every[:MAX_WORDS]
    return tuple(found)


class _Word(NamedTuple):
    """A word in one fold."""

    effect: Float[np.ndarray, " c"]
    share: float


def _effects(ladder: Ladder, number: int) -> dict[str, dict[str, _Word]]:
    """The effect of each word of each column on the linear predictor, in one fold."""
    estimator, fold = ladder.estimator(TEXT.name, number), ladder.fold(number)
    encoder = fold.encoders[TEXT.encoding]
    X = encoder.transform(fold.rows(fold.test[:MAX_ROWS]))
    places, classes = encoder.places(), len(ladder.table.target.classes)
    columns = zip(encoder.texts_, encoder.vectorizers_, strict=True)
    found: dict[str, dict[str, _Word]] = {}
    for column, vectorizer in columns:
        where = places.get(column, [])
        if not where:
            continue
        count = (X[:, where] != 0).sum(0)
        usual = X[:, where].sum(0) / np.maximum(count, 1)
        rows = np.zeros((1 + len(where), X.shape[1]))
        rows[1 + np.arange(len(where)), where] = usual
        codes = np.zeros((len(rows), len(encoder.words_)), np.int32)
        known = fitted.EncodedRows(rows, encoder, codes, None)
        eta = _predictor(fitted.distribution(estimator, known, classes), ladder)
        names = vectorizer.get_feature_names_out()
        found[column] = {
            str(word): _Word(effect, k / len(X))
            for word, effect, k in zip(names, eta[1:] - eta[0], count, strict=True)
        }
    return found


def _predictor(dist: Any, ladder: Ladder) -> Float[np.ndarray, "n c"]:
    """Predictions on the scale on which linear models add, one column for each of 3 classes."""
    if len(ladder.table.target.classes) <= 2:
        return on_linear_scale(dist, ladder.table.target)[:, None]
    logs = np.log(np.maximum(np.asarray(dist.probs, float), EDGE))
    return logs - logs.mean(1, keepdims=True)


def _word(
    ladder: Ladder, column: str, word: str, folds: list[dict[str, _Word]]
) -> WordFacts:
    """A word over all folds; where it has no column it has no effect."""
    classes = ladder.table.target.classes
    known = [fold[word] for fold in folds if word in fold]
    effects = np.zeros((len(folds), len(known[0].effect)))
    effects[: len(known)] = [each.effect for each in known]
    mean, spread = effects.mean(0), effects.std(0)
    chosen = int(np.argmax(mean)) if len(mean) > 1 else 0
    of_class = ""
    if classes:
        of_class = classes[chosen] if len(mean) > 1 else classes[1]
    share = float(np.mean([each.share for each in known]))
    return WordFacts(
        column, word, float(mean[chosen]), float(spread[chosen]), share, of_class
    )


def _size(word: WordFacts) -> float:
    """How much a word changes the predictions of all rows."""
    return abs(word.effect or 0.0) * (word.share * (1 - word.share)) ** 0.5
