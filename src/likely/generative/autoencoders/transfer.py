"""Encoders as the beginning of other networks: a head on the encoder, trained jointly."""

from dataclasses import replace
from typing import Any

import jax
import numpy as np

from likely.base.training.blocks import body_units
from likely.base.training.bodies import Body
from likely.base.training.members import Network
from likely.base.training.trainer import member_of, stacked
from likely.generative.autoencoders.networks import ConvolutionalCoder
from likely.generative.autoencoders.units import ColumnUnits
from likely.layers import Chain


def encoder_body(
    phi: Network, encoder: Chain, units: ColumnUnits
) -> tuple[Body, list[Any]]:
    """The layers of an encoder before its code, and where their weights begin.

    Args:
        phi: what was trained.
        encoder: of one member, or with an axis of members as φ has.
        units: of the inputs of the encoder.
    """
    whole = stacked(phi)
    if not np.ndim(phi.solution.loss):
        encoder, units = jax.tree.map(
            lambda a: np.asarray(a)[None] if hasattr(a, "shape") else a,
            (encoder, units),
        )
    own = Network(replace(whole.solution, model=encoder, state=None), units)
    return Body.of(own), body_units(member_of(own, 0).solution.model)


def encoder_settings(coder: Any, image_shape: Any) -> dict[str, Any]:
    """The settings of estimators of the same architecture.

    Args:
        coder: the settings of the encoder.
        image_shape: (h, w, c) of flat images, or None.
    """
    if isinstance(coder, ConvolutionalCoder):
        return {"network": coder.network, "image_shape": image_shape}
    return {"hidden_layer_sizes": coder.hidden, "activation": coder.activation}
