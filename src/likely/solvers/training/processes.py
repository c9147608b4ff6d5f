"""Several processes that run one training: who writes, and what is agreed on."""

import jax
import numpy as np


def several() -> bool:
    """Whether there is more than one process."""
    return jax.process_count() > 1


def is_first() -> bool:
    """Whether this is the process that writes and draws."""
    return jax.process_index() == 0


def agreed(yes: bool) -> bool:
    """What the first process thinks."""
    if not several():
        return yes
    from jax.experimental.multihost_utils import broadcast_one_to_all

    return bool(broadcast_one_to_all(np.asarray(yes)))
