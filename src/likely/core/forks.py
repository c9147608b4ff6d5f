"""Forked processes, in which JAX waits forever if it had started in their parent.

A fork copies the memory of a process but not its threads, and JAX hands its work to threads.
The fork itself cannot be refused, so what begins to compute asks here first.
"""

import os
import sys


class ForkError(RuntimeError):
    """JAX cannot compute in this process; the message says what to do."""


class _Fork:
    """Whether JAX had started in the parent when this process was forked."""

    before = False
    """What was true at the last fork, seen from the parent."""
    after = False
    """What is true of this process."""


def check_not_forked() -> None:
    """Refuse to compute in a process that was forked after JAX had started."""
    if _Fork.after:
        raise ForkError(
            "this process was forked after JAX had started in its parent, and would wait "
            "forever: the threads that compute were not copied. Start processes with "
            'multiprocessing.get_context("spawn"), or joblib\'s "loky"; or fork before the '
            "first fit."
        )


def _look() -> None:
    bridge = sys.modules.get("jax._src.xla_bridge")
    started = getattr(bridge, "backends_are_initialized", lambda: bridge is not None)
    _Fork.before = bool(started())


def _remember() -> None:
    _Fork.after |= _Fork.before


if hasattr(os, "register_at_fork"):  # there is no fork on Windows
    os.register_at_fork(before=_look, after_in_child=_remember)
