"""Augmentation: geometric changes against NumPy, the mean loss of mixup, determinism."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from likely.core import InputError
from likely.layers import Augmentation, affine, warp
from likely.typing import Batch

X = np.random.default_rng(0).normal(size=(3, 6, 6, 2)).astype(np.float32)


def moved(turn=0.0, across=1.0, down=1.0, b=(0.0, 0.0), **options):
    A = affine(*(jnp.full(3, v, jnp.float32) for v in (turn, across, down)))
    b = jnp.broadcast_to(jnp.array(b, jnp.float32), (3, 2))
    return np.asarray(warp(jnp.asarray(X), A, b, **options))


def test_moves_are_those_of_numpy():
    near = {"rtol": 0, "atol": 1e-5}
    np.testing.assert_array_equal(moved(), X)
    np.testing.assert_allclose(moved(np.pi / 2), np.rot90(X, 1, (1, 2)), **near)
    np.testing.assert_array_equal(moved(across=-1.0), X[:, :, ::-1])
    np.testing.assert_array_equal(
        moved(b=(1.0, -2.0), edges="cyclic"), np.roll(X, (-1, 2), (1, 2))
    )
    zero = moved(b=(0.0, 2.0), edges="zero")
    np.testing.assert_array_equal(zero[:, :, :4], X[:, :, 2:])
    assert (zero[:, :, 4:] == 0).all()
    edge = moved(b=(0.0, 2.0))
    np.testing.assert_array_equal(edge[:, :, 4:], np.repeat(X[:, :, 5:], 2, 2))
    half = moved(b=(0.5, 0.0))[:, :5]
    np.testing.assert_allclose(half, (X[:, :5] + X[:, 1:]) / 2, **near)
    nearest = moved(np.pi / 2, smooth=False)
    np.testing.assert_array_equal(nearest, np.rot90(X, 1, (1, 2)))
    with pytest.raises(InputError, match="edges is 'reflect'"):
        moved(edges="reflect")


def test_what_each_amount_does():
    """Large images, one setting each: no drawn change exceeds its setting."""
    n, side = 64, 16
    ramp = np.broadcast_to(np.arange(side, dtype=np.float32)[:, None], (side, side))
    image = jnp.asarray(np.broadcast_to(ramp[None, ..., None], (n, side, side, 1)))

    def changed(**amounts):
        return np.asarray(Augmentation(**amounts).images(image, jax.random.key(0)))

    middle = changed(shift=0.125)[:, 8, 8, 0]  # at most two of sixteen rows
    assert np.abs(middle - 8).max() <= 2
    assert np.ptp(middle) > 2
    flips = changed(flip=0.5)
    assert (flips == ramp[None, ..., None]).all()  # left and right: the ramp is upright
    turned = changed(rotate=90.0, edges="zero")
    assert np.ptp(turned[:, 8, 12, 0]) > 2
    crops = changed(crop=0.5)
    assert (crops.min((1, 2)) >= 0).all()
    assert (np.ptp(crops, axis=(1, 2)) < 15).any()
    boxes = changed(erase=0.5)
    gone = (boxes[:, 1:] == 0).mean((1, 2))
    assert 0.02 < gone.mean() < 0.25
    assert gone.max() <= 0.3
    light = changed(brightness=0.3) - np.asarray(image)
    np.testing.assert_allclose(
        light, np.broadcast_to(light[:, :1, :1], light.shape), atol=1e-5
    )
    assert 0.2 < np.abs(light).max() <= 0.3 + 1e-5
    noise = changed(noise=0.5) - np.asarray(image)
    assert abs(noise.std() - 0.5) < 0.02
    zoomed = changed(scale=0.2)
    steps = zoomed[:, 9, 8, 0] - zoomed[:, 8, 8, 0]
    assert 1 / 1.2 - 1e-4 <= steps.min() < steps.max() <= 1.2 + 1e-4


def test_mixup_has_the_mixed_loss_on_average():
    n = 512
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.normal(size=(n, 1, 1, 1)), jnp.float32)
    y, w = jnp.arange(n, dtype=jnp.float32), jnp.ones(n).at[: n // 2].set(0.0)
    batch = Batch(x, y, w)
    mixed = Augmentation(mixup=5.0).batch(batch, jax.random.key(3))
    own = np.asarray(mixed.y == y)
    absent = np.asarray(w) == 0
    assert own[absent].all()  # an absent row lends nothing and takes nothing
    np.testing.assert_array_equal(mixed.x[absent], x[absent])
    changed = np.asarray(mixed.x != x)[:, 0, 0, 0]
    assert changed[~absent].any()
    assert not changed[absent].any()
    numbers = Augmentation(mixup=5.0, targets="mean").batch(batch, jax.random.key(3))
    share = np.asarray((numbers.x - x)[:, 0, 0, 0])[changed]
    assert len(share) > 50
    # the share of rows that keep their own target is the share of the own image
    lam = _share(
        np.asarray(x)[:, 0, 0, 0], np.asarray(numbers.x)[:, 0, 0, 0], y, numbers.y
    )
    assert abs(own[changed].mean() - lam) < 5 / np.sqrt(changed.sum())


def _share(x, mixed, y, mixed_y):
    """λ from x' = λx + (1−λ)x_j and the same of y = the row's number."""
    y, mixed_y = np.asarray(y, np.float64), np.asarray(mixed_y, np.float64)
    i = np.flatnonzero(mixed != x)[0]
    for j in np.delete(np.arange(len(x)), i):
        lam = (mixed_y[i] - y[j]) / (y[i] - y[j])
        if 0 < lam < 1 and abs(lam * x[i] + (1 - lam) * x[j] - mixed[i]) < 1e-3:
            return lam
    raise AssertionError("no partner was found")


def test_maps_of_labels_move_with_their_image():
    labels = (X[..., 0] > 0).astype(np.float32)
    both = np.concatenate([labels[..., None], X], -1)
    batch = Batch(jnp.asarray(both), jnp.asarray(labels), jnp.ones(3))
    change = Augmentation(flip=0.5, rotate=0.0)
    x, y, _ = change.batch(batch, jax.random.key(1))
    np.testing.assert_allclose(x[..., 0], y, atol=1e-5)
    assert not np.array_equal(y, labels)


def test_the_same_key_is_the_same_batch_and_settings_are_checked():
    change = Augmentation(shift=0.2, rotate=20.0, noise=0.1)
    one, same, other = (
        change.images(jnp.asarray(X), jax.random.key(k)) for k in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)
    for bad in ({"shift": 2.0}, {"flip": -0.1}, {"mixup": 0.0}, {"targets": "both"}):
        with pytest.raises(InputError, match=next(iter(bad))):
            Augmentation(**bad)
    with pytest.raises(InputError, match="needs images"):
        change.batch(Batch(X[:, 0, 0], X[:, 0, 0, 0], np.ones(3)), jax.random.key(0))
