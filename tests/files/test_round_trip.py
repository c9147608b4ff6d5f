"""What is saved comes back, to the last bit."""

import json
import math

import hypothesis
import hypothesis.extra.numpy as numpy_strategies
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from files.examples import ESTIMATORS, EXAMPLES, fitted
from files.sameness import same
from safetensors import safe_open

import likely as lk
from likely import files
from likely.core import float64
from likely.files import container, table
from likely.layers import Pointwise


def test_sameness_sees_bits():
    assert same(math.nan, math.nan)
    assert not same(0.0, -0.0)
    assert not same(1, True)
    assert not same(np.zeros(2, np.float32), np.zeros(2))
    assert not same([1], (1,))


def round_trip(value, folder):
    files.save(value, folder / "value.likely", card=False)
    return files.load(folder / "value.likely")


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_comes_back(name, tmp_path):
    value = EXAMPLES[name]()
    assert same(value, round_trip(value, tmp_path))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_fitted_estimator_comes_back(name, tmp_path):
    assert same(fitted(name), round_trip(fitted(name), tmp_path))


@pytest.mark.parametrize(
    "array",
    [
        np.r_[np.arange(5.0), np.full(500, np.nan)],
        np.c_[np.arange(6.0).reshape(3, 2), np.full((3, 300), np.inf)],
        np.asfortranarray(np.r_[np.eye(3), np.zeros((300, 3))]),
        np.zeros((2, 1000), bool),
        np.zeros((0, 1000)),
        np.array(["a" * 150 + "\0" * 150 + "b", "b" * 9])[1:],
        np.r_[np.ones(3), -np.zeros(300), np.zeros(300)],
    ],
    ids=lambda a: f"{a.dtype}{a.shape}",
)
def test_padding_is_not_stored_and_comes_back(array, tmp_path):
    files.save(array, tmp_path / "a.likely", card=False)
    found = files.load(tmp_path / "a.likely")
    assert same(found, array)
    assert found.flags.f_contiguous == array.flags.f_contiguous
    assert (tmp_path / "a.likely").stat().st_size < 512 + array.nbytes // 2


