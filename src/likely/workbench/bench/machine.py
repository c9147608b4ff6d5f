"""What a measurement was made on: the processor, its cores, the versions of packages."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = (
    "likely", "jax", "jaxlib", "numpy", "scipy", "scikit-learn", "statsmodels",
    "lightgbm", "torch",
)  # fmt: skip


def processor() -> str:
    """The name of the processor, as its maker gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2] for line in lines if line.startswith("model name"))
    name = next(named, "") or platform.processor() or platform.machine()
    return " ".join(name.split())


def cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def versions() -> dict[str, str]:
    """The versions of Python, of this library and of the peers that are installed."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
