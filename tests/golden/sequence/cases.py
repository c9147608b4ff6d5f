"""The layers that are compared with PyTorch's."""

from typing import NamedTuple


class Case(NamedTuple):
    kind: str
    n_layers: int = 1
    both: bool = False
    causal: bool = False
    cross: bool = False
    first: bool = True


CASES = {
    "rnn": Case("rnn"),
    "rnn, both directions": Case("rnn", both=True),
    "lstm": Case("lstm"),
    "lstm, two layers, both directions": Case("lstm", 2, both=True),
    "gru": Case("gru"),
    "gru, two layers, both directions": Case("gru", 2, both=True),
    "attention": Case("attention"),
    "attention, causal": Case("attention", causal=True),
    "attention, cross": Case("attention", cross=True),
    "encoder": Case("transformer"),
    "encoder, norm last": Case("transformer", first=False),
    "decoder": Case("transformer", causal=True, cross=True),
    "decoder, norm last": Case("transformer", causal=True, cross=True, first=False),
}
