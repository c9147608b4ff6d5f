"""Several processes that train together: which one writes, and what they agree on."""

import jax
import numpy as np


def multiple_processes() -> bool:
    """Whether there is more than one process."""
    return jax.process_count() > 1


def is_main_process() -> bool:
    """Whether this is the process that writes files and draws."""
    return jax.process_index() == 0


def broadcast_from_main(flag: bool) -> bool:
    """The flag of the main process; also a barrier that all processes wait at."""
    if not multiple_processes():
        return flag
    from jax.experimental.multihost_utils import broadcast_one_to_all

    return bool(broadcast_one_to_all(np.asarray(flag)))
