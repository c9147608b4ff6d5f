"""Row numbers and names of entities are told from what is measured."""

import numpy as np
import pytest

from likely.data import Schema

RNG = np.random.default_rng(0)
N = 300
SAMPLED = np.sort(RNG.permutation(400)[:N])
LEFT_OUT = {
    "Unnamed: 0": SAMPLED,
    "column_1": SAMPLED,
    "X": np.arange(1, N + 1),
    "index": RNG.permutation(400)[:N],
    "nr": SAMPLED,
    "anything": RNG.permutation(N) + 1,
    "rownames": np.arange(1, N + 1),
    "obs": SAMPLED,
    "id": RNG.permutation(10**6)[:N],
    "pidnum": np.repeat(RNG.permutation(10**5)[: N // 3], 3),
    "patient_id": np.repeat([f"P{i:04}" for i in range(N // 4)], 4),
    "individual": np.repeat(np.arange(N // 4) + 1, 4),
    "who": RNG.permutation(np.repeat(np.arange(N // 3) + 1, 4))[:N],
    "hhidpn": np.repeat(np.arange(N // 2) + 1000, 2),
    "personId": np.repeat(np.arange(N // 2) + 1000, 2),
}
KEPT = {
    "year": np.arange(1800, 1800 + N),
    "Jahr": np.arange(1800, 1800 + N),
    "t": np.arange(1, N + 1),
    "week": np.arange(1, N + 1),
    "rank": RNG.permutation(N) + 1,
    "dose": np.arange(N),
    "PID": RNG.integers(0, 7, N),
    "anything": RNG.integers(1, 80, N),
    "days": np.tile(np.arange(60) + 1, 5),
    "paid": RNG.integers(0, N // 2, N),
    "age": RNG.integers(0, 90, N),
    "price": RNG.integers(0, 10**6, N),
    "store_id": RNG.integers(1, 12, N),
    "town": RNG.choice(["Bern", "Basel"], N),
    "X": RNG.normal(size=N),
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_numbers_and_names_of_rows_are_left_out(name):
    column = Schema.infer({name: LEFT_OUT[name], "x": RNG.normal(size=N)})[name]
    assert column.identifier, column
    assert not column.used
    assert any(word in column.reason for word in ("row", "entities"))


@pytest.mark.parametrize("name", KEPT)
def test_what_is_measured_is_kept(name):
    column = Schema.infer({name: KEPT[name]})[name]
    assert column.used, column.reason


def test_identifiers_of_few_are_codes():
    assert Schema.infer({"store_id": KEPT["store_id"]})["store_id"].kind == "code"
    chosen = Schema.infer({"pidnum": LEFT_OUT["pidnum"]}, kinds={"pidnum": "category"})
    assert chosen["pidnum"].used
