"""Tokens and texts after prompts: drawn, greedily, or by beam search; at once or as they come."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from likely.base.settings import at_least, one_of
from likely.core.random import key_of
from likely.models.sequence.beam_search import beam_search
from likely.models.sequence.generation import stream as stream_tokens
from likely.text.models.next_token import Ensemble
from likely.text.models.sequences import Sequences
from likely.text.models.text_tokens import TextTokens


def tokens_after(
    network: Ensemble,
    rows: list[np.ndarray],
    n: int,
    *,
    temperature: Any = 1.0,
    top_k: Any = None,
    top_p: Any = None,
    random_state: Any = None,
    method: str = "sample",
    n_beams: int = 4,
    end: int | None = None,
    stream: bool = False,
) -> Iterator[np.ndarray]:
    """The n tokens after each row, in chunks (k, up to n).

    Args:
        network: what says the next token.
        rows: symbols, at most as many as the context.
        n: how many tokens.
        temperature: as in `LanguageModel.generate`, like all that follows.
        top_k: only the most probable tokens.
        top_p: only the most probable tokens that together have this probability.
        random_state: the seed of the draws.
        method: "sample", "greedy" or "beam".
        n_beams: how many sequences the search keeps.
        end: the token that ends a row; it is repeated from then on.
        stream: whether a chunk is one token.
    """
    one_of("method", method, ("sample", "greedy", "beam"))
    if method == "beam":
        rows = [row[-max(1, network.context + 1 - n) :] for row in rows]
        beams = beam_search(network, rows, n, n_beams=n_beams, end=end)
        return iter([beams.tokens[:, 0]])
    options: dict[str, Any] = {"temperature": 0.0, "end": end}
    if method == "sample":
        options |= {"temperature": at_least("temperature", temperature)}
        options |= {"top_k": top_k, "top_p": top_p, "key": key_of(random_state)}
    return stream_tokens(network, rows, n, chunk=1 if stream else None, **options)


def joined(
    parts: Iterator[np.ndarray],
    prompts: Sequences,
    reader: TextTokens | None,
    *,
    stream: bool = False,
) -> Any:
    """Tokens (k, n), or k texts; or an iterator over what each token adds to them.

    Where there is one prompt only, what belongs to it.

    Args:
        parts: chunks of tokens.
        prompts: what was there before.
        reader: how tokens become texts; None for tokens.
        stream: whether to give them while they come.
    """
    alone = prompts.stream
    if stream:
        columns: Any = (column for part in parts for column in part.T)
        found = columns if reader is None else reader.pieces(prompts.rows, columns)
        return (each[0] if alone else each for each in found)
    found = np.concatenate(list(parts), 1)
    if reader is not None:
        found = [reader.text(*pair) for pair in zip(prompts.rows, found, strict=True)]
    return found[0] if alone else found
