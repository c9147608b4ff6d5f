"""Training: the same bits as the loop, events, callbacks, divergence."""

import io

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rich.console import Console
from solvers.training.problem import assert_same, leaves, network, problem, rows

from likely import recipe
from likely.core import InputError
from likely.families import Normal
from likely.models import Shared
from likely.solvers import (
    Adam,
    ClipByNorm,
    Cosine,
    ExponentialAverage,
    GradientDescent,
    Momentum,
    Validation,
)
from likely.solvers.training import (
    DivergenceWarning,
    History,
    MLflow,
    ProgressBar,
    TensorBoard,
    Training,
)
from likely.solvers.training.events import asks_to_stop
from likely.typing import CALLED_OFF, DIVERGED, VALIDATION, Batch

KEY = 1


def key():
    return jax.random.key(KEY)


@pytest.mark.parametrize("every", [None, 1, 7, 1000])
def test_where_a_run_is_cut_changes_no_bit(every):
    objective, model, data = problem()
    other = rows(20, seed=1)
    solver = Adam(
        Cosine(0.01, 90),
        steps=90,
        batch_size=10,
        clip=ClipByNorm(1.0),
        average=ExponentialAverage(0.9),
        validation=Validation(other, patience=100, every=3),
    )
    whole = solver.minimize(objective, model, data, key=key())
    segments = Training(solver, every=every)
    assert_same(whole, segments.minimize(objective, model, data, key=key()))
    assert np.isfinite(whole.trace.validation).sum() == 6


def test_training_is_a_solver_of_the_recipe():
    data = rows()
    solver = Adam(0.01, steps=60, batch_size=16)
    fits = [
        recipe.fit(Normal(0.3), network(), data, solver=s, key=key())
        for s in (solver, Training(solver))
    ]
    assert_same(*(fit.solution for fit in fits))


def test_events_tell_what_happens():
    objective, model, data = problem()
    history = History()
    solver = Adam(
        0.01, steps=30, batch_size=16, validation=Validation(rows(20, 1), 99, every=2)
    )
    found = Training(solver, callbacks=history).minimize(
        objective, model, data, key=key()
    )
    assert history.kinds[:2] == ["start", "compiling"]
    assert history.kinds[2:-1] == ["epoch", "validation"] * 5
    assert history.kinds[-1] == "stop"
    steps = [e.step for e in history.events if e.kind == "epoch"]
    assert steps == [6, 12, 18, 24, 30]
    assert [e.epoch for e in history.events if e.kind == "epoch"] == [2, 4, 6, 8, 10]
    np.testing.assert_allclose(history.events[-1].loss, found.loss)
    assert history.events[-1].message.startswith("trained for 30 steps")
    losses = [e.validation for e in history.events if e.kind == "validation"]
    np.testing.assert_allclose(losses, found.trace.validation[:5], rtol=1e-6)
    assert history["best"] == sorted(history["best"], reverse=True)
    assert history["rate"][0] == pytest.approx(0.01)
    first, last = history["loss"][0], history["loss"][-1]
    start = f"History of {len(history.events)} events, 30 steps: loss {first:.4g} to {last:.4g}"
    assert repr(history).startswith(start)
    assert repr(History()) == "History without events"


@pytest.mark.parametrize("answer", [True, np.True_, "stop"])
def test_a_callback_may_stop_the_run(answer):
    objective, model, data = problem()
    solver = Adam(0.01, steps=60, batch_size=16)
    stop = lambda event: answer if event.step >= 12 else None  # noqa: E731
    found = Training(solver, callbacks=[History(), stop], every=3).minimize(
        objective, model, data, key=key()
    )
    assert found.status.reason == CALLED_OFF
    assert "stopped after 12 steps because a callback asked" in str(found.status)
    short = Training(Adam(0.01, steps=np.int32(12), batch_size=16))
    assert_same(found.model, short.minimize(objective, model, data, key=key()).model)


def test_only_true_and_the_word_stop_end_a_run():
    assert not asks_to_stop([None, False, np.False_, 0, 1, "", "go on", [1]])
    assert asks_to_stop([None, True])
    assert asks_to_stop([np.True_, None])
    assert asks_to_stop(["stop"])


def test_early_stopping_keeps_the_weights_of_the_best_look():
    """The epoch with the lowest validation loss (J4), found by evaluating all."""
    objective, model, data = problem(24)
    other = rows(200, seed=5)
    watch = Validation(other, patience=6)
    solver = Adam(0.05, steps=200, batch_size=8, validation=watch, path=True)
    found = Training(solver).minimize(objective, model, data, key=key())
    assert found.status.reason == VALIDATION
    steps = int(found.status.steps)
    assert steps < 200
    losses = jax.jit(jax.vmap(lambda p: objective(_with(model, p), other)[0]))(
        found.trace.model
    )[3:steps:3]
    best = 3 * int(np.argmin(losses)) + 3
    assert steps == best + 3 * 6
    np.testing.assert_allclose(found.status.value, losses.min(), rtol=1e-5)
    assert_same(found.model, jax.tree.map(lambda a: a[best], found.trace.model))


def _with(model, params):
    return eqx.combine(params, eqx.filter(model, eqx.is_inexact_array, inverse=True))


def test_training_goes_on_from_given_weights():
    """Fine-tuning: all weights continue on the task (Q7)."""
    objective, model, data = problem()
    solver = Momentum(0.01, steps=60, batch_size=16)
    before = Training(solver).minimize(objective, model, data, key=key())
    task = rows(48, seed=7)
    tuned = Training(solver).minimize(objective, before.model, task, key=key())
    fresh = Training(solver).minimize(objective, model, task, key=key())
    assert all(
        (a != b).any()
        for a, b in zip(leaves(before.model), leaves(tuned.model), strict=True)
    )
    assert tuned.trace.loss[0] < fresh.trace.loss[0]


