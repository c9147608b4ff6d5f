"""Fitted models of texts that the tests of several files look at."""

from functools import cache
from typing import Any

import numpy as np

import likely as lk

TINY: dict[str, Any] = {
    "n_layers": 1,
    "n_heads": 2,
    "size": 16,
    "context": 6,
    "batch_size": 8,
    "max_iter": 400,
    "learning_rate_init": 0.02,
    "n_iter_no_change": 2,
}
"""As of the models of tokens in the tests, so that the same programs serve both."""


def threes(n: int = 500) -> list[str]:
    """Texts of three, four or five letters a, as many of each."""
    lengths = np.random.default_rng(0).integers(3, 6, n)
    return ["a" * int(k) for k in lengths]


@cache
def counting() -> Any:
    """A model of these texts; its tokens are "<unk>", "a" and the end."""
    return lk.LanguageModel(**TINY).fit(threes())
