r"""Linear maps that meet become one: what is left of depth without nonlinearity."""

import equinox as eqx

from likely.core.checks import InputError
from likely.layers.composition.chain import Chain
from likely.layers.units.dense import Dense


def collapse(first: Dense, second: Dense) -> Dense:
    r"""The one layer that equals two: $W = W_1 W_2$, $b = b_1 W_2 + b_2$."""
    weight = first.weight @ second.weight
    bias = second.bias
    if first.bias is not None:
        bias = first.bias @ second.weight + (0 if bias is None else bias)
    return eqx.tree_at(
        lambda dense: (dense.weight, dense.bias),
        first,
        (weight, bias),
        is_leaf=lambda leaf: leaf is None,
    )


def compose(first: Chain, second: Chain) -> Chain:
    r"""x → second(first(x)) as one network, in which the layers that meet are one.

    Two networks with one hidden layer make one with two: with the output $φ$ of the
    first and the hidden layer $θ'$ of the second its new weights are $φ θ'$ and its
    biases $φ_0 θ' + θ'_0$, so they are not free: a matrix of rank 1 for one output.
    """
    last, start = first.layers[-1], second.layers[0]
    if not (isinstance(last, Dense) and isinstance(start, Dense)):
        raise InputError(
            f"the networks meet in {type(last).__name__} and {type(start).__name__}; "
            "give networks that end and begin with a Dense layer."
        )
    return Chain(*first.layers[:-1], collapse(last, start), *second.layers[1:])