def test_the_file_of_a_small_model_is_small(tmp_path):
    """Ten coefficients of a model whose solver may take ten thousand steps."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 10))
    lk.Lasso(0.1).fit(X, X[:, 0]).save(tmp_path / "lasso.likely")
    assert (tmp_path / "lasso.likely").stat().st_size < 10_000


def test_every_class_has_an_example(tmp_path):
    """Each class of the table occurs in some example."""
    found = set()
    for make in EXAMPLES.values():
        files.save(make(), tmp_path / "value.likely", card=False)
        found |= classes_in(container.read(tmp_path / "value.likely").document)
    assert set(table.CLASSES) - found == set()


def classes_in(document: str) -> set[str]:
    found = set()
    json.loads(document, object_hook=lambda node: found.add(node.get("class")))
    return found


VALUES = {
    "nothing": None,
    "whole numbers": [0, -(2**63), 2**64 - 1, True],
    "floats": [0.1, -0.0, 5e-324, 1e308, float("nan"), float("inf"), -float("inf")],
    "text": ["", 'a"b\\', "naïve \U0001f600", "\ud800", "\x00", "\\u0041"],
    "containers": {"a": (1, [2, {3: ()}]), False: {}, None: [], 2.5: {"": 0}},
    "keys of NumPy": {np.str_("a"): 1, np.int64(2): 2, np.float32(0.1): 3},
    "colliding names": {"a.b": np.zeros(1), "a": {"b": np.ones(1)}, 1: np.ones(2)}
    | {"1": np.zeros(2), "__metadata__": np.ones(3), "\ud800": np.ones(4)},
    "big-endian": np.arange(3.0),
    "complex": np.array([[1 + 2j], [np.nan - 0j]]),
    "words": np.array([["a", ""], ["é", "\U0001f600"]]),
    "no words": np.array([], dtype=str),
    "bytes": np.array([b"", b"a\x00b"]),
    "dates": np.array(["2024-02-29", "NaT"], "M8[ns]"),
    "durations": np.array([1, 2], "m8[s]"),
    "objects": np.array([["a", None], [1, 2.5]], object),
    "object lists": np.array([[1, 2], None], object)[:1],
    "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "fortran words": np.asfortranarray(np.array([["ab", "c"], ["d", "e"]])),
    "not contiguous": np.arange(12).reshape(3, 4)[:, ::2],
    "empty": np.zeros((0, 3, 2), np.float32),
    "no axes": np.array(1.5),
    "scalars": [np.float32(0.1), np.int8(-1), np.bool_(True), np.str_("é")],
    "narrow": jnp.arange(3, dtype=jnp.bfloat16),
    "jax": [jnp.arange(3), jnp.zeros((0, 2)), jnp.array(True), jnp.array(1j)],
    "keys": [jax.random.key(0), jax.random.split(jax.random.key(1, impl="rbg"), 3)],
}


@pytest.mark.parametrize("name", VALUES)
def test_value_comes_back(name, tmp_path):
    assert same(VALUES[name], round_trip(VALUES[name], tmp_path))


def test_nan_keeps_its_payload(tmp_path):
    bits = np.array([0x7FF8000000000123, 0xFFF0000000000001], np.uint64)
    value = [bits.view(float), *bits.view(float).tolist()]
    assert same(value, round_trip(value, tmp_path))


def test_big_endian_numbers_come_back_little(tmp_path):
    value = np.arange(3, dtype=">i4")
    assert same(round_trip(value, tmp_path), np.arange(3, dtype="<i4"))


def test_mapped_array_comes_back_as_an_array(tmp_path):
    value = np.memmap(tmp_path / "rows", np.float32, "w+", shape=(3,))
    assert same(round_trip(value, tmp_path), np.zeros(3, np.float32))


def test_wide_jax_arrays_come_back_as_numpy(tmp_path):
    """Outside the float64 scope a JAX array would lose half its bits."""
    with float64():
        value = jnp.arange(3) / 3
    found = round_trip(value, tmp_path)
    assert same(found, np.asarray(value))
    assert found.dtype == np.float64


@pytest.mark.parametrize("name", table.FUNCTIONS)
def test_function_comes_back(name, tmp_path):
    function = table.function_of(name)
    assert round_trip(Pointwise(function), tmp_path).function is function


def test_bytes_are_a_function_of_the_value(tmp_path):
    value = fitted("ridge, of a frame")
    for name in ("a.likely", "b.likely"):
        files.save(value, tmp_path / name)
    again = files.load(tmp_path / "a.likely")
    files.save(again, tmp_path / "c.likely")
    first = (tmp_path / "a.likely").read_bytes()
    assert first == (tmp_path / "b.likely").read_bytes()
    assert first == (tmp_path / "c.likely").read_bytes()


def test_safetensors_reads_the_tensors(tmp_path):
    """An independent reader of the format finds the same numbers."""
    value = {"a": np.arange(6.0).reshape(2, 3), "b": {"c": np.ones(3, np.int8)}}
    files.save(value, tmp_path / "value.likely", card=False)
    with safe_open(tmp_path / "value.likely", "np") as file:
        assert set(file.keys()) == {"a", "b.c"}
        assert same(file.get_tensor("a"), value["a"])
        assert same(file.get_tensor("b.c"), value["b"]["c"])


atoms = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(st.characters(), max_size=5)
    | numpy_strategies.arrays(
        numpy_strategies.boolean_dtypes()
        | numpy_strategies.integer_dtypes(endianness="<")
        | numpy_strategies.floating_dtypes(endianness="<", sizes=(16, 32, 64))
        | numpy_strategies.complex_number_dtypes(endianness="<", sizes=(64, 128))
        | numpy_strategies.unicode_string_dtypes(endianness="<", max_len=4),
        numpy_strategies.array_shapes(min_dims=0, min_side=0, max_side=3),
    )
)
keys = st.none() | st.booleans() | st.integers(0, 9) | st.text(max_size=3)
trees = st.recursive(
    atoms,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(keys, inner, max_size=3)
    ),
    max_leaves=8,
)


@hypothesis.settings(max_examples=50)
@hypothesis.given(value=trees)
def test_any_tree_comes_back(value, tmp_path_factory):
    assert same(value, round_trip(value, tmp_path_factory.getbasetemp()))
