r"""Variances of signals and gradients through depth: closed form beside measurement.

With independent weights of mean 0 and variance $σ_W^2$, and biases of variance $σ_b^2$, the
pre-activations $f_l$ of layer l, from $D_{l-1}$ to $D_l$ units, have

$$v_l = D_{l-1} σ_W^2\, E[φ(\sqrt{v_{l-1}}\,z)^2] + σ_b^2, \qquad z \sim N(0, 1),$$

and the gradients with respect to them, going back,

$$g_l = g_{l+1}\, D_{l+1} σ_W^2\, E[φ'(\sqrt{v_l}\,z)^2].$$

For a ReLU both factors are $\frac12 D σ^2$: with $σ^2 = 2/D$ (He) nothing vanishes or explodes. The
first line is exact for ReLUs and normal weights, at any width, as a mean over weights; otherwise
both are limits of wide layers.

The variance of a deep ReLU network's signal differs by orders of magnitude between draws of the
weights, and its mean is that of a few of them; so do gradients. There the factors from layer to
layer are measured, whose means are steady, and multiplied up.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.base.settings import at_least
from likely.core.checks import InputError
from likely.core.compiling import lean_jit
from likely.core.random import key_of
from likely.diagnostics.propagation.moments import (
    ActivationMoments,
    values_and_slopes,
)
from likely.diagnostics.result import Result
from likely.layers import Dense, UniformInit, activation, initializer
from likely.models import MLP

KEPT = (0.9, 1.1)
"""Factors of a layer that keep a signal, about."""


@dataclass(frozen=True, repr=False, eq=False)
class VariancePropagation(Result):
    """Mean squares of pre-activations and of gradients, layer by layer, the output last."""

    widths: tuple[int, ...]
    predicted: Float[np.ndarray, " l"]
    measured: Float[np.ndarray, " l"]
    """Over draws of the weights: means, or for ReLUs products of mean factors."""
    error: Float[np.ndarray, " l"]
    """Their standard errors."""
    gradient_predicted: Float[np.ndarray, " l"]
    """Of gradients with respect to the pre-activations, relative to the output."""
    gradient_measured: Float[np.ndarray, " l"]
    gradient_error: Float[np.ndarray, " l"]
    critical: float
    """The variance of the weights times the number of inputs that would keep a signal of
    variance 1."""
    given: float
    """What it is between the last two hidden layers."""

    @property
    def factor(self) -> float:
        """The predicted factor of the variance of a signal, for each layer, in the second half."""
        return _rate(self.predicted[:-1])

    @property
    def gradient_factor(self) -> float:
        """The predicted factor of the variance of a gradient for each layer that it goes back."""
        return _rate(self.gradient_predicted[:-1][::-1])

    @property
    def deviation(self) -> float:
        """The largest distance of a measured signal from its prediction, in standard errors."""
        gaps = np.abs(self.measured - self.predicted)
        exact = np.where(gaps > 1e-9 * np.abs(self.predicted), np.inf, 0.0)
        some = self.error > 0
        return float(
            np.max(np.where(some, gaps / np.where(some, self.error, 1), exact))
        )

    @property
    def verdict(self) -> str:
        """Whether signals and gradients live, and what to change."""
        factors = {"Signals": self.factor, "gradients": self.gradient_factor}
        how = " and ".join(f"{n} are multiplied by {f:.3g}" for n, f in factors.items())
        first = f"{how} in each layer (variances, predicted); "
        first += f"measured ones are within {self.deviation:.2g} standard errors."
        if all(KEPT[0] <= f <= KEPT[1] for f in factors.values()):
            return f"{first} Both are kept."
        return (
            f"{first} Weights of variance {self.critical:.3g}/D in place of {self.given:.3g}/D "
            "would keep a signal of variance 1."
        )

    def table(self) -> dict[str, Any]:
        """Predicted and measured mean squares by layer."""
        return {
            "layer": [*range(1, len(self.widths) + 1), "output"],
            "signal, predicted": self.predicted.tolist(),
            "measured": self.measured.tolist(),
            "error": self.error.tolist(),
            "gradient, predicted": self.gradient_predicted.tolist(),
            "measured ": self.gradient_measured.tolist(),
            "error ": self.gradient_error.tolist(),
        }

    def plot(self) -> Any:
        """Both over depth on a log axis, lines predicted, points measured."""
        from likely.plots import variance_propagation

        return variance_propagation(self)


def _rate(values: Float[np.ndarray, " l"]) -> float:
    """The geometric mean of the factors in the second half."""
    values = values[len(values) // 2 :] if len(values) > 2 else values
    if len(values) < 2 or not values[0] > 0 or not values[-1] > 0:
        return float("nan")
    return float((values[-1] / values[0]) ** (1 / (len(values) - 1)))


def variance_propagation(
    hidden: Any = (100,) * 30,
    *,
    activation: Any = "relu",
    init: Any = "he",
    X: Any = None,
    n_in: int | None = None,
    n_draws: int = 50,
    random_state: Any = 0,
) -> VariancePropagation:
    """Send rows through random perceptrons, and gradients back, beside the predictions.

    Args:
        hidden: the widths of the hidden layers; or the settings `models.MLP(...)`, or a fitted
            perceptron, which say activation and initialiser too.
        activation: a name of `layers.ACTIVATIONS`, (name, number), or a function.
        init: a name of `layers.INITIALIZERS`, ("gaussian", variance), or an initialiser.
        X: (n, d) inputs; None draws 32 standard normal ones.
        n_in: their length if they are drawn; None takes the first width.
        n_draws: networks that are drawn.
        random_state: the seed of weights, inputs and gradients.
    """
    settings = _settings(hidden, activation, init)
    if not settings.hidden:
        raise InputError("hidden is empty; give the width of each hidden layer.")
    n_draws = at_least("n_draws", n_draws, 2, whole=True)
    key = key_of(random_state)
    if X is None:
        shape = (32, settings.hidden[0] if n_in is None else int(n_in))
        X = jax.random.normal(jax.random.fold_in(key, 1), shape)
    X = np.asarray(X, np.float64)
    if X.ndim != 2 or not np.isfinite(X).all():
        raise InputError(f"X has shape {X.shape}; give finite (n, d) inputs.")
    forward, back = _measured(settings, X, jax.random.split(key, n_draws))
    predicted, backward, critical, given = _predicted(settings, X)
    combine = _multiplied if _is_homogeneous(settings) else _averaged
    measured, error = combine(forward)
    gradient, gradient_error = _multiplied(back[:, ::-1] / back[:, -1:])
    return VariancePropagation(
        settings.hidden,
        predicted,
        measured,
        error,
        backward,
        gradient[::-1],
        gradient_error[::-1],
        critical,
        given,
    )


def _settings(hidden: Any, activation: Any, init: Any) -> MLP:
    """The settings of a perceptron, refused where the formulas do not hold."""
    given = hidden
    if hasattr(given, "learner_"):
        given = getattr(given.learner_, "network", None)
        given = getattr(given, "layers", given)
    if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str):
        return MLP(given, activation, init=init)
    if not isinstance(given, MLP):
        raise InputError(
            f"{type(hidden).__name__} is no perceptron: the formulas are of dense layers with "
            "independent weights. `signal_profile` measures any chain of layers."
        )
    parts = {
        f'norm="{given.norm}"': given.norm is not None,
        f"residual={given.residual!r}": bool(given.residual),
        f"dropout={given.dropout:g}": given.dropout > 0,
        f"output_init={given.output_init!r}": given.output_init
        not in (None, given.init),
    }
    if found := [name for name, there in parts.items() if there]:
        raise InputError(
            f"{' and '.join(found)}: the formulas assume that each layer is an activation of "
            "independent weights times the last layer, and nothing else. `signal_profile` "
            "measures any chain of layers."
        )
    return given


def _is_homogeneous(settings: MLP) -> bool:
    """Whether the activation passes a factor on: φ(2s) = 2φ(s)."""
    s, width = np.linspace(-3, 3, 13)[:, None], settings.hidden[0]
    layer = activation(settings.activation, width)
    once, twice = (values_and_slopes(layer, np.tile(a, width))[0] for a in (s, 2 * s))
    return bool(np.allclose(twice, 2 * once))


def _averaged(squares: Float[np.ndarray, "s l"]) -> tuple[np.ndarray, np.ndarray]:
    """Means over draws, and their standard errors."""
    return squares.mean(0), squares.std(0, ddof=1) / np.sqrt(len(squares))


def _multiplied(squares: Float[np.ndarray, "s l"]) -> tuple[np.ndarray, np.ndarray]:
    """Products of mean factors from layer to layer, and their standard errors."""
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = np.column_stack([squares[:, 0], squares[:, 1:] / squares[:, :-1]])
    factors = np.where(np.isfinite(factors), factors, 0.0)  # a signal that is gone
    mean = factors.mean(0)
    spread = factors.std(0, ddof=1) / np.sqrt(len(factors))
    relative = spread / np.where(mean > 0, mean, 1.0)
    path = np.cumprod(mean)
    return path, path * np.sqrt(np.cumsum(relative**2))


def _predicted(
    settings: MLP, X: Float[np.ndarray, "n d"]
) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Forward and backward mean squares, and the variances of weights times their inputs."""
    init, layer = initializer(settings.init), activation(settings.activation, 1)
    moments = ActivationMoments(layer)
    sizes = (X.shape[1], *settings.hidden, 1)
    m, variances, slopes = (X**2).mean(1), [], []
    for a, b in zip(sizes, sizes[1:], strict=False):
        bias = 1 / (3 * a) if isinstance(init, UniformInit) else 0.0
        v = a * init.variance(a, b) * m + bias
        variances.append(v)
        m, slope = moments(v)
        slopes.append(slope)
    backward = [np.ones(len(X))]
    for i in range(len(sizes) - 2, 0, -1):
        scale = sizes[i + 1] * init.variance(sizes[i], sizes[i + 1])
        backward.append(backward[-1] * scale * slopes[i - 1])
    unit, _ = moments(np.ones(1))
    last = sizes[-3] if len(sizes) > 3 else sizes[0]
    given = last * init.variance(last, sizes[-2])
    forward = np.array([v.mean() for v in variances])
    back = np.array([g.mean() for g in reversed(backward)])
    return forward, back, float(1 / unit[0]), float(given)


