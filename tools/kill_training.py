"""Kill a training process with SIGKILL, again and again, and compare its weights.

Usage: python tools/kill_training.py [KILLS] [--seed S] [--images | --tokens] [--devices D]
       (default: 200 kills of a small table's network on one device; `--images` is a
       convolutional network with augmentation, `--tokens` a language model with dropout,
       `--devices` makes this many virtual ones)

A run that saves a checkpoint every few steps is killed at random moments: from outside
at a random time, or from inside at a random call of the save (before the flush to disk,
before and after the rename, between two writes). Each time another process resumes it.
The final weights must be, to the last bit, those of an undisturbed run.

Each process is forked from one that has imported everything and computed nothing.
"""

import argparse
import hashlib
import os
import random
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path

import jax
import numpy as np

from likely.core import tune_host
from likely.estimators import CNNClassifier
from likely.families import Normal
from likely.layers import Augmentation
from likely.layers.composition.chain import initial_state
from likely.models import mlp
from likely.objectives import NegativeLogLikelihood
from likely.solvers import Adam, ExponentialAverage, Validation
from likely.solvers.training import Checkpoints, Training
from likely.text import LanguageModel
from likely.typing import Batch

STEPS, EVERY = 600, 10


def train_images(folder: Path, notify, devices: int) -> str:
    """A convolutional network with augmentation, batch norm and validation rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(96, 8, 8)).astype(np.float32)
    y = (X[:, 2:5, 2:5].mean((1, 2)) > 0).astype(int)
    network = CNNClassifier(
        (4,),
        (8,),
        norm="batch",
        augment=Augmentation(shift=0.1, rotate=10.0, flip=0.5, noise=0.1, mixup=0.2),
        solver="adam",
        batch_size=16,
        max_iter=100,
        n_iter_no_change=10_000,
    )
    network.fit(
        *(X[:64], y[:64]),
        X_val=X[64:],
        y_val=y[64:],
        callbacks=lambda event: notify() if event.kind == "checkpoint" else None,
        checkpoints=Checkpoints(folder, every_steps=EVERY, keep=2),
        resume=True,
        mesh=jax.make_mesh((devices,), ("rows",)) if devices > 1 else None,
    )
    return digest_of(network.phi_)


def train_tokens(folder: Path, notify, devices: int) -> str:
    """A language model on random windows of a stream, with dropout and held-out tokens."""
    rng = np.random.default_rng(0)
    model = LanguageModel(
        *(1, 2, 16),
        context=8,
        dropout=0.1,
        batch_size=16,
        max_iter=STEPS,
        n_iter_no_change=10_000,
    )
    model.fit(
        rng.integers(0, 5, 2000),
        callbacks=lambda event: notify() if event.kind == "checkpoint" else None,
        checkpoints=Checkpoints(folder, every_steps=EVERY, keep=2),
        resume=True,
        mesh=jax.make_mesh((devices,), ("rows",)) if devices > 1 else None,
    )
    return digest_of(model.phi_)


def digest_of(tree) -> str:
    """A digest of every array in a tree."""
    found = hashlib.sha256()
    for leaf in jax.tree.leaves(tree):
        found.update(np.asarray(leaf).tobytes() if hasattr(leaf, "shape") else b"")
    return found.hexdigest()


def train_table(folder: Path, notify, devices: int) -> str:
    """A perceptron with batch norm, averaged weights and validation rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(96, 3)).astype(np.float32)
    y = np.sin(X[:, 0]).astype(np.float32)
    data, other = (
        Batch(X[part], y[part], np.ones(len(y[part]), np.float32))
        for part in (slice(64), slice(64, 96))
    )
    model = mlp((3, 16, 1), norm="batch", key=jax.random.key(0))
    solver = Adam(
        1e-3,
        steps=STEPS,
        batch_size=10,
        average=ExponentialAverage(0.99),
        validation=Validation(other, patience=10_000),
    )
    training = Training(
        solver,
        callbacks=lambda event: notify() if event.kind == "checkpoint" else None,
        checkpoints=Checkpoints(folder, every_steps=EVERY, keep=2),
        resume=True,
        every=EVERY,
        mesh=jax.make_mesh((devices,), ("rows",)) if devices > 1 else None,
    )
    objective = NegativeLogLikelihood.of(Normal(0.1), data)
    found = training.minimize(
        objective, model, data, key=jax.random.key(1), state=initial_state(model)
    )
    return digest_of((found.model, found.state, found.trace, found.loss))


def die_in_a_save(calls: int) -> None:
    """Let this process kill itself before or after a system call of a save."""
    left = [calls]

    def counted(function):
        def call(*args, **kwargs):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            result = function(*args, **kwargs)
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return call

    os.fsync, os.replace, os.chmod = map(counted, (os.fsync, os.replace, os.chmod))
    Path.unlink = counted(Path.unlink)


def child(train, folder: Path, calls: int | None) -> tuple[int, int]:
    """Start a process that trains; its id, and the pipe it reports to."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about forking: nothing has been computed yet
        process = os.fork()
    if process:
        os.close(writing)
        return process, reading
    os.close(reading)
    try:
        if calls is not None:
            die_in_a_save(calls)
        digest = train(folder, lambda: os.write(writing, b".") and None)
        os.write(writing, digest.encode())
    except BaseException:
        import traceback

        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def attempt(train, folder: Path, dice: random.Random | None) -> str | None:
    """Run one process; the digest of its weights, or None if it was killed."""
    inside = dice is not None and dice.random() < 0.5
    process, pipe = child(train, folder, dice.randint(1, 60) if inside else None)
    output = os.read(pipe, 1)  # the first checkpoint: training has begun
    if dice is not None and not inside:
        time.sleep(dice.uniform(0, 0.15))
        os.kill(process, signal.SIGKILL)
    while part := os.read(pipe, 2**16):
        output += part
    os.close(pipe)
    _, status = os.waitpid(process, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return None
    if status:
        sys.exit("a training process failed for another reason than a kill.")
    return output.decode().lstrip(".")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kills", nargs="?", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--images", action="store_true")
    parser.add_argument("--tokens", action="store_true")
    parser.add_argument("--devices", type=int, default=1)
    options = parser.parse_args()
    if options.devices > 1:
        tune_host(devices=options.devices)
    train_kind = train_images if options.images else train_table
    if options.tokens:
        train_kind = train_tokens

    def train(folder: Path, notify) -> str:
        return train_kind(folder, notify, options.devices)

    dice, kills, runs = random.Random(options.seed), 0, 0
    with tempfile.TemporaryDirectory() as temporary:
        undisturbed = attempt(train, Path(temporary) / "undisturbed", None)
        while kills < options.kills:
            folder, digest = Path(temporary) / f"run {runs}", None
            while digest is None:
                digest = attempt(train, folder, dice if kills < options.kills else None)
                kills += digest is None
            runs += 1
            if digest != undisturbed:
                sys.exit(f"after {kills} kills run {runs} ended with other weights.")
    print(f"{kills} kills, {runs} runs, no difference: sha256 {undisturbed}")


if __name__ == "__main__":
    main()
