"""Settings of the whole process, made by our own commands or on an explicit call.

glibc gives large buffers back to the kernel after every call, and the next call pays
for them again, page by page: half of the time of a large fit on a CPU. Keeping them
costs memory that stays at its peak, so `import likely` never decides this for you.

glibc keeps memory in arenas, each behind a lock. Arrays over 64 MB are only kept by the
first, so one arena serves all threads; devices that compute side by side would wait for
its lock, longer the more a compilation has left in it (up to a tenth of a step of a
network), so they get some of their own.
"""

import ctypes
import sys

_ARENA_MAX, _MMAP_MAX, _TRIM_THRESHOLD, _TOP_PAD = -8, -4, -1, -2


def tune_host(devices: int | None = None) -> bool:
    """Let this process keep the memory of large arrays between calls (Linux, glibc).

    Call it first, before large arrays are made. Returns whether it took effect.

    Args:
        devices: how many devices the CPU should look like, for members of an ensemble
            or shares of a batch that are computed side by side; by custom one a core.
    """
    if devices is not None:
        _split_host(devices)
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:
        return False
    settings = {
        _ARENA_MAX: 1 if devices is None else 4 * devices,
        _MMAP_MAX: 0,
        _TRIM_THRESHOLD: 2**31 - 1,
        _TOP_PAD: 64 << 20,
    }
    return all([mallopt(name, value) for name, value in settings.items()])


def _split_host(devices: int) -> None:
    """Let JAX see several CPU devices; only possible before it has computed anything."""
    import jax

    from likely.core.checks import InputError

    try:
        jax.config.update("jax_num_cpu_devices", int(devices))
    except RuntimeError as error:
        if len(jax.devices("cpu")) != devices:
            raise InputError(
                "the number of devices can only be chosen before JAX computes anything; "
                "call tune_host(devices=...) first."
            ) from error
