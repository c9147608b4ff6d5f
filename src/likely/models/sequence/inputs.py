"""What a model of sequences may be given, checked before anything is computed."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from likely.core.checks import InputError, concrete
from likely.layers.composition.padded import Padded


def check_sequences(
    X: Any, *, vocabulary: int | None, n_in: int | None, context: int | None = None
) -> Any:
    """Sequences of tokens (n, t) or of numbers (n, t, d) as given, or a sentence.

    Args:
        X: an array, or `Padded`.
        vocabulary: the number of tokens; None for numbers.
        n_in: the size d of a position; None for tokens.
        context: the most positions that are allowed, or None.
    """
    values = X.values if isinstance(X, Padded) else X
    if not hasattr(values, "shape"):
        values = X = np.asarray(values)
    shape, wanted = values.shape, "positions)" if vocabulary else f"positions, {n_in})"
    fits = len(shape) == 2 if vocabulary else len(shape) == 3 and shape[2] == n_in
    if not fits:
        what = "tokens" if vocabulary else "numbers"
        raise InputError(
            f"the input has shape {shape}; this model takes {what} of shape "
            f"(rows, {wanted}."
        )
    if not shape[1]:
        raise InputError("the sequences are empty; give at least one position.")
    if context is not None and shape[1] > context:
        raise InputError(
            f"the sequences have {shape[1]} positions, the context of this model is "
            f"{context}; give shorter ones, or a model with a longer context."
        )
    if vocabulary:
        check_tokens(X, vocabulary)
    return X


def check_tokens(X: Any, vocabulary: int, what: str = "token") -> None:
    """Refuse what is not a token, and name the first; what is traced is not looked at.

    Args:
        X: (n, t), an array or `Padded`.
        vocabulary: the number of tokens.
        what: the word for a token.
    """
    values, present = (X.values, X.present) if isinstance(X, Padded) else (X, None)
    if not jnp.issubdtype(values.dtype, jnp.integer):
        raise InputError(
            f"the {what}s are of type {values.dtype}; give whole numbers, such as int32."
        )
    if not concrete((values, present)):
        return
    tokens = np.asarray(values)
    bad = (tokens < 0) | (tokens >= vocabulary)
    if present is not None:
        bad &= np.asarray(present)
    if bad.any():
        at = tuple(np.argwhere(bad)[0])
        raise InputError(
            f"row {at[0]} has the {what} {tokens[at]} at position {at[1]}; there are "
            f"{vocabulary} {what}s, 0 to {vocabulary - 1}."
        )
