"""Streams: every row once an epoch, the same gradient, little memory."""

import json
import os
import subprocess
import sys

import jax
import numpy as np
import pytest
from ledger import ROOT
from solvers.training.problem import assert_close, assert_same, problem

from likely.core import InputError
from likely.solvers import Adam, GradientDescent, Minibatches, Validation
from likely.solvers.training import Checkpoints, Stream, Training
from likely.solvers.training.reading import Shuffled


def key():
    return jax.random.key(1)


@pytest.mark.parametrize(("n", "size", "window"), [(50, 8, 4), (97, 10, 3), (9, 20, 4)])
def test_an_epoch_of_a_stream_has_every_row_once(n, size, window):
    batches = Minibatches.of(n, size)
    order = Shuffled(batches, (0, 1), window)
    epochs = [
        np.concatenate(
            [order.rows(e * batches.count + i) for i in range(batches.count)]
        )
        for e in range(2)
    ]
    for rows in epochs:
        assert sorted(rows[rows < n]) == list(range(n))
    if batches.count > 1:
        assert (epochs[0] != epochs[1]).any()


def arrays(n=50):
    objective, model, data = problem(n)
    return objective, model, [np.asarray(a) for a in data]


def test_a_full_batch_stream_is_the_resident_run():
    objective, model, (x, y, w) = arrays()
    training = Training(GradientDescent(0.01, steps=20))
    streamed = training.minimize(objective, model, Stream(x, y, w), key=None)
    _, _, data = problem(50)
    resident = training.minimize(objective, model, data, key=None)
    assert_close(streamed.model, resident.model)


def test_the_loop_on_a_stream_is_the_textbook_loop():
    """Row weights, absent rows full of NaN, batches of unequal sizes."""
    objective, model, (x, y, w) = arrays()
    w = np.where(np.arange(50) % 7 == 0, 0, w * 2).astype(np.float32)
    objective = type(objective).of(objective.family, problem(50)[2]._replace(w=w))
    x = np.where(w[:, None] > 0, x, np.nan)
    rate, steps = 0.01, 25
    solver = GradientDescent(rate, steps=steps, batch_size=8)
    stream = Stream(x, y, w, window=4)
    found = Training(solver).minimize(objective, model, stream, key=key())
    seed = tuple(map(int, np.asarray(jax.random.key_data(key()))))
    order = Shuffled(Minibatches.of(50, 8), seed, 4)

    @jax.jit
    def slope(m, x, y, w):
        return jax.grad(lambda m: objective(m, type(problem(2)[2])(x, y, w))[0])(m)

    for t in range(steps):
        rows = order.rows(t)
        rows = rows[rows < 50]
        some = np.nan_to_num(x[rows]), y[rows], w[rows]
        g = slope(model, *some)
        model = jax.tree.map(
            lambda a, b: a - rate * b if hasattr(a, "shape") else a, model, g
        )
    assert_close(found.model, model, 1e-4)


def test_a_stream_can_be_resumed_and_cut_anywhere(tmp_path):
    objective, model, (x, y, w) = arrays()
    watch = Validation(problem(20)[2], patience=100, every=2)
    solver = Adam(0.01, steps=40, batch_size=8, validation=watch)
    stream = Stream(x, y, w, window=4)

    def train(**options):
        return Training(solver, **options).minimize(objective, model, stream, key=key())

    whole = train()
    assert_same(whole, train(every=3))
    checkpoints = Checkpoints(tmp_path, every_steps=5)
    train(checkpoints=checkpoints, callbacks=lambda e: e.step > 9, every=5)
    assert_same(whole, train(checkpoints=checkpoints, resume=True))


def test_chunks_of_a_table_become_a_stream(tmp_path):
    _, _, (x, y, w) = arrays()
    cut = (slice(0, 20), slice(20, 50))
    stream = Stream.write(
        tmp_path / "s", ((x[c].astype(float), y[c], w[c]) for c in cut)
    )
    np.testing.assert_array_equal(stream.x, x)
    batch = stream.rows(np.array([7, 3, 50]))
    np.testing.assert_array_equal(batch.y[:2], y[[7, 3]])
    assert batch.w.tolist() == [1.0, 1.0, 0.0]
    assert isinstance(Stream.open(tmp_path / "s").x, np.memmap)


def test_streams_that_cannot_be_are_refused(tmp_path):
    with pytest.raises(InputError, match="x has 3 rows, y has 2"):
        Stream(np.ones((3, 1)), np.ones(2))
    with pytest.raises(InputError, match="sum to zero"):
        Stream(np.ones((3, 1)), np.ones(3), np.zeros(3))
    with pytest.raises(InputError, match="no chunks"):
        Stream.write(tmp_path, [])


@pytest.mark.slow
def test_training_from_a_file_takes_little_memory(tmp_path):
    """Half a GiB here; the script does four under one GiB of anonymous memory."""
    script = ROOT / "tools" / "stream_memory.py"
    env = os.environ | {"PYTHONPATH": str(ROOT / "src"), "JAX_DEBUG_KEY_REUSE": "0"}
    done = subprocess.run(
        [sys.executable, script, "0.5", "--folder", tmp_path],
        check=True,
        capture_output=True,
        text=True,
        env=env,
    )
    found = json.loads(done.stdout)
    assert found["steps"] == 512
    assert found["anonymous_gib"] - found["before_gib"] < 0.4 < found["file_gib"]
