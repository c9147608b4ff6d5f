"""Where a curriculum, draws and continuation help, where they do not, and by how much."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import likely as lk
from likely import models
from likely.core import InputError
from likely.diagnostics import CurriculumStudy, curriculum_study
from likely.families import Normal
from likely.layers import Chain, Dense, Pointwise
from likely.objectives import Smoothing
from likely.solvers import LBFGS, Adam, Continuation, Curriculum


def wave(key):
    """sin(ax + b) with a between 0.5 and 6: its loss has many local minima."""
    own, key = jax.random.split(key)
    model = Chain(Dense(1, 1, key=key), Pointwise(jnp.sin))
    a, b = jax.random.uniform(own, (2,), minval=0.5, maxval=6.0)
    first = (a.reshape(1, 1), b.reshape(1) / 6)
    return eqx.tree_at(lambda m: (m.layers[0].weight, m.layers[0].bias), model, first)


def distance(batch):
    return jnp.abs(batch.x[:, 0])


def wave_rows(n=150):
    rng = np.random.default_rng(0)
    x = rng.uniform(-4, 4, size=(n, 1))
    return x, np.sin(3 * x[:, 0]) + 0.1 * rng.normal(size=n)


SOLVER = Adam(0.02, steps=1200, batch_size=32)


def test_near_rows_first_find_a_frequency_that_all_rows_hide():
    """On near rows the loss has one minimum over the frequency; on all rows it has many."""
    near = Curriculum(distance, steps=600, start=0.08)
    study = curriculum_study(
        wave,
        *wave_rows(),
        family=Normal(0.1),
        solver=SOLVER,
        options={"alike": {}, "near first": {"sampling": near}},
        n_seeds=12,
    )
    lowest = study.losses.min()
    assert (study.losses[1] < lowest + 0.5).all()  # every seed
    assert (study.losses[0] > lowest + 10).any()
    assert study.shown(1) == 1
    assert "near first helps" in study.verdict
    assert len(study.plot().axes) == 1
    assert study.table()["option"] == ["alike", "near first"]


@pytest.mark.slow
def test_other_orders_and_smoothing():
    """Far rows first do not help; a smoothed loss does; a smooth problem needs neither."""
    far = Curriculum(distance, steps=600, start=0.08, reverse=True)
    path = Continuation(Smoothing(), (1.0, 0.5, 0.25, 0.1, 0.0), 200)
    study = curriculum_study(
        wave,
        *wave_rows(),
        family=Normal(0.1),
        solver=SOLVER,
        options={
            "alike": {},
            "far": {"sampling": far},
            "smoothed": {"continuation": path},
        },
        n_seeds=16,
    )
    assert study.shown(1) < 1
    assert study.gain[2].value > 3
    rng = np.random.default_rng(1)
    X = rng.normal(size=(800, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=800)
    smooth = Continuation(Smoothing(), (0.3, 0.1, 0.0), 100)
    plain = curriculum_study(
        models.MLP((32,), "tanh"),
        X[:300],
        y[:300],
        family=Normal(0.3),
        solver=Adam(0.01, steps=600, batch_size=32),
        options={
            "alike": {},
            "near": {"sampling": Curriculum(distance, steps=300)},
            "smoothed": {"continuation": smooth},
        },
        X_val=X[300:],
        y_val=y[300:],
    )
    assert plain.shown(1) < 1
    assert plain.shown(2) == -1


def test_differences_are_paired_and_a_diverged_seed_is_said():
    losses = np.array([[1.0, 5.0, 3.0], [0.5, 4.5, 2.4], [2.0, np.inf, 4.0]])
    study = CurriculumStudy(("a", "b", "c"), losses, 10)
    assert study.shown(1) == 1
    assert study.gain[1].value == pytest.approx(1.6 / 3)
    assert study.shown(2) == 0  # three signs show nothing
    assert "(diverged from 1 of 3 seeds)" in study.verdict
    many = np.concatenate([np.ones((1, 9)), np.full((1, 9), np.inf)])
    assert CurriculumStudy(("a", "b"), many, 10).shown(1) == -1
    assert CurriculumStudy(("a", "b"), many[::-1], 10).shown(1) == 1


def test_what_is_wrong_is_said():
    x, y = wave_rows(20)
    two = {"a": {}, "b": {}}
    settings = models.MLP((4,))
    fitted = settings.build(1, 1, key=jax.random.key(0))
    for call, message in (
        (lambda: curriculum_study(settings, x, y, options={"a": {}}), "at least two"),
        (
            lambda: curriculum_study(settings, x, y, options=two, solver=LBFGS()),
            "need a first-order solver",
        ),
        (
            lambda: curriculum_study(
                settings, x, y, options={"a": {}, "b": {"order": 1}}
            ),
            "Adam has no order",
        ),
        (
            lambda: curriculum_study(fitted, x, y, options=two),
            "first weights are drawn",
        ),
        (
            lambda: curriculum_study(lk.MLPRegressor(), x, y, options=two),
            "first weights are drawn",
        ),
    ):
        with pytest.raises(InputError, match=message):
            call()
