"""The tokenizer that a setting of a text model means."""

from typing import Any

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from likely.core.checks import InputError, check_choice
from likely.text.tokenizers.byte_pairs import BytePairTokenizer
from likely.text.tokenizers.bytes import ByteTokenizer
from likely.text.tokenizers.characters import CharacterTokenizer
from likely.text.tokenizers.tokenizer import Tokenizer
from likely.text.tokenizers.words import WordTokenizer

KINDS = {
    "bpe": BytePairTokenizer,
    "bytes": ByteTokenizer,
    "characters": CharacterTokenizer,
    "words": WordTokenizer,
}
"""Tokenizers by name."""


def tokenizer_of(
    setting: Any,
    texts: Any = None,
    sample_weight: Any = None,
    *,
    special_tokens: tuple[str, ...] = (),
) -> Tokenizer:
    """The tokenizer of a setting: a fitted one as it is, any other one new.

    Args:
        setting: "characters", "words", "bytes", "bpe", or a tokenizer.
        texts: what to fit a new one to; it stays unfitted where None.
        sample_weight: how often each text counts.
        special_tokens: those that the tokenizer needs to have; a new one gets them.
    """
    if isinstance(setting, str):
        check_choice("tokenizer", setting, KINDS)
        made: Tokenizer = KINDS[setting](special_tokens=special_tokens)
    elif not isinstance(setting, Tokenizer):
        raise InputError(
            f"tokenizer is {setting!r}; give one of {', '.join(KINDS)}, or a tokenizer."
        )
    elif is_fitted(setting):
        missing = [t for t in special_tokens if t not in setting.special_tokens_]
        if missing:
            raise InputError(
                f"the tokenizer has no special token {missing[0]!r}, which is needed here; "
                f"make it with special_tokens={tuple(special_tokens)!r}."
            )
        return setting
    else:
        made = clone(setting)  # pyright: ignore[reportAssignmentType]
        own = tuple(made.special_tokens)
        more = tuple(token for token in special_tokens if token not in own)
        made.set_params(special_tokens=own + more)
    return made if texts is None else made.fit(texts, sample_weight=sample_weight)


def is_fitted(tokenizer: Tokenizer) -> bool:
    """Whether a tokenizer has a vocabulary."""
    try:
        check_is_fitted(tokenizer)
    except NotFittedError:
        return False
    return True
