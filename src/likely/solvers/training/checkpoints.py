"""Checkpoints: a run on disk, whole or not at all, from which it goes on to the same bits.

A checkpoint is the `Progress` of a run with what it was made of (seed, settings, data,
all as digests) and made with (versions, devices). A file appears in one step (written
aside, flushed to the disk, renamed), the older ones go only after that, and a damaged
one is passed over for the one before it: a kill at any moment loses at most the steps
since the last file.
"""

import contextlib
import hashlib
import os
import platform
import re
import warnings
from dataclasses import dataclass, field
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

NAME = re.compile(r"step-(\d{12})\.likely")
SAMPLE = 1000
"""Rows of the data that the digest looks at."""


class ResumeWarning(UserWarning):
    """A run goes on under other versions or devices: equal to rounding, not to the bit."""


@dataclass(frozen=True)
class Checkpoints:
    """Where and when a run is saved.

    Args:
        folder: made if it is not there; one folder for one run.
        every_seconds: save when this much time has passed. When a file is written
            decides nothing about its content.
        every_steps: save after every so many steps, in the place of the seconds.
        keep: how many files stay.
    """

    folder: str | os.PathLike
    every_seconds: float | None = 60.0
    every_steps: int | None = None
    keep: int = 3
    made: dict = field(default_factory=dict, repr=False, compare=False)

    def prepare(self, resume: bool) -> None:
        """Make the folder, make sure it can be written to, remove what a kill left."""
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
        """The checkpoints that are there, the oldest first."""
        found = [p for p in Path(self.folder).glob("step-*") if NAME.fullmatch(p.name)]
        return sorted(found)

    def save(self, progress: PyTree, step: int, about: dict[str, Any]) -> Path:
        """Write a checkpoint, then let the oldest go."""
        path = Path(self.folder) / f"step-{step:012d}.likely"
        leaves = [np.asarray(a) for a in jax.tree.leaves(progress)]
        try:
            save({"leaves": leaves, "about": about}, path, card=False)
        except FileError as error:
            last = self.files[-1].name if self.files else "none"
            raise FileError(
                f"{error} The run stops here; the last checkpoint that was saved "
                f"({last}) is whole: make room and give resume=True to go on from it."
            ) from error
        for old in self.files[: -self.keep]:
            with contextlib.suppress(OSError):
                old.unlink()
        return path

    def latest(self, like: PyTree, about: dict[str, Any]) -> PyTree | None:
        """The newest progress that can be read, or None if there is none at all.

        Args:
            like: a progress of the same run, for the structure.
            about: what the run is made of and with, now.
        """
        files = self.files
        for path in reversed(files):
            try:
                found = load(path)
            except FileError as error:
                warnings.warn(f"{error} Passed over.", ResumeWarning, stacklevel=4)
                continue
            _compare(found["about"], about, path)
            return _restored(found["leaves"], like, path)
        if files:
            raise FileError(
                f"none of the {len(files)} checkpoints in {str(self.folder)!r} can be "
                "read; begin anew in another folder."
            )
        return None


# What a run is made of, and with ------------------------------------------------------


def made_of(loop: Any, key: Any, model: Any, layout: Any) -> dict[str, Any]:
    """Digests of what decides a run, but for the number of steps; and versions."""
    solver = eqx.tree_at(lambda s: s.steps, loop.solver, np.zeros((), np.int32))
    rows = [np.asarray(a) for a in jax.tree.leaves(loop.data)] if _local(loop) else []
    sample = [a[:: max(1, len(a) // SAMPLE)] for a in rows]
    numbers = None if key is None else np.asarray(jax.random.key_data(key))
    of = {
        "settings": digest(solver),
        "objective": digest(loop.stepper.objective),
        "model": digest(jax.tree.map(np.shape, eqx.filter(model, eqx.is_array))),
        "data": digest([[a.shape for a in rows], sample]),
        "seed": digest(numbers),
    }
    return {"of": of, "with": made_with(layout)}


def _local(loop: Any) -> bool:
    """Whether the data can be looked at here (not spread over other processes)."""
    leaves = jax.tree.leaves(loop.data)
    return all(getattr(a, "is_fully_addressable", True) for a in leaves)


def made_with(layout: Any) -> dict[str, str]:
    """What has to be the same for the same bits."""
    devices = jax.devices() if layout is None else layout.mesh.devices.ravel()
    return {
        "jax": jax.__version__,
        "jaxlib": jaxlib.__version__,
        "device": devices[0].device_kind,
        "machine": platform.machine(),
        "devices": str(1 if layout is None else len(devices)),
    }


def digest(tree: PyTree) -> str:
    """A number for a tree of arrays and static parts, the same in every process."""
    arrays, static = eqx.partition(tree, eqx.is_array)
    text = f"{jax.tree.structure(static)} {jax.tree.leaves(static)}"
    found = hashlib.sha256(re.sub(r" at 0x[0-9a-f]+", "", text).encode())
    for leaf in jax.tree.leaves(to_numpy(arrays)):
        found.update(f"{leaf.dtype}{leaf.shape}".encode())
        found.update(np.ascontiguousarray(leaf).tobytes())
    return found.hexdigest()


def _compare(saved: dict[str, Any], now: dict[str, Any], path: Path) -> None:
    """Refuse a checkpoint of another run; say where versions or devices differ."""
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


def _restored(leaves: list[np.ndarray], like: PyTree, path: Path) -> PyTree:
    """The leaves in their structure; a trace of another length is filled anew."""
    now, treedef = jax.tree.flatten(like)
    if len(now) != len(leaves):
        raise FileError(f"{str(path)!r} holds a run of another structure.")
    fitted = []
    for new, old in zip(now, leaves, strict=True):
        if new.dtype != old.dtype or new.shape[1:] != old.shape[1:]:
            raise FileError(f"{str(path)!r} holds arrays of other shapes or dtypes.")
        if new.shape != old.shape:  # more steps than then: the trace is longer now
            blank = np.full(new.shape, np.nan, old.dtype)
            size = min(len(new), len(old))
            blank[:size] = old[:size]
            old = blank
        fitted.append(old)
    return treedef.unflatten(fitted)
