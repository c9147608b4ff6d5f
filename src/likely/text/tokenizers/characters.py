"""Characters as tokens."""

from typing import Any, no_type_check

import numpy as np

from likely.base.settings import store
from likely.text.tokenizers.texts import weighted_texts
from likely.text.tokenizers.tokenizer import UNKNOWN, Tokenizer, special_ids


class CharacterTokenizer(Tokenizer):
    """One token for each character that occurs in the texts of `fit`.

    Other characters become "<unk>". Texts of known characters come back exactly.

    Args:
        special_tokens: what is never part of ordinary text, such as ("<pad>", "<mask>"); they
            have the first ids, then come "<unk>", and the characters by their code points.

    Attributes:
        special_tokens_: the id of each special token.
        characters_: the known characters.

    Examples:
        >>> tokenizer = lk.CharacterTokenizer().fit(["banana"])
        >>> tokenizer.decode(tokenizer.encode("nab"))
        'nab'
    """

    characters_: list[str]

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(self, *, special_tokens=()):
        store(self, locals())

    def fit(
        self, texts: Any, y: Any = None, sample_weight: Any = None
    ) -> "CharacterTokenizer":
        texts, w = weighted_texts(texts, sample_weight)
        self.special_tokens_ = special_ids(self.special_tokens, UNKNOWN)
        self.characters_ = sorted(set().union(*texts))
        return self

    @property
    def tokens_(self) -> list[str]:
        """What each id stands for."""
        self._check_fitted()
        return [*self.special_tokens_, *self.characters_]

    def _encode(self, text: str) -> np.ndarray:
        known = self._table(
            self.characters_, lambda: code_points("".join(self.characters_))
        )
        asked = code_points(text)
        at = np.searchsorted(known, asked)
        if not len(known):
            return np.full(len(asked), self.special_tokens_[UNKNOWN])
        there = known[np.minimum(at, len(known) - 1)] == asked
        ids = at + len(self.special_tokens_)
        return np.where(there, ids, self.special_tokens_[UNKNOWN])

    def _spans(self, text: str) -> np.ndarray:
        start = np.arange(len(text))
        return np.stack([start, start + 1], 1)

    def decode(self, tokens: Any, *, special: bool = True) -> str:
        ids = self._check_ids(tokens)
        if not special:
            ids = ids[~self._is_special(ids)]
        names = self.tokens_
        return "".join([names[i] for i in ids.tolist()])


def code_points(text: str) -> np.ndarray:
    """(t,) the code points of a text; half of a surrogate pair is one too."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
