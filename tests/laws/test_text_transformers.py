"""Laws of transformers of texts: those of kind "texts" in the registry that have `transform`."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from registries.estimators import ESTIMATORS
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import likely as lk
from likely.core.checks import InputError

NAMES = [
    name
    for name, entry in ESTIMATORS.items()
    if entry.kind == "texts" and hasattr(entry.make(), "transform")
]
DRAWN = {"masked language model"}
"""What draws windows of texts, so that weights hold on average."""
TEXTS = [
    "the cat sat on the mat",
    "a dog sat on a log and the cat saw it",
    "",
    "Cats and dogs — Käse, naïve, 東京 and 🐈 !",
    "the dog saw the cat on the mat",
]
NEW = [*TEXTS, "nothing known: xyzzy", "the the the"]
for_each = pytest.mark.parametrize("name", NAMES)


def fit(name, texts=TEXTS, **options):
    return ESTIMATORS[name].make().fit(texts, **options)


def columns(model, texts=NEW):
    found = model.transform(texts)
    return found.toarray() if issparse(found) else np.asarray(found)


@for_each
def test_a_row_for_each_text_and_a_name_for_each_column(name):
    model = fit(name)
    found = columns(model)
    assert found.shape == (len(NEW), len(model.get_feature_names_out()))
    assert np.isfinite(found).all()
    assert not found[2].any()  # no words, no features
    one_by_one = np.concatenate([columns(model, [text]) for text in NEW])
    np.testing.assert_allclose(one_by_one, found, atol=1e-12)
    assert columns(model, []).shape == (0, found.shape[1])


@for_each
def test_every_container_of_texts(name):
    import pandas
    import polars

    expected = columns(fit(name))
    for container in (tuple, lambda t: np.array(t, object), np.array, pandas.Series):
        found = fit(name, container(TEXTS))
        np.testing.assert_array_equal(columns(found, container(NEW)), expected)
    series = polars.Series(TEXTS)
    np.testing.assert_array_equal(columns(fit(name, series)), expected)
    encoded = [text.encode() for text in TEXTS]
    np.testing.assert_array_equal(columns(fit(name, encoded)), expected)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in DRAWN])
def test_weights_are_repetitions_and_absent_texts_may_be_anything(name):
    w = np.array([2.0, 1.0, 0.0, 3.0, 0.0])
    garbage = [text if k else None for text, k in zip(TEXTS, w, strict=True)]
    repeated = np.repeat(TEXTS, w.astype(int)).tolist()
    weighted = columns(fit(name, garbage, sample_weight=w))
    np.testing.assert_allclose(weighted, columns(fit(name, repeated)), atol=1e-10)


@for_each
def test_copies_files_and_threads_transform_alike(name, tmp_path):
    model = fit(name)
    before = {k: id(v) for k, v in vars(model).items()}
    expected = columns(model)
    assert {k: id(v) for k, v in vars(model).items()} == before
    model.save(tmp_path / "model.likely")
    loaded = lk.load(tmp_path / "model.likely")
    copies = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model), loaded]
    for other in copies:
        np.testing.assert_array_equal(columns(other), expected)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: columns(model), range(4)):
            np.testing.assert_array_equal(found, expected)
    fresh = clone(model)
    assert not [k for k in vars(fresh) if k.endswith("_")]
    np.testing.assert_array_equal(columns(fresh.fit(TEXTS)), expected)


@for_each
def test_what_is_no_text_is_refused_with_its_row(name):
    with pytest.raises(NotFittedError):
        ESTIMATORS[name].make().transform(TEXTS)
    for bad, match in [
        ("one text", "list"),
        (["a b", None], "row 1"),
        (["a b", "c d", float("nan")], "row 2"),
        (["a b", 3], "row 1"),
        (["a b", b"\xff\xfe"], "row 1"),
    ]:
        with pytest.raises(InputError, match=match):
            fit(name, bad)
        with pytest.raises(InputError, match=match):
            fit(name).transform(bad)
