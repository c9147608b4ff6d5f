"""Byte pairs of tinyshakespeare against Hugging Face's `tokenizers`, at its default settings.

Learning: 1,000 tokens from one text, and from its lines, which the peer splits on all cores.
Ours uses one. Encoding: one call for the whole text, which the peer answers on one core. Both
have met the words before, in the warm runs that count; what the first call takes stands beside
them. The merges and the ids have to be the same.
"""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Answer, Case

N_TOKENS = 1000
_LOADED: dict[str, Any] = {}


def shakespeare() -> str:
    root = Path(__file__).parents[1]
    shared = Path(os.environ.get("LIKELY_SHARED", root.parent / "shared"))
    return (shared / "data" / "tinyshakespeare.txt").read_text("utf-8")


def whole() -> list[str]:
    return [shakespeare()]


def lines() -> list[str]:
    return shakespeare().splitlines(keepends=True)


def learn_ours(texts: list[str]) -> Answer:
    from likely import BytePairTokenizer

    made = BytePairTokenizer(N_TOKENS, min_count=1).fit(texts)
    return {"tokens": np.array(made.vocabulary_)}


def learn_peer(texts: list[str]) -> Answer:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=N_TOKENS,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(texts, trainer)
    vocabulary = made.get_vocab()
    return {"tokens": np.array(sorted(vocabulary, key=vocabulary.__getitem__))}


def saved() -> tuple[str, str]:
    """The text, and a file with the tokens that are learned from it."""
    from likely import BytePairTokenizer

    path = Path(tempfile.mkdtemp()) / "tokenizer.json"
    BytePairTokenizer(N_TOKENS).fit(whole()).to_json(path)
    return shakespeare(), str(path)


def encode_ours(data: tuple[str, str]) -> Answer:
    from likely import BytePairTokenizer

    text, path = data
    loaded = _loaded(path, BytePairTokenizer.from_json)
    return {"ids": loaded.encode(text)}


def encode_peer(data: tuple[str, str]) -> Answer:
    from tokenizers import Tokenizer

    text, path = data
    return {"ids": np.array(_loaded(path, Tokenizer.from_file).encode(text).ids)}


def _loaded(path: str, load: Callable[[str], Any]) -> Any:
    if path not in _LOADED:
        _LOADED[path] = load(path)
    return _LOADED[path]


def equal(name: str) -> Callable[[Answer, Answer], str | None]:
    """A verdict: the arrays of this name are the same."""

    def verdict(ours: Answer, peer: Answer) -> str | None:
        same = np.array_equal(ours[name], peer[name])
        return None if same else f"{name} differ"

    return verdict


CASES = {
    "byte pairs: learn 1,000 from one text": Case(
        whole, learn_ours, learn_peer, equal("tokens"), at_least=0.7
    ),
    "byte pairs: learn 1,000 from its lines": Case(
        lines, learn_ours, learn_peer, equal("tokens"), at_least=0.7
    ),
    "byte pairs: encode 1.1 MB": Case(
        saved, encode_ours, encode_peer, equal("ids"), at_least=2
    ),
}
