"""Entropy, divergences and information of tables: SciPy, enumeration, laws, bad input."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats
from scipy.spatial.distance import jensenshannon

from likely import information as info
from likely.core.checks import InputError

TABLES = st.tuples(
    st.integers(0, 10**6), st.lists(st.integers(1, 4), min_size=3, max_size=3)
)


def table(seed, shape, zeros=True) -> np.ndarray:
    """A random joint table, with cells of zero probability in some."""
    rng = np.random.default_rng(seed)
    cells = rng.gamma(0.5, size=shape)
    if zeros:
        cells[rng.random(shape) < 0.2] = 0
    cells.flat[0] += 0.1
    return cells / cells.sum()


def test_surprise_has_shannons_properties():
    p = np.array([1.0, 0.5, 0.25, 0.125, 0.0])
    np.testing.assert_array_equal(info.surprise(p, unit="bits"), [0, 1, 2, 3, np.inf])
    np.testing.assert_allclose(
        info.surprise(0.3 * 0.2), info.surprise(0.3) + info.surprise(0.2)
    )
    assert (np.diff(info.surprise(np.linspace(0.1, 1, 20))) < 0).all()
    with pytest.raises(InputError, match="from 0 to 1"):
        info.surprise([0.2, 1.2])


@pytest.mark.parametrize("seed", range(5))
def test_entropy_and_divergence_are_scipys(seed):
    p, q = table(seed, (7,)), table(seed + 100, (7,), zeros=False)
    np.testing.assert_allclose(info.entropy(p), stats.entropy(p), rtol=1e-12)
    np.testing.assert_allclose(
        info.entropy(p, unit="bits"), stats.entropy(p, base=2), rtol=1e-12
    )
    np.testing.assert_allclose(info.kl(p, q), stats.entropy(p, q), rtol=1e-10)
    np.testing.assert_allclose(
        info.cross_entropy(p, q), stats.entropy(p) + stats.entropy(p, q), rtol=1e-10
    )
    np.testing.assert_allclose(
        info.jensen_shannon(p, q), jensenshannon(p, q) ** 2, rtol=1e-9
    )


def test_divergence_to_fifty_digits():
    import mpmath

    p, q = [0.1, 0.2, 0.7], [1e-9, 0.3, 0.699999999]
    with mpmath.workdps(50):
        exact = mpmath.fsum(
            mpmath.mpf(a) * mpmath.log(mpmath.mpf(a) / mpmath.mpf(b))
            for a, b in zip(p, q, strict=True)
        )
    assert abs(info.kl(p, q) - float(exact)) < 1e-14


def by_enumeration(joint: np.ndarray, a, b, c) -> float:
    """I(A; B | C) = Σ p log p(abc) p(c) / p(ac) p(bc), cell by cell."""
    total = 0.0
    for cell in itertools.product(*map(range, joint.shape)):

        def mass(axes, cell=cell):
            return sum(
                joint[other]
                for other in itertools.product(*map(range, joint.shape))
                if all(other[i] == cell[i] for i in axes)
            )

        if joint[cell] > 0:
            ratio = mass(a + b + c) * mass(c) / (mass(a + c) * mass(b + c))
            total += joint[cell] * np.log(ratio)
    return total


@pytest.mark.parametrize("seed", range(3))
def test_information_by_enumeration(seed):
    joint = table(seed, (2, 3, 2, 2))
    cases = [((0,), (1,), ()), ((0,), (1,), (2,)), ((2, 0), (3,), (1,))]
    for a, b, c in cases:
        found = info.mutual_information(joint, a, b, given=c)
        np.testing.assert_allclose(found, by_enumeration(joint, a, b, c), atol=1e-13)


@given(TABLES)
@settings(max_examples=40)
def test_laws(drawn):
    """Gibbs, chain rules, symmetry, bounds, and what conditioning does."""
    seed, shape = drawn
    p, q = table(seed, shape), table(seed + 1, shape, zeros=False)
    assert info.kl(p, q) >= 0
    np.testing.assert_allclose(info.kl(p, p), 0, atol=1e-14)
    np.testing.assert_allclose(
        info.cross_entropy(p, q), info.entropy(p) + info.kl(p, q), atol=1e-12
    )
    assert 0 <= info.jensen_shannon(p, q) <= np.log(2) + 1e-15
    np.testing.assert_allclose(
        info.jensen_shannon(p, q), info.jensen_shannon(q, p), atol=1e-14
    )
    chain = info.entropy(p, of=0) + info.entropy(p, of=1, given=0)
    chain += info.entropy(p, of=2, given=(0, 1))
    np.testing.assert_allclose(info.entropy(p), chain, atol=1e-12)
    both = info.mutual_information(p, 0, (1, 2))
    parts = info.mutual_information(p, 0, 1)
    parts += info.mutual_information(p, 0, 2, given=1)
    np.testing.assert_allclose(both, parts, atol=1e-12)
    np.testing.assert_allclose(
        info.mutual_information(p, 0, 1), info.mutual_information(p, 1, 0), atol=1e-13
    )
    assert info.entropy(p, of=0, given=1) <= info.entropy(p, of=0) + 1e-13


@given(TABLES)
@settings(max_examples=40)
def test_processing_does_not_add_information(drawn):
    """X → Y → Z: I(X; Z) ≤ I(X; Y), and channels bring distributions closer."""
    seed, (a, b, c) = drawn
    rng = np.random.default_rng(seed)
    joint = table(seed, (a, b))
    channel = rng.dirichlet(np.full(c, 0.5), size=b)
    after = info.mutual_information(joint @ channel)
    assert after <= info.mutual_information(joint) + 1e-13
    p, q = (table(seed + i, (b,), zeros=False) for i in (2, 3))
    assert info.kl(p @ channel, q @ channel) <= info.kl(p, q) + 1e-12


def test_named_tables():
    """Anything with `.values` and `.names` is a table."""
    joint = SimpleNamespace(
        values=table(0, (2, 3), zeros=False),
        names=("rain", "wet"),
        levels=(("no", "yes"), ("dry", "damp", "wet")),
    )
    assert info.entropy(joint, of="rain") == info.entropy(joint.values, of=0)
    assert info.mutual_information(joint, "rain", "wet") == info.mutual_information(
        joint.values
    )
    with pytest.raises(InputError, match="did you mean 'rain'"):
        info.entropy(joint, of="rian")
    q = joint.values.copy()
    q[1, 2] = 0
    with pytest.warns(info.SupportWarning, match="rain = yes, wet = wet"):
        assert info.kl(joint, q / q.sum()) == np.inf


def test_bad_input_gets_a_sentence():
    cases = [
        (lambda: info.entropy([0.5, 0.6]), "sums to 1.1, 0.1 above one"),
        (lambda: info.kl([0.5, 0.5], [0.5, 0.4]), "q sums to 0.9, 0.1 below one"),
        (lambda: info.entropy([1.1, -0.1]), "p is -0.1 at cell 1"),
        (lambda: info.entropy([0.5, np.nan]), "nan at cell 1"),
        (lambda: info.entropy([]), "empty"),
        (lambda: info.kl([1.0], [0.5, 0.5]), "shape"),
        (lambda: info.entropy([1.0], unit="bytes"), "unit is 'bytes'"),
        (lambda: info.mutual_information([0.5, 0.5]), "joint table of two"),
        (lambda: info.mutual_information(np.eye(2) / 2, 0, 0), "share a variable"),
        (lambda: info.entropy(np.eye(2) / 2, of=2), "no axis 2"),
        (lambda: info.entropy(np.eye(2) / 2, of="a"), "no variable 'a'"),
        (lambda: info.entropy(np.eye(2) / 2, of=(0, 0)), "named twice"),
    ]
    for call, sentence in cases:
        with pytest.raises(InputError, match=sentence):
            call()


def test_a_support_mismatch_is_infinite_and_named():
    with pytest.warns(info.SupportWarning, match="p is 0.5 and q is 0 at 'b'"):
        found = info.kl({"a": 0.5, "b": 0.5}, {"a": 1.0, "b": 0.0})
    assert found == np.inf
    with pytest.warns(info.SupportWarning, match=r"cell \(0, 1\), and 1 more"):
        info.cross_entropy(np.full((2, 2), 0.25), np.eye(2) / 2)
    np.testing.assert_allclose(info.jensen_shannon([1, 0], [0, 1], unit="bits"), 1)
