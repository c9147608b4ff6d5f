r"""Priors on the parameters φ: a penalty is −log p(φ).

Strengths have scikit-learn's scale: `GaussianPrior(alpha)` adds $\frac{α}{2}\lVert w\rVert^2$
to the *summed* negative log-likelihood, so w ~ N(0, 1/α). (Weight decay written as
$λ\sum w^2$ has λ = α/2.) By default a prior applies to weights, the leaves named
`weight` (and `recurrent`: from state to state), and not to biases, scales and shifts;
`on="all"` applies it to every leaf.
"""

from abc import abstractmethod
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from likely.solvers.settings import WEIGHT_NAMES, as_real, real
from likely.typing import Number


def penalised(model: PyTree, on: str) -> list[Array]:
    """The leaves that a prior applies to: those of `WEIGHT_NAMES`, or all inexact ones."""
    leaves = jax.tree_util.tree_leaves_with_path(
        eqx.filter(model, eqx.is_inexact_array)
    )
    return [leaf for path, leaf in leaves if _is_penalised(path, on)]


def map_penalised(f: Callable[[Array], Array], model: PyTree, on: str) -> PyTree:
    """The model with `f` applied to the leaves that a prior applies to."""

    def change(path, leaf):
        return (
            f(leaf) if eqx.is_inexact_array(leaf) and _is_penalised(path, on) else leaf
        )

    return jax.tree_util.tree_map_with_path(change, model)


def _is_penalised(path, on: str) -> bool:
    return on == "all" or getattr(path[-1], "name", None) in WEIGHT_NAMES


def _total(f: Callable[[Array], Array], model: PyTree, on: str) -> Float[Array, ""]:
    return sum((f(leaf).sum() for leaf in penalised(model, on)), jnp.zeros(()))


class AbstractPrior(eqx.Module):
    """log p(φ) up to a constant, as a smooth part plus a non-smooth part."""

    on: eqx.AbstractVar[str]

    @abstractmethod
    def smooth_log_prob(self, model: PyTree) -> Float[Array, ""]:
        """The differentiable part of log p(φ)."""

    @abstractmethod
    def kink_log_prob(self, model: PyTree) -> Float[Array, ""]:
        """The non-smooth part of log p(φ) (zero for most priors)."""

    @abstractmethod
    def prox(self, model: PyTree, step: Float[Array, ""]) -> PyTree:
        """argmin over m of −step · kink_log_prob(m) + ½‖m − model‖²."""

    def log_prob(self, model: PyTree) -> Float[Array, ""]:
        """log p(φ), up to a constant."""
        return self.smooth_log_prob(model) + self.kink_log_prob(model)


class ElasticNetPrior(AbstractPrior):
    r"""$-\log p = α\,\bigl(ρ\lVert w\rVert_1 + \frac{1-ρ}{2}\lVert w\rVert^2\bigr)$."""

    alpha: Number = eqx.field(converter=as_real)
    l1_ratio: Number = real(0.5)
    on: str = eqx.field(static=True, default="weight")

    def smooth_log_prob(self, model: PyTree) -> Float[Array, ""]:
        """The Gaussian part, −α(1 − ρ)/2 ‖w‖²."""
        strength = self.alpha * (1 - self.l1_ratio)
        return -0.5 * strength * _total(jnp.square, model, self.on)

    def kink_log_prob(self, model: PyTree) -> Float[Array, ""]:
        """The Laplace part, −αρ‖w‖₁."""
        return -self.alpha * self.l1_ratio * _total(jnp.abs, model, self.on)

    def prox(self, model: PyTree, step: Float[Array, ""]) -> PyTree:
        """Soft thresholding at step·αρ."""
        return _soft_threshold(model, step * self.alpha * self.l1_ratio, self.on)


class AbstractSmoothPrior(AbstractPrior):
    """A prior without a non-smooth part."""

    def kink_log_prob(self, model: PyTree) -> Float[Array, ""]:
        """Zero: there is no such part."""
        return jnp.zeros(())

    def prox(self, model: PyTree, step: Float[Array, ""]) -> PyTree:
        """The identity: there is no non-smooth part."""
        return model


class GaussianPrior(AbstractSmoothPrior):
    r"""w ~ N(0, 1/α), the L2 penalty: $-\log p = \frac{α}{2}\lVert w\rVert^2$."""

    alpha: Number = eqx.field(converter=as_real)
    on: str = eqx.field(static=True, default="weight")

    def smooth_log_prob(self, model: PyTree) -> Float[Array, ""]:
        """−(α/2)‖w‖²."""
        return -0.5 * self.alpha * _total(jnp.square, model, self.on)


class LaplacePrior(AbstractPrior):
    r"""w ~ Laplace(0, 1/α): density $\frac{α}{2}e^{-α|w|}$, variance $2/α^2$.

    It is the L1 penalty, $-\log p = α\lVert w\rVert_1$.
    """

    alpha: Number = eqx.field(converter=as_real)
    on: str = eqx.field(static=True, default="weight")

    def smooth_log_prob(self, model: PyTree) -> Float[Array, ""]:
        """Zero: there is no such part."""
        return jnp.zeros(())

    def kink_log_prob(self, model: PyTree) -> Float[Array, ""]:
        """−α‖w‖₁."""
        return -self.alpha * _total(jnp.abs, model, self.on)

    def prox(self, model: PyTree, step: Float[Array, ""]) -> PyTree:
        """Soft thresholding at step·α."""
        return _soft_threshold(model, step * self.alpha, self.on)


class NormPrior(AbstractSmoothPrior):
    r"""$p(φ) \propto 1/\lVert φ\rVert$: improper, and infinite at φ = 0.

    The penalty is $\frac12\log(\lVert w\rVert^2 + ε^2)$; ε removes the pole at 0.
    """

    epsilon: Number = real(1e-3)
    on: str = eqx.field(static=True, default="weight")

    def smooth_log_prob(self, model: PyTree) -> Float[Array, ""]:
        """−½ log(‖w‖² + ε²)."""
        square = _total(jnp.square, model, self.on)
        return -0.5 * jnp.log(square + jnp.asarray(self.epsilon) ** 2)


def _soft_threshold(model: PyTree, by: Float[Array, ""], on: str) -> PyTree:
    """sign(w)·max(|w| − by, 0) on the leaves that the prior applies to."""
    return map_penalised(
        lambda w: jnp.sign(w) * jnp.maximum(jnp.abs(w) - by, 0.0), model, on
    )
