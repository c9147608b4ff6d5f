"""Autoencoders: principal components, sparse and denoised codes, images, transfer."""

import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.base import clone

import likely as lk
from likely.core import InputError, float64
from likely.objectives import SparseReconstructionError
from likely.objectives.rows import Normalisation
from likely.typing import Batch

rng = np.random.default_rng(0)
PLANE = rng.normal(size=(120, 2)) @ rng.normal(size=(2, 5))
ROWS = PLANE + 0.3 * rng.normal(size=PLANE.shape)
EXACT = {"solver": "lbfgs", "alpha": 0.0, "max_iter": 500, "early_stopping": False}


def test_a_linear_one_finds_the_principal_subspace():
    model = lk.Autoencoder(2, (), scaling="together", tol=1e-7, **EXACT).fit(ROWS)
    best = lk.PCA(2).fit(ROWS)
    lost = 1 - best.explained_variance_ratio_.sum()
    np.testing.assert_allclose(model.error_, lost, rtol=1e-6)
    found, wanted = (
        model.reconstruct(ROWS),
        best.inverse_transform(best.transform(ROWS)),
    )
    np.testing.assert_allclose(found, wanted, atol=2e-3)
    codes, scores = model.transform(ROWS), best.transform(ROWS)
    rest = (
        scores - codes @ np.linalg.lstsq(codes - codes.mean(0), scores, rcond=None)[0]
    )
    assert rest.std(0).max() < 1e-3
    np.testing.assert_allclose(
        model.reconstruction_errors(ROWS), ((ROWS - found) ** 2).mean(1)
    )
    np.testing.assert_allclose(model.score(ROWS), 1 - model.error_)


def test_weights_of_zero_are_absent():
    model = lk.Autoencoder(2, (), scaling="together", **EXACT).fit(ROWS)
    w = np.r_[np.ones(120), np.zeros(4)]
    garbage = np.r_[ROWS, np.full((4, 5), np.nan)]
    other = clone(model).fit(garbage, sample_weight=w)
    np.testing.assert_allclose(other.transform(ROWS), model.transform(ROWS), atol=1e-6)


@pytest.mark.slow
def test_sparse_codes_are_zero_or_rarely_active():
    plain = {"max_iter": 200, "early_stopping": False, "learning_rate_init": 0.05}
    l1 = lk.Autoencoder(6, (), sparsity="l1", sparsity_strength=0.02, **plain).fit(ROWS)
    codes = l1.transform(ROWS)
    assert (codes == 0).mean() > 0.3
    assert (codes >= 0).all()
    assert l1.error_ < 0.3
    weak = clone(l1).set_params(sparsity_strength=1e-4).fit(ROWS)
    assert (weak.transform(ROWS) == 0).mean() < (codes == 0).mean()
    kl = lk.Autoencoder(6, (), sparsity="kl", sparsity_strength=1.0, **plain).fit(ROWS)
    np.testing.assert_allclose(kl.transform(ROWS).mean(0), 0.05, atol=0.04)


def test_the_penalties_of_sparse_codes_are_their_formulas():
    h, w = rng.uniform(0.1, 0.9, (6, 3)), np.array([1.0, 2, 0, 1, 1, 1])
    rows = Normalisation.of(Batch(h, h, w))
    h[2] = np.nan  # a row of weight 0
    with float64():
        own = [
            SparseReconstructionError(None, rows, 1.0, 0.05, kind).penalty(
                jnp.asarray(h), jnp.asarray(w)
            )
            for kind in ("l1", "kl")
        ]
    here = np.delete(h, 2, 0)
    total = np.delete(w, 2)
    np.testing.assert_allclose(own[0], total @ np.abs(here).sum(1) / total.sum())
    mean = total @ here / total.sum()
    wanted = 0.05 * np.log(0.05 / mean) + 0.95 * np.log(0.95 / (1 - mean))
    np.testing.assert_allclose(own[1], wanted.sum())


