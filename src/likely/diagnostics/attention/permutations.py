r"""Whether a model of sequences knows the order of its positions.

Attention without positions is equivariant: with P a permutation of the positions,
$f(PX) = P f(X)$. Vectors added to the inputs, rotations, a bias for each distance, and a causal
mask each break this.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.diagnostics.attention.maps import opened
from likely.diagnostics.symmetry import equivariance_error
from likely.layers import (
    MultiHeadAttention,
    Padded,
    sinusoidal_positions,
)
from likely.layers.composition.padded import unpack
from likely.typing import Key, State


class PermutationTest(NamedTuple):
    """The relative error of f(PX) = P f(X) for several permutations P."""

    errors: Float[np.ndarray, " p"]
    tolerance: float
    """The largest error that counts as rounding."""

    @property
    def error(self) -> float:
        """The largest error."""
        return float(self.errors.max())

    @property
    def equivariant(self) -> bool:
        """Whether the error is no larger than that of rounding."""
        return self.error <= self.tolerance

    def __str__(self) -> str:
        if self.equivariant:
            return f"does not know the order (error below {self.tolerance:g})"
        return f"knows the order (error {self.error:.2f})"


def permutation_equivariance(
    model: Any,
    X: Any,
    *,
    draws: int = 4,
    tolerance: float = 1e-4,
    key: Key,
    state: State = None,
) -> PermutationTest:
    """Permute the positions of the inputs, and compare with the permuted outputs.

    Args:
        model: a layer, a model with an output for each position, or a fitted estimator
            that has one.
        X: rows of positions: (n, t) tokens, (n, t, d), or `Padded`.
        draws: the number of permutations.
        tolerance: the largest relative error that counts as rounding; in half precision
            it has to be about 0.03.
        key: the random key of the permutations.
        state: running statistics, if the model has any; None uses the initial ones.
    """
    model, X, state = opened(model, X, state)
    X, t = jax.tree.map(np.asarray, X), X.shape[1]
    if t < 2 or draws < 1:
        raise InputError(
            f"the sequences have {t} positions and draws is {draws}; give at least 2 "
            "positions to permute, and at least 1 draw."
        )

    def outputs(X: Any) -> np.ndarray:
        values = np.asarray(_outputs(model, X, state))
        if values.shape[:2] != X.shape[:2]:
            raise InputError(
                f"the inputs have shape {X.shape} and the outputs {values.shape}; the "
                "model needs an output for each position."
            )
        absent = ~X.present if isinstance(X, Padded) else np.zeros(X.shape[:2], bool)
        values = values.copy()
        values[absent] = 0
        return values

    def error(order: np.ndarray) -> float:
        def permute(rows: Any) -> Any:
            return jax.tree.map(lambda values: values[:, order], rows)

        return equivariance_error(outputs, permute, X)

    orders = np.asarray(jax.random.uniform(key, (draws, t))).argsort(1)
    unchanged = (orders == np.arange(t)).all(1)
    orders[unchanged] = np.roll(np.arange(t), 1)
    return PermutationTest(np.array([error(order) for order in orders]), tolerance)


@eqx.filter_jit
def _outputs(model: Any, X: Any, state: State) -> Any:
    return unpack(model(X, state=state)[0])[0]


class _Attention(eqx.Module):
    """Attention to inputs with a vector added to each position."""

    attend: MultiHeadAttention
    vectors: Float[Array | np.ndarray, "t d"]

    def __call__(self, X: Any, *, state: State = None) -> tuple[Any, State]:
        return self.attend(X + self.vectors[None], state=state)


class PositionStudy(NamedTuple):
    """Which kinds of positions break the symmetry of attention."""

    tests: Mapping[str, PermutationTest]

    def __str__(self) -> str:
        wide = max(map(len, self.tests))
        return "\n".join(f"{name:<{wide}}  {test}" for name, test in self.tests.items())


def position_study(
    length: int = 12, size: int = 16, n_heads: int = 2, *, draws: int = 4, key: Key
) -> PositionStudy:
    """Test one attention layer without positions, with each kind of them, and causal.

    Args:
        length: the number of positions.
        size: of a position.
        n_heads: the number of heads.
        draws: the number of permutations.
        key: the random key of weights, inputs and permutations.
    """
    kw, kx, kb, *ks = jax.random.split(key, 9)
    *X, learned = np.asarray(jax.random.normal(kx, (3, length, size)))
    X = np.stack(X)

    def attend(**options: Any) -> MultiHeadAttention:
        k = jax.random.clone(kw)
        return MultiHeadAttention(size, n_heads, reach=length, key=k, **options)

    plain = attend()
    weight = lambda layer: layer.relative.weight  # noqa: E731
    biases = jax.random.normal(kb, weight(plain).shape)  # before training all are 0
    none, sinusoids = np.zeros_like(learned), sinusoidal_positions(length, size)
    layers = {
        "none": _Attention(plain, none),
        "sinusoidal": _Attention(plain, sinusoids.astype(none.dtype)),
        "learned": _Attention(plain, learned),
        "rotary": _Attention(attend(rotary=True), none),
        "relative": _Attention(eqx.tree_at(weight, plain, biases), none),
        "causal": _Attention(attend(causal=True), none),
    }
    return PositionStudy(
        {
            name: permutation_equivariance(layer, X, draws=draws, key=k)
            for (name, layer), k in zip(layers.items(), ks, strict=True)
        }
    )
