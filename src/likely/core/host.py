"""Settings of the whole process, made by our own commands or on an explicit call.

glibc returns large buffers to the kernel after every call, and the next call has to map
them again, page by page: half of the time of a large fit on a CPU. Keeping them means that
memory stays at its peak, so `import likely` does not do this by itself.

glibc keeps memory in arenas, each behind a lock. Only the first arena keeps arrays over
64 MB, so one arena serves all threads. Devices that compute side by side would wait for
its lock (up to a tenth of a training step of a network), so they get more arenas.
"""

import ctypes
import sys

_ARENA_MAX, _MMAP_MAX, _TRIM_THRESHOLD, _TOP_PAD = -8, -4, -1, -2


def tune_host(devices: int | None = None) -> bool:
    """Let this process keep the memory of large arrays between calls (Linux, glibc).

    Call it first, before large arrays are made. Returns whether it took effect.

    Args:
        devices: the number of CPU devices that JAX should see, for members of an
            ensemble or shards of a batch that are computed side by side; usually one
            for each core.
    """
    if devices is not None:
        _set_cpu_devices(devices)
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


def _set_cpu_devices(devices: int) -> None:
    """Make JAX see several CPU devices; only possible before it has computed anything."""
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
