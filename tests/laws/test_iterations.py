"""`n_iter_` counts what `max_iter` limits."""

import re

import numpy as np
import pytest
from registries.estimators import ESTIMATORS, FROM_TEXTS, parameters, rows_for

import likely as lk

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

NAMES = [
    name
    for name, entry in ESTIMATORS.items()
    if "max_iter" in entry.make().get_params() and entry.kind not in FROM_TEXTS
]
FAST = {"huber regression", "linear svc, hinge", "perceptron", "svc", "svr"}
SLOW = set(NAMES) - FAST
"""Programs that are compiled for this test alone."""


@pytest.mark.parametrize("name", parameters(NAMES, slow=SLOW))
def test_iterations_are_counted_in_the_unit_of_their_limit(name):
    X, y = rows_for(name)
    limited = ESTIMATORS[name].make().set_params(max_iter=2).fit(X, y)
    least = 0 if name == "pseudo-labels" else 1  # no row lacks a label
    assert least <= np.max(limited.n_iter_) <= 2
    if re.search("step limit|trained", getattr(limited, "status_", "")):
        assert np.max(limited.n_iter_) == 2


BOOTSTRAP = {"n_members": 2, "bootstrap": True}


@pytest.mark.parametrize(
    "settings", [{}, pytest.param(BOOTSTRAP, marks=pytest.mark.slow)]
)
def test_minibatches_are_counted_in_epochs(settings):
    X, y = rows_for("network")
    model = lk.MLPRegressor((2,), solver="adam", max_iter=3, batch_size=16, **settings)
    assert model.fit(X, y).n_iter_ == 3
    if settings:  # one pass more
        assert model.partial_fit(X, y).n_iter_ == 4
