r"""What a restricted Boltzmann machine minimises: likelihood, or contrastive divergence.

The gradient of −log p(v) is $\nabla F(v) - E_{v' \sim p}[\nabla F(v')]$. The second part needs
draws from the model. Contrastive divergence (CD-k) takes k steps of Gibbs sampling from the rows
themselves; persistent contrastive divergence keeps chains from step to step of the
training, which by and by come from the model. Both are gradients of the mean of F over rows minus
that over draws, with the draws held fixed; this number is no loss that falls. Where the hidden
units are few, −log p is computed and minimised itself.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.generative.energies.machine import BoltzmannMachine, first_machine
from likely.objectives.priors import AbstractPrior
from likely.objectives.rows import Normalisation
from likely.typing import Batch, Key, State

N_FILL_STEPS = 5
"""Gibbs steps that fill in missing values of a row before it is learned from."""
N_JUDGED = 16
"""Columns whose conditional probabilities judge held-out rows."""


class ContrastiveDivergence(eqx.Module):
    """The objective of CD-k, and of its persistent variant where chains are kept.

    Args:
        prior: p(φ), or None.
        rows: the normalisation over all the data.
        steps: k.
    """

    prior: AbstractPrior | None
    rows: Normalisation
    steps: int = eqx.field(static=True)

    def __call__(
        self,
        model: BoltzmannMachine,
        batch: Batch,
        *,
        key: Key | None = None,
        state: State = None,
    ) -> tuple[Float[Array, ""], State]:
        """F of the rows minus F of draws, and the chains after k more steps."""
        missing = batch.y[:, : batch.x.shape[1]] > 0.5
        if key is None:
            losses = -pseudo_log_likelihood(model, batch.x, missing, N_JUDGED)
            return self.rows.mean(losses, batch.w), state
        k_fill, k_draw = jax.random.split(key)
        frozen = jax.lax.stop_gradient(model)
        v = self._filled(frozen, batch.x, missing, k_fill)
        start = v if state is None else _chains(state, v)
        draws = frozen.run(start, k_draw, self.steps)
        own = self.rows.mean(model.free_energy(v), batch.w)
        theirs = model.free_energy(draws)
        if state is None:
            theirs = self.rows.mean(theirs, batch.w)
        else:
            share = batch.w.sum() / (len(batch.w) * self.rows.mean_weight)
            theirs, state = theirs.mean() * share, (draws, state[1] + 1)
        return own - theirs + self.rows.penalty(self.prior, model), state

    def _filled(self, model, v, missing, key) -> Array:
        def fill(v):
            return model.run_clamped(v, missing, key, N_FILL_STEPS, 1)[0]

        return jax.lax.cond(missing.any(), fill, lambda v: v, v)


def _chains(state: Any, v: Array) -> Array:
    """The chains so far; before the first step, rows."""
    chains, count = state
    rows = v[jnp.arange(len(chains)) % len(v)]
    return jnp.where(count > 0, chains, rows)


class ExactLikelihood(eqx.Module):
    """−log p of what is observed of each row, by the sum over all states of hidden units.

    Args:
        prior: p(φ), or None.
        rows: the normalisation over all the data.
    """

    prior: AbstractPrior | None
    rows: Normalisation

    def __call__(
        self,
        model: BoltzmannMachine,
        batch: Batch,
        *,
        key: Key | None = None,
        state: State = None,
    ) -> tuple[Float[Array, ""], State]:
        """The mean of −log p, and the prior."""
        missing = batch.y[:, : batch.x.shape[1]]
        joint, log_z = hidden_terms(model, batch.x, missing, jnp)
        losses = log_z - jax.scipy.special.logsumexp(joint, axis=1)
        loss = self.rows.mean(losses, batch.w)
        return loss + self.rows.penalty(self.prior, model), state


def hidden_terms(model: Any, v: Any, missing: Any, xp: Any) -> tuple[Any, Any]:
    """log p(v, h) + log Z for all states h, with missing units summed out; and log Z.

    Args:
        model: with few hidden units.
        v: (n, d), 0 where missing.
        missing: (n, d) 1 where a value is missing.
        xp: NumPy or JAX's.

    Returns:
        (n, 2^m) logarithms, and log Z.
    """
    H = xp.asarray(all_states(model.hidden_bias.shape[0]), model.weight.dtype)
    top = H @ model.weight.T  # (2^m, d)
    own = H @ model.hidden_bias
    there = 1 - missing
    if model.log_scale is None:
        A = top + model.visible_bias[None]
        mass = xp.logaddexp(A, xp.zeros_like(A))
        joint = (v * there) @ A.T + missing @ mass.T
    else:
        z = (v - model.visible_bias[None]) * xp.exp(-model.log_scale)[None] * there
        b = (model.visible_bias * xp.exp(-model.log_scale))[None]
        mass = model.log_scale[None] + 0.5 * np.log(2 * np.pi) + top * b + 0.5 * top**2
        joint = (z + there * b) @ top.T - 0.5 * (z**2).sum(1)[:, None]
        joint = joint + missing @ mass.T
    total = own + mass.sum(1)
    top_total = total.max()
    log_z = top_total + xp.log(xp.exp(total - top_total).sum())
    return joint + own[None], log_z


def all_states(m: int) -> np.ndarray:
    """(2^m, m) all states of m binary units."""
    return ((np.arange(2**m)[:, None] >> np.arange(m)) & 1).astype(np.float64)


def pseudo_log_likelihood(model: Any, v: Array, missing: Array, n_judged: int) -> Array:
    r"""(n,) $\sum_i \log p(v_i \mid v_{-i})$, from some of the units, scaled up to all.

    For a binary unit the other value costs $F(v^{(i)}) - F(v)$, so
    $\log p(v_i \mid v_{-i}) = \log σ(F(v^{(i)}) - F(v))$. For real units it is the mean over
    hidden states of one normal density each, which has no such form: here the expected one given
    E[h | v] is taken.

    Args:
        model: the machine.
        v: (n, d) rows.
        missing: (n, d) booleans; such units do not count.
        n_judged: how many units are looked at, evenly spread.
    """
    d = v.shape[1]
    at = jnp.asarray(np.unique(np.linspace(0, d - 1, min(n_judged, d)).astype(int)))
    share = d / len(at)
    if not model.binary:
        mean = model.visible(model.hidden(v))
        z = (v - mean) * jnp.exp(-model.log_scale)[None]
        logs = -0.5 * z**2 - model.log_scale[None] - 0.5 * jnp.log(2 * jnp.pi)
        return share * jnp.where(missing, 0.0, logs)[:, at].sum(1)
    inputs, soft = model.inputs(v), jax.nn.softplus

    def one(i):
        change = 1 - 2 * v[:, i]
        other = soft(inputs + change[:, None] * model.weight[i][None]).sum(1)
        gap = -change * model.visible_bias[i] - (other - soft(inputs).sum(1))
        return jnp.where(missing[:, i], 0.0, jax.nn.log_sigmoid(gap))

    return share * jax.lax.map(one, at).sum(0)


class MachineProblem(eqx.Module):
    """A machine that is trained without targets.

    Args:
        n_hidden: m.
        binary: whether the visible units are.
        n_chains: that persist; 0 begins at the rows in each step.
        steps: k of CD-k.
    """

    n_hidden: int = eqx.field(static=True)
    binary: bool = eqx.field(static=True)
    n_chains: int = eqx.field(static=True)
    steps: int = eqx.field(static=True)

    def build(self, data: Batch, key: Key) -> BoltzmannMachine:
        """The first weights."""
        return first_machine(
            data, self.n_hidden, key, binary=self.binary, n_chains=self.n_chains
        )

    def objective(self, prior: Any, rows: Normalisation) -> ContrastiveDivergence:
        """Contrastive divergence."""
        return ContrastiveDivergence(prior, rows, self.steps)
