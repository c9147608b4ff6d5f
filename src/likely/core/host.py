"""Settings of the whole process, made by our own commands or on an explicit call.

glibc gives large buffers back to the kernel after every call, and the next call pays
for them again, page by page: half of the time of a large fit on a CPU. Keeping them
costs memory that stays at its peak, so `import likely` never decides this for you.
"""

import ctypes
import sys

_ARENA_MAX, _MMAP_MAX, _TRIM_THRESHOLD, _TOP_PAD = -8, -4, -1, -2


def tune_host() -> bool:
    """Let this process keep the memory of large arrays between calls (Linux, glibc).

    Call it first, before large arrays are made. Returns whether it took effect.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:
        return False
    settings = {
        _ARENA_MAX: 1,
        _MMAP_MAX: 0,
        _TRIM_THRESHOLD: 2**31 - 1,
        _TOP_PAD: 64 << 20,
    }
    return all([mallopt(name, value) for name, value in settings.items()])
