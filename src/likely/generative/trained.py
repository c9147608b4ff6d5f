"""The members of a trained generator, and whether the training came to an end."""

from typing import Any

import equinox as eqx
import jax
import numpy as np

from likely.base.training.members import Network
from likely.base.training.trainer import member_of, stacked
from likely.core.checks import InputError


def member_models(phi: Network) -> list[Any]:
    """The model of each member."""
    count = len(stacked(phi).solution.loss)
    return [member_of(phi, m).solution.model for m in range(count)]


def check_trained(estimator: Any) -> None:
    """Refuse weights that are not finite: the training diverged."""
    weights = jax.tree.leaves(
        eqx.filter(estimator.phi_.solution.model, eqx.is_inexact_array)
    )
    if not all(np.isfinite(a).all() for a in weights):
        raise InputError(
            f"{type(estimator).__name__} diverged: its weights are not finite after "
            f"{estimator.n_iter_} epochs; give a smaller learning_rate_init, or clip_norm."
        )
