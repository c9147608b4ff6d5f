"""Many models at once: each is what it would be alone, whatever the groups."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from solvers.training.problem import assert_close, assert_same, network, rows

from likely.core import InputError
from likely.families import Normal
from likely.objectives import NegativeLogLikelihood
from likely.solvers import Adam, GradientDescent, Validation
from likely.solvers.training import (
    Checkpoints,
    DivergenceWarning,
    History,
    Plan,
    Training,
    train_members,
)
from likely.typing import DIVERGED, TRAINED, VALIDATION, Batch

M = 5


def build(member, shared) -> Plan:
    """A member has its own seed, row weights and learning rate."""
    data, other = shared
    data = data._replace(w=data.w * member["w"])
    solver = Adam(
        member["rate"],
        steps=np.int32(60),
        batch_size=10,
        validation=Validation(other, patience=3),
    )
    objective = NegativeLogLikelihood.of(Normal(0.3), data)
    start, key = jax.random.split(member["key"])
    return Plan(solver, objective, network_of(start), data, key)


def network_of(key):
    from likely.models import mlp

    return mlp((3, 8, 1), key=key)


def members(m=M):
    rng = np.random.default_rng(0)
    return {
        "key": jax.random.split(jax.random.key(3), m),
        "w": jnp.asarray(rng.integers(0, 3, size=(m, 48)), jnp.float32),
        "rate": jnp.linspace(0.01, 0.2, m),
    }


SHARED = (rows(), rows(20, seed=5))


@pytest.fixture(scope="module")
def together():
    return train_members(build, members(), SHARED)


def test_members_are_single_runs(together):
    """Seeds, weights and rates differ; each stops by its own validation loss."""
    reasons = set()
    for i in range(M):
        member = jax.tree.map(lambda a, i=i: a[i], members())
        plan = build(member, SHARED)
        one = plan.solver.minimize(plan.objective, plan.model, plan.data, key=plan.key)
        mine = jax.tree.map(lambda a, i=i: a[i] if hasattr(a, "shape") else a, together)
        assert_close(mine.model, one.model, 1e-4)
        assert mine.status.reason == one.status.reason
        assert mine.status.steps == one.status.steps
        reasons.add(int(one.status.reason))
    assert reasons == {TRAINED, VALIDATION}


@pytest.mark.parametrize("options", [{"at_once": 2}, {"memory": 1}])
def test_groups_that_fit_in_memory_give_the_same(options, together):
    """Groups of two, and one member after another."""
    parts = train_members(build, members(), SHARED, **options)
    assert_close(parts.model, together.model, 1e-4)
    np.testing.assert_array_equal(parts.status.steps, together.status.steps)


def test_resumed_members_are_the_same(tmp_path, together):
    stop = lambda e: e.step >= 10  # noqa: E731
    checkpoints, history = Checkpoints(tmp_path, every_steps=5), History()
    options = {"checkpoints": checkpoints}
    train_members(build, members(), SHARED, **options, callbacks=stop)
    options["resume"] = True
    again = train_members(build, members(), SHARED, **options, callbacks=history)
    assert_same(again.model, together.model)
    assert history.events[-1].members == M
    assert history["running"][0] > history["running"][-1] == 0


def diverging(member, shared) -> Plan:
    objective = NegativeLogLikelihood.of(Normal(0.3), shared)
    return Plan(
        GradientDescent(member, steps=np.int32(20)), objective, network(), shared, None
    )


def test_a_member_that_diverges_keeps_its_last_good_state_and_leaves_the_others():
    data = rows()
    rates = jnp.asarray([1e-3, 1e20, 2e-3])
    with pytest.warns(
        DivergenceWarning, match="1 of 3: for one, diverged.*for members 1[.]"
    ):
        found = train_members(diverging, rates, data)
    assert (found.status.reason == DIVERGED).tolist() == [False, True, False]
    objective = NegativeLogLikelihood.of(Normal(0.3), data)
    losses = jax.vmap(lambda m: objective(m, data)[0])(found.model)
    assert np.isfinite(losses).all()
    alone = Training(GradientDescent(2e-3, steps=np.int32(20))).minimize(
        objective, network(), data, key=None
    )
    assert_close(jax.tree.map(lambda a: a[2], found.model), alone.model, 1e-5)


def test_members_need_one_axis():
    with pytest.raises(InputError, match="one leading axis"):
        train_members(build, {"key": jnp.zeros(3), "w": jnp.zeros((2, 48))}, SHARED)


def nothing(member, shared):
    return Batch(member, shared, None)


def test_a_build_returns_a_plan():
    with pytest.raises(InputError, match="has to return a Plan"):
        train_members(nothing, jnp.zeros(3), SHARED)
