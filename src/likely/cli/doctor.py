"""`likely doctor`: versions, devices, the compilation cache, and a self-test."""

import platform
from importlib.metadata import version

import jax
import numpy as np

from likely.core import float64, lstsq
from likely.core.cache import cache_folder, enable_cache

PACKAGES = ("likely", "jax", "jaxlib", "numpy", "scikit-learn")


def examine() -> dict:
    """The facts about the machine that a bug report needs."""
    return {
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in PACKAGES},
        "devices": [f"{d.platform}:{d.id} {d.device_kind}" for d in jax.devices()],
        "cache": _cache(),
        "self_test": {
            "gradient": _gradient_is_right(),
            "float64": _float64_is_exact(),
        },
    }


def as_rows(found: dict) -> list[dict]:
    """The facts as rows of a table."""
    cache = found["cache"]
    size = f"{cache['bytes'] / 1e6:.1f} MB in {cache['programs']} programs"
    tests = found["self_test"].items()
    lines = [
        *found["versions"].items(),
        *(("device", device) for device in found["devices"]),
        ("cache", f"{cache['folder']} ({size})" if cache["on"] else "off"),
        *((f"self-test: {name}", "passed" if ok else "FAILED") for name, ok in tests),
    ]
    return [{"what": what, "found": value} for what, value in lines]


def _cache() -> dict:
    folder = enable_cache() or cache_folder()
    sizes = [file.stat().st_size for file in folder.glob("*-cache")]
    return {
        "on": enable_cache() is not None,
        "folder": str(folder),
        "programs": len(sizes),
        "bytes": sum(sizes),
    }


def _gradient_is_right() -> bool:
    """Whether the gradient of log Σ exp is the softmax."""
    eta = np.linspace(-2.0, 2.0, 5, dtype=np.float32)
    gradient = jax.grad(jax.nn.logsumexp)(eta)
    return bool(np.allclose(gradient, np.exp(eta) / np.exp(eta).sum(), atol=1e-6))


def _float64_is_exact() -> bool:
    """Whether least squares finds a known line to double precision."""
    A = np.stack([np.linspace(0.0, 1.0, 20), np.ones(20)], axis=1)
    B = np.array([[2.0], [-1.0]])
    with float64():
        found, _ = jax.jit(lstsq)(A, A @ B, np.ones(20), np.zeros(2))
        return bool(np.allclose(found, B, rtol=0, atol=1e-12))
