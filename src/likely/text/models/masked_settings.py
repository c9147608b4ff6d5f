"""From the settings of a masked language model to its windows, its learner and its training."""

from typing import Any

import equinox as eqx
import jax
import numpy as np

from likely.base.settings import at_least
from likely.base.training.options import is_auto
from likely.core.checks import InputError
from likely.core.random import key_of
from likely.text.models.learner import TokenLearner
from likely.text.models.masked_token import MaskedArchitecture, MaskedLikelihood
from likely.text.models.masking import Masking, Symbols
from likely.text.models.random_windows import RandomWindows
from likely.text.models.sequences import Sequences
from likely.text.models.settings import (
    MAX_LOOK_STEPS,
    MAX_LOOK_TOKENS,
    MIN_LOOK_STEPS,
    solver_of,
    whole,
)
from likely.text.models.windows import Windows
from likely.typing import Batch

MAX_BATCH_ROWS = 32
"""Windows of a step where nothing is said."""
LOOK_SEED = 1
"""Of the masks of the texts to stop by, after the seed of the fit."""


def masking_of(model: Any, sequences: Sequences) -> Masking:
    """The windows of the steps between two looks, and what is hidden of them."""
    fraction = float(at_least("fraction", model.fraction))
    if not 0 < fraction <= 1:
        raise InputError(
            f"fraction is {model.fraction}; give a part of the tokens, above 0 and at most 1."
        )
    pairs = bool(model.next_sentence)
    T = model.context_ - pairs
    pieces = int(np.sum(-(-sequences.lengths // T)))
    auto = is_auto(model.batch_size)
    rows = min(MAX_BATCH_ROWS, pieces) if auto else whole(model, "batch_size")
    steps = int(np.clip(pieces, MIN_LOOK_STEPS, MAX_LOOK_STEPS))
    absent = Symbols(model.n_tokens_).absent
    windows = RandomWindows.of(sequences, T, absent, rows, steps)
    return Masking.of(windows, fraction, pairs=pairs)


def hidden_windows(model: Any, other: Sequences, masking: Masking) -> Batch:
    """Windows to stop by, with the same tokens hidden at each look."""
    T = masking.length
    windows = Windows.of(other, T, Symbols(model.n_tokens_).absent, T)
    symbols, w = windows.symbols[:, 1:], other.w[windows.sequence]
    most = max(1, MAX_LOOK_TOKENS // T)
    if len(symbols) > most:
        kept = np.linspace(0, len(symbols) - 1, most).astype(int)
        symbols, w = symbols[kept], w[kept]
    key = jax.random.fold_in(key_of(model.random_state), LOOK_SEED)
    with jax.enable_x64(False):
        hidden = _hide(masking, symbols.astype(np.int32), key)
        x, y = np.asarray(hidden.symbols), np.asarray(hidden.targets)
    return Batch(x, y, w)


@eqx.filter_jit
def _hide(masking: Masking, symbols: Any, key: Any) -> Any:
    return masking.hide(symbols, key)


def masked_learner(model: Any, masking: Masking) -> TokenLearner:
    """The pure core of a masked language model."""
    size, heads = whole(model, "size"), whole(model, "n_heads")
    if size % (2 * heads):
        raise InputError(
            f"size is {size} and n_heads {heads}; give a size that is a multiple of "
            f"{2 * heads}: heads share it, and positions come in pairs."
        )
    settings = {
        "size": size,
        "n_layers": whole(model, "n_layers"),
        "n_heads": heads,
        "context": model.context_,
        "dropout": float(at_least("dropout", model.dropout)),
    }
    likelihood = MaskedLikelihood(masking.judged_per_row, masking.weight_per_row)
    network = MaskedArchitecture(
        tuple(settings.items()), model.n_tokens_, masking.pairs
    )
    return TokenLearner(solver_of(model, masking), likelihood, network)
