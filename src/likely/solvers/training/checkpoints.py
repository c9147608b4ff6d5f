"""Checkpoints: files from which a run continues to the same bits.

A checkpoint is the `Progress` of a run with its fingerprint: digests of seed, settings
and data, and the versions and devices it ran with. A file is written aside, flushed to
the disk and renamed, older ones are removed only after that, and a damaged one is
skipped for the one before it: a kill at any moment loses at most the steps since the
last file.
"""

import contextlib
import hashlib
import os
import platform
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jaxlib
import numpy as np
from jaxtyping import PyTree

from likely.core.checks import InputError
from likely.core.precision import to_numpy
from likely.files import FileError, load, save

FILE_NAME = re.compile(r"step-(\d{12})\.likely")
DIGEST_ROWS = 1000
"""Rows of the data that enter the digest, about."""


class ResumeWarning(UserWarning):
    """A run continues with other versions or devices: equal to rounding, not to the bit."""


@dataclass(frozen=True)
class Checkpoints:
    """Where and when a run is saved.

    Args:
        folder: created if it does not exist; one folder for one run.
        every_seconds: save when this much time has passed. The time of a save has no
            influence on its content.
        every_steps: save after every so many steps, instead of by time.
        keep: the number of files that are kept.
    """

    folder: str | os.PathLike
    every_seconds: float | None = 60.0
    every_steps: int | None = None
    keep: int = 3

    def prepare(self, resume: bool) -> None:
        """Create the folder, check that it is writable, remove incomplete files."""
        path = Path(self.folder)
        if self.keep < 1:
            raise InputError(
                f"keep is {self.keep}; give at least 1 checkpoint to keep."
            )
        try:
            path.mkdir(parents=True, exist_ok=True)
            probe = path / f".probe.{os.getpid()}.tmp"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise InputError(
                f"checkpoints cannot be written to {str(path)!r}: {error.strerror}; "
                "give a folder that can be written to. Nothing was computed yet."
            ) from error
        for left in path.glob(".step-*.tmp"):
            left.unlink(missing_ok=True)
        if self.files and not resume:
            raise InputError(
                f"{str(path)!r} holds checkpoints of a run already; give resume=True to "
                "continue it, or another folder to begin a new one."
            )

    @property
    def files(self) -> list[Path]:
        """The checkpoints in the folder, the oldest first."""
        found = [
            p for p in Path(self.folder).glob("step-*") if FILE_NAME.fullmatch(p.name)
        ]
        return sorted(found)

    def save(self, progress: PyTree, step: int, fingerprint: dict[str, Any]) -> Path:
        """Write a checkpoint, then remove the oldest."""
        path = Path(self.folder) / f"step-{step:012d}.likely"
        leaves = [np.asarray(a) for a in jax.tree.leaves(progress)]
        try:
            save({"leaves": leaves, "about": fingerprint}, path, card=False)
        except FileError as error:
            last = self.files[-1].name if self.files else "none"
            raise FileError(
                f"{error} The run stops here; the last checkpoint that was saved "
                f"({last}) is complete: free space and give resume=True to continue from it."
            ) from error
        for old in self.files[: -self.keep]:
            with contextlib.suppress(OSError):
                old.unlink()
        return path

    def latest(self, like: PyTree, fingerprint: dict[str, Any]) -> PyTree | None:
        """The newest progress that can be read, or None if there is no checkpoint.

        Args:
            like: a progress of the same run, for the structure.
            fingerprint: that of the run now.
        """
        files = self.files
        for path in reversed(files):
            try:
                found = load(path)
            except FileError as error:
                warnings.warn(f"{error} Passed over.", ResumeWarning, stacklevel=4)
                continue
            _compare(found["about"], fingerprint, path)
            return _unflatten(found["leaves"], like, path)
        if files:
            raise FileError(
                f"none of the {len(files)} checkpoints in {str(self.folder)!r} can be "
                "read; begin anew in another folder."
            )
        return None


