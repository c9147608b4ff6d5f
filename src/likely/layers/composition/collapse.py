r"""Adjacent linear layers as one: depth without a nonlinearity adds nothing."""

import equinox as eqx

from likely.core.checks import InputError
from likely.layers.composition.chain import Chain
from likely.layers.units.dense import Dense


def collapse(first: Dense, second: Dense) -> Dense:
    r"""The one layer that equals two consecutive ones: $W = W_1 W_2$, $b = b_1 W_2 + b_2$."""
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
    r"""x → second(first(x)) as one network, with the two adjacent linear layers merged.

    Two networks with one hidden layer each make one with two. With the output weights $φ$
    of the first and the hidden weights $θ'$ of the second, the merged weights are $φ θ'$
    and the biases $φ_0 θ' + θ'_0$: for a single output a matrix of rank 1.
    """
    last, start = first.layers[-1], second.layers[0]
    if not (isinstance(last, Dense) and isinstance(start, Dense)):
        raise InputError(
            f"the first network ends with {type(last).__name__} and the second begins with "
            f"{type(start).__name__}; both have to be Dense layers."
        )
    return Chain(*first.layers[:-1], collapse(last, start), *second.layers[1:])
