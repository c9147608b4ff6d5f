"""Networks of images: forms of images, what is refused, members, resumed runs."""

import os
import subprocess
import sys

import jax.numpy as jnp
import numpy as np
import pytest
from ledger import ROOT

import likely as lk
from likely.core import InputError
from likely.diagnostics import feature_maps, parameter_count
from likely.evaluate import intersection_over_union
from likely.layers import Augmentation
from likely.models import CNN
from likely.solvers.training import Checkpoints

RNG = np.random.default_rng(0)
BYTES = RNG.integers(0, 256, (48, 8, 8), dtype=np.uint8)
IMAGES = BYTES / 255
LABELS = np.where(IMAGES[:, 2:5, 2:5].mean((1, 2)) > 0.5, "light", "dark")
SETTINGS = {"batch_size": 16, "max_iter": 3, "learning_rate_init": 0.01}
AUGMENT = Augmentation(shift=0.1, flip=0.5, noise=0.1)


def network(**options):
    return lk.CNNClassifier((4,), (8,), augment=AUGMENT, **(SETTINGS | options))


@pytest.fixture(scope="module")
def fitted():
    return network().fit(IMAGES, LABELS)


def test_every_form_of_the_images_is_the_same_fit(fitted):
    wanted = fitted.predict_proba(IMAGES)
    assert fitted.image_shape_ == (8, 8, 1)
    for X, shape in (
        (BYTES, None),
        (IMAGES[..., None], None),
        (IMAGES.reshape(48, 64), (8, -1)),
        (BYTES.reshape(48, 64), (8, 8, 1)),
    ):
        found = network(image_shape=shape).fit(X, LABELS)
        np.testing.assert_array_equal(found.predict_proba(X), wanted)
    np.testing.assert_array_equal(fitted.predict_proba(BYTES), wanted)
    np.testing.assert_array_equal(fitted.predict_proba(IMAGES.reshape(48, 64)), wanted)
    assert set(fitted.predict(IMAGES)) <= {"light", "dark"}
    assert fitted.predict_dist(IMAGES).probs.shape == (48, 2)
    inner, state, seen = fitted.unpack(BYTES[:5])
    eta = feature_maps(inner, seen, state=state)["layers[0]"]
    assert eta.shape == (5, 8, 8, 4)
    logits = np.asarray(inner(jnp.asarray(seen), state=state)[0])[:, 0]
    np.testing.assert_allclose(1 / (1 + np.exp(-logits)), wanted[:5, 1], rtol=1e-4)
    fewer = fitted.predict_proba(IMAGES[:5])
    np.testing.assert_allclose(fewer, wanted[:5], rtol=1e-4)


def test_what_is_no_image_is_a_sentence(fitted):
    with pytest.raises(InputError, match=r"image_shape=\(h, w\)"):
        network().fit(IMAGES.reshape(48, 64), LABELS)
    colours = np.zeros((4, 3, 8, 8))
    with pytest.raises(InputError, match=r"channels seem to come first.*moveaxis"):
        network().fit(colours, LABELS[:4])
    with pytest.raises(InputError, match="no images of shape"):
        network(image_shape=(7, 9)).fit(IMAGES.reshape(48, 64), LABELS)
    with pytest.raises(InputError, match="image_shape is"):
        network(image_shape=(-1, -1)).fit(IMAGES.reshape(48, 64), LABELS)
    with pytest.raises(InputError, match=r"but image_shape is \(4, 16\)"):
        network(image_shape=(4, 16)).fit(IMAGES, LABELS)
    with pytest.raises(
        InputError, match=r"the fit had \(8, 8, 1\).*channels come last"
    ):
        fitted.predict(IMAGES[:, None])
    with pytest.raises(InputError, match=r"rows of shape \(1, 2, 2, 2\)"):
        network().fit(np.zeros((4, 1, 2, 2, 2)), LABELS[:4])
    with pytest.raises(InputError, match="augmentation"):
        network(solver="lbfgs").fit(IMAGES, LABELS)


def test_a_run_that_was_stopped_goes_on_to_the_same_bits(fitted, tmp_path):
    def stop(event):
        return "stop" if event.step >= 4 else None

    folder = Checkpoints(tmp_path, every_steps=4)
    first = network().fit(IMAGES, LABELS, callbacks=stop, checkpoints=folder)
    assert first.n_iter_ == 2  # it was stopped in the second epoch
    assert "stopped after 4 steps" in first.status_
    again = network().fit(IMAGES, LABELS, checkpoints=folder, resume=True)
    wanted = fitted.predict_proba(IMAGES)
    np.testing.assert_array_equal(again.predict_proba(IMAGES), wanted)


def test_a_file_keeps_it(fitted, tmp_path):
    fitted.save(tmp_path / "network.likely")
    again = lk.load(tmp_path / "network.likely")
    wanted = fitted.predict_proba(IMAGES)
    np.testing.assert_array_equal(again.predict_proba(IMAGES), wanted)