# Fingerprints -------------------------------------------------------------------------


def fingerprint_of(loop: Any, key: Any, model: Any, layout: Any) -> dict[str, Any]:
    """Digests of all that decides a run except the number of steps; and versions."""
    solver = eqx.tree_at(lambda s: s.steps, loop.solver, np.zeros((), np.int32))
    rows = (
        [np.asarray(a) for a in jax.tree.leaves(loop.data)] if _is_local(loop) else []
    )
    sample = [a[:: max(1, len(a) // DIGEST_ROWS)] for a in rows]
    seed = None if key is None else np.asarray(jax.random.key_data(key))
    of = {
        "settings": digest(solver),
        "objective": digest(loop.stepper.objective),
        "model": digest(jax.tree.map(np.shape, eqx.filter(model, eqx.is_array))),
        "data": digest([[a.shape for a in rows], sample]),
        "seed": digest(seed),
    }
    constants = getattr(model, "constants", None)
    if constants is not None:
        of["parameters that stay"] = digest(constants)
    return {"of": of, "with": environment(layout)}


def _is_local(loop: Any) -> bool:
    """Whether this process can read all the data."""
    leaves = jax.tree.leaves(loop.data)
    return all(getattr(a, "is_fully_addressable", True) for a in leaves)


def environment(layout: Any) -> dict[str, str]:
    """Versions and devices, which have to be the same for the same bits."""
    devices = jax.devices() if layout is None else layout.mesh.devices.ravel()
    return {
        "jax": jax.__version__,
        "jaxlib": jaxlib.__version__,
        "device": devices[0].device_kind,
        "machine": platform.machine(),
        "devices": str(1 if layout is None else len(devices)),
    }


def digest(tree: PyTree) -> str:
    """A hash of a tree of arrays and static parts, the same in every process."""
    arrays, static = eqx.partition(tree, eqx.is_array)
    text = f"{jax.tree.structure(static)} {jax.tree.leaves(static)}"
    found = hashlib.sha256(re.sub(r" at 0x[0-9a-f]+", "", text).encode())
    for leaf in jax.tree.leaves(to_numpy(arrays)):
        found.update(f"{leaf.dtype}{leaf.shape}".encode())
        found.update(np.ascontiguousarray(leaf).tobytes())
    return found.hexdigest()


def _compare(saved: dict[str, Any], now: dict[str, Any], path: Path) -> None:
    """Refuse a checkpoint of another run; warn where versions or devices differ."""
    for name, value in now["of"].items():
        if saved["of"].get(name) != value:
            raise InputError(
                f"the checkpoint {str(path)!r} was made with other {name}; give the "
                "same as then to continue it, or another folder to begin anew."
            )
    differ = [n for n, v in now["with"].items() if saved["with"].get(n) != v]
    if differ:
        words = ", ".join(
            f"{n} {saved['with'].get(n)} then and {now['with'][n]} now" for n in differ
        )
        warnings.warn(
            f"the checkpoint {str(path)!r} was made under other conditions ({words}): "
            "the weights will agree to about 1e-5, not to the last bit.",
            ResumeWarning,
            stacklevel=5,
        )


def _unflatten(leaves: list[np.ndarray], like: PyTree, path: Path) -> PyTree:
    """The leaves in their structure; a trace of another length is cut or extended."""
    now, treedef = jax.tree.flatten(like)
    if len(now) != len(leaves):
        raise FileError(f"{str(path)!r} holds a run of another structure.")
    fitted = []
    for new, old in zip(now, leaves, strict=True):
        if new.dtype != old.dtype or new.shape[1:] != old.shape[1:]:
            raise FileError(f"{str(path)!r} holds arrays of other shapes or dtypes.")
        if new.shape != old.shape:  # another step limit: the trace has another length
            blank = np.full(new.shape, np.nan, old.dtype)
            size = min(len(new), len(old))
            blank[:size] = old[:size]
            old = blank
        fitted.append(old)
    return treedef.unflatten(fitted)
