"""Where double precision is computed: small problems on the CPU, whatever the default is.

The solvers of statistical models take many short steps, each of which an accelerator has to
be told of. So their scope is on the CPU, unless a problem is large enough that its matrix
products take longer than that. `benchmarks.device_line` measures where the line is.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax

MIN_ACCELERATOR_WORK = 1e7
"""Products of two numbers in a step (rows times squared columns) from which it pays."""


def placed(work: float = 0.0) -> AbstractContextManager:
    """The scope in which new arrays are on the device that suits so much work a step.

    A device that the user has chosen (`jax.default_device`) is left alone, and so is
    everything where the CPU is the default.

    Args:
        work: products of two numbers in a step.
    """
    chosen = _default_device() is not None
    if chosen or work >= MIN_ACCELERATOR_WORK or jax.default_backend() == "cpu":
        return nullcontext()
    return jax.default_device(jax.local_devices(backend="cpu")[0])


def is_on_cpu() -> bool:
    """Whether programs of this scope run on the CPU."""
    device = _default_device()
    if device is None:
        return jax.default_backend() == "cpu"
    return getattr(device, "platform", device) == "cpu"


def _default_device() -> Any:
    """The device that the user, or a scope around this one, has chosen; None if none."""
    config: Any = jax.config
    return config.jax_default_device
