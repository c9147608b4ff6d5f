"""Damaged and hostile files: one error class, and a sentence that says why."""

import os
import threading

import jax.numpy as jnp
import numpy as np
import pytest
from files.forging import BLANK, entry, forge, fuzz

from likely import files
from likely.core.checks import InputError
from likely.files import strict
from likely.models import Null


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.likely"
    files.save({"w": np.arange(4.0), "name": "m"}, path, card=False)
    return path


def refused(path, sentence):
    with pytest.raises(files.FileError, match=sentence) as caught:
        files.load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_it_is_an_input_error():
    assert issubclass(files.FileError, InputError)


def test_no_file(tmp_path):
    refused(tmp_path / "none.likely", "No such file")


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_not_a_file(make, tmp_path):
    make(tmp_path / "thing")
    refused(tmp_path / "thing", "is not a file")


def test_every_truncation_is_refused(model, tmp_path):
    data = model.read_bytes()
    for length in range(len(data)):
        (tmp_path / "cut").write_bytes(data[:length])
        with pytest.raises(files.FileError):
            files.load(tmp_path / "cut")


def test_every_flipped_bit_is_refused(model, tmp_path):
    data = model.read_bytes()
    for at in range(len(data)):
        raw = bytearray(data)
        raw[at] ^= 1 << at % 8
        (tmp_path / "flipped").write_bytes(raw)
        with pytest.raises(files.FileError):
            files.load(tmp_path / "flipped")


def test_damaged_numbers(model):
    data = bytearray(model.read_bytes())
    data[-1] ^= 1
    model.write_bytes(data)
    refused(model, "does not match its digest")


def test_something_after_the_end(model):
    model.write_bytes(model.read_bytes() + b"x")
    refused(model, "end at 32 of 33 bytes")


@pytest.mark.parametrize("length", [0, 1, 2**31, 2**63, 2**64 - 1])
def test_wrong_length(length, model):
    model.write_bytes(length.to_bytes(8, "little") + model.read_bytes()[8:])
    refused(model, "cut short|did not write")


def test_long_header(tmp_path):
    with (tmp_path / "long").open("wb") as file:
        file.write((17 * 2**20).to_bytes(8, "little"))
        file.truncate(20 * 2**20)
    refused(tmp_path / "long", "header claims 17,825,792 bytes")


def test_files_of_others(tmp_path):
    from safetensors.numpy import save_file

    save_file({"w": np.zeros(3)}, tmp_path / "other.safetensors")
    refused(tmp_path / "other.safetensors", "likely did not write it")


@pytest.mark.parametrize("version", ["2", "0", "999"])
def test_other_versions(version, model):
    data = model.read_bytes().replace(b'"likely":"1 ', f'"likely":"{version} '.encode())
    length = int.from_bytes(data[:8], "little") + len(version) - 1
    model.write_bytes(length.to_bytes(8, "little") + data[8:])
    refused(model, f"version '{version}' of the format and this likely reads 1; update")