@pytest.mark.slow
def test_members_stop_early_and_speak_as_a_mixture():
    model = network(n_members=2, early_stopping=True).fit(IMAGES, LABELS)
    each = [member.probs for member in model.members(IMAGES)]
    assert not np.allclose(*each)
    np.testing.assert_allclose(model.predict_proba(IMAGES), np.mean(each, 0), rtol=1e-6)
    assert model.history_["validation"].shape[0] == 2


def test_numbers_by_a_convolution_are_least_squares():
    """One filter of size 1, no bend, no pooling: the mean of the pixels' line."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(64, 4, 4))
    y = 3.0 + 2.0 * X.mean((1, 2)) + 0.01 * rng.normal(size=64)
    line = CNN((1,), size=1, pool=0, head="mean", hidden=(), activation="identity")
    model = lk.CNNRegressor(network=line, alpha=0.0, max_iter=200).fit(X, y)
    exact = lk.LinearRegression().fit(X.mean((1, 2))[:, None], y)
    wanted = exact.predict(X.mean((1, 2))[:, None])
    np.testing.assert_allclose(model.predict(X), wanted, atol=2e-3)
    low, high = model.predict_interval(X, 0.9)
    assert (low < high).all()
    assert parameter_count(model.phi_.solution.model) == 5  # with σ


def test_residual_networks_learn():
    model = lk.ResNetClassifier(
        (4,), max_iter=15, batch_size=16, learning_rate_init=0.02
    )
    model.fit(IMAGES, LABELS)
    assert model.score(IMAGES, LABELS) > 0.8
    assert model.phi_.solution.state is not None


def bars(n: int, corner: int, seed: int):
    """Bars of four pixels in a corner of an image, upright or level, and noise."""
    rng = np.random.default_rng(seed)
    X, y = 0.1 * rng.normal(size=(n, 12, 12)), rng.integers(0, 2, n)
    for image, upright, i, j in zip(X, y, *rng.integers(0, 3, (2, n)), strict=True):
        along = np.arange(4)
        rows, columns = (along, 1) if upright else (1, along)
        image[corner + i + rows, corner + j + columns] += 1
    return X, y


def test_filters_find_a_shifted_bar_and_a_perceptron_of_their_size_does_not():
    settings = {"max_iter": 60, "learning_rate_init": 0.02, "batch_size": 50}
    X, y = bars(300, 0, 0)
    Z, z = bars(300, 5, 1)
    filters = lk.CNNClassifier((6, 8), (), head="mean", solver="adam", **settings)
    dense = lk.MLPClassifier((4,), solver="adam", **settings)
    filters.fit(X, y)
    dense.fit(X.reshape(300, -1), y)
    sizes = [parameter_count(m.phi_.solution.model) for m in (filters, dense)]
    assert sizes == [509, 585]
    assert filters.score(X, y) > 0.97
    assert dense.score(X.reshape(300, -1), y) > 0.97
    assert filters.score(Z, z) > 0.95
    assert dense.score(Z.reshape(300, -1), z) < 0.75


# Segmentation -------------------------------------------------------------------------


def test_intersection_over_union_by_hand():
    true = np.array([[0, 0, 1, 1], [0, 0, 0, 2]])
    found = np.array([[0, 1, 1, 1], [0, 0, 0, 0]])
    np.testing.assert_allclose(
        intersection_over_union(true, found, 4), [4 / 6, 2 / 3, 0.0, np.nan]
    )
    only = intersection_over_union(true, found, 4, w=[1.0, 0.0])
    np.testing.assert_allclose(only, [1 / 2, 2 / 3, np.nan, np.nan])
    with pytest.raises(InputError, match="two maps of the same pixels"):
        intersection_over_union(true, found[:1], 4)


def test_a_unet_finds_the_pixels():
    maps = np.where(IMAGES > 0.5, "ink", "paper")
    settings = {"batch_size": 16, "max_iter": 80, "learning_rate_init": 0.01}
    model = lk.UNetSegmenter((8, 8), **settings)
    model.fit(IMAGES, maps)
    assert model.predict(IMAGES).shape == maps.shape
    assert model.score(IMAGES, maps) > 0.7
    probs = model.predict_proba(IMAGES)
    np.testing.assert_allclose(probs.sum(-1), 1.0)
    chosen = np.where(maps == "ink", probs[..., 0], probs[..., 1])
    assert model.nll(IMAGES, maps) == pytest.approx(-np.log(chosen).mean())
    dist = model.predict_dist(IMAGES)
    np.testing.assert_allclose(dist.probs, probs.reshape(-1, 2))
    with pytest.raises(InputError, match="a label for each of their pixels"):
        model.fit(IMAGES, maps[:, 0])


# Kills --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("devices", [1, 8])
def test_kills_of_a_convolutional_network_change_no_bit(devices):
    command = [sys.executable, str(ROOT / "tools" / "kill_training.py"), "6"]
    command += ["--images", "--devices", str(devices)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src"), "JAX_DEBUG_KEY_REUSE": "0"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("6 kills")
