r"""First-order solvers: update rules in terms of the gradient $g = \nabla f(θ)$.

Each is an update rule (one Optax transformation) in the same loop. η is a number or a schedule,
and `batch_size` makes any of them stochastic: None is the full gradient, 1 is a
single sample. Settings are arrays, so a new value compiles nothing.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, PyTree

from likely.core.checks import InputError, check_choice
from likely.solvers.first_order.acceleration import accelerate
from likely.solvers.first_order.averaging import AbstractAverage
from likely.solvers.first_order.clipping import AbstractClip, norm
from likely.solvers.first_order.continuation import Continuation
from likely.solvers.first_order.noise import Perturbation
from likely.solvers.first_order.sampling import AbstractSampling
from likely.solvers.first_order.schedules import AbstractSchedule, as_schedule
from likely.solvers.first_order.stochastic import descend
from likely.solvers.flat import trace_capacity
from likely.solvers.settings import WEIGHT_NAMES, Real, Whole, real, whole
from likely.solvers.stopping import AbstractStop, Validation
from likely.typing import Batch, Key, Solution, State


def _as_tuple(value) -> tuple:
    """One value, a tuple of values, or None, as a tuple."""
    if value is None:
        return ()
    return value if isinstance(value, tuple) else (value,)


def _several():
    """A field that holds a tuple of values, given as one or several."""
    return eqx.field(converter=_as_tuple, default=(), kw_only=True)


class AbstractFirstOrder(eqx.Module):
    """The settings of all first-order solvers; each adds its `rate` and `transform`.

    Args:
        steps: the limit on the number of updates.
        batch_size: rows in a minibatch; None for all of them.
        clip: `ClipByNorm`, `ClipByValue`, or several.
        stop: `GradientNorm`, `ParameterChange`, `RelativeLoss`, or several.
        validation: `Validation`, to stop by the loss on other rows.
        path: whether the trace keeps the parameters of each step.
        average: `ExponentialAverage` or `UniformAverage` of the weights, to be returned.
        noise: `Noise` on inputs, weights or targets in training, or another
            `Perturbation`, such as `layers.Augmentation`.
        accumulate: parts in which the gradient of a batch is computed, one after
            another: the same gradient in less memory.
        sampling: `Curriculum` or `RowWeights`: weights of rows that change from step to step,
            or rows that are drawn by them.
        continuation: `Continuation`, a family of objectives that ends with the one given.
    """

    rate: eqx.AbstractVar[AbstractSchedule]
    steps: Whole = whole(1000, kw_only=True)
    batch_size: int | None = eqx.field(static=True, default=None, kw_only=True)
    clip: tuple[AbstractClip, ...] = _several()
    stop: tuple[AbstractStop, ...] = _several()
    validation: Validation | None = eqx.field(default=None, kw_only=True)
    path: bool = eqx.field(static=True, default=False, kw_only=True)
    average: AbstractAverage | None = eqx.field(default=None, kw_only=True)
    noise: Perturbation | None = eqx.field(default=None, kw_only=True)
    accumulate: int = eqx.field(static=True, default=1, kw_only=True)
    sampling: AbstractSampling | None = eqx.field(default=None, kw_only=True)
    continuation: Continuation | None = eqx.field(default=None, kw_only=True)

    @abstractmethod
    def transform(self, rate: Float[Array, ""]) -> optax.GradientTransformation:
        """The transformation from gradients to updates at this rate, while tracing."""

    def minimize(
        self, objective, model, data: Batch, *, key: Key | None, state: State = None
    ) -> Solution:
        """Minimise the objective over the parameters of the model."""
        self.check(key)
        capacity = trace_capacity(self.steps)
        return descend(
            self, objective, model, data, key=key, state=state, capacity=capacity
        )

    def check(self, key: Key | None) -> None:
        """Raise an error for impossible settings."""
        if self.batch_size is not None and self.batch_size < 1:
            raise InputError(
                f"batch_size is {self.batch_size}; give at least 1 row, "
                "or None for all of them."
            )
        if key is None and self.batch_size is not None:
            raise InputError("minibatches are drawn at random; give the solver a key.")
        if self.accumulate < 1:
            raise InputError(
                f"accumulate is {self.accumulate}; give the number of parts of a batch, "
                "at least 1."
            )
        if self.sampling is not None:
            self.sampling.check(self.batch_size)


def _rate(default: float):
    """A field that holds a learning rate: a number or a schedule."""
    return eqx.field(converter=as_schedule, default=default)


class GradientDescent(AbstractFirstOrder):
    r"""$θ \leftarrow θ - η\,g$.

    Converges for η < 2/L where L is the largest curvature. With `step="unit"` it is
    $θ \leftarrow θ - η\,g/\lVert g\rVert$, a step of length η whatever the gradient,
    which at a constant rate never converges; give it a schedule.
    """

    rate: AbstractSchedule = _rate(0.1)
    step: str = eqx.field(static=True, default="plain")

    def __check_init__(self):
        check_choice("step", self.step, ("plain", "unit"))

    def transform(self, rate):
        if self.step == "plain":
            return optax.scale(-rate)
        unit = optax.stateless(lambda g, params: steepest(g))
        return optax.chain(unit, optax.scale(-rate))


class AbstractMomentum(AbstractFirstOrder):
    """Gradient descent with momentum, in one of two forms of the average."""

    rate: AbstractSchedule = _rate(0.01)
    decay: Real = real(0.9)
    form: str = eqx.field(static=True, default="velocity")
    forms: ClassVar[tuple[str, ...]] = ("velocity", "averaged")

    def __check_init__(self):
        check_choice("form", self.form, self.forms)


class Momentum(AbstractMomentum):
    r"""Gradient descent with momentum over about 1/(1 − γ) steps.

    `form="velocity"`: $v \leftarrow γv - η_t g$, $θ \leftarrow θ + v$; each gradient
    keeps the rate of its own step. `form="averaged"`: $m \leftarrow γm + (1-γ)g$,
    $θ \leftarrow θ - η_t m$.
    """

    def transform(self, rate):
        if self.form == "velocity":
            return optax.chain(optax.scale(-rate), optax.trace(self.decay))
        return optax.chain(optax.ema(self.decay, debias=False), optax.scale(-rate))


class Nesterov(AbstractMomentum):
    r"""Momentum with the gradient at the point ahead, $θ - γν$.

    $ν \leftarrow γν + η\,\nabla f(θ - γν)$, $θ \leftarrow θ - ν$; the averaged form has
    $η(1-γ)$ for η. The parameters here are the points ahead, $φ = θ - γν$, for which
    the same sequence reads $φ \leftarrow φ - (γν + η g(φ))$ with the new ν.

    `form="accelerated"` has γ = t/(t + 3) at step t in the place of `decay`: Nesterov's rule
    for functions whose lowest curvature is not known, see `acceleration`.
    """

    forms: ClassVar[tuple[str, ...]] = ("velocity", "averaged", "accelerated")

    def transform(self, rate):
        if self.form == "accelerated":
            return accelerate(rate)
        if self.form == "averaged":
            rate = rate * (1 - self.decay)
        return optax.chain(optax.scale(-rate), optax.trace(self.decay, nesterov=True))


class AdaGrad(AbstractFirstOrder):
    r"""$G \leftarrow G + g^2$, $θ \leftarrow θ - η\,g/\sqrt{G + ε^2}$, by entries."""

    rate: AbstractSchedule = _rate(0.1)
    epsilon: Real = real(1e-8)

    def transform(self, rate):
        scaled = optax.scale_by_rss(0.0, jnp.square(self.epsilon))
        return optax.chain(scaled, optax.scale(-rate))


class RMSprop(AbstractFirstOrder):
    r"""$s \leftarrow βs + (1-β)g^2$, $θ \leftarrow θ - η\,g/\sqrt{s + ε}$."""

    rate: AbstractSchedule = _rate(1e-3)
    decay: Real = real(0.9)
    epsilon: Real = real(1e-8)

    def transform(self, rate):
        scaled = optax.scale_by_rms(self.decay, self.epsilon)
        return optax.chain(scaled, optax.scale(-rate))


class Adam(AbstractFirstOrder):
    r"""Moving averages of g and g², each corrected for its start at zero.

    $m \leftarrow β_1 m + (1-β_1)g$, $v \leftarrow β_2 v + (1-β_2)g^2$,
    $\hat m = m/(1-β_1^t)$, $\hat v = v/(1-β_2^t)$,
    $θ \leftarrow θ - η\,\hat m/(\sqrt{\hat v} + ε)$.
    """

    rate: AbstractSchedule = _rate(1e-3)
    decay: Real = real(0.9)
    decay_square: Real = real(0.999)
    epsilon: Real = real(1e-8)

    def transform(self, rate):
        scaled = optax.scale_by_adam(self.decay, self.decay_square, self.epsilon)
        return optax.chain(scaled, optax.scale(-rate))


class AdamW(AbstractFirstOrder):
    r"""Adam with decoupled weight decay: $- η\,λθ$ at each step.

    `on="weight"` decays the leaves named `weight` (and `recurrent`), as priors do; `on="all"`
    every leaf.
    """

    rate: AbstractSchedule = _rate(1e-3)
    weight_decay: Real = real(0.01)
    decay: Real = real(0.9)
    decay_square: Real = real(0.999)
    epsilon: Real = real(1e-8)
    on: str = eqx.field(static=True, default="weight")

    def __check_init__(self):
        check_choice("on", self.on, ("weight", "all"))

    def transform(self, rate):
        scaled = optax.scale_by_adam(self.decay, self.decay_square, self.epsilon)
        decayed = optax.add_decayed_weights(
            jnp.asarray(self.weight_decay), _decayed(self.on)
        )
        return optax.chain(scaled, decayed, optax.scale(-rate))


def _decayed(on: str) -> Callable[[PyTree], PyTree]:
    """A mask of the leaves that decay: those of `WEIGHT_NAMES`, or all."""

    def decays(path, leaf) -> bool:
        names = [getattr(p, "name", "") for p in path[-1:]]
        return on == "all" or any(name in WEIGHT_NAMES for name in names)

    return lambda params: jax.tree_util.tree_map_with_path(decays, params)


def steepest(g: PyTree) -> PyTree:
    r"""$g/\lVert g\rVert$, the unit direction of steepest ascent, or 0.

    Examples:
        >>> import jax.numpy as jnp
        >>> lk.solvers.steepest(jnp.array([3.0, 4.0]))
        Array([0.6, 0.8], dtype=float32)
    """
    length = norm(g)
    scale = jnp.where(length > 0, 1 / jnp.where(length > 0, length, 1.0), 0.0)
    return jax.tree.map(lambda leaf: scale.astype(leaf.dtype) * leaf, g)


def descends(direction: PyTree, g: PyTree) -> Bool[Array, ""]:
    """Whether the loss falls along a direction: its angle with g exceeds π/2.

    Examples:
        >>> import jax.numpy as jnp
        >>> bool(lk.solvers.descends(jnp.array([-1.0, 0.0]), jnp.array([2.0, 1.0])))
        True
    """
    return jnp.asarray(optax.tree.vdot(direction, g)) < 0