# Divergence ---------------------------------------------------------------------------


class Reciprocal(eqx.Module):
    """A layer that is fine until its scale reaches zero."""

    scale: jax.Array

    def __call__(self, X, *, w=None, key=None, state=None):
        return X / self.scale, state


class Chained(eqx.Module):
    layers: tuple

    def __call__(self, X, *, w=None, key=None, state=None):
        for layer in self.layers:
            X, _ = layer(X, w=w, key=key, state=state)
        return X, state


class Slide(eqx.Module):
    """An objective that pulls the scale down by one unit a step."""

    def __call__(self, model, batch, *, key=None, state=None):
        eta, state = model(batch.x, state=state)
        return model.layers[1].scale + 0 * eta.sum(), state


@pytest.mark.parametrize("every", [1, 3, 100])
def test_a_bad_value_is_found_and_the_last_good_state_kept(every):
    data = rows(8)
    plain = Reciprocal(jnp.asarray(1.0))
    model = Chained((plain, Reciprocal(jnp.asarray(5.0)), plain))
    solver = GradientDescent(1.0, steps=50)
    with pytest.warns(DivergenceWarning, match=r"layers\[1\] \(Reciprocal\)") as caught:
        found = Training(solver, every=every).minimize(Slide(), model, data, key=None)
    message = str(caught[0].message)
    assert "diverged at step 5" in message
    assert "learning rate was 1" in message
    assert "ClipByNorm" in message
    assert found.status.reason == DIVERGED
    assert found.status.steps == 5
    assert found.model.layers[1].scale == 1.0  # one step before it became 0


def test_bad_inputs_and_weights_are_named():
    objective, model, data = problem()
    bad = data._replace(x=data.x.at[3, 1].set(jnp.nan))
    training = Training(GradientDescent(0.1, steps=5))
    with pytest.warns(DivergenceWarning, match="in the inputs of the batch"):
        training.minimize(objective, model, bad, key=None)
    broken = eqx.tree_at(lambda m: m.layers[0].weight, model, jnp.full((3, 8), jnp.inf))
    with pytest.warns(DivergenceWarning, match=r"parameter layers\[0\]\.weight"):
        training.minimize(objective, broken, data, key=None)
    wrapped = Shared(model, jnp.zeros(1))
    exploding = Training(GradientDescent(1e30, steps=50))
    with pytest.warns(DivergenceWarning, match=r"model\.layers\[\d\]"):
        exploding.minimize(
            recipe.NegativeLogLikelihood.of(Normal(), data), wrapped, data, key=None
        )


# Observers ----------------------------------------------------------------------------


def test_the_bar_shows_loss_rate_and_compiling():
    objective, model, data = problem()
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=120)
    solver = Adam(0.01, steps=60, batch_size=16)
    Training(solver, callbacks=ProgressBar(console)).minimize(
        objective, model, data, key=key()
    )
    for word in ("compiling", "loss", "rate", "60/60"):
        assert word in text.getvalue()


def test_the_bar_ends_with_a_run_that_fails(monkeypatch):
    objective, model, data = problem()
    closed = []
    monkeypatch.setattr(ProgressBar, "close", lambda bar: closed.append(bar))

    def fails(event):
        raise RuntimeError(event.kind)

    training = Training(Adam(0.01, steps=60), callbacks=fails, verbose=True)
    with pytest.raises(RuntimeError, match="start"):
        training.minimize(objective, model, data, key=key())
    assert closed


class Recorder:
    """What the module `mlflow` has, recording its calls."""

    def __init__(self):
        self.calls = []

    def active_run(self):
        return None

    def __getattr__(self, name):
        return lambda *args, **kwargs: self.calls.append((name, args, kwargs))


def test_mlflow_receives_the_numbers():
    objective, model, data = problem()
    recorder = Recorder()
    solver = Adam(0.01, steps=36, batch_size=16)
    Training(solver, MLflow(recorder, {"rate": 0.01}), every=18).minimize(
        objective, model, data, key=key()
    )
    names = [name for name, *_ in recorder.calls]
    assert names == [
        "start_run", "log_params", "log_metrics", "log_metrics", "set_tag", "end_run",
    ]  # fmt: skip
    metrics = [(a[0], k["step"]) for n, a, k in recorder.calls if n == "log_metrics"]
    assert [step for _, step in metrics] == [18, 36]
    assert set(metrics[0][0]) == {"loss", "gradient", "rate"}


@pytest.mark.oracle
def test_tensorboard_files_can_be_read(tmp_path):
    tensorboard = pytest.importorskip("tensorboardX")
    assert tensorboard
    objective, model, data = problem()
    solver = Adam(0.01, steps=36, batch_size=16)
    Training(solver, TensorBoard(tmp_path), every=3).minimize(
        objective, model, data, key=key()
    )
    (file,) = tmp_path.glob("events*")
    assert b"gradient" in file.read_bytes()


def test_packages_that_are_missing_are_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "mlflow", None)
    with pytest.raises(InputError, match="package mlflow, which is not installed"):
        MLflow()


def test_absent_rows_change_nothing():
    objective, model, data = problem()
    w = data.w.at[:8].set(0.0)
    rough = data.x.at[:8].set(jnp.nan)
    solver = Training(Adam(0.01, steps=20, batch_size=16))
    fits = [
        solver.minimize(objective, model, Batch(x, data.y, w), key=key())
        for x in (data.x, rough)
    ]
    assert_same(*fits)
