"""How many compiled programs a process keeps.

Each takes some regions of memory, of which Linux allows a process 65,530: after some
hundred different shapes the compiler fails ("Cannot allocate memory"). Before that the
programs are forgotten; the cache on disk has them.
"""

import functools
from pathlib import Path

import jax
import jax.numpy as jnp
from jax.core import Tracer

MAPS = Path("/proc/self/maps")
LIMIT = Path("/proc/sys/vm/max_map_count")
MAX_SHARE = 0.5
"""The share of the regions that a process may have before programs are forgotten."""
PROGRAMS_BETWEEN_LOOKS = 50
EVENTS = ("backend_compile_duration", "cache_retrieval_time_sec")
"""The ends of the names of events in which a program comes into memory."""

_new = 0


def forget_programs() -> None:
    """Forget all compiled programs if this process has too many; usually costs nothing."""
    global _new
    _listen()
    if _new < PROGRAMS_BETWEEN_LOOKS or _is_tracing():
        return
    _new = 0
    if regions() > MAX_SHARE * _limit():
        jax.clear_caches()


def _is_tracing() -> bool:
    """Whether a program is being traced, which needs what is in the caches."""
    return isinstance(jnp.add(0, 0), Tracer)


def regions() -> int:
    """How many regions of memory this process has; 0 where they are not counted."""
    return MAPS.read_bytes().count(b"\n") if MAPS.exists() else 0


@functools.cache
def _limit() -> int:
    try:
        return int(LIMIT.read_text())
    except (OSError, ValueError):
        return 65_530


@functools.cache
def _listen() -> None:
    """Count the programs from here on."""

    def count(event: str, *_: object, **__: object) -> None:
        global _new
        _new += event.endswith(EVENTS)

    jax.monitoring.register_event_duration_secs_listener(count)
