"""Networks that begin from others: where their weights come from, and what they take over."""

from typing import Any

import equinox as eqx
import jax
import numpy as np
from sklearn.utils.validation import check_is_fitted

from likely.base.training.blocks import body_units, parameter_count
from likely.base.training.bodies import Body, check_body, check_pretrained
from likely.base.training.options import TrainingOptions
from likely.base.training.regimes import LOW_RANK, Regime
from likely.base.training.trainer import Trainer, member_of, stacked
from likely.core.checks import InputError
from likely.estimators.networks.learner import own_entries

OTHER_SETTINGS = {"family", "pretrained", "trainable", *TrainingOptions._fields}
"""Settings of estimators that do not belong to the architecture."""


def architecture_settings(estimator: Any) -> dict[str, Any]:
    """The settings of an estimator that its architecture and its inputs follow from."""
    given = estimator.get_params(deep=False)
    return {k: v for k, v in given.items() if k not in OTHER_SETTINGS}


def settings_from(source: Any, names: Any) -> dict[str, Any]:
    """The settings of an estimator that begins from a source.

    Args:
        source: a fitted network.
        names: of the settings that the estimator has.
    """
    given = check_pretrained(source).architecture_settings()
    return {k: v for k, v in given.items() if k in names} | {"pretrained": source}


def fitted_body(estimator: Any) -> tuple[Body, list[Any]]:
    """The body of a fitted network estimator, and its layers."""
    check_is_fitted(estimator, "phi_")
    phi = stacked(estimator.phi_)
    return Body.of(phi), body_units(member_of(phi, 0).solution.model)


def first_body(estimator: Any, trainer: Trainer) -> Body | None:
    """What the weights of a fit begin from; None where they are drawn.

    Args:
        estimator: whose setting `pretrained` it is.
        trainer: of the fit.
    """
    source = getattr(estimator, "pretrained", None)
    if source is None:
        return None
    body, units = check_pretrained(source).body(estimator)
    learner, shape = trainer.learner, estimator._kind.shape(estimator)
    n_out = len(own_entries(learner.family, learner.shared))
    model = eqx.filter_eval_shape(
        lambda key: learner.network.build(shape, n_out, key=key), jax.random.key(0)
    )
    check_body(units, model)
    kind = np.float32 if trainer.by_minibatches else np.float64
    return body.members(trainer.options.member_count, kind)


def trained_count(estimator: Any) -> int:
    """The number of parameters that a fit of an estimator has trained."""
    model = member_of(estimator.phi_, 0).solution.model
    regime, key = estimator.learner_.regime, jax.random.key(0)
    return parameter_count(eqx.filter_eval_shape(regime.constrain, model, key))


def check_passes(regime: Regime) -> None:
    """Refuse single passes whose memory would belong to factors that are merged."""
    if regime.kind == LOW_RANK:
        raise InputError(
            "partial_fit merges changes of low rank after each pass; give trainable "
            '"all", "head", "bias", "adapters" or a number of blocks, or use fit.'
        )
