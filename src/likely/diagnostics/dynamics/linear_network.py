"""Linear networks of one or two layers: their matrices, and what the closed forms suppose."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.diagnostics.landscape.surface import in_precision
from likely.layers import Chain, Dense
from likely.layers.composition.chain import Pointwise
from likely.models import Linear

TOLERANCE = 1e-6
"""How far, relative, layers may be from balanced and inputs from white."""


class LinearNetwork(NamedTuple):
    """The layers of a network without activations, in double precision."""

    model: Any
    layers: tuple[Any, ...]
    """Those with weights, one or two."""

    @classmethod
    def of(cls, model: Any) -> "LinearNetwork":
        """The layers of a model, or a sentence why it is no linear network."""
        parts = model.layers if isinstance(model, Chain) else (model,)
        found = []
        for part in parts:
            if isinstance(part, Dense | Linear):
                found.append(part)
            elif not _is_identity(part):
                name = getattr(getattr(part, "function", part), "__name__", None)
                raise InputError(
                    f"the network has a layer {name or type(part).__name__}, so it is not linear; "
                    'the closed form is for activation="identity".'
                )
        if not 1 <= len(found) <= 2:
            raise InputError(
                f"the network has {len(found)} layers with weights; the closed forms are for "
                "one or two."
            )
        if any(getattr(layer, "centre", None) is not None for layer in found):
            raise InputError("give a linear model without a centre.")
        return cls(in_precision(model, np.float64), tuple(found))

    def product(self, path: Any) -> Float[np.ndarray, "t k d"]:
        """A, the matrix from inputs to outputs, of models with a leading axis of steps."""
        found: Any = None
        for part in LinearNetwork.of_path(path):
            weight = np.swapaxes(np.asarray(part.weight, np.float64), 1, 2)
            found = weight if found is None else weight @ found
        return found

    @staticmethod
    def of_path(path: Any) -> list[Any]:
        """The layers with weights of a model whose arrays may have leading axes."""
        parts = path.layers if isinstance(path, Chain) else (path,)
        return [part for part in parts if isinstance(part, Dense | Linear)]

    @property
    def matrices(self) -> list[Float[np.ndarray, "out in"]]:
        """W, or W and Q: from inputs to outputs."""
        return [np.asarray(layer.weight, np.float64).T for layer in self.layers]

    @property
    def biases(self) -> list[np.ndarray]:
        """The biases that there are."""
        found = [layer.bias for layer in self.layers]
        return [np.asarray(b, np.float64) for b in found if b is not None]


def _is_identity(part: Any) -> bool:
    return isinstance(part, Pointwise) and part.function is jax.nn.identity


def check_balanced(W: np.ndarray, Q: np.ndarray) -> None:
    """Refuse layers with QᵀQ ≠ WWᵀ."""
    gap, size = np.abs(W @ W.T - Q.T @ Q).max(), np.abs(W @ W.T).max()
    if not gap <= TOLERANCE * max(size, 1e-300):
        raise InputError(
            f"the layers are not balanced: WWᵀ and QᵀQ differ by {gap:.2g} while the largest entry "
            f"is {size:.2g}. The closed form of two layers supposes them equal; "
            "`diagnostics.balanced(model)` is the same function with balanced layers."
        )


def balanced(model: Any) -> Any:
    r"""The same linear network of two layers, as a function, with balanced layers.

    With the singular values of the product, $A = U S V^\top$, the layers become
    $Q = U\sqrt S\,R^\top$ and $W = R\sqrt S\,V^\top$, with R of the hidden units.

    Args:
        model: a network of two dense layers without activation, such as
            `models.mlp((4, 8, 3), activation="identity", key=key)`.
    """
    network = LinearNetwork.of(model)
    if len(network.layers) != 2:
        raise InputError("only a network of two layers can be balanced.")
    W, Q = network.matrices
    h = len(W)
    U, s, Vt = np.linalg.svd(Q @ W, full_matrices=False)
    R = np.linalg.svd(W @ W.T + Q.T @ Q)[0]  # any orthogonal matrix of the hidden units
    m = min(h, len(s))
    root = np.sqrt(s[:m])
    new_W, new_Q = R[:, :m] * root @ Vt[:m], (U[:, :m] * root) @ R[:, :m].T
    return eqx.tree_at(
        lambda m: [part.weight for part in LinearNetwork.of_path(m)],
        network.model,
        [new_W.T, new_Q.T],
    )
