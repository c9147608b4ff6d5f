"""The persistent compilation cache: the second process compiles nothing.

Compiled programs are kept in a private per-user folder, one for each jaxlib
version and kind of processor (a program compiled for one processor may not run
on another). `LIKELY_CACHE=off` switches it off, `LIKELY_CACHE_DIR` moves it; a
cache the user has already configured in JAX is left alone.
"""

import hashlib
import os
import platform
from pathlib import Path

import jax
import jaxlib
import platformdirs

XLA = f"xla-{jaxlib.__version__}"
"""The name of the compiler of JAX."""


def cache_folder(compiler: str = XLA) -> Path:
    """The folder of compiled programs for this user, compiler and processor."""
    root = os.environ.get("LIKELY_CACHE_DIR") or platformdirs.user_cache_dir("likely")
    return Path(root) / f"{compiler}-{_processor()}"


def private_folder(compiler: str) -> Path | None:
    """The same folder, made private; None where that fails or caching is switched off."""
    folder = cache_folder(compiler)
    return folder if _switched_on() and _private(folder) else None


def enable_cache() -> Path | None:
    """Turn the cache on, unless it is switched off or configured; returns its folder."""
    configured = getattr(jax.config, "jax_compilation_cache_dir", None)
    if configured and _switched_on():
        return Path(configured)
    folder = private_folder(XLA)
    if folder is not None:
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    return folder


def _switched_on() -> bool:
    off = {"off", "0", "no", "false"}
    return os.environ.get("LIKELY_CACHE", "on").lower() not in off


def _private(folder: Path) -> bool:
    """Make a folder that only this user can write to; others could place code in it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except OSError:
        return False
    owner = not hasattr(os, "getuid") or found.st_uid == os.getuid()
    return owner and not found.st_mode & 0o022 and os.access(folder, os.W_OK)


def _processor() -> str:
    """A short name for this kind of processor: its architecture and its features."""
    features = platform.processor()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        features = next(
            line for line in lines if line.startswith(("flags", "Features"))
        )
    except (OSError, StopIteration):
        pass
    text = f"{platform.machine()} {features}"
    return hashlib.sha256(text.encode()).hexdigest()[:12]
