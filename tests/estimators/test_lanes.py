"""Members in lanes: the same runs as XLA's, only faster."""

import jax
import numpy as np
import pytest

from likely.core.permutation import permutation, round_keys
from likely.estimators import MLPClassifier, MLPRegressor
from likely.estimators.networks import lanes, members
from likely.solvers.training import Checkpoints, DivergenceWarning
from likely.solvers.training.members import Special


def table(n=150, d=7):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)


def network(hidden=(12, 9), **settings):
    common = {"solver": "adam", "n_members": 19, "max_iter": 3, "batch_size": 40}
    return MLPRegressor(hidden, **(common | settings))


@pytest.fixture
def seen(monkeypatch):
    """How often lanes were used."""
    calls, advance = [], lanes.Lanes._advanced
    monkeypatch.setattr(
        lanes.Lanes, "_advanced", lambda *a: calls.append(0) or advance(*a)
    )
    return calls


def without_lanes(monkeypatch, model, *data, **options):
    with monkeypatch.context() as patch:
        patch.setattr(members, "SPECIAL", None)
        return model.fit(*data, **options)


def numbers(model):
    return [np.asarray(a, float) for a in jax.tree.leaves(model.phi_)]


CASES = {
    "bootstrap": {"bootstrap": True},
    "weights": {"alpha": 3.0},
    "deep": {"hidden": (11, 5, 16)},
    "linear": {"hidden": (), "learning_rate_init": 0.1},
    "uneven": {"batch_size": 47, "bootstrap": True},
}


@pytest.mark.parametrize("case", CASES)
def test_lanes_run_as_xla_does(case, monkeypatch, seen):
    """Weights, losses, slopes, steps, reasons: everything that a fit returns."""
    X, y = table()
    w = np.random.default_rng(1).integers(0, 3, len(y)) if case == "weights" else None
    found = network(**CASES[case]).fit(X, y, w)
    assert seen
    used = len(seen)
    plain = without_lanes(monkeypatch, network(**CASES[case]), X, y, w)
    assert len(seen) == used
    for a, b in zip(numbers(found), numbers(plain), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)


def test_wild_steps_are_those_of_xla(monkeypatch, seen):
    """σ far beyond where its link bends: no run ends that would go on, or the reverse."""
    X, y = table()
    y[3], settings = 1e3, {"learning_rate_init": 30.0, "max_iter": 2}
    found = network(**settings).fit(X, y).phi_.solution
    plain = without_lanes(monkeypatch, network(**settings), X, y).phi_.solution
    assert seen
    np.testing.assert_array_equal(found.status.reason, plain.status.reason)
    np.testing.assert_array_equal(found.status.steps, plain.status.steps)
    np.testing.assert_allclose(
        found.trace.loss[:, :3], plain.trace.loss[:, :3], rtol=1e-3
    )


def test_a_member_does_not_depend_on_its_neighbours(seen):
    X, y = table()
    many, fewer = network(n_members=19).fit(X, y), network(n_members=17).fit(X, y)
    for a, b in zip(numbers(many), numbers(fewer), strict=True):
        np.testing.assert_array_equal(a[:17], b)
    assert len(seen) == 2


def test_pauses_change_no_bit(seen, tmp_path):
    """Stopped, resumed and looked at: the same weights as in one go."""
    X, y = table()
    whole = network(max_iter=6).fit(X, y)
    half = network(max_iter=6)
    places = Checkpoints(tmp_path, every_steps=4)
    half.fit(
        X, y, checkpoints=places, callbacks=lambda e: "stop" if e.step >= 8 else None
    )
    again = network(max_iter=6).fit(X, y, checkpoints=places, resume=True)
    assert len(seen) > 3
    assert (np.asarray(half.phi_.solution.status.steps) < 24).all()
    for a, b in zip(numbers(whole), numbers(again), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_run_that_diverges_is_taken_back(seen):
    X, y = table()
    model = network(learning_rate_init=1e30, max_iter=5)
    with pytest.warns(DivergenceWarning, match="became no number"):
        model.fit(X, y)
    assert seen
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("n", [65, 101, 352, 1000, 4096])
def test_the_order_of_rows_is_the_same(n):
    from likely.estimators.networks.lanes_kernel import permute

    keys = np.asarray(round_keys(jax.random.key(n)))
    order, room = np.empty(n, np.int32), np.empty((2, 2 * n), np.uint32)
    permute(keys, n, order, *room)
    np.testing.assert_array_equal(order, permutation(jax.random.key(n), n))


class Asked(Exception):
    """The question is all that a test wants."""


@pytest.fixture
def answers(monkeypatch):
    """What `fits` says; the fit ends there."""
    told = []

    def ask(*args):
        told.append(lanes.fits(*args))
        raise Asked

    monkeypatch.setattr(members, "SPECIAL", Special(lanes.Lanes, ask))
    return told


@pytest.mark.parametrize(
    "settings",
    [
        {"n_members": 3},
        {"activation": "tanh"},
        {"dropout": 0.1},
        {"early_stopping": True},
        {"family": "heteroscedastic"},
        {"clip_norm": 1.0},
        {"batch_size": 150},
        {"learning_rate": "cosine"},
        {},
    ],
    ids=lambda settings: next(iter(settings), "none"),
)
def test_others_are_left_to_xla(settings, answers):
    with pytest.raises(Asked):
        network((3,), **settings).fit(*table())
    assert answers == [not settings]


def test_classes_are_left_to_xla(answers):
    X, y = table()
    settings = {"solver": "adam", "n_members": 16, "batch_size": 40}
    with pytest.raises(Asked):
        MLPClassifier((3,), **settings).fit(X, y > 0)
    assert answers == [False]


def test_every_group_goes_through_its_pieces_in_order():
    done = []
    lanes.in_turns(lambda group, piece: done.append((group, piece)), 5, 4)
    assert sorted(done) == [(g, p) for g in range(5) for p in range(4)]
    for group in range(5):
        assert [p for g, p in done if g == group] == [0, 1, 2, 3]


def test_room_begins_where_a_line_of_the_cache_does():
    for size in (8, 100, 1000):
        room = lanes.aligned(size)
        assert room.ctypes.data % 64 == 0
        assert room.shape == (size,)
        assert not room.any()
