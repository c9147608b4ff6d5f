"""Who follows a fit changes no number of it: callbacks, checkpoints, a progress bar."""

import inspect

import numpy as np
import pytest
from registries.estimators import ESTIMATORS, FROM_TEXTS, parameters, rows_for

import likely as lk

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def takes_callbacks(name):
    return "callbacks" in inspect.signature(ESTIMATORS[name].make().fit).parameters


NAMES = [
    name
    for name, entry in ESTIMATORS.items()
    if takes_callbacks(name) and entry.kind not in FROM_TEXTS
]
"""Those of texts have a network only where it is better than a linear model."""
SLOW = {
    "network, classes",
    "convolutional network",
    "convolutional network, classes",
    "residual network",
    "segmentation",
    "sequence network, classes",
    "consistency training of a network",
}
"""Networks that are trained as the others are."""
SETTINGS = {
    "as registered": {},
    "minibatches": {"solver": "adam", "max_iter": 3, "batch_size": 16},
    "members": {"n_members": 2, "max_iter": 3},
    "early stopping": {"early_stopping": True, "max_iter": 3},
}


def bits(model, X):
    """Every number that the fit has found, as far as predictions and counts show it."""
    names = ("predict_proba", "predict", "log_prob", "transform")
    known = next((getattr(model, n) for n in names if hasattr(model, n)), None)
    shown = model.sample(len(X), random_state=0) if known is None else known(X)
    return shown, getattr(model, "n_iter_", None), str(getattr(model, "status_", ""))


def assert_same(a, b):
    np.testing.assert_array_equal(a[0], b[0])
    assert a[1:] == b[1:]


def fit(name, how, **observers):
    X, y = rows_for(name)
    return bits(
        ESTIMATORS[name].make().set_params(**SETTINGS[how]).fit(X, y, **observers), X
    )


@pytest.mark.parametrize("name", parameters(NAMES, slow=SLOW))
def test_callbacks_change_no_bit(name):
    events = []
    assert_same(
        fit(name, "as registered"), fit(name, "as registered", callbacks=events.append)
    )
    assert events


@pytest.mark.parametrize(
    "how",
    [
        "minibatches",
        *(
            pytest.param(how, marks=pytest.mark.slow)
            for how in ("members", "early stopping")
        ),
    ],
)
def test_callbacks_and_checkpoints_change_no_bit_of_a_network(how, tmp_path):
    plain = fit("network", how)
    assert_same(plain, fit("network", how, checkpoints=tmp_path / "one"))
    both = {"callbacks": [lambda _: None], "checkpoints": tmp_path / "two"}
    assert_same(plain, fit("network", how, **both))


def test_a_callback_ends_a_fit_on_all_rows_at_its_step():
    """The weights are those of a fit with that limit, and the events are in order."""
    X, y = rows_for("network")
    history = lk.solvers.training.History()

    def stop(event):
        return event.step == 7

    model = lk.MLPRegressor((2,), solver="lbfgs", alpha=0.1, max_iter=20)
    ended = model.fit(X, y, callbacks=[history, stop])
    assert ended.n_iter_ == 7
    assert "because a callback asked for it" in ended.status_
    assert history.kinds == ["start", *["epoch"] * 7, "stop"]
    np.testing.assert_allclose(history["loss"], ended.history_["loss"][1:8], rtol=1e-12)
    limited = lk.MLPRegressor((2,), solver="lbfgs", alpha=0.1, max_iter=7).fit(X, y)
    np.testing.assert_allclose(ended.predict(X), limited.predict(X), rtol=1e-9)
