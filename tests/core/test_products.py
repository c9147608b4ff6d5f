"""Products of matrices in blocks of rows."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from likely.core import products
from likely.core.products import column_product, row_product
from likely.core.threads import thread_map

rng = np.random.default_rng(0)
A, B = rng.normal(size=(1000, 30)), rng.normal(size=(30, 7))
C = rng.normal(size=(1000, 7))


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_products_are_numpys(kind, monkeypatch):
    monkeypatch.setattr(products, "BLOCK_NUMBERS", 3000)
    np.testing.assert_allclose(row_product(kind(A), B), A @ B, atol=1e-12)
    np.testing.assert_allclose(column_product(kind(A), C), A.T @ C, atol=1e-11)


def test_one_worker_and_two_give_the_same_bits(monkeypatch):
    monkeypatch.setattr(products, "BLOCK_NUMBERS", 3000)
    found = []
    for workers in (1, 2):
        monkeypatch.setattr(
            products,
            "thread_map",
            lambda job, parts, n=workers: thread_map(job, parts, n),
        )
        found.append((row_product(A, B), column_product(A, C)))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_no_rows_and_one_row():
    assert row_product(A[:0], B).shape == (0, 7)
    np.testing.assert_array_equal(column_product(A[:0], C[:0]), np.zeros((30, 7)))
    np.testing.assert_allclose(row_product(A[:1], B), A[:1] @ B)
