r"""Initialisation of weights: mostly $b = 0$ and $W_{ij} \sim N(0, σ^2)$.

A layer from $D$ inputs to $D'$ outputs multiplies the variance of the signal by
$\frac12 D σ^2$ after a ReLU, and the variance of the gradient by $\frac12 D' σ^2$ in the
backward pass. He initialisation keeps the first (`"in"`), the second (`"out"`), or both
approximately (`"average"`); Xavier initialisation is for activations that are close to the
identity near 0, such as tanh.
"""

from abc import abstractmethod
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.typing import Key


class AbstractInitializer(eqx.Module):
    """The distribution of the initial weights."""

    @abstractmethod
    def variance(self, n_in: float, n_out: float) -> float:
        """σ² of a layer from `n_in` to `n_out`."""

    def __call__(self, n_in: int, n_out: int, *, key: Key) -> Float[Array, "d k"]:
        """W ~ (n_in, n_out)."""
        return self.normal((n_in, n_out), n_in, n_out, key=key)

    def normal(
        self, shape: tuple[int, ...], n_in: float | int, n_out: float | int, *, key: Key
    ) -> Float[Array, "..."]:
        """Normal weights of any shape, with σ² of a layer from `n_in` to `n_out`."""
        scale = self.variance(n_in, n_out) ** 0.5
        return jax.random.normal(key, shape) * scale if scale else jnp.zeros(shape)

    def bias(self, n_in: int, n_out: int, *, key: Key) -> Float[Array, " k"]:
        """b ~ (n_out,) of a dense layer: 0 unless overridden."""
        return jnp.zeros(n_out)


class GaussianInit(AbstractInitializer):
    """N(0, σ²) with the same σ² for all layer sizes."""

    sigma2: float = eqx.field(static=True, default=0.01)

    def __check_init__(self):
        if not 0 < self.sigma2 < float("inf"):
            raise InputError(
                f"the variance of the initial weights is {self.sigma2}; "
                "give a positive number."
            )

    def variance(self, n_in, n_out):
        return self.sigma2


class HeInit(AbstractInitializer):
    r"""He: variance $2/D$ (`"in"`), $2/D'$ (`"out"`) or $4/(D + D')$ (`"average"`)."""

    fan: str = eqx.field(static=True, default="in")

    def __check_init__(self):
        if self.fan not in ("in", "out", "average"):
            raise InputError(f'fan is {self.fan!r}; give "in", "out" or "average".')

    def variance(self, n_in, n_out):
        return 2 / {"in": n_in, "out": n_out, "average": (n_in + n_out) / 2}[self.fan]


class XavierInit(AbstractInitializer):
    r"""Xavier: variance $2/(D + D')$, for activations that pass both signs."""

    def variance(self, n_in, n_out):
        return 2 / (n_in + n_out)


class UniformInit(AbstractInitializer):
    r"""$W_{ij}, b_j \sim U(-1/\sqrt D, 1/\sqrt D)$: variance $1/(3D)$, a sixth of He's.

    The default of PyTorch. A network of few layers starts close to a constant, with its
    kinks at different inputs, and learns smoother functions; in a deep one the signal
    fades.
    """

    def variance(self, n_in, n_out):
        return 1 / (3 * n_in)

    def __call__(self, n_in, n_out, *, key):
        return self._draw(n_in, (n_in, n_out), key)

    def bias(self, n_in, n_out, *, key):
        return self._draw(n_in, (n_out,), jax.random.fold_in(key, 1))

    @staticmethod
    def _draw(n_in: int, shape: tuple[int, ...], key: Key) -> Array:
        return jax.random.uniform(key, shape, minval=-1, maxval=1) * n_in**-0.5


class ZeroInit(AbstractInitializer):
    """W = 0, for the last layer of a residual block, which then starts as the identity."""

    def variance(self, n_in, n_out):
        return 0.0


INITIALIZERS = {
    "he": HeInit,
    "he_out": lambda: HeInit("out"),
    "he_average": lambda: HeInit("average"),
    "xavier": XavierInit,
    "gaussian": GaussianInit,
    "uniform": UniformInit,
    "zero": ZeroInit,
}
"""Initialisers by name; `("gaussian", 0.01)` is a name with its variance."""

Initializer = str | Sequence | AbstractInitializer


def initializer(of: Initializer) -> AbstractInitializer:
    """An initialiser from a name, (name, number), or an initialiser."""
    if isinstance(of, AbstractInitializer):
        return of
    return named("init", INITIALIZERS, of)


def named(what: str, table: dict, of, *before):
    """The object that a name, or (name, number), stands for in a table of constructors."""
    name, *numbers = [of] if isinstance(of, str) else of
    if name not in table:
        raise InputError(
            f"{what} is {name!r}, which is not known; give one of {', '.join(table)}."
        )
    try:
        return table[name](*before, *numbers)
    except TypeError:
        raise InputError(
            f"{what} is {of!r}, but {name} takes no such setting; "
            "give the name alone, or the name and one number."
        ) from None