HEADERS = {
    "unknown dtype": (entry("F128"), "unknown dtype"),
    "dtype of another kind": (entry(["F64"]), "unknown dtype"),
    "no shape": ({"t": {"dtype": "F64"}}, "no dtype, shape or offsets"),
    "not an entry": ({"t": 1}, "no dtype, shape or offsets"),
    "too large": (entry(shape=(2**40,)), "not where it should be"),
    "overflow": (entry(shape=(2**40, 2**40)), "not where it should be"),
    "negative": (entry(shape=(-2,)), "impossible shape"),
    "fraction": (entry(shape=(2.0,)), "impossible shape"),
    "truth": (entry(shape=(True, 2)), "impossible shape"),
    "many axes": (entry(shape=[1] * 40), "impossible shape"),
    "one offset": (entry(offsets=(0,)), "impossible shape or offset"),
    "gap": (entry(offsets=(8, 24)), "not where it should be"),
    "overlap": (entry() | {"u": entry()["t"]}, "not where it should be"),
    "too short": (entry("F32"), "not where it should be"),
    "not truth": (entry("BOOL", (16,)), "not of truth values"),
    "twice": ('"t":{"dtype":"F64"},"t":{"dtype":"F64"}', "the key 't' twice"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers(name, tmp_path):
    header, sentence = HEADERS[name]
    tensors = np.array([0.1, 0.2]).tobytes()
    refused(
        forge(tmp_path / "x", {"array": {"tensor": "t"}}, header, tensors), sentence
    )


DEEP = "[" * 200 + "]" * 200
WIDE = "[" + ",".join(["{}"] * 700_000) + "]"
DOCUMENTS = {
    "broken": ("[1,", "JSON is broken"),
    "duplicate": ('{"tuple":[],"tuple":[]}', "the key 'tuple' twice"),
    "deep": (DEEP, "more than 100 levels"),
    "wide": (WIDE, "more than 2,000,000 tokens"),
    "quotes": ('"' * 2_000_001, "more than 2,000,000 tokens"),
    "NaN": ("NaN", "NaN, which is not JSON"),
    "huge float": ("1e999", "too large"),
    "huge whole": ("9" * 5000, "5000 digits"),
    "unknown kind": ({"pickle": "gASV"}, "a kind that this version does not know"),
    "two kinds": ({"tuple": [], "dict": []}, "does not know"),
    "no kind": ({}, "does not know"),
    "tuple": ({"tuple": 1}, "is not a list"),
    "dict": ({"dict": [[1]]}, "without pairs"),
    "dict, unhashable": ({"dict": [[[], 1]]}, "cannot be one"),
    "dict, twice": ({"dict": [[1, 0], [True, 0]]}, "key twice"),
    "float": ({"float": "7ff"}, "it is not a file that likely wrote"),
    "float of a number": ({"float": 7}, "64 bits"),
    "no tensor": ({"array": {"tensor": "t"}}, "no tensor of its own"),
    "tensor of no name": ({"array": {"tensor": [1]}}, "no tensor of its own"),
    "array": ({"array": 3}, "not an array"),
    "objects": ({"objects": {"shape": [2], "items": [1]}}, "another size"),
    "key": ({"key": {"generator": "fry"}}, "not a key"),
    "function": ({"function": "system"}, "a function that this version does not know"),
    "dotted function": ({"function": "os.system"}, "does not know"),
    "listed function": ({"function": ["relu"]}, "does not know"),
    "class": (
        {"object": {"class": "Popen", "fields": {}}},
        "a class that this version",
    ),
    "dunder": ({"object": {"class": "__class__", "fields": {}}}, "a class that this"),
    "module": (
        {"object": {"class": "likely.models:Linear", "fields": {}}},
        "a class that this",
    ),
    "no object": ({"object": {"class": "Null"}}, "is not an object"),
    "missing field": ({"object": {"class": "Null", "fields": {}}}, "has no bias"),
    "unknown field": (
        {"object": {"class": "Null", "fields": {"bias": None, "__class__": 1}}},
        "a field '__class__'",
    ),
    "wrong type": (
        {"object": {"class": "Null", "fields": {"bias": "text"}}},
        "a bias that is not what it declares",
    ),
    "wrong class inside": (
        {"object": {"class": "Fit", "fields": {"family": 1, "solution": None}}},
        "a family that is not what it declares",
    ),
    "wrong setting": (
        {"object": {"class": "GradientDescent", "fields": {"step": "odd"}}},
        "refused by its class: step is 'odd'",
    ),
    "estimator as object": (
        {"object": {"class": "Ridge", "fields": {}}},
        "not how a Ridge is saved",
    ),
    "object as estimator": (
        {"estimator": {"class": "Null", "params": {}, "fitted": {}}},
        "not how a Null is saved",
    ),
    "unknown parameter": (
        {"estimator": {"class": "Ridge", "params": {"beta": 1}, "fitted": {}}},
        "a field 'beta'",
    ),
    "method": (
        {"estimator": {"class": "Ridge", "params": {}, "fitted": {"predict": 1}}},
        "an attribute that `fit` of Ridge cannot give",
    ),
    "property": (
        {"estimator": {"class": "Ridge", "params": {}, "fitted": {"family_": 1}}},
        "cannot give",
    ),
    "hidden": (
        {"estimator": {"class": "Ridge", "params": {}, "fitted": {"__dict__": 1}}},
        "cannot give",
    ),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents(name, tmp_path):
    node, sentence = DOCUMENTS[name]
    refused(forge(tmp_path / "x", node), sentence)


def test_documents_of_another_form(tmp_path):
    for document in ("[]", '{"object":1}', "1"):
        (tmp_path / "x").write_bytes(fuzz.join({}, document, b""))
        refused(tmp_path / "x", "its document is not one of likely")


TENSORS = {
    "belongs to nothing": (None, "F64", "belong to nothing"),
    "used twice": ([{"array": {"tensor": "t"}}] * 2, "F64", "no tensor of its own"),
    "scalar": ({"scalar": {"tensor": "t"}}, "F64", "a scalar with axes"),
    "wide JAX": ({"jax": {"tensor": "t"}}, "F64", "a JAX array of float64"),
    "as what": ({"array": {"tensor": "t", "as": "object"}}, "F64", "unknown kind"),
    "as another": ({"array": {"tensor": "t", "as": "str"}}, "F64", "unknown kind"),
    "characters": ({"array": {"tensor": "t", "as": "str"}}, "U32", "do not exist"),
    "complex": (
        {"array": {"tensor": "t", "as": "complex64"}},
        "F32",
        "impossible width",
    ),
    "order": ({"array": {"tensor": "t", "order": "K"}}, "F64", "unknown order"),
    "length": ({"array": {"tensor": "t", "length": 1}}, "F64", "impossible length"),
    "length of what": ({"array": {"tensor": "t", "length": "9"}}, "F64", "impossible"),
    "padding": (
        {"array": {"tensor": "t", "length": 2**40}},
        "F64",
        "more padding than",
    ),
    "key": (
        {"key": {"generator": "rbg", "numbers": {"tensor": "t"}}},
        "F64",
        "not the key of a known generator",
    ),
    "shape": (
        {"object": {"class": "Dense", "fields": {"weight": None, "bias": {}}}},
        "F64",
        "does not know",
    ),
}


@pytest.mark.parametrize("name", TENSORS)
def test_tensors(name, tmp_path):
    node, dtype, sentence = TENSORS[name]
    count = 16 // np.dtype({"U32": "u4", "F32": "f4", "F64": "f8"}[dtype]).itemsize
    header = entry(dtype, (count,))
    refused(forge(tmp_path / "x", node, header, b"\xff" * 16), sentence)


def test_axes_have_to_agree(tmp_path):
    """The same letter is the same length: weight (d, k) and bias (k,)."""
    numbers = {"a": np.zeros((3, 2)), "b": np.zeros(2), "c": np.zeros(5)}
    files.save(numbers, tmp_path / "numbers", card=False)
    header, _, tensors = fuzz.split((tmp_path / "numbers").read_bytes())

    def dense(weight, bias, rest):
        fields = {"weight": {"array": {"tensor": weight}}}
        fields["bias"] = {"array": {"tensor": bias}}
        dense = {"object": {"class": "Dense", "fields": fields}}
        return [dense, {"array": {"tensor": rest}}]

    found = files.load(forge(tmp_path / "x", dense("a", "b", "c"), header, tensors))
    assert found[0].weight.shape == (3, 2)
    refused(forge(tmp_path / "x", dense("a", "c", "b"), header, tensors), "a bias that")
    refused(
        forge(tmp_path / "x", dense("b", "a", "c"), header, tensors), "a weight that"
    )


def test_fields_that_are_missing_take_their_defaults(tmp_path):
    """So that a class may grow: files from before then load."""
    node = {"object": {"class": "Adam", "fields": {}}}
    found = files.load(forge(tmp_path / "x", node))
    assert found.steps == 1000
    assert found.rate.value == 1e-3


def test_a_class_reads_its_old_fields(tmp_path, monkeypatch):
    def upgrade(fields):
        return {"bias" if name == "offset" else name: v for name, v in fields.items()}

    monkeypatch.setattr(Null, "__upgrade__", staticmethod(upgrade), raising=False)
    node = {"object": {"class": "Null", "fields": {"offset": None}}}
    assert files.load(forge(tmp_path / "x", node)).bias is None


def test_a_file_that_shrinks_while_it_is_read(tmp_path, monkeypatch):
    files.save(np.arange(2**20), tmp_path / "model.likely", card=False)
    size = (tmp_path / "model.likely").stat().st_size
    os.truncate(tmp_path / "model.likely", size // 2)
    real = os.fstat

    def old(handle):
        found = list(real(handle))
        found[6] = size
        return os.stat_result(found)

    monkeypatch.setattr(os, "fstat", old)
    refused(tmp_path / "model.likely", "became shorter")


def test_blank_document_loads(tmp_path):
    """The forger makes files that load when there is nothing wrong with them."""
    assert BLANK["object"] is None
    assert files.load(forge(tmp_path / "x", {"tuple": [1, 2]})) == (1, 2)


# What is refused on the way in ---------------------------------------------------------


class Mine:
    def __call__(self, x):
        return x


class MineToo(dict):
    pass


def contains_itself():
    value = []
    value.append(value)
    return value


def test_subclasses_are_refused(tmp_path):
    from likely.estimators import Ridge

    class Better(Ridge):
        pass

    with pytest.raises(files.FileError, match="Better"):
        files.save(Better(), tmp_path / "x")


REFUSED = {
    "lambda": (lambda: {"f": lambda x: x}, "f is a function or object of your own"),
    "object": (lambda: [Mine()], "0 is a function or object of your own .*Mine"),
    "dict": (MineToo, "MineToo, which files do not hold; save its numbers"),
    "type": (lambda: float, "files do not hold"),
    "set": (lambda: {1, 2}, "builtins.set"),
    "generator": (lambda: np.random.default_rng(0), "Generator"),
    "large": (lambda: 2**64, "more than 64 bits; keep it as text"),
    "key": (lambda: {(1, 2): 3}, "a tuple as a key; use text or numbers"),
    "cycle": (contains_itself, "contains itself"),
    "structure": (lambda: np.zeros(2, "i4,f8"), "an array of .*files do not hold"),
    "longdouble": (lambda: np.zeros(2, np.longdouble), "an array of float128"),
    "masked": (lambda: np.ma.masked_array([1, 2]), "MaskedArray"),
    "long text": (lambda: "w" * 17_000_000, "keep large things in NumPy arrays"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_at_save(name, tmp_path):
    make, sentence = REFUSED[name]
    with pytest.raises(files.FileError, match=sentence):
        files.save(make(), tmp_path / "x.likely")
    assert list(tmp_path.iterdir()) == []


def test_too_many_words_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(strict, "MAX_TOKENS", 1000)
    with pytest.raises(files.FileError, match="more than 1,000 tokens"):
        files.save(["word"] * 400, tmp_path / "x")


def test_layer_of_a_users_function_is_refused(tmp_path):
    from likely.layers import Chain

    with pytest.raises(files.FileError, match="layers.0.function .*files.FUNCTIONS"):
        files.save(Chain(lambda x: x), tmp_path / "x")


def test_attribute_of_a_user_is_refused(tmp_path):
    from likely.estimators import Ridge

    estimator = Ridge()
    estimator.note = "mine"
    with pytest.raises(files.FileError, match="attribute 'note'.*underscore"):
        files.save(estimator, tmp_path / "x")


def test_traced_values_are_refused(tmp_path):
    import jax

    def inside(x):
        files.save(x, tmp_path / "x")

    with pytest.raises(files.FileError, match="save outside of jit"):
        jax.jit(inside)(jnp.ones(2))


def test_load_does_not_need_the_main_thread(model):
    found = []
    thread = threading.Thread(target=lambda: found.append(files.load(model)))
    thread.start()
    thread.join()
    assert found[0]["name"] == "m"
