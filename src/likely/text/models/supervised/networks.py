"""The tokenizer and the network that the settings of an estimator of texts describe."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from likely.core.checks import InputError
from likely.estimators.networks.transfer import settings_from
from likely.text.tokenizers.settings import tokenizer_of
from likely.text.tokenizers.tokenizer import Tokenizer
from likely.text.tokenizers.words import WordTokenizer


def tokenizer_for(estimator: Any, texts: Sequence[str], w: np.ndarray) -> Tokenizer:
    """The tokenizer of the network to begin from, or that of the settings, fitted to texts.

    Args:
        estimator: with the settings `tokenizer` and `pretrained`.
        texts: to learn the vocabulary from.
        w: how often each text counts.
    """
    tokenizer, _ = begun_from(estimator.pretrained)
    if tokenizer is not None:
        return tokenizer
    setting = estimator.tokenizer
    if isinstance(setting, str) and setting == "words":
        setting = WordTokenizer(lowercase=True)
    return tokenizer_of(setting, texts, w)


def network_for(estimator: Any, cls: Any, architecture: str) -> Any:
    """An unfitted network of sequences.

    Args:
        estimator: with settings of the network.
        cls: the class of the network.
        architecture: of a network that begins from nothing; others have that of their source.
    """
    names, own = cls().get_params(deep=False), estimator.get_params(deep=False)
    settings = {name: value for name, value in own.items() if name in names}
    settings |= {"architecture": architecture, "tokens": True}
    _, source = begun_from(estimator.pretrained)
    if source is not None:
        settings |= settings_from(source, names)
    return cls(**settings)


def begun_from(pretrained: Any) -> tuple[Tokenizer | None, Any]:
    """The tokenizer, if it has one, and the network to begin from.

    Args:
        pretrained: a fitted network, a `MaskedLanguageModel` or an estimator of texts.
    """
    if hasattr(pretrained, "baseline_"):
        if pretrained.network_ is None:
            raise InputError(
                f"pretrained is a {type(pretrained).__name__} that chose its linear baseline, so "
                "there is no network to begin from; fit it with another architecture."
            )
        return pretrained.network_.tokenizer, pretrained.network_.network
    return getattr(pretrained, "tokenizer_", None), pretrained
