"""Kill a training process with SIGKILL, again and again, and compare its weights.

Usage: python tools/kill_training.py [KILLS] [--seed S] [--images] [--devices D]
       (default: 200 kills of a small table's network on one device; `--images` is a
       convolutional network with augmentation, `--devices` makes this many virtual ones)

A run that saves a checkpoint every few steps is killed at random moments: from outside
at a random time, or from inside at a random call of the save (before the flush to disk,
before and after the rename, between two writes). Each time another process resumes it.
What it ends with must be, to the last bit, what an undisturbed run ends with.

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
from likely.typing import Batch

STEPS, EVERY = 600, 10


def train_images(folder: Path, told, devices: int) -> str:
    """A convolutional network with augmentation, batch norm and rows to look at."""
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
        callbacks=lambda event: told() if event.kind == "checkpoint" else None,
        checkpoints=Checkpoints(folder, every_steps=EVERY, keep=2),
        resume=True,
        mesh=jax.make_mesh((devices,), ("rows",)) if devices > 1 else None,
    )
    return digest_of(network.phi_)


def digest_of(tree) -> str:
    """Of every bit in it."""
    found = hashlib.sha256()
    for leaf in jax.tree.leaves(tree):
        found.update(np.asarray(leaf).tobytes() if hasattr(leaf, "shape") else b"")
    return found.hexdigest()


def train_table(folder: Path, told, devices: int) -> str:
    """A perceptron with batch norm, an average and rows to look at."""
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
        callbacks=lambda event: told() if event.kind == "checkpoint" else None,
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
    """Let this process kill itself before, or after, a call that saving makes."""
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
    """A process that trains; its number, and where it says how far it is."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of forking: nothing has been computed yet
        number = os.fork()
    if number:
        os.close(writing)
        return number, reading
    os.close(reading)
    try:
        if calls is not None:
            die_in_a_save(calls)
        told = iter(lambda: os.write(writing, b"."), None)
        digest = train(folder, lambda: next(told) and None)
        os.write(writing, digest.encode())
    except BaseException:
        import traceback

        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def attempt(train, folder: Path, dice: random.Random | None) -> str | None:
    """One process; the digest, or None where it was killed."""
    inside = dice is not None and dice.random() < 0.5
    number, pipe = child(train, folder, dice.randint(1, 60) if inside else None)
    said = os.read(pipe, 1)  # the first checkpoint: it computes now
    if dice is not None and not inside:
        time.sleep(dice.uniform(0, 0.15))
        os.kill(number, signal.SIGKILL)
    while part := os.read(pipe, 2**16):
        said += part
    os.close(pipe)
    _, status = os.waitpid(number, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return None
    if status:
        sys.exit("a training process failed for another reason than a kill.")
    return said.decode().lstrip(".")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kills", nargs="?", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--images", action="store_true")
    parser.add_argument("--devices", type=int, default=1)
    options = parser.parse_args()
    if options.devices > 1:
        tune_host(devices=options.devices)
    kind = train_images if options.images else train_table

    def train(folder: Path, told) -> str:
        return kind(folder, told, options.devices)

    dice, kills, runs = random.Random(options.seed), 0, 0
    with tempfile.TemporaryDirectory() as place:
        undisturbed = attempt(train, Path(place) / "undisturbed", None)
        while kills < options.kills:
            folder, digest = Path(place) / f"run {runs}", None
            while digest is None:
                digest = attempt(train, folder, dice if kills < options.kills else None)
                kills += digest is None
            runs += 1
            if digest != undisturbed:
                sys.exit(f"after {kills} kills run {runs} ended with other weights.")
    print(f"{kills} kills, {runs} runs, no difference: sha256 {undisturbed}")


if __name__ == "__main__":
    main()
