"""From the settings of a language model to its windows, its learner and its training."""

from typing import Any

import jax
import numpy as np

from likely.base.settings import above_zero, at_least, one_of
from likely.base.training.options import TrainingOptions, is_auto
from likely.base.training.regimes import Regime
from likely.core.checks import InputError
from likely.core.random import key_of
from likely.objectives.next_token import NextTokenLikelihood
from likely.solvers import AdamW, ClipByNorm, Constant, Cosine, WarmUp
from likely.solvers.first_order.schedules import AbstractSchedule
from likely.solvers.training import ProgressBar
from likely.text.models.learner import TokenLearner
from likely.text.models.next_token import DecoderArchitecture
from likely.text.models.random_windows import RandomWindows
from likely.text.models.sequences import Sequences
from likely.text.models.text_tokens import TextTokens
from likely.text.models.windows import Windows
from likely.typing import Batch

MAX_BATCH_ROWS = 16
"""Windows of a step where nothing is said."""
MIN_LOOK_STEPS, MAX_LOOK_STEPS = 5, 50
"""Steps between two looks at the sequences to stop by; in between, as many as there are windows
of data: few windows are soon known by heart."""
MAX_LOOK_TOKENS = 2**13
"""Tokens of them that a look judges, at most."""
LAST_RATE = 0.1
"""The learning rate at the end, as a part of the largest."""
SQUARE_DECAY = 0.99
"""Of AdamW: batches of few windows need a shorter memory than 0.999."""


def whole(model: Any, name: str, minimum: int = 1) -> int:
    """A setting that is a whole number."""
    return at_least(name, getattr(model, name), minimum, whole=True)


def reader_of(model: Any, X: Any, sample_weight: Any) -> TextTokens:
    """How a language model reads X: by its own tokenizer, or that of what it begins from."""
    source = model._source
    if source is None:
        return TextTokens.learned(model.tokenizer, X, sample_weight)
    return source._reader.check(X)


def context_of(model: Any, sequences: Sequences) -> int:
    """The most symbols that a token is predicted from."""
    most = at_least("context", model.context, 1, whole=True)
    if model.pretrained is not None:
        return model.pretrained.context_
    return min(int(sequences.lengths.max()), most)


def vocabulary_of(model: Any, sequences: Sequences, known: int | None = None) -> int:
    """The number of tokens: as given, those of the tokenizer, or one more than the largest.

    A model that begins from another has the tokens of that one.

    Args:
        model: the language model.
        sequences: what it is fitted to.
        known: the tokens of its tokenizer, if it has one.
    """
    if model.pretrained is not None:
        sequences.check(model.pretrained.vocabulary_)
        return model.pretrained.vocabulary_
    if model.vocabulary is None:
        return sequences.largest + 1 if known is None else known
    given = whole(model, "vocabulary")
    if known is not None and given != known:
        raise InputError(
            f"vocabulary is {given}, but texts have {known} tokens, those of the tokenizer "
            "and an end; leave `vocabulary` out."
        )
    sequences.check(given)
    return given


def hold_out(model: Any, sequences: Sequences) -> tuple[Sequences, Sequences]:
    """Sequences to learn from, and others to stop by."""
    seed = np.asarray(jax.random.key_data(key_of(model.random_state)))
    return sequences.split(float(model.validation_fraction), seed)


def windows_of(model: Any, sequences: Sequences) -> RandomWindows:
    """The windows of the steps between two looks."""
    T = model.context_
    pieces = int(np.sum(-(-sequences.lengths // T)))
    auto = is_auto(model.batch_size)
    rows = min(MAX_BATCH_ROWS, pieces) if auto else whole(model, "batch_size")
    steps = int(np.clip(pieces, MIN_LOOK_STEPS, MAX_LOOK_STEPS))
    return RandomWindows.of(sequences, T, model.vocabulary_, rows, steps)


def looks_at(model: Any, other: Sequences) -> Batch:
    """Windows to stop by, some of them if there are many."""
    T = model.context_
    symbols = Windows.of(other, T, model.vocabulary_, T).symbols
    most = max(1, MAX_LOOK_TOKENS // T)
    if len(symbols) > most:
        symbols = symbols[np.linspace(0, len(symbols) - 1, most).astype(int)]
    return Batch(symbols[:, :-1], symbols[:, 1:], np.ones(len(symbols)))


def learner_of(model: Any, windows: RandomWindows) -> TokenLearner:
    """The pure core of a language model."""
    settings = {
        "vocabulary": model.vocabulary_ + 1,
        "size": whole(model, "size"),
        "n_layers": whole(model, "n_layers"),
        "n_heads": whole(model, "n_heads"),
        "context": model.context_,
        "positions": model.positions,
        "dropout": float(at_least("dropout", model.dropout)),
    }
    dtype = one_of("precision", model.precision, ("float32", "bfloat16"))
    likelihood = NextTokenLikelihood(windows.tokens_per_row, model.vocabulary_)
    solver = solver_of(model, windows)
    network = DecoderArchitecture(tuple(settings.items()), dtype)
    return TokenLearner(solver, likelihood, network, Regime.of(model.trainable))


def solver_of(model: Any, windows: Any) -> AdamW:
    """AdamW on windows that are drawn in each step."""
    return AdamW(
        rate_of(model),
        weight_decay=at_least("weight_decay", model.weight_decay),
        decay_square=SQUARE_DECAY,
        steps=whole(model, "max_iter"),
        batch_size=windows.batch_size,
        clip=() if model.clip_norm is None else (ClipByNorm(model.clip_norm),),
        noise=windows,
        accumulate=whole(model, "accumulate"),
    )


def rate_of(model: Any) -> AbstractSchedule:
    """The learning rate of each step."""
    if isinstance(model.learning_rate, AbstractSchedule):
        return model.learning_rate
    kind = one_of("learning_rate", model.learning_rate, ("cosine", "constant"))
    steps = whole(model, "max_iter")
    top = above_zero("learning_rate_init", model.learning_rate_init)
    rate = Cosine(top, steps, LAST_RATE * top) if kind == "cosine" else Constant(top)
    rise = steps // 20 if is_auto(model.warm_up) else whole(model, "warm_up", 0)
    return WarmUp(max(1, rise), rate)


def options_of(model: Any, windows: Any) -> TrainingOptions:
    """How the learner is trained."""
    bar: Any = bool(model.verbose)
    if bar:
        tokens = windows.length * windows.batch_size
        bar = ProgressBar(unit="tokens", per_step=tokens)
    return TrainingOptions(
        solver=solver_of(model, windows),
        n_iter_no_change=whole(model, "n_iter_no_change"),
        n_members=model.n_members,
        random_state=model.random_state,
        verbose=bar,
    )
