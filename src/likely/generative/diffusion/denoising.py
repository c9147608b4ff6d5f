r"""What a diffusion model learns: to tell rows from noise, at every time.

For the target "residual" the error is that of $\hat x_0$, divided by the variance that a
linear estimate leaves open. The times of a batch are spread evenly over all steps, which makes the
loss less noisy. Conditions are sometimes hidden, so that the same network also knows the rows
without conditions.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from likely.generative.diffusion.denoisers import DenoiserSettings
from likely.generative.diffusion.levels import Levels
from likely.generative.diffusion.schedule import NoiseSchedule
from likely.generative.diffusion.targets import Units, limited, row_of, target_of
from likely.objectives.denoising import DenoisingLoss
from likely.objectives.rows import Normalisation
from likely.typing import Batch, Key

HIDDEN_SHARE = 0.1
"""How often a condition is hidden in training."""


class Diffuser(eqx.Module):
    """A denoiser with its schedule: estimates of rows under noise.

    Args:
        denoiser: the network.
        schedule: the noise of each step.
        target: what the network says, one of `TARGETS`.
        units: of the numbers of a row, where the target is "residual".
    """

    denoiser: Any
    schedule: NoiseSchedule = eqx.field(static=True)
    target: str = eqx.field(static=True)
    units: Units | None = None

    def levels(
        self, t: Int[Array, " n"], like: Float[Array, "n ..."]
    ) -> tuple[Array, Array]:
        """√ᾱ and √(1 − ᾱ) of each time, with axes to spread over rows."""
        shape = (len(t), *[1] * (like.ndim - 1))
        both = (self.schedule.signal, self.schedule.noise)
        a, sigma = (jnp.asarray(v, like.dtype)[t].reshape(shape) for v in both)
        return a, sigma

    def says(
        self,
        xt: Float[Array, "n ..."],
        t: Int[Array, " n"],
        c: Float[Array, "n g"],
        *,
        key: Key | None = None,
    ) -> Float[Array, "n ..."]:
        """What the network says about noised rows."""
        share = t.astype(xt.dtype) / self.schedule.n_steps
        return self.denoiser(xt, share, c, key=key)

    def row(
        self,
        xt: Float[Array, "n ..."],
        t: Int[Array, " n"],
        c: Float[Array, "n g"],
        *,
        guidance: Any = None,
    ) -> Float[Array, "n ..."]:
        """The estimate of x_0, with more weight on the condition by `guidance`."""
        said = self.says(xt, t, c)
        if guidance is not None:
            free = self.says(xt, t, jnp.zeros_like(c))
            said = said + guidance * (said - free)
        levels = self.levels(t, xt)
        if self.units is not None:
            return self.units.row(said, xt, *levels)
        found = row_of(self.target, said, xt, *levels)
        return limited(found, xt) if self.target == "eps" else found

    def errors(
        self,
        x0: Float[Array, "n ..."],
        given: Float[Array, "n g"],
        key: Key,
        *,
        training: bool,
    ) -> Float[Array, " n"]:
        """The mean squared error of each row, at a random time and with fresh noise.

        Args:
            x0: rows.
            given: the design of their conditions.
            key: of times, noise, hidden conditions and dropout.
            training: whether some conditions are hidden and units dropped.
        """
        k_time, k_noise, k_hide, k_drop = jax.random.split(key, 4)
        t = spread_times(k_time, len(x0), self.schedule.n_steps)
        eps = jax.random.normal(k_noise, x0.shape, x0.dtype)
        keep, k_drop = None, k_drop if training else None
        if training:
            keep = jax.random.uniform(k_hide, (len(x0),)) >= HIDDEN_SHARE
        a, sigma = self.levels(t, x0)
        xt = a * x0 + sigma * eps
        said = self.says(xt, t, shown(given, keep), key=k_drop)
        if self.units is None:
            errors = (said - target_of(self.target, x0, eps, a, sigma)) ** 2
        else:
            row = self.units.row(said, xt, a, sigma)
            errors = self.units.weight(a, sigma) * (row - x0) ** 2
        return errors.mean(tuple(range(1, errors.ndim)))


def shown(given: Float[Array, "n g"], keep: Any = None) -> Float[Array, "n e"]:
    """Conditions with a last column that says they are shown; zeros where they are not.

    Args:
        given: their design.
        keep: (n,) whether each is shown; all where None.
    """
    if not given.shape[1]:
        return given
    full = jnp.concatenate([given, jnp.ones((len(given), 1), given.dtype)], 1)
    return full if keep is None else jnp.where(keep[:, None], full, 0.0)


def spread_times(key: Key, n: int, n_steps: int) -> Int[Array, " n"]:
    """n times from 1 to T, evenly spread with one random shift, in random order."""
    first, then = jax.random.split(key)
    shares = (jax.random.uniform(first) + jnp.arange(n) / n) % 1.0
    times = 1 + jnp.floor(shares * n_steps).astype(jnp.int32)
    return jax.random.permutation(then, jnp.minimum(times, n_steps))


class DiffusionProblem(eqx.Module):
    """What is learned: a denoiser of rows.

    Args:
        settings: of the denoiser.
        schedule: the noise of each step.
        target: what the denoiser says.
        levels: the values that numbers of rows have, where the target is "residual".
    """

    settings: DenoiserSettings
    schedule: NoiseSchedule = eqx.field(static=True)
    target: str = eqx.field(static=True)
    levels: Levels | None = None

    def build(self, data: Batch, key: Key) -> Diffuser:
        """The denoiser with its first weights."""
        g = data.y.shape[1]
        row = tuple(data.x.shape[1:])
        denoiser = self.settings.build(row, g + 1 if g else 0, key=key)
        units = None
        if self.target == "residual":
            levels = jax.tree.map(jnp.asarray, self.levels)
            units = Units.learn(data.x, data.w, levels)
        return Diffuser(denoiser, self.schedule, self.target, units)

    def objective(self, prior: Any, rows: Normalisation) -> DenoisingLoss:
        """What is minimised."""
        return DenoisingLoss(prior, rows)
