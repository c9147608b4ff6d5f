"""A model that does not give η of its family's shape is refused, in a sentence.

Every family, by the recipe and by every way to a solver; nothing is compiled for it.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from registries.families import FAMILIES

import likely as lk
from likely import recipe
from likely.core import InputError, float64
from likely.models import Linear
from likely.objectives import (
    NegativeLogLikelihood,
    PositionLikelihood,
    SurrogateLoss,
    hinge,
)
from likely.solvers import LBFGS, Adam, LeastSquares, Newton
from likely.solvers.training import Plan, Training, train_members
from likely.typing import Batch

N = 12
X = np.random.default_rng(0).normal(size=(N, 2))
NORMAL = Batch(X, X[:, 0], np.ones(N))
SENTENCE = r"η of shape \(12, 1\), but Normal needs shape \(12, 2\): 2 numbers"
SOLVERS = {
    "L-BFGS": LBFGS(3),
    "Newton": Newton(3),
    "Adam": Adam(0.1, steps=2),
    "training": Training(Adam(0.1, steps=2)),
}


def fit(family, model, data, solver=SOLVERS["L-BFGS"], **options):
    with float64():
        return recipe.fit(
            family, model, data, solver=solver, key=jax.random.key(0), **options
        )


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("more", [-1, 1])
def test_every_family_refuses_models_of_another_width(name, more):
    """Inside a program too, where y has no values yet."""
    family = FAMILIES[name].make()
    shape = (N, family.n_outputs) if family.multivariate else (N,)
    model = Linear.zeros(2, family.n_eta + more)

    def program(y):
        return fit(family, model, NORMAL._replace(y=y)).solution.loss

    with pytest.raises(InputError, match=rf"needs shape \(12, {family.n_eta}\)"):
        jax.eval_shape(program, np.zeros(shape))


@pytest.mark.parametrize("name", SOLVERS)
def test_every_way_to_a_solver_refuses_it(name):
    with float64():
        objective = NegativeLogLikelihood.of(lk.families.Normal(), NORMAL)
        data = jax.tree.map(jnp.asarray, NORMAL)
        with pytest.raises(InputError, match=SENTENCE):
            SOLVERS[name].minimize(
                objective, Linear.zeros(2, 1), data, key=jax.random.key(0)
            )
    with pytest.raises(InputError, match=SENTENCE):
        fit(lk.families.Normal(), Linear.zeros(2, 1), NORMAL, SOLVERS[name])


def test_exact_least_squares_and_members_refuse_it():
    with pytest.raises(InputError, match=SENTENCE):
        fit(lk.families.Normal(), Linear.zeros(2, 1), NORMAL, LeastSquares())

    def build(key, data):
        objective = NegativeLogLikelihood.of(lk.families.Normal(), data)
        return Plan(SOLVERS["Adam"], objective, Linear.zeros(2, 1), data, key)

    data, keys = jax.tree.map(jnp.asarray, NORMAL), jax.random.split(jax.random.key(0))
    with pytest.raises(InputError, match=SENTENCE):
        train_members(build, keys, data)


class Returns(Linear):
    """A model that returns whatever it is asked to."""

    what: str = eqx.field(static=True, default="eta")

    def __call__(self, X, **_):
        eta = super().__call__(X)[0]
        return {
            "eta": eta,
            "one axis": (eta[:, 0], None),
            "three axes": (eta[..., None], None),
            "other rows": (eta[:5], None),
            "nothing": None,
        }[self.what]


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("eta", "has to return two things"),
        ("nothing", "has to return two things"),
        ("one axis", r"η of shape \(12,\), but Normal needs shape \(12, 1\)"),
        ("three axes", r"η of shape \(12, 1, 1\)"),
        ("other rows", r"η of shape \(5, 1\)"),
    ],
)
def test_what_a_model_returns_is_checked(what, sentence):
    model = Returns(jnp.zeros((2, 1)), jnp.zeros(1), what=what)
    with pytest.raises(InputError, match=sentence):
        fit(lk.families.Normal(1.0), model, NORMAL)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"x": np.ones((N, 3))}, r"fails on X of shape \(12, 3\)"),
        ({"y": NORMAL.y[:, None]}, r"y has shape \(12, 1\)"),
        ({"y": NORMAL.y.tolist()}, "y has no rows"),
        ({"x": NORMAL.x.astype(str)}, "X contains <U32 values; give numbers"),
    ],
)
def test_rows_that_are_no_table_are_refused(change, sentence):
    with pytest.raises(InputError, match=sentence):
        fit(lk.families.Normal(1.0), Linear.zeros(2, 1), NORMAL._replace(**change))


def test_objectives_refuse_outcomes_that_their_family_cannot_have():
    counts = NORMAL._replace(y=np.arange(N) % 4)
    with pytest.raises(InputError, match=r"y has 3 in row 3, but Categorical"):
        NegativeLogLikelihood.of(lk.families.Categorical(3), counts)
    model = Linear.zeros(2, 3)
    grid = Batch(np.zeros((2, 2, 2, 1)), np.array([[[0, 1], [2, 9]]] * 2), np.ones(2))
    with pytest.raises(InputError, match="y has 9 in row 0, position 3, but Categ"):
        fit(lk.families.Categorical(3), model, grid, likelihood=PositionLikelihood)
    objective, model = SurrogateLoss.of(hinge, NORMAL), Linear.zeros(2, 2)
    with pytest.raises(InputError, match=r"a margin needs shape \(12, 1\)"):
        SOLVERS["L-BFGS"].minimize(objective, model, NORMAL, key=jax.random.key(0))


def test_a_network_checks_its_validation_rows():
    y = np.arange(N) % 3.0
    for change, sentence in (
        ({"y_val": -y}, "y_val has -1.0 in row 1, but Poisson"),
        ({"y_val": np.c_[y, y]}, r"y_val has shape \(12, 2\)"),
        ({"y_val": y[:5]}, "X_val has 12 rows but y_val has 5"),
        ({"X_val": X[:, :1]}, "X_val has 1 columns but X has 2"),
    ):
        model = lk.MLPRegressor((2,), family="poisson", solver="adam", max_iter=1)
        with pytest.raises(InputError, match=sentence):
            model.fit(X, y, **{"X_val": X, "y_val": y} | change)