def test_a_denoising_one_brings_rows_back_to_their_plane():
    noisy = PLANE + rng.normal(size=PLANE.shape)
    settings = {"max_iter": 200, "early_stopping": False, "learning_rate_init": 0.05}
    model = lk.Autoencoder(2, (), noise=0.6, scaling="together", **settings).fit(PLANE)
    before, after = (
        ((rows - PLANE) ** 2).mean() for rows in (noisy, model.reconstruct(noisy))
    )
    assert after < 0.6 * before
    other = clone(model).set_params(noise=0.0, mask=0.3).fit(PLANE)
    assert other.error_ < 0.2


@pytest.fixture(scope="module")
def pictures():
    """Images of a bright bar in one of four places, some of them shifted."""
    labels = rng.integers(4, size=160)
    found = 0.1 * rng.random((160, 8, 8))
    for image, label in zip(found, labels, strict=True):
        image[:, 2 * label : 2 * label + 2] += 1.0
    return found, labels


@pytest.mark.slow
def test_a_convolutional_encoder_begins_a_classifier(pictures, tmp_path):
    images, labels = pictures
    model = lk.Autoencoder(
        4, (8,), channels=(4,), max_iter=40, early_stopping=False,
        learning_rate_init=0.01, batch_size=40,
    ).fit(images)  # fmt: skip
    assert model.reconstruct(images).shape == images.shape
    assert model.error_ < 0.3
    model.save(tmp_path / "a")
    again = lk.load(tmp_path / "a")
    np.testing.assert_array_equal(again.transform(images), model.transform(images))
    few = np.r_[[np.flatnonzero(labels == c)[:2] for c in range(4)]].ravel()
    known = {"max_iter": 200, "solver": "adam", "learning_rate_init": 0.01}
    known["early_stopping"] = False
    head = lk.CNNClassifier.from_pretrained(model, **known).fit(
        images[few], labels[few]
    )
    assert head.score(images, labels) > 0.9
    first = model.phi_.solution.model.layers[0].layers[0].weight
    assert head.phi_.solution.model.layers[0].weight.shape == first.shape
    frozen = lk.CNNClassifier.from_pretrained(model, trainable="head", **known)
    frozen.fit(images[few], labels[few])
    np.testing.assert_array_equal(frozen.phi_.solution.model.layers[0].weight, first)


def test_codes_around_a_row_and_at_random(pictures):
    images, _ = pictures
    model = lk.Autoencoder(2, (), channels=None, max_iter=3).fit(images)
    assert lk.decode_random(model, 5, X=images).shape == (5, 8, 8)
    walk = lk.decode_neighbors(model, images[:1], [0.0, 0.5, 2.0], n=3)
    assert [rows.shape for rows in walk] == [(3, 8, 8)] * 3
    np.testing.assert_allclose(walk[0][0], model.reconstruct(images[:1])[0], atol=1e-6)
    change = [np.abs(rows - walk[0]).max() for rows in walk]
    assert change[0] < change[1] < change[2]
    with pytest.raises(InputError, match="give one"):
        lk.decode_neighbors(model, images[:2], [1.0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sparsity": "l2"}, "sparsity is 'l2'"),
        ({"sparsity": "kl", "code_activation": "relu"}, "between 0 and 1"),
        ({"mask": 1.0}, "below 1"),
        ({"noise": -1}, "noise is -1"),
        ({"n_components": 0}, "n_components is 0"),
        ({"scaling": "rows"}, "scaling is 'rows'"),
        ({"solver": "newton"}, "solver is 'newton'"),
        ({"hidden_layer_sizes": "large"}, "hidden_layer_sizes is 'large'"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(InputError, match=message):
        lk.Autoencoder(**settings).fit(ROWS)


def test_images_too_small_for_the_stages_are_refused(pictures):
    with pytest.raises(InputError, match="halve images of 8 x 8"):
        lk.Autoencoder(channels=(2, 2, 2, 2)).fit(pictures[0])
    with pytest.raises(InputError, match="2 columns"):
        lk.Autoencoder(2, (), max_iter=1).fit(ROWS).inverse_transform(ROWS)