def _measured(
    settings: MLP, X: Float[np.ndarray, "n d"], keys: Any
) -> tuple[Float[np.ndarray, "s l"], Float[np.ndarray, "s l"]]:
    """The mean squares of pre-activations and of gradients, for each draw and layer."""
    sizes, init = (X.shape[1], *settings.hidden, 1), initializer(settings.init)
    a = f = np.broadcast_to(X, (len(keys), *X.shape))
    weights, slopes, squares = [], [], []
    for number, (d, k) in enumerate(zip(sizes, sizes[1:], strict=False)):
        own = jax.vmap(jax.random.fold_in, (0, None))(keys, number)
        W, b = (np.asarray(v, np.float64) for v in _drawn(init, d, k, own))
        f = a @ W + b[:, None]
        weights.append(W)
        squares.append((f**2).mean((1, 2)))
        if number < len(settings.hidden):
            a, slope = values_and_slopes(activation(settings.activation, k), f)
            slopes.append(slope)
    rng = np.random.default_rng(np.asarray(jax.random.key_data(keys[0])))
    g = rng.normal(size=f.shape)
    gradients = [(g**2).mean((1, 2))]
    for W, slope in zip(weights[:0:-1], slopes[::-1], strict=True):
        g = (g @ W.transpose(0, 2, 1)) * slope
        gradients.append((g**2).mean((1, 2)))
    return np.stack(squares, 1), np.stack(gradients[::-1], 1)


@lean_jit
def _drawn(init: Any, d: int, k: int, keys: Any) -> tuple[Array, Array]:
    """First weights and biases of a layer, for each key."""

    def one(key: Any) -> tuple[Array, Array]:
        layer = Dense(d, k, init=init, key=key)
        bias = jnp.zeros(k) if layer.bias is None else layer.bias
        return layer.weight, bias

    return jax.vmap(one)(keys)
